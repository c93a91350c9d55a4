/* A codec with room for one tensor, for the suites that hold for every codec of the table. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "codecs/codec.h"
#include "tests/kit/suite.h"

/* A codec that is open, with room for one tensor. */
struct bench {
    const struct strait_codec_ops *ops;
    void *state;
    float *x, *y;
    unsigned char *bytes, *again;
    size_t n_elems, n_rows, cap_bytes, len_bytes;
};

static inline void bench_init(struct bench *b, const struct strait_codec_ops *ops, size_t n_elems)
{
    struct strait_error err = {0};
    *b = (struct bench){.ops = ops, .n_elems = n_elems};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(ops, &b->state, &err), 0);
    b->cap_bytes = ops->max_bytes(b->state, n_elems);
    b->x = malloc(4 * n_elems + 1);
    b->y = malloc(4 * n_elems + 1);
    b->bytes = malloc(b->cap_bytes + 1);
    b->again = malloc(b->cap_bytes + 1);
    CU_ASSERT_FATAL(b->x && b->y && b->bytes && b->again);
}

static inline void bench_release(struct bench *b)
{
    b->ops->close(b->state);
    free(b->x);
    free(b->y);
    free(b->bytes);
    free(b->again);
}

/* Every encode is the first one: what a STATEFUL codec remembers is left to its own tests. */
static inline bool encode(struct bench *b, struct strait_bound bound)
{
    struct strait_error err = {0};
    if (b->ops->flags & STRAIT_CODEC_STATEFUL) {
        b->ops->close(b->state);
        CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(b->ops, &b->state, &err), 0);
    }
    return strait_codec_encode(
               b->ops, b->state, b->bytes, b->cap_bytes, &b->len_bytes, b->x, b->n_elems,
               (struct strait_request){.bound = bound, .key = 1, .n_rows = b->n_rows}, &err) == 0;
}

static inline bool decode(struct bench *b, const unsigned char *bytes, size_t len_bytes)
{
    struct strait_error err = {0};
    const bool good = b->ops->decode(b->state, b->y, b->n_elems, bytes, len_bytes, &err) == 0;
    CU_ASSERT_EQUAL(good, err.code == STRAIT_OK);
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    return good;
}

static inline bool same_bits(const float *x, const float *y, size_t n)
{
    return n == 0 || memcmp(x, y, 4 * n) == 0;
}

/* The bound of this kind where the codec keeps it, else none. */
static inline struct strait_bound bound_for(const struct strait_codec_ops *ops,
                                            enum strait_bound_kind kind, double value)
{
    if (ops->bounds >> kind & 1)
        return (struct strait_bound){kind, value};
    return (struct strait_bound){STRAIT_BOUND_NONE, 0};
}

/* The definitions of codec.h written out once more, value by value, in double. */
static inline double allowed(struct strait_bound bound, const float *x, size_t n)
{
    double min = INFINITY, max = -INFINITY, squares = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            min = (double)x[i] < min ? (double)x[i] : min;
            max = (double)x[i] > max ? (double)x[i] : max;
            squares += (double)x[i] * (double)x[i];
            count++;
        }
    if (count < 1 || bound.kind == STRAIT_BOUND_NONE)
        return 0;
    if (bound.kind == STRAIT_BOUND_ABS)
        return bound.value;
    if (bound.kind == STRAIT_BOUND_RANGE)
        return bound.value * (max - min);
    /* Sums of up to 2^31 squares in another order differ by less than 1e-9 of themselves. */
    return bound.value * sqrt(squares / count) * (1 + 1e-9);
}

/* NaN payloads and infinities bit by bit, everything else within the bound. */
static inline bool within(const struct bench *b, struct strait_bound bound)
{
    if (b->ops->flags & STRAIT_CODEC_LOSSLESS)
        return same_bits(b->x, b->y, b->n_elems);
    if (!(b->ops->flags & STRAIT_CODEC_BOUNDED))
        return true; /* it promises nothing about values */
    double most = allowed(bound, b->x, b->n_elems);
    for (size_t i = 0; i < b->n_elems; i++) {
        const double e = fabs((double)b->x[i] - (double)b->y[i]);
        if (bound.kind == STRAIT_BOUND_POINTWISE)
            most = bound.value * fabs((double)b->x[i]);
        if (isfinite(b->x[i]) ? !(e <= most) : !same_bits(&b->x[i], &b->y[i], 1))
            return false;
    }
    return true;
}

static inline void for_each_codec(void (*check)(const struct strait_codec_ops *ops))
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n; i++) {
        strait_test_context("%s", codecs[i]->name);
        if (strait_codec_unavailable(codecs[i]))
            fprintf(stderr, "without %s: %s\n", codecs[i]->name,
                    strait_codec_unavailable(codecs[i]));
        else
            check(codecs[i]);
    }
    strait_test_context(NULL);
}
