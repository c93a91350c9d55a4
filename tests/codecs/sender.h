/* One sender with error feedback, and a sparse codec of a few lines to test it with. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include "core/bytes.h"
#include "codecs/feedback.h"
#include "core/random.h"
#include "tests/kit/suite.h"

/* A sparse codec to test with: it sends floats as they are and 0 for what it does not choose. */
enum pick_rule { PICK_LARGEST, PICK_BY_COIN, PICK_OVERFLOW };
struct pick {
    enum pick_rule rule;
    double amount; /* how many of the largest; the chance of each; unused */
};

static const struct strait_param pick_params[] = {{.name = "rule", .max = PICK_OVERFLOW},
                                                  {.name = "amount", .max = 1e9}};

static inline void pick_init(void *state, const struct strait_codec_ops *ops, const double *params)
{
    (void)ops;
    *(struct pick *)state = (struct pick){(enum pick_rule)params[0], params[1]};
}

static inline size_t pick_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems;
}

/* Chosen where fewer than `amount` others are larger, or as large and earlier. */
static inline bool is_among_largest(const float *x, size_t n, size_t at, double amount)
{
    double n_before = 0;
    for (size_t i = 0; i < n; i++)
        n_before += fabsf(x[i]) > fabsf(x[at]) || (i < at && fabsf(x[i]) >= fabsf(x[at]));
    return n_before < amount;
}

static inline int pick_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                              size_t n_elems, struct strait_request request,
                              struct strait_error *err)
{
    const struct pick *p = state;
    (void)err;
    for (size_t i = 0; i < n_elems; i++) {
        float sent = x[i];
        if (p->rule == PICK_LARGEST && !is_among_largest(x, n_elems, i, p->amount))
            sent = 0;
        if (p->rule == PICK_BY_COIN && strait_random_unit(request.key, "coin", i, 0) >= p->amount)
            sent = 0;
        if (p->rule == PICK_OVERFLOW && fabsf(x[i]) > 1)
            sent = INFINITY;
        strait_put_float(out + 4 * i, sent);
    }
    *len_bytes = 4 * n_elems;
    return 0;
}

static inline int pick_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                              size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (len_bytes != 4 * n_elems)
        return strait_error_set(err, STRAIT_ERR_INPUT, "pick", "wrong length");
    strait_get_floats(y, in, n_elems);
    return 0;
}

static const struct strait_codec_ops pick = {.name = "pick",
                                             .id = 250,
                                             .flags = STRAIT_CODEC_SPARSE,
                                             .bounds = 1u << STRAIT_BOUND_NONE,
                                             .params = pick_params,
                                             .n_params = 2,
                                             .state_bytes = sizeof(struct pick),
                                             .init = pick_init,
                                             .close = free,
                                             .max_bytes = pick_bytes,
                                             .encode = pick_encode,
                                             .decode = pick_decode};

/* One sender: a codec, its memory, the bytes of a round and what the receiver makes of them. */
struct sender {
    struct strait_coder coder;
    struct strait_feedback *memory;
    size_t n_elems, cap_bytes, len_bytes;
    unsigned char *bytes;
    float *y;
    struct strait_request request;
};

static inline void sender_init(struct sender *s, const struct strait_codec_ops *ops, double a,
                               double b, size_t n_elems, bool residual, double momentum)
{
    double params[16] = {a, b};
    *s = (struct sender){.coder.ops = ops, .n_elems = n_elems};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &s->coder.state, params, NULL), 0);
    s->memory = strait_feedback_new(
        ops, params, n_elems,
        (struct strait_feedback_options){.residual = residual, .momentum = momentum}, NULL);
    s->cap_bytes = ops->max_bytes(s->coder.state, n_elems);
    s->bytes = malloc(s->cap_bytes + 1);
    s->y = malloc((n_elems + 1) * sizeof(*s->y));
    CU_ASSERT_FATAL(s->memory && s->bytes && s->y);
}

static inline void sender_release(struct sender *s)
{
    strait_feedback_free(s->memory);
    s->coder.ops->close(s->coder.state);
    free(s->bytes);
    free(s->y);
}

static inline void round_of(struct sender *s, const float *x)
{
    CU_ASSERT_EQUAL_FATAL(strait_feedback_encode(s->memory, &s->coder, s->bytes, s->cap_bytes,
                                                 &s->len_bytes, x, s->n_elems, s->request, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(
        s->coder.ops->decode(s->coder.state, s->y, s->n_elems, s->bytes, s->len_bytes, NULL), 0);
}
