/* onebit: the sign of each value and the means of the negative and of the other values, to which
 * they decode; n/8 + 8 bytes (published: n + 8). The two means minimise the squared error for these
 * bits. Here one pair of means a tensor, where Seide et al. have one a column of the matrix. The
 * mean of no values is 0. A value that is not finite counts as 0 in its mean; an infinity keeps its
 * sign, NaN is positive. Wire: the id, the mean below 0, the other mean, the signs (signs.h). */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "signs.h"

static float mean_of(double sum, size_t n)
{
    return n > 0 ? (float)(sum / (double)n) : 0;
}

static void means_of(float *means, const float *x, size_t n_elems)
{
    const struct strait_sign_sums sums = strait_sign_sums_of(x, n_elems);
    means[0] = -mean_of(sums.negative, sums.n_negative);
    means[1] = mean_of(sums.positive, n_elems - sums.n_negative);
}

static const struct strait_sign_kernel kernel = {.n_scales = 2, .scales_of = means_of};

const struct strait_codec_ops strait_codec_onebit = {
    .name = "onebit",
    .source = "Seide et al. 2014, 1-bit SGD",
    .id = 16,
    .memory = {.residual = true},
    STRAIT_SIGN_CODEC(&kernel),
};
