/* What a sender keeps of one tensor between rounds. Two buffers: `residual` is v of the header;
 * `work` is what is encoded if that is not v itself, and then the decoded values.
 *
 * The memory stays finite: sums are clamped to the largest float, a value of x that is not finite
 * is encoded as it is and leaves v and u alone, and where a codec decodes a finite value to one
 * that is not, v becomes 0. */
#include "feedback.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bound.h"
#include "core/bytes.h"
#include "core/host.h"

struct strait_feedback {
    const struct strait_codec_ops *ops;
    void *state; /* of a STATEFUL codec */
    double *params;
    size_t n_elems;
    float momentum, decay;
    float *residual, *velocity, *work; /* NULL where not needed; velocity is u of the header */
};

STRAIT_INLINE bool is_finite(float v)
{
    return fabsf(v) <= FLT_MAX;
}

STRAIT_INLINE float clamp_to_finite(float v)
{
    return v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
}

static bool is_stateful(const struct strait_codec_ops *ops)
{
    return ops->flags & STRAIT_CODEC_STATEFUL;
}

static int memory_fill(struct strait_feedback *m, const double *params,
                       struct strait_feedback_options options, struct strait_error *err)
{
    const size_t n = m->n_elems > 0 ? m->n_elems : 1;
    m->params = calloc(m->ops->n_params + 1, sizeof(*m->params));
    if (options.residual)
        m->residual = calloc(n, sizeof(float));
    if (options.momentum > 0)
        m->velocity = calloc(n, sizeof(float));
    if (m->residual || m->velocity)
        m->work = calloc(n, sizeof(float));
    if (!m->params || (options.residual && !m->residual) ||
        (options.momentum > 0 && !m->velocity) || ((m->residual || m->velocity) && !m->work))
        return strait_error_set(err, STRAIT_ERR_NOMEM, m->ops->name,
                                "no memory for what is remembered of %zu values", m->n_elems);
    if (m->ops->n_params > 0)
        memcpy(m->params, params, m->ops->n_params * sizeof(*params));
    return is_stateful(m->ops) ? strait_codec_open(m->ops, &m->state, m->params, err) : 0;
}

struct strait_feedback *strait_feedback_new(const struct strait_codec_ops *ops,
                                            const double *params, size_t n_elems,
                                            struct strait_feedback_options options,
                                            struct strait_error *err)
{
    if (!(options.momentum >= 0 && options.momentum < 1)) {
        strait_refuse(err, ops->name, "expected a momentum from 0 to below 1, found %g",
                      options.momentum);
        return NULL;
    }
    if (!(options.decay >= 0 && options.decay <= 1)) {
        strait_refuse(err, ops->name, "expected a decay of the residual from 0 to 1, found %g",
                      options.decay);
        return NULL;
    }
    struct strait_feedback *m = calloc(1, sizeof(*m));
    if (!m) {
        strait_error_set(err, STRAIT_ERR_NOMEM, ops->name, "no memory for a tensor's memory");
        return NULL;
    }
    m->ops = ops;
    m->n_elems = n_elems;
    m->momentum = (float)options.momentum;
    m->decay = options.decay > 0 ? (float)options.decay : 1;
    if (memory_fill(m, params, options, err) == 0)
        return m;
    strait_feedback_free(m);
    return NULL;
}

void strait_feedback_free(struct strait_feedback *m)
{
    if (!m)
        return;
    if (m->state)
        m->ops->close(m->state);
    free(m->params);
    free(m->residual);
    free(m->velocity);
    free(m->work);
    free(m);
}

/* u <- momentum u + x at finite x. Returns whether all of them are. */
STRAIT_CLONED static bool add_momentum(struct strait_feedback *m, const float *x)
{
    float *u = m->velocity;
    uint32_t n_other = 0;
    for (size_t i = 0; i < m->n_elems; i++) {
        const bool good = is_finite(x[i]);
        const float sum = clamp_to_finite(m->momentum * u[i] + x[i]);
        u[i] = good ? sum : u[i];
        n_other |= !good;
    }
    return n_other == 0;
}

/* v <- decay v + add at finite x; add is x itself or u. Returns whether all x are finite. */
STRAIT_CLONED static bool add_residual(struct strait_feedback *m, const float *x, const float *add)
{
    float *v = m->residual;
    uint32_t n_other = 0;
    for (size_t i = 0; i < m->n_elems; i++) {
        const bool good = is_finite(x[i]);
        const float sum = clamp_to_finite(m->decay * v[i] + add[i]);
        v[i] = good ? sum : v[i];
        n_other |= !good;
    }
    return n_other == 0;
}

/* Add x to the memory. Returns what is to be encoded: v or u, or a copy with the values of x that
 * are not finite in their places. */
static const float *compensate(struct strait_feedback *m, const float *x)
{
    bool all_finite = true;
    if (!m->work)
        return x;
    if (m->velocity)
        all_finite = add_momentum(m, x);
    if (m->residual)
        all_finite = add_residual(m, x, m->velocity ? m->velocity : x);
    const float *sum = m->residual ? m->residual : m->velocity;
    if (all_finite)
        return sum;
    for (size_t i = 0; i < m->n_elems; i++) {
        const float value = x[i], with = sum[i];
        m->work[i] = is_finite(value) ? with : value;
    }
    return m->work;
}

/* v <- v - y */
STRAIT_CLONED static void subtract_sent(struct strait_feedback *m, const float *x, const float *y)
{
    float *v = m->residual;
    for (size_t i = 0; i < m->n_elems; i++) {
        const float before = v[i], rest = clamp_to_finite(before - y[i]);
        const float after = is_finite(y[i]) ? rest : 0;
        v[i] = is_finite(x[i]) ? after : before;
    }
}

/* Momentum factor masking: what decodes to something other than 0 was sent. */
STRAIT_CLONED static void mask_sent(struct strait_feedback *m, const float *x, const float *y)
{
    float *u = m->velocity;
    for (size_t i = 0; i < m->n_elems; i++) {
        const float before = u[i], rest = y[i] == 0 ? before : 0;
        u[i] = is_finite(x[i]) ? rest : before;
    }
}

struct forgetting {
    struct strait_feedback *m;
    const float *x;
    bool masks;
};

/* Both of the above where all other values decode to 0, which leaves v and u as they are. */
static void forget_sent(void *context, const uint32_t *index, const unsigned char *values, size_t n)
{
    const struct forgetting *f = context;
    float *v = f->m->residual, *u = f->masks ? f->m->velocity : NULL;
    for (size_t k = 0; k < n; k++) {
        const size_t i = index[k];
        const float y = strait_get_float(values + 4 * k);
        if (!is_finite(f->x[i]))
            continue;
        if (v)
            v[i] = is_finite(y) ? clamp_to_finite(v[i] - y) : 0;
        if (u && y != 0)
            u[i] = 0;
    }
}

/* Check everything that encode could refuse before the memory changes: a refused call must leave it
 * as it was. */
static int check(const struct strait_feedback *m, const void *state, size_t cap_bytes,
                 size_t n_elems, struct strait_request request, struct strait_error *err)
{
    if (n_elems != m->n_elems)
        return strait_refuse(err, m->ops->name, "expected %zu values, as remembered, found %zu",
                             m->n_elems, n_elems);
    if (strait_bound_check(request.bound, m->ops, err) != 0)
        return -1;
    const size_t max_bytes = m->ops->max_bytes(state, n_elems);
    if (cap_bytes < max_bytes)
        return strait_refuse(err, m->ops->name, "expected room for %zu bytes, found %zu", max_bytes,
                             cap_bytes);
    return 0;
}

int strait_feedback_encode(struct strait_feedback *m, const struct strait_coder *coder,
                           unsigned char *out, size_t cap_bytes, size_t *len_bytes, const float *x,
                           size_t n_elems, struct strait_request request, struct strait_error *err)
{
    assert(m->state || !coder || coder->ops == m->ops);
    void *state = is_stateful(m->ops) ? m->state : coder->state;
    const bool masks = m->velocity && m->ops->flags & STRAIT_CODEC_SPARSE;
    if (check(m, state, cap_bytes, n_elems, request, err) != 0)
        return -1;
    const float *sum = compensate(m, x);
    if (strait_codec_encode(m->ops, state, out, cap_bytes, len_bytes, sum, n_elems, request, err) !=
        0)
        return -1;
    if (!m->residual && !masks)
        return 0;
    if (m->ops->sent) {
        struct forgetting f = {m, x, masks};
        return m->ops->sent(state, n_elems, out, *len_bytes, forget_sent, &f, err);
    }
    if (strait_codec_decode(m->ops, state, m->work, n_elems, out, *len_bytes, request.agreed,
                            err) != 0)
        return -1;
    if (m->residual)
        subtract_sent(m, x, m->work);
    if (masks)
        mask_sent(m, x, m->work);
    return 0;
}

float strait_feedback_norm(struct strait_feedback *m, const float *x, size_t n_elems)
{
    assert(!m->velocity && n_elems == m->n_elems);
    for (size_t i = 0; m->residual && i < n_elems; i++)
        m->work[i] = is_finite(x[i]) ? clamp_to_finite(m->decay * m->residual[i] + x[i]) : 0;
    return strait_norm_of(m->residual ? m->work : x, n_elems);
}

int strait_feedback_reset(struct strait_feedback *m, struct strait_error *err)
{
    void *fresh = NULL;
    if (is_stateful(m->ops) && strait_codec_open(m->ops, &fresh, m->params, err) != 0)
        return -1;
    if (m->state)
        m->ops->close(m->state);
    m->state = fresh;
    if (m->residual)
        memset(m->residual, 0, m->n_elems * sizeof(float));
    if (m->velocity)
        memset(m->velocity, 0, m->n_elems * sizeof(float));
    return 0;
}

const float *strait_feedback_residual(const struct strait_feedback *m)
{
    return m->residual;
}
