/* dithering: streams by hand, the same values as qsgd draws, bits counted from Elias' definition,
 * and streams that are none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 20000, MAX_BYTES = 8 + 8 * MAX };

static unsigned char bytes[MAX_BYTES];

static size_t encode(const struct strait_codec_ops *ops, const double *params, const float *x,
                     size_t n, uint64_t key)
{
    struct strait_error err = {0};
    size_t len_bytes = 0;
    void *state = calloc(1, ops->state_bytes);
    CU_ASSERT_FATAL(state != NULL);
    ops->init(state, ops, params);
    CU_ASSERT_FATAL(ops->max_bytes(state, n) <= MAX_BYTES);
    CU_ASSERT_EQUAL(
        ops->encode(state, bytes, &len_bytes, x, n, (struct strait_request){.key = key}, &err), 0);
    CU_ASSERT(len_bytes <= ops->max_bytes(state, n));
    ops->close(state);
    return len_bytes;
}

static int decode(const struct strait_codec_ops *ops, float *y, size_t n, size_t len_bytes)
{
    struct strait_error err = {0};
    return ops->decode(NULL, y, n, bytes, len_bytes, &err);
}

/* 0 3 0 -4 0 have the norm 5; five levels are the values themselves. Distances 2, 2 and 2 to the
 * end, omega(2) = 100, omega(3) = 110, omega(4) = 101000:
 *     100 0 110 | 100 1 101000 | 100  =  10001101 00110100 0100(0000)
 * 2 -1 0 have the largest magnitude 2: two levels. omega(1) = 0:
 *     0 0 100 | 0 1 0 | 100  =  00100010 100(00000) */
static void by_hand(void)
{
    static const float x[] = {0, 3, 0, -4, 0}, z[] = {2, -1, 0};
    static const unsigned char of_x[] = {37, 5, 5,    0,    0,    0,    0,   0,
                                         0,  0, 0xa0, 0x40, 0x8d, 0x34, 0x40},
                               of_z[] = {37, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x22, 0x80};
    float y[5];
    size_t len_bytes = encode(&strait_codec_dithering, (double[]){5, 0, 0}, x, 5, 1);
    CU_ASSERT_EQUAL_FATAL(len_bytes, sizeof(of_x));
    CU_ASSERT_EQUAL(memcmp(bytes, of_x, sizeof(of_x)), 0);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes), 0);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
    len_bytes = encode(&strait_codec_dithering, (double[]){2, 0, 1}, z, 3, 1);
    CU_ASSERT_EQUAL_FATAL(len_bytes, sizeof(of_z));
    CU_ASSERT_EQUAL(memcmp(bytes, of_z, sizeof(of_z)), 0);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 3, len_bytes), 0);
    CU_ASSERT_EQUAL(memcmp(z, y, sizeof(z)), 0);
}

/* Bits of omega(n): 1, and for n above 1 those of n and of the code of their number less 1. */
static size_t omega_bits(size_t n)
{
    size_t bits = 1;
    while (n > 1) {
        size_t width = 0;
        while (n >> width > 0)
            width++;
        bits += width;
        n = width - 1;
    }
    return bits;
}

/* Of what qsgd makes of the same values with the same key. */
static size_t bytes_wanted(const float *y, size_t n, size_t bucket, unsigned levels)
{
    size_t bits = 0, n_buckets = 0;
    for (size_t lo = 0; lo < n; lo += bucket, n_buckets++) {
        const size_t end = n - lo < bucket ? n : lo + bucket;
        size_t next = lo;
        const float step = strait_get_float(bytes + 8 + 4 * n_buckets) / (float)levels;
        for (size_t i = lo; i < end; i++)
            if (fabsf(y[i]) > 0) {
                bits +=
                    omega_bits(i + 1 - next) + 1 + omega_bits((size_t)lroundf(fabsf(y[i]) / step));
                next = i + 1;
            }
        bits += omega_bits(end + 1 - next);
    }
    return 8 + 4 * n_buckets + (bits + 7) / 8;
}

static void as_qsgd(void)
{
    static const struct {
        unsigned levels;
        size_t bucket, n;
    } cases[] = {
        {7, 512, 20000}, {1, 512, 511}, {127, 100, 1001}, {32767, 5, 999}, {3, 20000, 20000}};
    static float x[MAX], y[MAX], wanted[MAX];
    struct strait_sequence s = strait_sequence_at(5);
    for (int i = 0; i < MAX; i++) {
        const double u = strait_sequence_unit(&s) - 0.5;
        x[i] = (float)(u * u * u);
    }
    x[17] = NAN;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        const double params[] = {cases[k].levels, (double)cases[k].bucket, 0};
        size_t len_bytes = encode(&strait_codec_qsgd, params, x, cases[k].n, 99);
        CU_ASSERT_EQUAL(decode(&strait_codec_qsgd, wanted, cases[k].n, len_bytes), 0);
        len_bytes = encode(&strait_codec_dithering, params, x, cases[k].n, 99);
        CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, cases[k].n, len_bytes), 0);
        strait_test_context("case %zu", k);
        for (size_t i = 0; i < cases[k].n; i++)
            CU_ASSERT_EQUAL(y[i], wanted[i]);
        CU_ASSERT_EQUAL(len_bytes,
                        bytes_wanted(wanted, cases[k].n, cases[k].bucket, cases[k].levels));
    }
    strait_test_context("%s", "");
}

/* Linear dithering: within a level of the value, at most the largest magnitude. */
static void within_a_level(void)
{
    enum { N = 1000, LEVELS = 10, BUCKET = 64 };
    static float x[N], y[N];
    struct strait_sequence s = strait_sequence_at(8);
    for (int i = 0; i < N; i++)
        x[i] = (float)strait_sequence_unit(&s) - 0.5f;
    const size_t len_bytes =
        encode(&strait_codec_dithering, (double[]){LEVELS, BUCKET, 1}, x, N, 3);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, N, len_bytes), 0);
    for (int i = 0; i < N; i++) {
        float largest = 0;
        for (int k = i / BUCKET * BUCKET; k < N && k < (i / BUCKET + 1) * BUCKET; k++)
            largest = fmaxf(largest, fabsf(x[k]));
        CU_ASSERT(fabsf(y[i] - x[i]) <= largest / LEVELS * 1.00001f);
        CU_ASSERT(fabsf(y[i]) <= largest * 1.00001f);
    }
}

static void refuses(void)
{
    static const float x[] = {0, 3, 0, -4, 0};
    float y[300];
    const size_t len_bytes = encode(&strait_codec_dithering, (double[]){5, 0, 0}, x, 5, 1);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes - 1), -1);
    bytes[len_bytes] = 0;
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes + 1), -1);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 4, len_bytes), -1);
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5 + 256, len_bytes), -1); /* ends early */
    bytes[2] = 3; /* a level of 4 is above */
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes), -1);
    bytes[2] = 5;
    bytes[14] |= 1; /* loose bits */
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes), -1);
    memset(bytes + 12, 0xff, 3); /* numbers without an end */
    CU_ASSERT_EQUAL(decode(&strait_codec_dithering, y, 5, len_bytes), -1);
}

static const struct strait_test tests[] = {
    {"streams are those of the definition by hand", by_hand},
    {"values are those of qsgd, in as many bits as omega takes", as_qsgd},
    {"linear dithering stays within a level", within_a_level},
    {"streams that are none are refused", refuses},
};
STRAIT_SUITE("codecs/quantise/dithering", tests);
