/* topk: the k = max(1, floor(n ratio)) values of largest magnitude; of equal ones, the first.
 * Published (GRACE, PyTorch): 4k + 4k bytes behind a head of 10, or 8k + 4k with the 64-bit indices
 * that its Horovod package sends. Packed: gaps in Rice code. NaN and infinities are chosen first
 * and restored bit by bit. */
#include "codecs/builtin.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"ratio", "share of the values that is sent", .max = 1, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices, or 64-bit ones", .max = 2,
     .choices = strait_sparse_three_payloads},
};

const struct strait_codec_ops strait_codec_topk = {
    .name = "topk",
    .source = "Aji and Heafield 2017; payload as in GRACE (Xu et al. 2021)",
    .id = 8,
    .flags = STRAIT_CODEC_SPARSE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .predict = strait_sparse_predict_fixed,
    STRAIT_SPARSE_CODEC(&strait_sparsifier_topk),
};
