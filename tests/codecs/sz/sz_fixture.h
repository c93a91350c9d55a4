/* An open sz codec with room for one tensor: what its test suites share. */
#pragma once
#include "tests/kit/check.h"
#include <stdlib.h>
#include "codecs/codec.h"
#include "traces/tensors.h"
#include "tests/kit/tensor_kinds.h"

struct sz_fixture {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char *bytes;
    float *y;
    size_t max_elems, cap_bytes, len_bytes;
};

static inline void sz_fixture_with(struct sz_fixture *f, size_t max_elems, double n_threads,
                                   double directions)
{
    struct strait_error err = {0};
    const double params[] = {n_threads, directions};
    f->ops = strait_codec_find("sz");
    f->max_elems = max_elems;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(f->ops, &f->state, params, &err), 0);
    f->cap_bytes = f->ops->max_bytes(f->state, max_elems);
    f->bytes = malloc(f->cap_bytes);
    f->y = malloc(4 * max_elems + 4);
    CU_ASSERT_FATAL(f->bytes && f->y);
}

static inline void sz_fixture_init(struct sz_fixture *f, size_t max_elems, double n_threads)
{
    sz_fixture_with(f, max_elems, n_threads, 0);
}

static inline void sz_fixture_release(struct sz_fixture *f)
{
    f->ops->close(f->state);
    free(f->bytes);
    free(f->y);
}

static inline size_t sz_encoded(struct sz_fixture *f, const float *x, size_t n,
                                enum strait_bound_kind kind, double value)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_encode(f->ops, f->state, f->bytes, f->cap_bytes, &f->len_bytes, x, n,
                            (struct strait_request){.bound = {kind, value}}, &err),
        0);
    return f->len_bytes;
}

/* Decode what was encoded last into f->y. */
static inline void sz_decoded(struct sz_fixture *f, size_t n)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(f->ops->decode(f->state, f->y, n, f->bytes, f->len_bytes, &err), 0);
}

static inline float *new_floats(size_t n)
{
    float *x = malloc(4 * n + 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    return x;
}

static inline bool equal_bits(const void *a, const void *b, size_t len_bytes)
{
    return len_bytes == 0 || memcmp(a, b, len_bytes) == 0;
}

static inline struct strait_tensors *load_tensors(void)
{
    struct strait_tensors *t = NULL;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    return t;
}

enum { LARGE_ELEMS = 20000 }; /* the tensors that the reference figures are over */

static inline size_t max_elems_of(const struct strait_tensors *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n_recordings; i++)
        most = t->recordings[i].n_elems > most ? t->recordings[i].n_elems : most;
    return most;
}
