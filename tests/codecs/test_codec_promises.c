/* What codecs promise beyond coming back: chance by key alone, unbiasedness, sums while encoded, and
 * recorded tensors. One suite for every codec of the table; test_codec_golden.c has their bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "traces/tensors.h"
#include "tests/kit/suite.h"
#include "plain_tensor.h"

struct coded {
    unsigned char *bytes;
    size_t len_bytes, cap_bytes;
};

/* In a state of its own. */
static struct coded encode(const struct strait_codec_ops *ops, const float *x, size_t n,
                           struct strait_request request)
{
    struct strait_error err = {0};
    struct coded c = {0};
    void *state;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(ops, &state, &err), 0);
    c.cap_bytes = ops->max_bytes(state, n);
    c.bytes = malloc(c.cap_bytes + 1);
    CU_ASSERT_FATAL(c.bytes && strait_codec_encode(ops, state, c.bytes, c.cap_bytes, &c.len_bytes,
                                                   x, n, request, &err) == 0);
    ops->close(state);
    return c;
}

static bool decode(const struct strait_codec_ops *ops, float *y, size_t n, const struct coded *c)
{
    struct strait_error err = {0};
    void *state;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(ops, &state, &err), 0);
    const bool good = ops->decode(state, y, n, c->bytes, c->len_bytes, &err) == 0;
    ops->close(state);
    return good;
}

static bool equal(const struct coded *a, const struct coded *b)
{
    return a->len_bytes == b->len_bytes && memcmp(a->bytes, b->bytes, a->len_bytes) == 0;
}

/* ---- chance */

static void check_keys(const struct strait_codec_ops *ops)
{
    enum { N = 200000 }; /* samples are of a share of it */
    static float x[N];
    plain_tensor(x, N, 5);
    const struct strait_bound bound = bound_of(ops);
    struct coded a =
        encode(ops, x, N, (struct strait_request){.bound = bound, .key = 1, .n_rows = 40});
    struct coded b =
        encode(ops, x, N, (struct strait_request){.bound = bound, .key = 2, .n_rows = 40});
    /* DeepReduce draws where it is put together from parts that do: not as published */
    const bool draws = ops->flags & STRAIT_CODEC_STOCHASTIC && strcmp(ops->name, "deepreduce") != 0;
    CU_ASSERT_EQUAL(equal(&a, &b), !draws);
    free(a.bytes);
    free(b.bytes);
}

static void keys(void)
{
    for_each_codec(check_keys);
}

/* Over N_KEYS keys the mean of each decoded value lies at x, by a z test of every value. A codec
 * that is unbiased fails with probability below 48 values x 2 x (1 - Phi(5)) = 3e-5 per codec; keys
 * are fixed, so it fails always or never. One that rounds down, by half a unit of its step on the
 * average, is caught: its z grows with the root of N_KEYS = 4000, to 0.5 / 0.5 x 63. */
static void check_unbiased(const struct strait_codec_ops *ops)
{
    enum { N = 48, N_KEYS = 4000 };
    float x[N], y[N];
    double sum[N] = {0}, squares[N] = {0};
    if (!(ops->flags & STRAIT_CODEC_UNBIASED))
        return;
    plain_tensor(x, N, 77);
    for (uint64_t key = 0; key < N_KEYS; key++) {
        struct coded c = encode(
            ops, x, N, (struct strait_request){.bound = bound_of(ops), .key = key, .n_rows = 0});
        CU_ASSERT_FATAL(decode(ops, y, N, &c));
        for (size_t i = 0; i < N; i++) {
            const double e = (double)y[i] - (double)x[i];
            sum[i] += e;
            squares[i] += e * e;
        }
        free(c.bytes);
    }
    for (size_t i = 0; i < N; i++) {
        const double mean = sum[i] / N_KEYS;
        const double error = sqrt(fmax(squares[i] / N_KEYS - mean * mean, 0) / N_KEYS);
        /* float32 arithmetic of the decoder itself: a unit in the last place of the largest */
        if (!(fabs(mean) <= 5 * error + 0x1p-23 * 0.25))
            printf("%s: value %zu is off by %g, %g standard errors\n", ops->name, i, mean,
                   mean / error);
        CU_ASSERT(fabs(mean) <= 5 * error + 0x1p-23 * 0.25);
    }
}

static void unbiased(void)
{
    for_each_codec(check_unbiased);
}

/* ---- sums while encoded */

static void check_add(const struct strait_codec_ops *ops)
{
    enum { N = 3000 };
    static float x[2][N], y[2][N], z[N];
    struct strait_error err = {0};
    struct coded c[2], sum = {0};
    void *state;
    CU_ASSERT_EQUAL(ops->add == NULL, ops->summable == NULL);
    if (!ops->add)
        return;
    const struct strait_bound bound = ops->bounds >> STRAIT_BOUND_ABS & 1
                                          ? (struct strait_bound){STRAIT_BOUND_ABS, 1e-4}
                                          : (struct strait_bound){STRAIT_BOUND_NONE, 0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(ops, &state, &err), 0);
    double norm = 0, off = 0;
    for (int k = 0; k < 2; k++) {
        plain_tensor(x[k], N, 100 + (uint64_t)k);
        /* agreed on: about the norm of either, 3000 values of rms 0.036 */
        c[k] = encode(
            ops, x[k], N,
            (struct strait_request){.bound = bound, .key = 9, .own = (uint64_t)k, .scale = 2});
        CU_ASSERT_FATAL(decode(ops, y[k], N, &c[k]));
    }
    sum.cap_bytes = c[0].cap_bytes;
    sum.bytes = malloc(sum.cap_bytes);
    CU_ASSERT_FATAL(sum.bytes != NULL);
    CU_ASSERT(ops->summable(state, c[0].bytes, c[0].len_bytes, c[1].bytes, c[1].len_bytes));
    CU_ASSERT_EQUAL_FATAL(ops->add(state, sum.bytes, sum.cap_bytes, &sum.len_bytes, c[0].bytes,
                                   c[0].len_bytes, c[1].bytes, c[1].len_bytes, N, &err),
                          0);
    CU_ASSERT_FATAL(sum.len_bytes <= sum.cap_bytes && decode(ops, z, N, &sum));
    for (size_t i = 0; i < N; i++)
        x[0][i] += x[1][i];
    const bool linear = ops->flags & STRAIT_CODEC_LINEAR;
    struct coded whole = encode(ops, x[0], N, (struct strait_request){.bound = bound, .key = 9});
    CU_ASSERT_FATAL(decode(ops, x[1], N, &whole));
    free(whole.bytes);
    for (size_t i = 0; i < N; i++) {
        const double want = linear ? (double)x[1][i] : (double)y[0][i] + (double)y[1][i],
                     e = want - (double)z[i];
        norm += want * want;
        off += e * e;
    }
    /* bfloat16 rounds a sum to 2^-9 of itself. A merge that keeps k of up to 2k elements drops the
     * smaller half: less than half of the squares. */
    const bool drops = strcmp(ops->name, "gtopk") == 0;
    if (!(sqrt(off) <= (drops ? sqrt(0.5) : 0x1p-9) * sqrt(norm)))
        printf("%s: a sum is off by %g of its norm\n", ops->name, sqrt(off / norm));
    CU_ASSERT(norm > 0 && sqrt(off) <= (drops ? sqrt(0.5) : 0x1p-9) * sqrt(norm));
    struct strait_sequence s = strait_sequence_at(3);
    for (int flip = 0; flip < 300; flip++) { /* damaged operands do no harm, whatever the verdict */
        struct coded *d = &c[flip % 2];
        const size_t at =
            strait_sequence_next(&s) % (flip % 3 == 0 || d->len_bytes < 64 ? d->len_bytes : 64);
        unsigned char *copy = malloc(d->len_bytes);
        CU_ASSERT_FATAL(copy != NULL);
        memcpy(copy, d->bytes, d->len_bytes);
        copy[at] ^= (unsigned char)(1u << strait_sequence_next(&s) % 8);
        const size_t len = flip % 5 == 0 ? at : d->len_bytes;
        size_t out;
        if (ops->summable(state, copy, len, c[!(flip % 2)].bytes, c[!(flip % 2)].len_bytes) &&
            ops->add(state, sum.bytes, sum.cap_bytes, &out, copy, len, c[!(flip % 2)].bytes,
                     c[!(flip % 2)].len_bytes, N, NULL) == 0)
            CU_ASSERT(out <= sum.cap_bytes);
        free(copy);
    }
    ops->close(state);
    free(c[0].bytes);
    free(c[1].bytes);
    free(sum.bytes);
}

static void sums(void)
{
    for_each_codec(check_add);
}

/* ---- recorded tensors */

static struct strait_tensors *recorded;

/* The first recordings of each kind, long ones and short ones. A codec that lost its way would not
 * point where the values point: the inner product of decoded and encoded is above 0. */
static void check_recorded(const struct strait_codec_ops *ops)
{
    size_t n_done[2] = {0};
    for (size_t r = 0; r < recorded->n_recordings; r++) {
        const struct strait_recording *t = &recorded->recordings[r];
        const int large = t->n_elems > 20000;
        if (t->n_elems > 100000 || n_done[large]++ >= 6 * (size_t)(1 + large))
            continue;
        const struct strait_bound bound = bound_of(ops);
        struct coded c =
            encode(ops, t->values, t->n_elems,
                   (struct strait_request){
                       .bound = bound, .key = r, .n_rows = t->n_dims > 1 ? t->shape[0] : 0});
        float *y = malloc(4 * t->n_elems);
        CU_ASSERT_FATAL(y && decode(ops, y, t->n_elems, &c));
        double product = 0, norm = 0, worst = 0;
        for (size_t i = 0; i < t->n_elems; i++) {
            product += (double)t->values[i] * (double)y[i];
            norm += (double)y[i] * (double)y[i];
            worst = fmax(worst, fabs((double)t->values[i] - (double)y[i]));
        }
        const bool lossless = ops->flags & STRAIT_CODEC_LOSSLESS,
                   bounded = ops->flags & STRAIT_CODEC_BOUNDED;
        CU_ASSERT(!lossless || memcmp(y, t->values, 4 * t->n_elems) == 0);
        CU_ASSERT(!bounded || worst <= strait_bound_absolute(bound, t->values, t->n_elems));
        /* a threshold may choose nothing at all */
        const bool nothing = ops->flags & STRAIT_CODEC_SPARSE && norm <= 0;
        CU_ASSERT(lossless || bounded || !large || nothing || product > 0);
        CU_ASSERT(!large || ops->flags & STRAIT_CODEC_LOSSLESS || c.len_bytes < 4 * t->n_elems);
        free(y);
        free(c.bytes);
    }
    CU_ASSERT(n_done[0] >= 6 && n_done[1] >= 6);
}

static void recordings(void)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&recorded, NULL, &err), 0);
    for_each_codec(check_recorded);
    strait_tensors_free(recorded);
}

static const struct strait_test tests[] = {
    {"the key decides what a stochastic codec draws, and nothing else", keys},
    {"unbiased codecs have the values as their mean", unbiased},
    {"the sum of two streams decodes to the sum", sums},
    {"every codec brings recorded tensors back", recordings},
};
STRAIT_SUITE("codecs/codec_promises", tests);
