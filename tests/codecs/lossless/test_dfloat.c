/* dfloat16 and dfloat32: which bits come back, what they take beside the entropy of the exponents
 * (the sum of n log2(n / n_i), in this file), contexts of rows, columns and a reference, and
 * streams that are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/kit/half.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { N_ROWS = 200, N_COLUMNS = 300, MAX = N_ROWS * N_COLUMNS, MAX_BYTES = 4 * MAX + 64 };
enum { AUTO, NONE, LEFT, SCALE };

struct coded {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len_bytes;
};

static void open(struct coded *c, const struct strait_codec_ops *ops, double contexts)
{
    c->ops = ops;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &c->state, &contexts, NULL), 0);
}

static void encode(struct coded *c, const float *x, const float *from, size_t n, size_t n_rows)
{
    const struct strait_request request = {.reference = from, .n_rows = n_rows};
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(c->ops, c->state, c->bytes, sizeof(c->bytes),
                                              &c->len_bytes, x, n, request, NULL),
                          0);
}

static int decode(struct coded *c, float *y, const float *from, size_t n, struct strait_error *err)
{
    return from ? c->ops->decode_from(c->state, y, from, n, c->bytes, c->len_bytes, err)
                : c->ops->decode(c->state, y, n, c->bytes, c->len_bytes, err);
}

/* Sums of four: about normal, as weights are. */
static float weight(struct strait_sequence *s)
{
    return (float)(strait_sequence_unit(s) + strait_sequence_unit(s) - strait_sequence_unit(s) -
                   strait_sequence_unit(s));
}

static void weights(float *x, bool are_bf16, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    for (size_t i = 0; i < MAX; i++)
        x[i] = are_bf16 ? strait_float_of_bfloat(strait_bfloat_of(weight(&s))) : weight(&s);
}

static double entropy_of_exponents(const float *x, size_t n)
{
    double count[256] = {0}, bits = 0;
    for (size_t i = 0; i < n; i++)
        count[strait_bits_of(x[i]) >> 23 & 255]++;
    for (int e = 0; e < 256; e++)
        bits += count[e] > 0 ? count[e] * log2((double)n / count[e]) : 0;
    return bits;
}

/* Every pattern of 16 bits, NaN with their payloads, twice over; and of 32 bits some. */
static void every_bit(void)
{
    static float x[MAX], y[MAX], from[MAX];
    static struct coded c;
    const struct strait_codec_ops *both[] = {&strait_codec_dfloat16, &strait_codec_dfloat32};
    struct strait_sequence s = strait_sequence_at(1);
    for (unsigned which = 0; which < 2; which++)
        for (unsigned contexts = AUTO; contexts <= SCALE; contexts++)
            for (unsigned part = 0; part < 2; part++) {
                for (size_t i = 0; i < MAX; i++) {
                    x[i] = strait_float_of((uint32_t)(part * 5536 + i) << 16);
                    from[i] = strait_float_of((uint32_t)strait_sequence_next(&s));
                    if (which == 1 && part == 1)
                        x[i] = strait_float_of((uint32_t)strait_sequence_next(&s));
                }
                open(&c, both[which], contexts);
                encode(&c, x, NULL, MAX, N_ROWS);
                CU_ASSERT_EQUAL(decode(&c, y, NULL, MAX, NULL), 0);
                CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
                encode(&c, x, from, MAX, N_ROWS);
                memset(y, 0, sizeof(y));
                CU_ASSERT_EQUAL(decode(&c, y, from, MAX, NULL), 0);
                CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
                c.ops->close(c.state);
            }
}

/* Values that BF16 does not have: to its nearest, ties to even, as bf16 gives them. */
static void rounded(void)
{
    static float x[MAX], y[MAX], want[MAX];
    static struct coded c, plain;
    weights(x, false, 2);
    x[0] = 1 + 0x1p-8f; /* between 1 and 1 + 2^-7: to 1, whose last bit is 0 */
    x[1] = 1 + 3 * 0x1p-8f;
    open(&c, &strait_codec_dfloat16, AUTO);
    plain.ops = &strait_codec_bf16;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(plain.ops, &plain.state, NULL), 0);
    encode(&c, x, NULL, MAX, N_ROWS);
    encode(&plain, x, NULL, MAX, N_ROWS);
    CU_ASSERT_EQUAL(decode(&c, y, NULL, MAX, NULL), 0);
    CU_ASSERT_EQUAL(decode(&plain, want, NULL, MAX, NULL), 0);
    CU_ASSERT(memcmp(y, want, sizeof(y)) == 0);
    CU_ASSERT(y[0] == 1 && y[1] == 1 + 2 * 0x1p-7f);
    c.ops->close(c.state);
    plain.ops->close(plain.state);
}

/* Without contexts: the entropy of the exponents, 8 bits or 24 a value, and 0.5 % for tables of 12
 * bits, states and the head. Other contexts of values without order cost no more than their
 * tables. */
static void near_the_entropy(void)
{
    static float x[MAX];
    static struct coded c;
    for (unsigned whole = 0; whole < 2; whole++) {
        weights(x, !whole, 3);
        const double least = entropy_of_exponents(x, MAX) / 8 + (whole ? 3 : 1) * MAX;
        for (unsigned contexts = AUTO; contexts <= SCALE; contexts++) {
            open(&c, whole ? &strait_codec_dfloat32 : &strait_codec_dfloat16, contexts);
            encode(&c, x, NULL, MAX, N_ROWS);
            c.ops->close(c.state);
            CU_ASSERT_AT_LEAST((double)c.len_bytes, least * (contexts == NONE ? 1 : 0.995));
            CU_ASSERT_AT_MOST((double)c.len_bytes, least * 1.005 + (contexts == SCALE ? 400 : 0));
        }
    }
}

/* Rows and columns with scales of their own, powers of two drawn over 2^8: given these, exponents
 * are those of `weight` (some 2.4 bits), in all they are spread over 16 more. Classes of 500 rows
 * and columns take less than 5 bits each. Auto finds it. Without rows it cannot. */
static void rows_and_columns(void)
{
    static float x[MAX], unit[MAX], y[MAX];
    static struct coded c;
    struct strait_sequence s = strait_sequence_at(4);
    int rows[N_ROWS], columns[N_COLUMNS];
    for (int r = 0; r < N_ROWS; r++)
        rows[r] = (int)(strait_sequence_next(&s) >> 61);
    for (int k = 0; k < N_COLUMNS; k++)
        columns[k] = (int)(strait_sequence_next(&s) >> 61);
    weights(unit, true, 4);
    for (size_t i = 0; i < MAX; i++)
        x[i] = ldexpf(unit[i], rows[i / N_COLUMNS] + columns[i % N_COLUMNS]);
    const double order_0 = entropy_of_exponents(x, MAX) / 8 + MAX,
                 given = entropy_of_exponents(unit, MAX) / 8 + MAX;
    open(&c, &strait_codec_dfloat16, AUTO);
    encode(&c, x, NULL, MAX, N_ROWS);
    CU_ASSERT_AT_LEAST((double)c.len_bytes, given * 0.99);
    CU_ASSERT_AT_MOST((double)c.len_bytes, given * 1.02 + 500 * 5 / 8.0);
    CU_ASSERT_AT_MOST((double)c.len_bytes, order_0 * 0.93);
    CU_ASSERT_EQUAL(decode(&c, y, NULL, MAX, NULL), 0);
    CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
    encode(&c, x, NULL, MAX, 0);
    CU_ASSERT_AT_LEAST((double)c.len_bytes, order_0 * 0.99);
    c.ops->close(c.state);
}

/* Three of four values are 0: these have neither mantissa nor sign to send. -0 and denormals do. */
static void zeros(void)
{
    static float x[MAX], y[MAX];
    static struct coded c;
    weights(x, true, 5);
    for (size_t i = 0; i < MAX; i++)
        if (i % 4 != 0)
            x[i] = 0;
    open(&c, &strait_codec_dfloat16, NONE);
    for (int more = 0; more < 2; more++) {
        if (more) {
            x[1] = -0.0f;
            x[2] = strait_float_of(1u << 16);
        }
        encode(&c, x, NULL, MAX, 0);
        const double least = entropy_of_exponents(x, MAX) / 8 + MAX / 4.0;
        CU_ASSERT_AT_LEAST((double)c.len_bytes, least * 0.999);
        CU_ASSERT_AT_MOST((double)c.len_bytes, least * 1.01 + 100);
        CU_ASSERT_EQUAL(decode(&c, y, NULL, MAX, NULL), 0);
        CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
    }
    x[3] = 0x1p127f; /* has the exponent that stood for 0: none does now */
    encode(&c, x, NULL, MAX, 0);
    CU_ASSERT_AT_LEAST(c.len_bytes, MAX);
    CU_ASSERT_EQUAL(decode(&c, y, NULL, MAX, NULL), 0);
    CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
    c.ops->close(c.state);
}

/* A step of 2^-9 up or down from weights of about 1, in BF16: values above 1/2 move by half of
 * their last place or less, so most stay. The ways' entropy given the exponent that they start
 * from, of pairs counted here, is what they may take. An unchanged tensor costs next to nothing. */
static void from_a_reference(void)
{
    static float x[MAX], from[MAX], y[MAX];
    static struct coded c;
    static double pairs[256][256];
    double total[256] = {0}, bits = 0;
    struct strait_sequence s = strait_sequence_at(6);
    weights(from, true, 6);
    for (size_t i = 0; i < MAX; i++) {
        const float step = strait_sequence_next(&s) >> 63 ? 0x1p-9f : -0x1p-9f;
        x[i] = strait_float_of_bfloat(strait_bfloat_of(from[i] + step));
        const int32_t a = (int16_t)(strait_bits_of(from[i]) >> 16),
                      b = (int16_t)(strait_bits_of(x[i]) >> 16),
                      way = (b < 0 ? -32769 - b : b) - (a < 0 ? -32769 - a : a);
        const unsigned e = strait_bits_of(from[i]) >> 23 & 255,
                       k = way < -60 || way > 60 ? 255 : (unsigned)(way + 100);
        bits += k == 255 ? 14 : 0; /* raw: at most */
        pairs[e][k]++;
        total[e]++;
    }
    for (int e = 0; e < 256; e++)
        for (int k = 0; k < 256; k++)
            bits += pairs[e][k] > 0 ? pairs[e][k] * log2(total[e] / pairs[e][k]) : 0;
    open(&c, &strait_codec_dfloat16, AUTO);
    encode(&c, x, from, MAX, N_ROWS);
    CU_ASSERT_AT_LEAST((double)c.len_bytes, bits / 8 * 0.9);
    CU_ASSERT_AT_MOST((double)c.len_bytes, bits / 8 * 1.05 + 500);
    CU_ASSERT_AT_MOST(8.0 * (double)c.len_bytes / MAX, 2.57); /* bits a value, all of it */
    CU_ASSERT_EQUAL(decode(&c, y, from, MAX, NULL), 0);
    CU_ASSERT(memcmp(x, y, sizeof(x)) == 0);
    encode(&c, from, from, MAX, N_ROWS);
    CU_ASSERT_AT_MOST(c.len_bytes, 300);
    c.ops->close(c.state);
}

/* Each stream says whether it has a reference. What has another form is refused. */
static void refused(void)
{
    static float x[MAX], from[MAX], y[MAX];
    static struct coded c;
    struct strait_error err = {0};
    weights(x, true, 7);
    weights(from, true, 8);
    open(&c, &strait_codec_dfloat16, AUTO);
    encode(&c, x, NULL, 1000, 10);
    CU_ASSERT_EQUAL(decode(&c, y, from, 1000, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a stream with a reference, found another one");
    encode(&c, x, from, 1000, 10);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(decode(&c, y, NULL, 1000, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a stream without a reference, found another one");
    const size_t len_bytes = c.len_bytes;
    for (c.len_bytes = 0; c.len_bytes < len_bytes; c.len_bytes++)
        CU_ASSERT_EQUAL(decode(&c, y, from, 1000, NULL), -1);
    for (unsigned how = 0; how < 256; how++) { /* dfloat16 has no lower halves */
        c.bytes[1] = (unsigned char)how;
        if (how != 4)
            CU_ASSERT_EQUAL(decode(&c, y, from, 1000, NULL), how == 20 ? 0 : -1);
    }
    c.ops->close(c.state);
}

static const struct strait_test tests[] = {
    {"values of BF16 come back bit by bit, and all float32 of dfloat32", every_bit},
    {"dfloat16 rounds what is not BF16 as bf16 does", rounded},
    {"without order in the values they take the entropy of their exponents", near_the_entropy},
    {"scales of rows and columns are contexts", rows_and_columns},
    {"zeros take no raw bits", zeros},
    {"what the receiver has makes streams shorter than the exponents' entropy", from_a_reference},
    {"a stream of another form is refused", refused},
};

STRAIT_SUITE("codecs/lossless/dfloat", tests);
