/* countsketch against its definition: linear to the bit for whole numbers, what it finds, bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 5000, HEAD = 22, MAX_BYTES = HEAD + 4 * MAX };

static const struct strait_codec_ops *const ops = &strait_codec_countsketch;

struct coder {
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len_bytes;
};

static void start(struct coder *c, double share, double rows, double ratio)
{
    const double params[] = {share, rows, ratio};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &c->state, params, NULL), 0);
}

static void encode(struct coder *c, const float *x, size_t n, uint64_t key)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(ops, c->state, c->bytes, sizeof(c->bytes),
                                              &c->len_bytes, x, n,
                                              (struct strait_request){.key = key}, &err),
                          0);
}

/* floor(4999 x 0.1 / 3) = 166 columns of 3 rows; one of one row and one value. */
static void bytes(void)
{
    static float x[MAX];
    struct coder c;
    start(&c, 0.1, 3, 0.01);
    encode(&c, x, 4999, 7);
    CU_ASSERT_EQUAL(c.len_bytes, HEAD + 4 * 3 * 166);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 6), 166);
    CU_ASSERT_EQUAL(strait_get32(c.bytes + 10), 49);
    encode(&c, x, 1, 7);
    CU_ASSERT_EQUAL(c.len_bytes, HEAD + 4 * 3);
    encode(&c, x, 0, 7);
    CU_ASSERT_EQUAL(c.len_bytes, HEAD);
    ops->close(c.state);
}

/* One value alone is in one counter of each row, as it is or negated, and every row finds it. */
static void one_value(void)
{
    static float x[MAX], y[MAX];
    struct coder c;
    start(&c, 0.05, 5, 0.0002);
    x[1234] = 2.5f;
    encode(&c, x, MAX, 99);
    const size_t columns = 50;
    for (size_t row = 0; row < 5; row++) {
        unsigned n_set = 0;
        for (size_t i = 0; i < columns; i++) {
            const float v = strait_get_float(c.bytes + HEAD + 4 * (row * columns + i));
            n_set += fabsf(v) > 0;
            CU_ASSERT(!(fabsf(v) > 0) || fabsf(v) == 2.5f);
        }
        CU_ASSERT_EQUAL(n_set, 1);
    }
    CU_ASSERT_EQUAL_FATAL(ops->decode(c.state, y, MAX, c.bytes, c.len_bytes, NULL), 0);
    /* k = 1; others may share all of its counters, but only lower positions would be taken. */
    double found = 0;
    for (size_t i = 0; i < MAX; i++)
        found += fabs((double)y[i]);
    CU_ASSERT_DOUBLE_EQUAL(found, 2.5, 0);
    ops->close(c.state);
}

/* Whole numbers below 2^24 add exactly, so the sum of sketches is the sketch of the sum, bit by
 * bit, in any order. */
static void linear(void)
{
    static float a[MAX], b[MAX], sum[MAX];
    static struct coder of_a, of_b, of_sum;
    struct strait_sequence s = strait_sequence_at(3);
    for (size_t i = 0; i < MAX; i++) {
        a[i] = floorf((float)(200 * strait_sequence_unit(&s)) - 100);
        b[i] = floorf((float)(200 * strait_sequence_unit(&s)) - 100);
        sum[i] = a[i] + b[i];
    }
    unsigned char out[MAX_BYTES];
    size_t len;
    start(&of_a, 0.2, 4, 0.01);
    start(&of_b, 0.2, 4, 0.01);
    start(&of_sum, 0.2, 4, 0.01);
    encode(&of_a, a, MAX, 5);
    encode(&of_b, b, MAX, 5);
    encode(&of_sum, sum, MAX, 5);
    CU_ASSERT(ops->summable(of_a.state, of_a.bytes, of_a.len_bytes, of_b.bytes, of_b.len_bytes));
    CU_ASSERT_EQUAL_FATAL(ops->add(of_a.state, out, sizeof(out), &len, of_a.bytes, of_a.len_bytes,
                                   of_b.bytes, of_b.len_bytes, MAX, NULL),
                          0);
    CU_ASSERT_EQUAL(len, of_sum.len_bytes);
    for (size_t at = 0; at < len; at += at < HEAD ? 1 : 4) /* -0 is 0 */
        CU_ASSERT(at < HEAD ? out[at] == of_sum.bytes[at]
                            : fabsf(strait_get_float(out + at) -
                                    strait_get_float(of_sum.bytes + at)) <= 0);
    encode(&of_b, b, MAX, 6); /* another key */
    CU_ASSERT_FALSE(
        ops->summable(of_a.state, of_a.bytes, of_a.len_bytes, of_b.bytes, of_b.len_bytes));
    CU_ASSERT_EQUAL(ops->add(of_a.state, out, sizeof(out), &len, of_a.bytes, of_a.len_bytes,
                             of_b.bytes, of_b.len_bytes, MAX, NULL),
                    -1);
    ops->close(of_a.state);
    ops->close(of_b.state);
    ops->close(of_sum.state);
}

/* 20 values of 100 in noise of standard deviation 1: with 500 columns a counter holds noise of
 * sqrt(5000 / 500) = 3.2, and another large value with probability 0.04. The median of 9 is off by
 * more than 25 only if five are, 126 x 0.04^5 = 1.3e-5, so hardly one of the 5000: all
 * are found. */
static void heavy_hitters(void)
{
    static float x[MAX], y[MAX];
    struct coder c;
    struct strait_sequence s = strait_sequence_at(8);
    for (size_t i = 0; i < MAX; i++)
        x[i] = (float)(sqrt(12) * (strait_sequence_unit(&s) - 0.5));
    for (size_t i = 0; i < 20; i++)
        x[i * 250 + 11] = i % 2 ? 100 : -100;
    start(&c, 0.9, 9, 0.004);
    encode(&c, x, MAX, 42);
    CU_ASSERT_EQUAL_FATAL(ops->decode(c.state, y, MAX, c.bytes, c.len_bytes, NULL), 0);
    unsigned n_found = 0, n_others = 0;
    for (size_t i = 0; i < MAX; i++) {
        n_found += i % 250 == 11 && fabsf(y[i] - x[i]) < 25;
        n_others += i % 250 != 11 && fabsf(y[i]) > 0;
    }
    CU_ASSERT_EQUAL(n_found, 20);
    CU_ASSERT_EQUAL(n_others, 0);
    ops->close(c.state);
}

static const struct strait_test tests[] = {
    {"bytes follow from the number of values", bytes},
    {"one value is in one counter of every row", one_value},
    {"the sum of sketches is the sketch of the sum", linear},
    {"large values are found in noise", heavy_hitters},
};
STRAIT_SUITE("codecs/sparse/countsketch", tests);
