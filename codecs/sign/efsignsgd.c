/* efsignsgd: signs and the mean magnitude s = ||x||_1 / n, decoded to -s and s; n/8 + 4 bytes
 * (published: n + 4). With error feedback it converges where plain signs may not. Its squared error
 * is ||x||_2^2 - ||x||_1^2 / n. A value that is not finite counts as 0 in s; an infinity keeps its
 * sign, NaN is positive. Wire: the id, s as a float, the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "signs.h"

static void scale_of(float *scale, const float *x, size_t n_elems)
{
    const struct strait_sign_sums sums = strait_sign_sums_of(x, n_elems);
    const double total = sums.negative + sums.positive;
    *scale = n_elems > 0 ? (float)(total / (double)n_elems) : 0;
}

static const struct strait_sign_kernel kernel = {.n_scales = 1, .scales_of = scale_of};

const struct strait_codec_ops strait_codec_efsignsgd = {
    .name = "efsignsgd",
    .source = "Karimireddy et al. 2019, EF-signSGD",
    .id = 15,
    .memory = {.residual = true},
    STRAIT_SIGN_CODEC(&kernel),
};
