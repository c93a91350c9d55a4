/* threshold: every value with |x| >= threshold, however many. Published (GRACE, PyTorch): 4k' + 4k'
 * bytes behind a head of 10, or 8k' + 4k' with 64-bit indices; sizes differ between ranks and are
 * exchanged first. NaN and infinities are always sent, bit by bit. */
#include "codecs/builtin.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"threshold", "magnitude from which a value is sent", .max = 3.4e38, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices, or 64-bit ones", .max = 2,
     .choices = strait_sparse_three_payloads},
};

const struct strait_codec_ops strait_codec_threshold = {
    .name = "threshold",
    .source = "Strom 2015, Dutta et al. 2020; payload as in GRACE (Xu et al. 2021)",
    .id = 9,
    .flags = STRAIT_CODEC_SPARSE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    STRAIT_SPARSE_CODEC(&strait_sparsifier_threshold),
};
