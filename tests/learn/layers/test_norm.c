/* LayerNorm and GroupNorm against their formulas in double precision, and the sums and exponentials
 * that they and attention are made of. */
#include "learn/layers/norm.h"
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "learn/layers/float_lanes.h"
#include "tests/kit/suite.h"

enum { MAX = 4096 };

/* Groups of one form: `count` groups, each of `size` channels of `pixels`, with gaps between. */
struct form {
    size_t n, channels, pixels, groups, image, channel;
};
static const struct form by_image = {3, 6, 35, 2, 6 * 35, 35}, by_channel = {4, 8, 20, 4, 20, 80},
                         one_group = {2, 5, 16, 1, 5 * 18, 18};

static float drawn(const char *what, size_t i)
{
    return (float)(2 * strait_random_unit(5, what, i, 0) - 1);
}

static size_t at(const struct form *f, size_t b, size_t c, size_t p)
{
    return b * f->image + c * f->channel + p;
}

/* sum of weights x norm(x), by the definition. */
static double loss_of(const struct form *f, const double *x, const double *scale,
                      const double *bias, const float *weights)
{
    const size_t size = f->channels / f->groups;
    const double count = (double)(size * f->pixels);
    double loss = 0;
    for (size_t b = 0; b < f->n; b++)
        for (size_t g = 0; g < f->groups; g++) {
            double mean = 0, variance = 0;
            for (size_t c = g * size; c < (g + 1) * size; c++)
                for (size_t p = 0; p < f->pixels; p++)
                    mean += x[at(f, b, c, p)] / count;
            for (size_t c = g * size; c < (g + 1) * size; c++)
                for (size_t p = 0; p < f->pixels; p++)
                    variance += pow(x[at(f, b, c, p)] - mean, 2) / count;
            for (size_t c = g * size; c < (g + 1) * size; c++)
                for (size_t p = 0; p < f->pixels; p++)
                    loss +=
                        (double)weights[at(f, b, c, p)] *
                        ((x[at(f, b, c, p)] - mean) / sqrt(variance + 1e-5) * scale[c] + bias[c]);
        }
    return loss;
}

static double slope(const struct form *f, double *x, double *scale, double *bias,
                    const float *weights, double *of)
{
    const double before = *of, step = 1e-5;
    *of = before + step;
    const double above = loss_of(f, x, scale, bias, weights);
    *of = before - step;
    const double below = loss_of(f, x, scale, bias, weights);
    *of = before;
    return (above - below) / (2 * step);
}

/* Sums of some hundred floats of about 1: 6e-8 each, 2e-5 with room to spare. */
static void check_group_norm(const struct form *f)
{
    static float x[MAX], y[MAX], unit[MAX], over[64], dy[MAX], dx[MAX];
    static double x_[MAX];
    float scale[8], bias[8], dscale[8], dbias[8];
    double scale_[8], bias_[8], sum = 0;
    const struct learn_images images = {f->n, f->channels, f->pixels, f->image, f->channel};
    memset(y, 0, sizeof(y));
    for (size_t i = 0; i < MAX; i++) {
        x_[i] = (double)(x[i] = 3 * drawn("x", i) + 1);
        dy[i] = drawn("dy", i);
        dx[i] = 7;
    }
    for (size_t c = 0; c < f->channels; c++) {
        scale_[c] = (double)(scale[c] = 1 + drawn("scale", c));
        bias_[c] = (double)(bias[c] = drawn("bias", c));
        dscale[c] = 2;
        dbias[c] = 3;
    }
    learn_group_norm(y, unit, over, x, scale, bias, &images, f->groups);
    for (size_t i = 0; i < MAX; i++)
        sum += (double)y[i] * (double)dy[i];
    CU_ASSERT_DOUBLE_EQUAL(sum, loss_of(f, x_, scale_, bias_, dy), 2e-5);
    learn_group_norm_back(dx, dscale, dbias, dy, unit, over, scale, &images, f->groups);
    for (size_t b = 0; b < f->n; b++)
        for (size_t c = 0; c < f->channels; c++) {
            for (size_t p = 0; p < f->pixels; p++)
                CU_ASSERT_DOUBLE_EQUAL(dx[at(f, b, c, p)],
                                       slope(f, x_, scale_, bias_, dy, &x_[at(f, b, c, p)]), 2e-5);
            if (f->channel > f->pixels && b + 1 == f->n && c + 1 == f->channels)
                CU_ASSERT_EQUAL(dx[at(f, b, c, f->pixels)], 7);
        }
    for (size_t c = 0; c < f->channels; c++) {
        CU_ASSERT_DOUBLE_EQUAL(dscale[c] - 2, slope(f, x_, scale_, bias_, dy, &scale_[c]), 2e-5);
        CU_ASSERT_DOUBLE_EQUAL(dbias[c] - 3, slope(f, x_, scale_, bias_, dy, &bias_[c]), 2e-5);
    }
}

static void groups_of_images_in_a_row(void)
{
    check_group_norm(&by_image);
}

static void groups_of_channels_in_a_row(void)
{
    check_group_norm(&by_channel);
}

static void one_group_with_gaps(void)
{
    check_group_norm(&one_group);
}

/* LayerNorm of rows is GroupNorm of images with one pixel and one group. */
static void rows_are_groups(void)
{
    enum { N = 5, D = 21 };
    const struct learn_images images = {N, D, 1, D, 1};
    float x[N * D], dy[N * D], scale[D], bias[D], y[2][N * D], unit[2][N * D], over[2][N];
    float dx[2][N * D], dscale[2][D] = {{0}}, dbias[2][D] = {{0}};
    for (size_t i = 0; i < N * D; i++) {
        x[i] = drawn("x", i);
        dy[i] = drawn("dy", i);
        dx[1][i] = 0.5f;
    }
    for (size_t j = 0; j < D; j++) {
        scale[j] = 1 + drawn("scale", j);
        bias[j] = drawn("bias", j);
    }
    learn_group_norm(y[0], unit[0], over[0], x, scale, bias, &images, 1);
    learn_layer_norm(y[1], unit[1], over[1], x, scale, bias, N, D);
    learn_group_norm_back(dx[0], dscale[0], dbias[0], dy, unit[0], over[0], scale, &images, 1);
    learn_layer_norm_back(dx[1], dscale[1], dbias[1], dy, unit[1], over[1], scale, N, D, 1);
    for (size_t i = 0; i < N * D; i++) {
        CU_ASSERT_DOUBLE_EQUAL(y[1][i], y[0][i], 2e-6);
        CU_ASSERT_DOUBLE_EQUAL(dx[1][i] - 0.5f, dx[0][i], 5e-6);
    }
    learn_layer_norm_back(dx[1], dscale[1], dbias[1], dy, unit[1], over[1], scale, N, D, 0);
    for (size_t i = 0; i < N * D; i++)
        CU_ASSERT_DOUBLE_EQUAL(dx[1][i], dx[0][i], 5e-6);
    for (size_t j = 0; j < D; j++) {
        CU_ASSERT_DOUBLE_EQUAL(dscale[1][j], 2 * dscale[0][j], 5e-6);
        CU_ASSERT_DOUBLE_EQUAL(dbias[1][j], 2 * dbias[0][j], 5e-6);
    }
}

/* Integers below 2^24 add exactly in any order. */
static void sums_of_any_length(void)
{
    float x[70], y[70];
    for (size_t n = 0; n <= 70; n++) {
        double sum = 0, dot = 0, squares = 0, most = -100;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)((i * 37 + n) % 41) - 20;
            y[i] = (float)(i % 7);
            sum += (double)x[i];
            dot += (double)x[i] * (double)y[i];
            squares += ((double)x[i] - 3) * ((double)x[i] - 3);
            most = fmax(most, (double)x[i]);
        }
        strait_test_context("n=%zu", n);
        CU_ASSERT_EQUAL(learn_sum(x, n), sum);
        CU_ASSERT_EQUAL(learn_dot(x, y, n), dot);
        CU_ASSERT_EQUAL(learn_squares(x, 3, n), squares);
        if (n > 0)
            CU_ASSERT_EQUAL(learn_largest(x, n), most);
    }
}

/* Two units in the last place: 2^-23 each. */
static void exponentials(void)
{
    for (double x = -64; x <= 64; x += 0.00137) {
        const double expected = exp((double)(float)x);
        CU_ASSERT_DOUBLE_EQUAL(learn_exp((float)x), expected, expected * 2 * 0x1p-23);
    }
    CU_ASSERT_EQUAL(learn_exp(0), 1);
    CU_ASSERT_EQUAL(learn_exp(1e30f), learn_exp(64));
    CU_ASSERT_EQUAL(learn_exp(-INFINITY), learn_exp(-64));
    CU_ASSERT(isnan(learn_exp(NAN)));
}

static const struct strait_test tests[] = {
    {"GroupNorm and its gradient, image by image", groups_of_images_in_a_row},
    {"GroupNorm and its gradient, channel by channel", groups_of_channels_in_a_row},
    {"GroupNorm leaves what lies between channels", one_group_with_gaps},
    {"LayerNorm is GroupNorm of one pixel", rows_are_groups},
    {"sums of any length", sums_of_any_length},
    {"exponentials to two units in the last place", exponentials},
};
STRAIT_SUITE("learn/layers/norm", tests);
