/* sdp4bit against its definition: bytes, decoding by the matrix of Hadamard's transform, the mean
 * of many draws, and the smaller error where one value stands out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 5000, MAX_BYTES = 8 + 5 * (MAX + 1024) };

static const struct strait_codec_ops *const ops = &strait_codec_sdp4bit;

struct coded {
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len_bytes;
};

static void encode(struct coded *c, double bits, double block, double levels, const float *x,
                   size_t n, uint64_t key)
{
    const double params[] = {bits, block, levels};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &c->state, params, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(ops, c->state, c->bytes, sizeof(c->bytes),
                                              &c->len_bytes, x, n,
                                              (struct strait_request){.key = key}, NULL),
                          0);
}

static void numbers(float *x, size_t n, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(strait_sequence_unit(&s) + strait_sequence_unit(&s) - 1);
}

/* 8 + 4 a block + bits / 8 a value, values filled up to 32: of 1000 values 1024, 8 blocks of 128:
 * 8 + 32 + 512 = 552, 4.4 bits; of 4096 in blocks of 2048 8 + 8 + 2048, 4.03. */
static void bytes(void)
{
    static float x[MAX];
    static struct coded c;
    static const struct {
        double bits, block, levels;
        size_t n, len_bytes;
    } cases[] = {{4, 128, 5, 1000, 552},  {4, 2048, 0, 4096, 2064},
                 {8, 128, 5, 1024, 1064}, {4, 100, 5, 256, 8 + 8 + 128},
                 {3, 7, 0, 9, 8 + 8 + 4}, {4, 128, 5, 1, 28},
                 {4, 128, 5, 0, 8}};
    numbers(x, MAX, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        encode(&c, cases[i].bits, cases[i].block, cases[i].levels, x, cases[i].n, 1);
        CU_ASSERT_EQUAL(c.len_bytes, cases[i].len_bytes);
        ops->close(c.state);
    }
}

/* Whether a bit count is odd: the sign of H[i][k] is that of i & k. */
static double sign_at(unsigned i, unsigned k)
{
    return __builtin_popcount(i & k) % 2 ? -1 : 1;
}

/* Codes read from the bytes, times their units, times the matrix: what decode gives. Each code is
 * within one unit of the transformed value, computed by the matrix too. */
static void by_definition(void)
{
    enum { N = 1000, RUN = 32, BLOCK = 128, SIZE = 1024 };
    static float x[N], y[N];
    static double v[SIZE];
    static struct coded c;
    numbers(x, N, 2);
    encode(&c, 4, BLOCK, 5, x, N, 3);
    CU_ASSERT_EQUAL(ops->decode(c.state, y, N, c.bytes, c.len_bytes, NULL), 0);
    for (unsigned i = 0; i < SIZE; i++) {
        const unsigned char byte = c.bytes[8 + 4 * (SIZE / BLOCK) + i / 2];
        const int code = i % 2 ? byte >> 4 : byte & 15;
        const double unit = (double)strait_get_float(c.bytes + 8 + 4 * (i / BLOCK));
        double want = 0;
        for (unsigned k = 0; k < RUN; k++) {
            const unsigned at = i / RUN * RUN + k;
            want += at < N ? sign_at(i % RUN, k) * (double)x[at] / RUN : 0;
        }
        v[i] = (code < 8 ? code : code - 16) * unit;
        CU_ASSERT(code != 8 && fabs(v[i] - want) <= unit * 1.0001);
    }
    for (unsigned i = 0; i < N; i++) {
        double want = 0;
        for (unsigned k = 0; k < RUN; k++)
            want += sign_at(i % RUN, k) * v[i / RUN * RUN + k];
        CU_ASSERT_DOUBLE_EQUAL(y[i], want, 1e-5);
    }
    ops->close(c.state);
}

static double error_of(double levels, const float *x, size_t n, uint64_t n_keys)
{
    static float y[MAX];
    static struct coded c;
    double squares = 0;
    for (uint64_t key = 0; key < n_keys; key++) {
        encode(&c, 4, 128, levels, x, n, key);
        CU_ASSERT_EQUAL(ops->decode(c.state, y, n, c.bytes, c.len_bytes, NULL), 0);
        for (size_t i = 0; i < n; i++)
            squares += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
        ops->close(c.state);
    }
    return squares / (double)n_keys;
}

/* One value of 1 in each block of 128 that are else t at +-0.005: without the transform the unit is
 * 1 / 7, and a small one becomes it with probability 0.035: variance 0.005 / 7 a value in all. With
 * it the 32 values of its run are about 1 / 32 each and the others' +-0.005 / 5.7: the unit is
 * about (1 / 32 + some) / 7, and the drawn error of 128 values 32 of at most a quarter of its
 * square each, in the sum over a block less than 128 x 32 / 4 (0.035 / 7)^2 = 0.026; without it
 * 128 x 0.005 / 7 = 0.091. */
static void outliers(void)
{
    enum { N = 4096 };
    static float x[N];
    struct strait_sequence s = strait_sequence_at(4);
    for (size_t i = 0; i < N; i++)
        x[i] = i % 128 == 77 ? 1 : strait_sequence_next(&s) >> 63 ? 0.005f : -0.005f;
    const double without = error_of(0, x, N, 20), with = error_of(5, x, N, 20);
    CU_ASSERT_DOUBLE_EQUAL(without / (N / 128), 127 * (0.005 / 7 - 0.005 * 0.005), 0.01);
    CU_ASSERT_AT_MOST(with / (N / 128), 0.026);
}

static const struct strait_test tests[] = {
    {"a code a value, filled up to whole runs, and a unit a block", bytes},
    {"a stream decodes to its numbers times Hadamard's matrix", by_definition},
    {"the transform makes errors smaller where a value stands out", outliers},
};
STRAIT_SUITE("codecs/quantise/sdp4bit", tests);
