/* Codecs that send a fixed number of values of each chunk: against their definitions, written down
 * again in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/kit/stable_math.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

/* Encode x and decode it into y. Returns the stream's length, which must be as predicted. */
static size_t pass(float *y, const struct strait_codec_ops *ops, double chunk, double k,
                   double form, const float *x, size_t n, size_t n_rows)
{
    const double params[] = {chunk, k, form};
    const struct strait_request request = {.n_rows = n_rows};
    struct strait_error err = {0};
    void *state;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &state, params, &err), 0);
    const size_t cap = ops->max_bytes(state, n);
    unsigned char *bytes = malloc(cap);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(ops, state, bytes, cap, &len, x, n, request, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(ops->decode(state, y, n, bytes, len, &err), 0);
    CU_ASSERT_EQUAL(strait_codec_predict(ops, state, n, n_rows), len);
    free(bytes);
    ops->close(state);
    return len;
}

/* Whether x[i] is one of the k largest of x[0 ... n - 1], of equal ones the first: by counting. */
static bool is_chosen(const double *x, size_t n, size_t k, size_t i)
{
    size_t n_before = 0;
    for (size_t j = 0; j < n; j++)
        n_before += fabs(x[j]) > fabs(x[i]) || (j < i && fabs(x[j]) == fabs(x[i]));
    return n_before < k;
}

static void chunks(void)
{
    enum { N = 1000, CHUNK = 300, K = 7 };
    float x[N], y[N];
    double chunk[CHUNK];
    make_tensor(x, N, TENSOR_WEIGHTS, 3);
    for (size_t i = 0; i < N; i += 5)
        x[i] = 0.25F; /* ties */
    pass(y, &strait_codec_chunktopk, CHUNK, K, 0, x, N, 0);
    for (size_t lo = 0; lo < N; lo += CHUNK) {
        const size_t n = N - lo < CHUNK ? N - lo : CHUNK;
        for (size_t i = 0; i < n; i++)
            chunk[i] = (double)x[lo + i];
        for (size_t i = 0; i < n; i++)
            CU_ASSERT(y[lo + i] == (is_chosen(chunk, n, K, i) ? x[lo + i] : 0));
    }
}

/* 10000 values are chunks of 4096, 4096 and 1808, 64 of each sent: 192 positions of 12 bits are 288
 * bytes, values 768; or 4 levels and 2 bits each, 16 + 48. A chunk of SparseLoCo's setting takes 64
 * x 14 bits = 112 bytes for 16384, 146 times fewer. Chunks of 300 have 9 bits a position; a last
 * one of 100 has only 100 to send. */
static void chunk_bytes(void)
{
    float *x = malloc(sizeof(float) << 20), *y = malloc(sizeof(float) << 20);
    const struct strait_codec_ops *c = &strait_codec_chunktopk;
    CU_ASSERT_FATAL(x && y);
    make_tensor(x, 1 << 20, TENSOR_WEIGHTS, 1);
    CU_ASSERT_EQUAL(pass(y, c, 4096, 64, 0, x, 10000, 0), 10 + 288 + 768);
    CU_ASSERT_EQUAL(pass(y, c, 4096, 64, 1, x, 10000, 0), 10 + 288 + 16 + 48);
    CU_ASSERT_EQUAL(pass(y, c, 4096, 64, 1, x, 1 << 20, 0), 10 + 16 + 256 * 112);
    CU_ASSERT_EQUAL(pass(y, c, 300, 200, 0, x, 1000, 0), 10 + (700 * 9 + 7) / 8 + 4 * 700);
    CU_ASSERT_EQUAL(pass(y, c, 4096, 64, 0, x, 0, 0), 10);
    free(x);
    free(y);
}

/* Of 5, 4.5, -5, -4.6: mean -0.025, deviation 5.52, bins of 8.28 about it: -12.4 and -4.2 bound the
 * negative ones, which are one bin of mean -4.8; 4.1 and up is the last, of mean 4.75. Of 4, 1, 1,
 * -2: mean 1, deviation 2.45, bins from -4.5, -0.84 and 2.84 on: each value is its own level. */
static void two_bits(void)
{
    const float x[] = {0, 5, 4.5F, -1, -5, 1, 0.5F, -4.6F}, z[] = {1, 4, 1, -2, 0, 0, 0, 0};
    float y[8];
    pass(y, &strait_codec_chunktopk, 8, 4, 1, x, 8, 0);
    for (size_t i = 0; i < 8; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)y[i], fabsf(x[i]) < 4 ? 0 : x[i] > 0 ? 4.75 : -4.8, 1e-6);
    pass(y, &strait_codec_chunktopk, 8, 4, 1, z, 8, 0);
    CU_ASSERT(memcmp(y, z, sizeof(z)) == 0);
    const float same[] = {3, 3, 3, 3}; /* no spread: one bin, its mean */
    pass(y, &strait_codec_chunktopk, 4, 4, 1, same, 4, 0);
    CU_ASSERT(memcmp(y, same, sizeof(same)) == 0);
}

/* --- cosines ------------------------------------------------------------------------------- */

static double cosine(size_t n, size_t k, size_t j)
{
    return sqrt((k > 0 ? 2.0 : 1.0) / (double)n) *
           cos(acos(-1) * (2 * (double)j + 1) * (double)k / (2 * (double)n));
}

/* The block of h x w at x: its k largest coefficients by the definition, back in y. */
static void transform(double *y, const float *x, size_t h, size_t w, size_t stride, size_t k)
{
    double *c = malloc(sizeof(*c) * h * w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    for (size_t a = 0; a < h; a++)
        for (size_t b = 0; b < w; b++) {
            double sum = 0;
            for (size_t i = 0; i < h; i++)
                for (size_t j = 0; j < w; j++)
                    sum += (double)x[i * stride + j] * cosine(h, a, i) * cosine(w, b, j);
            c[a * w + b] = sum;
        }
    memset(y, 0, sizeof(*y) * h * w);
    for (size_t a = 0; a < h * w; a++)
        for (size_t i = 0; i < h * w && is_chosen(c, h * w, k, a); i++)
            y[i] += c[a] * cosine(h, a / w, i / w) * cosine(w, a % w, i % w);
    free(c);
}

/* A matrix of 21 x 13 in blocks of 8: edges of 5. Values are up to 1, sums of 8 or 16 products
 * round by some 1e-6. Coefficients of random values differ by far more, so that the same are
 * chosen. */
static void transforms(void)
{
    enum { ROWS = 21, COLUMNS = 13, SIDE = 8 };
    static const size_t ks[] = {1, 3, 20, 64};
    float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)strait_random_unit(1, "dct", i, 0) - 0.5F;
    for (size_t t = 0; t < sizeof(ks) / sizeof(ks[0]); t++) {
        pass(y, &strait_codec_dcttopk, SIDE, (double)ks[t], 0, x, ROWS * COLUMNS, ROWS);
        for (size_t top = 0; top < ROWS; top += SIDE)
            for (size_t left = 0; left < COLUMNS; left += SIDE) {
                const size_t h = ROWS - top < SIDE ? ROWS - top : SIDE,
                             w = COLUMNS - left < SIDE ? COLUMNS - left : SIDE,
                             first = top * COLUMNS + left;
                double expected[SIDE * SIDE];
                transform(expected, x + first, h, w, COLUMNS, ks[t]);
                for (size_t i = 0; i < h * w; i++)
                    CU_ASSERT_DOUBLE_EQUAL((double)y[first + i / w * COLUMNS + i % w], expected[i],
                                           5e-6);
            }
    }
}

/* A vector: chunks of one row. */
static void vectors(void)
{
    float x[50], y[50];
    double expected[16];
    for (size_t i = 0; i < 50; i++)
        x[i] = (float)strait_random_unit(2, "dct", i, 0) - 0.5F;
    pass(y, &strait_codec_dcttopk, 16, 5, 1, x, 50, 0);
    for (size_t lo = 0; lo < 50; lo += 16) {
        const size_t n = 50 - lo < 16 ? 50 - lo : 16;
        transform(expected, x + lo, 1, n, n, 5);
        for (size_t i = 0; i < n; i++)
            CU_ASSERT_DOUBLE_EQUAL((double)y[lo + i], expected[i], 5e-6);
    }
}

/* One wave is one coefficient: 64 x 64 values come back from one of 4096. */
static void one_wave(void)
{
    enum { N = 64 };
    float *x = malloc(sizeof(float) * N * N), *y = malloc(sizeof(float) * N * N);
    CU_ASSERT_FATAL(x && y);
    for (size_t i = 0; i < N * N; i++)
        x[i] = (float)(100 * cosine(N, 3, i / N) * cosine(N, 50, i % N));
    /* a head, 12 bits in 2 bytes, a coefficient */
    CU_ASSERT_EQUAL(pass(y, &strait_codec_dcttopk, N, 1, 0, x, N * N, N), 14 + 2 + 4);
    for (size_t i = 0; i < N * N; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)y[i], (double)x[i], 1e-5);
    free(x);
    free(y);
}

/* 130 x 70 in blocks of 64: 4096, 384, 4096, 384, 128 and 12 values; 32 of each but the last.
 * DeMo's code sends 8 bytes of position and 4 of coefficient for each. */
static void wave_bytes(void)
{
    float *x = calloc(130 * 70, sizeof(float)), *y = malloc(sizeof(float) * 130 * 70);
    CU_ASSERT_FATAL(x && y);
    const struct strait_codec_ops *c = &strait_codec_dcttopk;
    CU_ASSERT_EQUAL(pass(y, c, 64, 32, 1, x, 130 * 70, 130), 14 + 12 * (5 * 32 + 12));
    CU_ASSERT_EQUAL(pass(y, c, 64, 32, 0, x, 130 * 70, 130), 14 + (172 * 12 + 7) / 8 + 4 * 172);
    /* a vector of 130: 64, 64 and 2 values, positions of 6 bits */
    CU_ASSERT_EQUAL(pass(y, c, 64, 32, 0, x, 130, 0), 14 + (66 * 6 + 7) / 8 + 4 * 66);
    free(x);
    free(y);
}

/* All that is within 2^100 in size is finite after both ways; NaN counts as 0. */
static void wild_values(void)
{
    float x[64 * 3], y[64 * 3];
    for (size_t i = 0; i < 64 * 3; i++)
        x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -3e38F;
    pass(y, &strait_codec_dcttopk, 64, 64 * 3, 0, x, 64 * 3, 64);
    for (size_t i = 0; i < 64 * 3; i++) {
        const double expected = i % 3 == 0 ? 0 : i % 3 == 1 ? 0x1p100 : -0x1p100;
        CU_ASSERT_DOUBLE_EQUAL((double)y[i], expected, 0x1p100 * 1e-5);
    }
}

static void cosines(void)
{
    for (uint64_t b = 1; b < 130; b++)
        for (uint64_t a = 0; a < 9 * b; a++)
            CU_ASSERT_DOUBLE_EQUAL(strait_stable_cos(a, b),
                                   (double)cosl(acosl(-1) / 2 * (long double)a / (long double)b),
                                   3e-16);
    CU_ASSERT(strait_stable_cos(0, 7) == 1 && strait_stable_cos(7, 7) == 0);
}

static const struct strait_test tests[] = {
    {"each chunk sends its largest, of equal ones the first", chunks},
    {"positions take as few bits as a chunk needs", chunk_bytes},
    {"two bits are the means of four bins", two_bits},
    {"the largest coefficients are those of the definition", transforms},
    {"a vector is transformed chunk by chunk", vectors},
    {"a wave is one coefficient", one_wave},
    {"coefficients take the bytes of their blocks", wave_bytes},
    {"values that no transform can hold are held", wild_values},
    {"cosines are those of the library", cosines},
};
STRAIT_SUITE("codecs/sparse/chunks", tests);
