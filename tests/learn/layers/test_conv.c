/* Convolutions, pooling and dense layers against their definitions in double precision. Values are
 * uniform in +-1 and sums have at most 300 terms, so float32 rounds a sum by at most about
 * 300 x 2^-24 x its absolute terms; 1e-4 is ample and a wrong index gives errors of 0.1. */
#include "learn/layers/conv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/layers/dense.h"
#include "tests/kit/suite.h"

#define NEAR 1e-4

static float *draw(size_t n, uint64_t what)
{
    float *x = malloc(n * sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(2 * strait_random_unit(3, "layers", what, i) - 1);
    return x;
}

/* Which element of x the output pixel (oy, ox) reads at (ky, kx) of channel i, or -1: padding. */
static long reads(const struct learn_conv *c, size_t i, size_t oy, size_t ox, size_t ky, size_t kx)
{
    const long y = (long)(oy * c->stride + ky) - (long)c->pad;
    const long x = (long)(ox * c->stride + kx) - (long)c->pad;
    if (y < 0 || x < 0 || y >= (long)c->height || x >= (long)c->width)
        return -1;
    return ((long)i * (long)c->height + y) * (long)c->width + x;
}

static const struct learn_conv shapes[] = {
    {1, 28, 28, 16, 3, 1, 1}, {16, 14, 14, 32, 3, 1, 1}, {3, 8, 6, 5, 3, 2, 1},
    {3, 7, 9, 4, 1, 2, 0},    {2, 9, 9, 3, 5, 1, 2},     {2, 6, 6, 3, 3, 1, 0},
    {1, 5, 5, 2, 5, 3, 2},
};

/* For every term of the definition y_o += w_oikk x: forward sums it into y, and the gradients of
 * sum(y dy) by w and x take dy x and dy w. */
static void convolution(const struct learn_conv *c)
{
    const size_t oh = (c->height + 2 * c->pad - c->kernel) / c->stride + 1;
    const size_t ow = (c->width + 2 * c->pad - c->kernel) / c->stride + 1;
    const size_t n_x = c->in * c->height * c->width, n_y = c->out * oh * ow;
    const size_t n_w = c->out * c->in * c->kernel * c->kernel;
    CU_ASSERT_EQUAL_FATAL(learn_conv_height(c), oh);
    CU_ASSERT_EQUAL_FATAL(learn_conv_width(c), ow);
    float *x = draw(n_x, 1), *w = draw(n_w, 2), *bias = draw(c->out, 3), *dy = draw(n_y, 4);
    float *y = draw(n_y, 5), *dx = draw(n_x, 6), *dw = draw(n_w, 7), *dbias = draw(c->out, 8);
    float *room = draw(learn_conv_room(c), 9);
    double *ry = calloc(n_y, 8), *rx = calloc(n_x, 8), *rw = calloc(n_w, 8),
           *rbias = calloc(c->out, 8);
    for (size_t j = 0; j < n_w; j++)
        rw[j] = dw[j]; /* gradients of weights are added */
    for (size_t o = 0, p = 0; o < c->out; o++) {
        rbias[o] = dbias[o];
        for (size_t oy = 0; oy < oh; oy++)
            for (size_t ox = 0; ox < ow; ox++, p++) {
                ry[p] = bias[o];
                rbias[o] += dy[p];
                size_t at = o * c->in * c->kernel * c->kernel;
                for (size_t i = 0; i < c->in; i++)
                    for (size_t ky = 0; ky < c->kernel; ky++)
                        for (size_t kx = 0; kx < c->kernel; kx++, at++) {
                            const long from = reads(c, i, oy, ox, ky, kx);
                            if (from < 0)
                                continue;
                            ry[p] += (double)w[at] * x[from];
                            rw[at] += (double)dy[p] * x[from];
                            rx[from] += (double)dy[p] * w[at];
                        }
            }
    }
    learn_conv_forward(y, x, w, bias, c, room);
    learn_conv_back(dx, dw, dbias, dy, x, w, c, room);
    double worst = 0;
    for (size_t j = 0; j < n_y; j++)
        worst = fmax(worst, fabs(y[j] - ry[j]));
    for (size_t j = 0; j < n_w; j++)
        worst = fmax(worst, fabs(dw[j] - rw[j]));
    for (size_t j = 0; j < n_x; j++)
        worst = fmax(worst, fabs(dx[j] - rx[j]));
    for (size_t j = 0; j < c->out; j++)
        worst = fmax(worst, fabs(dbias[j] - rbias[j]));
    CU_ASSERT_DOUBLE_EQUAL(worst, 0, NEAR);
    learn_conv_forward(y, x, w, NULL, c, room);
    for (size_t j = 0; j < n_y; j++)
        worst = fmax(worst, fabs(y[j] + bias[j / (oh * ow)] - ry[j]));
    CU_ASSERT_DOUBLE_EQUAL(worst, 0, NEAR);
    void *all[] = {x, w, bias, dy, y, dx, dw, dbias, room, ry, rx, rw, rbias};
    for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
        free(all[j]);
}

static void convolutions(void)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        strait_test_context("shape %zu", i);
        convolution(&shapes[i]);
    }
}

/* Every square of 2 x 2 by hand, also with ties (the first counts) and with an odd half width. */
static void pooling(void)
{
    enum { CHANNELS = 3, HEIGHT = 6, WIDTH = 14, N = CHANNELS * HEIGHT * WIDTH };
    float *x = draw(N, 1), *dy = draw(N / 4, 2), y[N / 4], dx[N];
    int which[N / 4];
    for (size_t i = 0; i < N; i++)
        x[i] = roundf(2 * x[i]); /* ties */
    learn_pool(y, which, x, CHANNELS, HEIGHT, WIDTH);
    learn_pool_back(dx, dy, which, CHANNELS, HEIGHT, WIDTH);
    for (size_t i = 0; i < N / 4; i++) {
        const size_t row = i / (WIDTH / 2), column = i % (WIDTH / 2);
        const size_t corner = 2 * row * WIDTH + 2 * column;
        const size_t at[] = {corner, corner + 1, corner + WIDTH, corner + WIDTH + 1};
        size_t best = 0;
        for (size_t j = 1; j < 4; j++)
            if (x[at[j]] > x[at[best]])
                best = j;
        CU_ASSERT_EQUAL(y[i], x[at[best]]);
        for (size_t j = 0; j < 4; j++)
            CU_ASSERT_EQUAL(dx[at[j]], j == best ? dy[i] : 0);
    }
    free(x);
    free(dy);
}

static void dense(void)
{
    enum { N = 5, IN = 37, OUT = 11 };
    float *x = draw(N * IN, 1), *w = draw(OUT * IN, 2), *bias = draw(OUT, 3),
          *dy = draw(N * OUT, 4);
    float *dw = draw(OUT * IN, 5), *dbias = draw(OUT, 6), y[N * OUT], dx[N * IN];
    float first_w[OUT * IN], first_bias[OUT];
    memcpy(first_w, dw, sizeof(first_w));
    memcpy(first_bias, dbias, sizeof(first_bias));
    learn_dense_forward(y, x, w, bias, N, IN, OUT);
    learn_dense_back(dx, dw, dbias, dy, x, w, N, IN, OUT);
    for (size_t b = 0; b < N; b++)
        for (size_t o = 0; o < OUT; o++) {
            double sum = bias[o];
            for (size_t i = 0; i < IN; i++)
                sum += (double)w[o * IN + i] * x[b * IN + i];
            CU_ASSERT_DOUBLE_EQUAL(y[b * OUT + o], sum, NEAR);
        }
    for (size_t o = 0; o < OUT; o++) {
        double of_bias = first_bias[o];
        for (size_t b = 0; b < N; b++)
            of_bias += dy[b * OUT + o];
        CU_ASSERT_DOUBLE_EQUAL(dbias[o], of_bias, NEAR);
        for (size_t i = 0; i < IN; i++) {
            double sum = first_w[o * IN + i];
            for (size_t b = 0; b < N; b++)
                sum += (double)dy[b * OUT + o] * x[b * IN + i];
            CU_ASSERT_DOUBLE_EQUAL(dw[o * IN + i], sum, NEAR);
        }
    }
    for (size_t b = 0; b < N; b++)
        for (size_t i = 0; i < IN; i++) {
            double sum = 0;
            for (size_t o = 0; o < OUT; o++)
                sum += (double)dy[b * OUT + o] * w[o * IN + i];
            CU_ASSERT_DOUBLE_EQUAL(dx[b * IN + i], sum, NEAR);
        }
    float *all[] = {x, w, bias, dy, dw, dbias};
    for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
        free(all[j]);
}

/* Two rows by hand: (0, ln 2, ln 5) has the softmax (1, 2, 5) / 8, so label 1 costs ln 4 and label
 * 2 costs ln(8/5); a thousand more on every value changes nothing. */
static void cross_entropy(void)
{
    float x[] = {0, (float)log(2), (float)log(5), 1000, (float)(1000 + log(2)), 1000};
    const unsigned char labels[] = {1, 1};
    size_t right = 0;
    const double loss = learn_softmax_loss(x, labels, 2, 3, 4, &right);
    CU_ASSERT_DOUBLE_EQUAL(loss, log(4) + log(2), 1e-4); /* 1000.69 is rounded by 3e-5 */
    static const double expected[] = {1, 2 - 8, 5};
    for (size_t j = 0; j < 3; j++) {
        CU_ASSERT_DOUBLE_EQUAL(x[j], expected[j] / 8 / 4, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(x[3 + j], (j == 1 ? 0.5 - 1 : 0.25) / 4, 1e-5);
    }
    CU_ASSERT_EQUAL(right, 1); /* of the second row alone */
    float ties[] = {2, 2, 1};
    right = 0;
    learn_softmax_loss(ties, labels, 1, 3, 1, &right);
    CU_ASSERT_EQUAL(right, 0);
    float lost[] = {NAN, 1, 2};
    CU_ASSERT_TRUE(isnan(learn_softmax_loss(lost, labels, 1, 3, 1, &right)));
    float beyond[] = {INFINITY, 1, 2};
    CU_ASSERT_FALSE(isfinite(learn_softmax_loss(beyond, labels, 1, 3, 1, &right)));
}

static void relu(void)
{
    float y[] = {-1, 0, 2, -0.0f, NAN}, dy[] = {3, 4, 5, 6, 7};
    learn_relu(y, 5);
    CU_ASSERT_EQUAL(y[0], 0);
    CU_ASSERT_EQUAL(y[1], 0);
    CU_ASSERT_EQUAL(y[2], 2);
    CU_ASSERT_TRUE(isnan(y[4]));
    learn_relu_back(dy, y, 5);
    CU_ASSERT_EQUAL(dy[0], 0);
    CU_ASSERT_EQUAL(dy[1], 0);
    CU_ASSERT_EQUAL(dy[2], 5);
    CU_ASSERT_EQUAL(dy[3], 0);
    CU_ASSERT_EQUAL(dy[4], 7);
}

/* K-FAC's factors from their definitions: a sums patches (with a last 1) over pixels, g takes the
 * mean over pixels; dy is of the mean loss over n = 4, so an example's own is 4 dy. */
static void factors(void)
{
    const struct learn_conv c = {2, 5, 4, 3, 3, 1, 1};
    enum { K = 18, P = 20, OUT = 3, SIDE = K + 1 };
    float *patches = draw(K * P, 1), *dy = draw(OUT * P, 2);
    float a[SIDE * SIDE] = {0}, g[OUT * OUT] = {0};
    float plain[K * K] = {0}, plain_g[OUT * OUT] = {0};
    const struct learn_factors both = {SIDE, OUT, true, a, g},
                               without = {K, OUT, false, plain, plain_g};
    learn_conv_add_factors(&both, dy, patches, &c, 4);
    learn_conv_add_factors(&both, dy, patches, &c, 4);
    learn_conv_add_factors(&without, dy, patches, &c, 4);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            double sum = 0;
            for (size_t p = 0; p < P; p++)
                sum += (i == K ? 1 : (double)patches[i * P + p]) *
                       (j == K ? 1 : (double)patches[j * P + p]);
            CU_ASSERT_DOUBLE_EQUAL(a[i * SIDE + j], 2 * sum / 4, NEAR);
            if (i < K && j < K) /* of a layer without a bias */
                CU_ASSERT_DOUBLE_EQUAL(plain[i * K + j], sum / 4, NEAR);
        }
    for (size_t i = 0; i < OUT; i++)
        for (size_t j = 0; j < OUT; j++) {
            double sum = 0;
            for (size_t p = 0; p < P; p++)
                sum += 4.0 * dy[i * P + p] * 4.0 * dy[j * P + p];
            CU_ASSERT_DOUBLE_EQUAL(g[i * OUT + j], 2 * sum / P / 4, NEAR);
        }
    free(patches);
    free(dy);
}

static void moments(void)
{
    enum { N = 6, D = 4 };
    float *x = draw(N * D, 1), sum[(D + 1) * (D + 1)] = {0};
    learn_add_moments(sum, x, N, D, 1, 0.5f);
    for (size_t i = 0; i <= D; i++)
        for (size_t j = 0; j <= D; j++) {
            double expected = 0;
            for (size_t b = 0; b < N; b++)
                expected +=
                    0.5 * (i == D ? 1 : (double)x[b * D + i]) * (j == D ? 1 : (double)x[b * D + j]);
            CU_ASSERT_DOUBLE_EQUAL(sum[i * (D + 1) + j], expected, NEAR);
        }
    free(x);
}

static const struct strait_test tests[] = {
    {"convolutions and their gradients are their definitions", convolutions},
    {"pooling takes the first maximum and gives it the gradient", pooling},
    {"dense layers and their gradients are their definitions", dense},
    {"the loss is the cross entropy, whatever the size of its inputs", cross_entropy},
    {"ReLU lets gradients through where it let values through", relu},
    {"convolutions have the factors of Grosse and Martens", factors},
    {"dense layers have theirs, with the bias", moments},
};
STRAIT_SUITE("learn/layers/conv", tests);
