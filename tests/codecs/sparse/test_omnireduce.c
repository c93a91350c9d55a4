/* omnireduce against its definition: which blocks are sent, their bytes by arithmetic, sums of
 * encoded tensors, and streams that are none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 3000, MAX_BYTES = 11 + 4 * MAX + 4 * MAX };

struct coder {
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len_bytes;
};

static const struct strait_codec_ops *const ops = &strait_codec_omnireduce;

static void encode(struct coder *c, double block, double ratio, const float *x, size_t n)
{
    const double params[] = {block, ratio};
    struct strait_error err = {0};
    c->state = calloc(1, ops->state_bytes);
    CU_ASSERT_FATAL(c->state != NULL);
    ops->init(c->state, ops, params);
    CU_ASSERT(ops->max_bytes(c->state, n) <= MAX_BYTES);
    CU_ASSERT_EQUAL_FATAL(
        ops->encode(c->state, c->bytes, &c->len_bytes, x, n, (struct strait_request){0}, &err), 0);
}

static void decode(struct coder *c, float *y, size_t n)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(ops->decode(c->state, y, n, c->bytes, c->len_bytes, &err), 0);
}

/* A tensor whose block i of `block` values is 0 unless bit i of `blocks` is set. */
static void fill(float *x, size_t n, size_t block, unsigned long blocks, uint64_t key)
{
    struct strait_sequence s = strait_sequence_at(key);
    for (size_t i = 0; i < n; i++) {
        const float v = (float)strait_sequence_unit(&s) - 0.5f;
        x[i] = blocks >> i / block & 1 ? v : 0;
    }
}

/* Blocks 0, 3 and 5 of 23 values in blocks of 4: the last one has three. 11 bytes, three numbers
 * and 4 + 4 + 3 values. A single value other than 0 is enough. */
static void sends_blocks_with_values(void)
{
    float x[23] = {0}, y[23];
    struct coder c;
    x[2] = 1e-45f;
    x[13] = -3;
    x[22] = NAN;
    encode(&c, 4, 1, x, 23);
    CU_ASSERT_EQUAL(c.len_bytes, 11 + 3 * 4 + 11 * 4);
    CU_ASSERT_EQUAL(c.bytes[0], 36);
    CU_ASSERT_EQUAL(strait_get16(c.bytes + 1), 4);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 3), 23);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 7), 3);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 11), 0);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 15), 3);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 19), 5);
    CU_ASSERT_EQUAL(strait_get_float(c.bytes + 23 + 4 * 5), -3);
    decode(&c, y, 23);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
    ops->close(c.state);
}

static void zeros_are_a_head(void)
{
    float x[100] = {0}, y[100];
    struct coder c;
    encode(&c, 8, 1, x, 100);
    CU_ASSERT_EQUAL(c.len_bytes, 11);
    decode(&c, y, 100);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
    ops->close(c.state);
}

/* A share of the blocks: those for which fewer than k have a larger norm, or the same and come
 * before. 2999 values in blocks of 64: 46 and a last one of 55; a quarter of 47 is 11. */
static void share_is_of_the_largest(void)
{
    enum { N = 2999, BLOCK = 64, BLOCKS = 47, K = 11 };
    static float x[N], y[N];
    double norm[BLOCKS] = {0};
    size_t n_values = 0;
    struct coder c;
    fill(x, N, BLOCK, ~0ul, 7);
    for (int i = 20 * BLOCK; i < 21 * BLOCK; i++) /* a copy: the same norm, behind */
        x[i] = x[i - 10 * BLOCK];
    for (int i = 0; i < N; i++)
        norm[i / BLOCK] += (double)x[i] * (double)x[i];
    encode(&c, BLOCK, 0.25, x, N);
    decode(&c, y, N);
    for (int b = 0; b < BLOCKS; b++) {
        const int here = b < BLOCKS - 1 ? BLOCK : N - b * BLOCK;
        int before = 0;
        for (int other = 0; other < BLOCKS; other++)
            before += (float)sqrt(norm[other]) > (float)sqrt(norm[b]) ||
                      (other < b && (float)sqrt(norm[other]) >= (float)sqrt(norm[b]));
        n_values += before < K ? (size_t)here : 0;
        for (int i = b * BLOCK; i < b * BLOCK + here; i++)
            CU_ASSERT_EQUAL(y[i], before < K ? x[i] : 0);
    }
    CU_ASSERT_EQUAL(c.len_bytes, 11 + 4 * K + 4 * n_values);
    ops->close(c.state);
}

/* The sum has the blocks of either, and their sums as floats. */
static void sums_are_merged(void)
{
    enum { N = 1000, BLOCK = 32 };
    static const unsigned long sets[][2] = {
        {0x5ul, 0x6ul}, {0, 0xff0ul}, {~0ul, 0x80000001ul}, {0, 0}};
    static float x[2][N], y[N];
    for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
        struct coder a, b, sum = {0};
        struct strait_error err = {0};
        const unsigned long either = sets[k][0] | sets[k][1];
        size_t wanted_bytes = 11;
        for (int i = 0; i < 2; i++)
            fill(x[i], N, BLOCK, sets[k][i], k * 2 + (uint64_t)i);
        encode(&a, BLOCK, 1, x[0], N);
        encode(&b, BLOCK, 1, x[1], N);
        CU_ASSERT(ops->summable(a.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes));
        CU_ASSERT_EQUAL_FATAL(ops->add(a.state, sum.bytes, MAX_BYTES, &sum.len_bytes, a.bytes,
                                       a.len_bytes, b.bytes, b.len_bytes, N, &err),
                              0);
        for (size_t i = 0; i < N; i += BLOCK)
            if (either >> i / BLOCK & 1)
                wanted_bytes += 4 + 4 * (N - i < BLOCK ? N - i : BLOCK);
        CU_ASSERT_EQUAL(sum.len_bytes, wanted_bytes);
        sum.state = a.state;
        decode(&sum, y, N);
        for (int i = 0; i < N; i++)
            CU_ASSERT_EQUAL(y[i], x[0][i] + x[1][i]);
        ops->close(a.state);
        ops->close(b.state);
    }
}

static void refuses(void)
{
    static float x[100], y[100];
    struct coder c, other;
    struct strait_error err = {0};
    unsigned char out[MAX_BYTES];
    size_t len_bytes;
    fill(x, 100, 8, ~0ul, 1);
    encode(&c, 8, 1, x, 100);
    encode(&other, 16, 1, x, 100);
    CU_ASSERT(!ops->summable(c.state, c.bytes, c.len_bytes, other.bytes, other.len_bytes));
    CU_ASSERT_EQUAL(ops->add(c.state, out, MAX_BYTES, &len_bytes, c.bytes, c.len_bytes, other.bytes,
                             other.len_bytes, 100, &err),
                    -1);
    CU_ASSERT_CONTAINS(err.text, "expected ascending blocks of 100 values");
    CU_ASSERT_EQUAL(ops->decode(c.state, y, 99, c.bytes, c.len_bytes, NULL), -1);
    strait_put32(c.bytes + 15, 0); /* twice the first */
    CU_ASSERT_EQUAL(ops->decode(c.state, y, 100, c.bytes, c.len_bytes, NULL), -1);
    strait_put32(c.bytes + 15, 13); /* behind the last */
    CU_ASSERT_EQUAL(ops->decode(c.state, y, 100, c.bytes, c.len_bytes, NULL), -1);
    strait_put32(c.bytes + 15, 1);
    CU_ASSERT_EQUAL(ops->decode(c.state, y, 100, c.bytes, c.len_bytes, NULL), 0);
    strait_put16(c.bytes + 1, 0);
    CU_ASSERT_EQUAL(ops->decode(c.state, y, 100, c.bytes, c.len_bytes, NULL), -1);
    ops->close(c.state);
    ops->close(other.state);
}

static const struct strait_test tests[] = {
    {"blocks with a value other than 0 are sent, to the byte", sends_blocks_with_values},
    {"zeros are a head", zeros_are_a_head},
    {"a share of the blocks is that of the largest norms", share_is_of_the_largest},
    {"encoded tensors are added by their blocks", sums_are_merged},
    {"streams that are none are refused", refuses},
};
STRAIT_SUITE("codecs/sparse/omnireduce", tests);
