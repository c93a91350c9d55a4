/* An open codec with its buffers, for tests that look at the bytes of one codec. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "tests/kit/suite.h"

struct coded {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char *bytes;
    size_t len_bytes;
    float *y;
};

/* Opened with these parameters (NULL: as published). */
static inline struct coded coded_open(const char *name, const double *params)
{
    struct strait_error err = {0};
    struct coded c = {.ops = strait_codec_find(name)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
    const int failed = params ? strait_codec_open(c.ops, &c.state, params, &err)
                              : strait_codec_open_default(c.ops, &c.state, &err);
    CU_ASSERT_EQUAL_FATAL(failed, 0);
    return c;
}

static inline void coded_close(struct coded *c)
{
    c->ops->close(c->state);
    free(c->bytes);
    free(c->y);
}

static inline void coded_encode(struct coded *c, const float *x, size_t n, uint64_t key)
{
    struct strait_error err = {0};
    const size_t cap = c->ops->max_bytes(c->state, n);
    c->bytes = realloc(c->bytes, cap);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c->bytes);
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(c->ops, c->state, c->bytes, cap, &c->len_bytes, x, n,
                                              (struct strait_request){.key = key}, &err),
                          0);
}

/* There and back, into c->y. */
static inline void coded_pass(struct coded *c, const float *x, size_t n, uint64_t key)
{
    struct strait_error err = {0};
    coded_encode(c, x, n, key);
    c->y = realloc(c->y, 4 * n + 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c->y);
    CU_ASSERT_EQUAL_FATAL(c->ops->decode(c->state, c->y, n, c->bytes, c->len_bytes, &err), 0);
}
