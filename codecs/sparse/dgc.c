/* dgc: Deep Gradient Compression as a codec: the values above a threshold found on a sample of 1 %
 * (dgc.h). Published (GRACE): 8k' + 4k' bytes behind a head of 10, k' usually within 30 % of n
 * ratio; "published" has 32-bit indices. Sizes differ between ranks: the exchange of sizes before
 * the all-gather, and the all-reduce of one number for clipping, are done by the strategy. Zeros,
 * which the published rule sends if more than 1 - ratio of a tensor is 0, are left out, since they
 * decode to 0 anyway. NaN and infinities are always sent, bit by bit. */
#include "codecs/builtin.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"ratio", "share of the values that is sent, about", .max = 1, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices, or 64-bit ones", .max = 2,
     .choices = strait_sparse_three_payloads},
};

const struct strait_codec_ops strait_codec_dgc = {
    .name = "dgc",
    .source = "Lin et al. 2018, section 3; sampling and payload as in GRACE (Xu et al. 2021)",
    .id = 10,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC,
    STRAIT_PARAMS(params),
    .memory = {.residual = true, .momentum = 0.9},
    STRAIT_SPARSE_CODEC(&strait_sparsifier_dgc),
};
