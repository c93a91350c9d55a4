/* signsgd: the sign of each value, n/8 bytes (published: n), decoded to -1 and 1; the majority vote
 * over ranks is the sign of the sum of decoded values. +0 and -0 count as positive, as in the
 * published x >= 0; NaN counts as 0. Wire: the id, then the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "signs.h"

static const struct strait_sign_kernel kernel = {0};

const struct strait_codec_ops strait_codec_signsgd = {
    .name = "signsgd",
    .source = "Bernstein et al. 2018, signSGD",
    .id = 13,
    STRAIT_SIGN_CODEC(&kernel),
};
