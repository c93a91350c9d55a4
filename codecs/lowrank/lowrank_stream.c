/* The codec around a low-rank iteration on one worker. */
#include "lowrank_stream.h"
#include <stdlib.h>
#include "core/bytes.h"

/* Factors of one stream, aligned for floats. */
struct factors {
    struct strait_pooled pooled;
    size_t n_elems;
    float values[];
};

const struct strait_param strait_lowrank_params[1] = {
    {"rank", "columns of the factors", STRAIT_PARAM_INTEGER, .min = 1,
     .max = STRAIT_LOWRANK_MAX_RANK, .fallback = 4},
};

void strait_lowrank_init(void *state, const struct strait_codec_ops *ops, const double *params)
{
    struct strait_lowrank_coder *c = state;
    c->ops = ops;
    c->kernel = ops->kernel;
    c->rank = (size_t)params[0];
    strait_pool_init(&c->pool);
}

void strait_lowrank_close(void *state)
{
    struct strait_lowrank_coder *c = state;
    for (struct factors *f; (f = strait_pool_take(&c->pool)) != NULL;)
        free(f);
    strait_pool_release(&c->pool);
    free(c->p);
    free(c->tamed);
    free(c);
}

size_t strait_lowrank_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return STRAIT_LOWRANK_RAW_BYTES + 4 * n_elems;
}

static size_t factor_elems(const struct strait_lowrank *shape)
{
    return shape->rank * (shape->n_rows + shape->n_cols);
}

/* Whether the factors are shorter than the values. */
static bool gains(struct strait_lowrank *shape, const struct strait_lowrank_coder *c,
                  size_t n_elems, size_t n_rows)
{
    return strait_lowrank_fits(shape, n_elems, n_rows, c->rank) &&
           STRAIT_LOWRANK_HEAD_BYTES + 4 * factor_elems(shape) <
               STRAIT_LOWRANK_RAW_BYTES + 4 * n_elems;
}

size_t strait_lowrank_predict(const void *state, size_t n_elems, size_t n_rows)
{
    const struct strait_lowrank_coder *c = state;
    struct strait_lowrank shape;
    if (!gains(&shape, c, n_elems, n_rows))
        return strait_lowrank_max_bytes(c, n_elems);
    return STRAIT_LOWRANK_HEAD_BYTES + 4 * factor_elems(&shape);
}

static int prepare(struct strait_lowrank_coder *c, const struct strait_lowrank *shape, uint64_t key,
                   struct strait_error *err)
{
    const size_t p_elems = shape->n_rows * shape->rank, q_elems = shape->n_cols * shape->rank;
    const size_t side = shape->n_rows > shape->n_cols ? shape->n_rows : shape->n_cols;
    if (c->p && (c->shape.n_rows != shape->n_rows || c->shape.n_cols != shape->n_cols))
        return strait_refuse(err, c->ops->name,
                             "expected %zu x %zu values as in the rounds before, found %zu x %zu",
                             c->shape.n_rows, c->shape.n_cols, shape->n_rows, shape->n_cols);
    if (c->p)
        return 0;
    c->p = calloc(p_elems + q_elems + strait_lowrank_work_elems(side, shape->rank), sizeof(float));
    if (!c->p)
        return strait_error_set(err, STRAIT_ERR_NOMEM, c->ops->name,
                                "no memory for factors of %zu x %zu values", shape->n_rows,
                                shape->n_cols);
    c->q = c->p + p_elems;
    c->work = c->q + q_elems;
    c->shape = *shape;
    strait_lowrank_draw(c->q, q_elems, key);
    return 0;
}

static int factorise(struct strait_lowrank_coder *c, unsigned char *out, const float *x,
                     size_t n_elems, struct strait_error *err)
{
    const size_t p_elems = c->shape.n_rows * c->rank, q_elems = c->shape.n_cols * c->rank;
    unsigned char *factors = out + STRAIT_LOWRANK_HEAD_BYTES;
    int exponent;
    if (!c->tamed && strait_lowrank_is_wild(x, n_elems)) {
        c->tamed = malloc(n_elems * sizeof(*c->tamed));
        if (!c->tamed)
            return strait_error_set(err, STRAIT_ERR_NOMEM, c->ops->name,
                                    "no memory for a copy of %zu values", n_elems);
    }
    const float *m = strait_lowrank_tame(c->tamed, &exponent, x, n_elems);
    c->kernel->step(c, m);
    c->n_steps++;
    out[0] = (unsigned char)c->ops->id;
    out[1] = (unsigned char)c->rank;
    out[2] = (unsigned char)exponent;
    strait_put32(out + 3, (uint32_t)c->shape.n_rows);
    strait_put_floats(factors, c->p, p_elems);
    strait_put_floats(factors + 4 * p_elems, c->q, q_elems);
    return 0;
}

int strait_lowrank_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                          size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_lowrank_coder *c = state;
    struct strait_lowrank shape;
    *len_bytes = strait_lowrank_predict(c, n_elems, request.n_rows);
    if (gains(&shape, c, n_elems, request.n_rows))
        return prepare(c, &shape, request.key, err) == 0 ? factorise(c, out, x, n_elems, err) : -1;
    out[0] = (unsigned char)c->ops->id;
    out[1] = 0;
    strait_put_floats(out + STRAIT_LOWRANK_RAW_BYTES, x, n_elems);
    return 0;
}

static struct factors *take(struct strait_lowrank_coder *c, size_t n_elems)
{
    struct factors *f = strait_pool_take(&c->pool);
    if (f && f->n_elems >= n_elems)
        return f;
    free(f);
    f = malloc(sizeof(*f) + n_elems * sizeof(*f->values));
    if (f)
        f->n_elems = n_elems;
    return f;
}

/* Allocate only after the stream's length confirms the size that its head claims. */
static int decode_factors(struct strait_lowrank_coder *c, float *y,
                          const struct strait_lowrank *shape, int exponent, const unsigned char *in,
                          struct strait_error *err)
{
    struct factors *f = take(c, factor_elems(shape));
    if (!f)
        return strait_error_set(err, STRAIT_ERR_NOMEM, c->ops->name,
                                "no memory for factors of %zu x %zu values", shape->n_rows,
                                shape->n_cols);
    strait_get_floats(f->values, in, factor_elems(shape));
    strait_lowrank_product(y, shape, f->values, f->values + shape->n_rows * shape->rank);
    strait_pool_give(&c->pool, f);
    if (exponent != 0)
        strait_lowrank_scale(y, shape->n_rows * shape->n_cols, exponent);
    return 0;
}

static int exponent_of(const unsigned char *in)
{
    return in[2] < 128 ? in[2] : in[2] - 256;
}

static bool is_head(const unsigned char *in)
{
    return in[1] >= 1 && in[1] <= STRAIT_LOWRANK_MAX_RANK &&
           abs(exponent_of(in)) <= STRAIT_LOWRANK_MAX_EXPONENT;
}

int strait_lowrank_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                          size_t len_bytes, struct strait_error *err)
{
    struct strait_lowrank_coder *c = state;
    struct strait_lowrank shape;
    const bool ours = len_bytes >= STRAIT_LOWRANK_RAW_BYTES && in[0] == c->ops->id;
    if (ours && in[1] == 0 && len_bytes - STRAIT_LOWRANK_RAW_BYTES == 4 * n_elems) {
        strait_get_floats(y, in + STRAIT_LOWRANK_RAW_BYTES, n_elems);
        return 0;
    }
    if (ours && len_bytes >= STRAIT_LOWRANK_HEAD_BYTES && is_head(in) &&
        strait_lowrank_fits(&shape, n_elems, strait_get32(in + 3), in[1]) &&
        len_bytes - STRAIT_LOWRANK_HEAD_BYTES == 4 * factor_elems(&shape))
        return decode_factors(c, y, &shape, exponent_of(in), in + STRAIT_LOWRANK_HEAD_BYTES, err);
    return strait_refuse(err, c->ops->name, "expected a stream of %zu values, found other bytes",
                         n_elems);
}
