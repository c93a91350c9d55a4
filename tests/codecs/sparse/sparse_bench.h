/* An open sparsifier with one tensor: what the tests of sparse codecs share. */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { HEAD = 10 }; /* bytes before what was published */

/* An open codec with one tensor. */
struct bench {
    const struct strait_codec_ops *ops;
    void *state;
    float *x, *y;
    unsigned char *bytes;
    size_t n_elems, cap_bytes, len_bytes;
};

static inline void bench_init(struct bench *b, const struct strait_codec_ops *ops, double first,
                              double second, size_t n_elems)
{
    const double params[] = {first, second};
    struct strait_error err = {0};
    *b = (struct bench){.ops = ops, .n_elems = n_elems};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &b->state, params, &err), 0);
    b->cap_bytes = ops->max_bytes(b->state, n_elems);
    b->x = malloc(4 * n_elems + 4);
    b->y = malloc(4 * n_elems + 4);
    b->bytes = malloc(b->cap_bytes);
    CU_ASSERT_FATAL(b->x && b->y && b->bytes);
}

static inline void bench_release(struct bench *b)
{
    b->ops->close(b->state);
    free(b->x);
    free(b->y);
    free(b->bytes);
}

static inline void encode(struct bench *b, uint64_t key)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(b->ops, b->state, b->bytes, b->cap_bytes,
                                              &b->len_bytes, b->x, b->n_elems,
                                              (struct strait_request){.key = key}, &err),
                          0);
    CU_ASSERT_FATAL(b->len_bytes <= b->cap_bytes);
}

static inline void decode(struct bench *b)
{
    struct strait_error err = {0};
    memset(b->y, 0xa5, 4 * b->n_elems);
    CU_ASSERT_EQUAL_FATAL(b->ops->decode(b->state, b->y, b->n_elems, b->bytes, b->len_bytes, &err),
                          0);
}

/* a + b of streams that may be damaged: an error or a good stream. */
static inline void add_damaged(struct bench *a, const struct bench *b)
{
    struct strait_error err = {0};
    unsigned char *out = malloc(a->cap_bytes), *copy = malloc(b->len_bytes);
    size_t len;
    CU_ASSERT_FATAL(out && copy);
    memcpy(copy, b->bytes, b->len_bytes);
    if (a->ops->add(a->state, out, a->cap_bytes, &len, a->bytes, a->len_bytes, copy, b->len_bytes,
                    a->n_elems, &err) == 0)
        CU_ASSERT(len <= a->cap_bytes &&
                  a->ops->decode(a->state, a->y, a->n_elems, out, len, &err) == 0);
    CU_ASSERT(err.code == STRAIT_OK || err.code == STRAIT_ERR_INPUT);
    free(out);
    free(copy);
}

/* Streams of 2000 values of which one is damaged in 3000 ways. */
static inline void check_damaged_summands(const struct strait_codec_ops *ops, double first,
                                          double second)
{
    struct bench a, b;
    struct strait_sequence s = strait_sequence_at(ops->id);
    bench_init(&a, ops, first, second, 2000);
    bench_init(&b, ops, first, second, 2000);
    make_tensor(a.x, 2000, TENSOR_BITS, 1);
    make_tensor(b.x, 2000, TENSOR_BROKEN, 2);
    encode(&a, 1);
    encode(&b, 1);
    for (int i = 0; i < 3000; i++) {
        const size_t at = strait_sequence_next(&s) % (i % 2 ? b.len_bytes : 64);
        const size_t len = b.len_bytes;
        const unsigned char before = b.bytes[at];
        b.bytes[at] = (unsigned char)strait_sequence_next(&s);
        b.len_bytes -= i % 5 == 0 ? strait_sequence_next(&s) % len : 0;
        add_damaged(&a, &b);
        b.bytes[at] = before;
        b.len_bytes = len;
    }
    CU_ASSERT(a.ops->summable(a.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes));
    bench_release(&a);
    bench_release(&b);
}
