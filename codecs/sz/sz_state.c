#include <stdlib.h>
#include "core/buffer.h"
#include "sz_state.h"

struct sz_encoder *sz_take_encoder(struct sz_state *s)
{
    struct sz_encoder *e = strait_pool_take(&s->encoders);
    if (!e && (e = strait_buffer_new(sizeof(*e))) != NULL)
        sz_log_init(&e->logs);
    if (e)
        memset(e->version, 0, sizeof(e->version));
    if (e)
        e->split.known.n_blocks = 0;
    if (e)
        e->kernels = s->kernels;
    return e;
}

struct sz_decoder *sz_take_decoder(struct sz_state *s)
{
    struct sz_decoder *d = strait_pool_take(&s->decoders);
    if (!d && (d = strait_buffer_new(sizeof(*d))) != NULL)
        memset(d->nans, UINT8_MAX, sizeof(d->nans));
    if (d)
        memset(d->version, 0, sizeof(d->version));
    if (d)
        d->kernels = s->kernels;
    return d;
}

struct sz_matrix *sz_take_matrix(struct sz_state *s, size_t n_elems, size_t n_rows)
{
    struct sz_matrix *m = strait_pool_take(&s->matrices);
    if (!m && !(m = calloc(1, sizeof(*m))))
        return NULL;
    m->kernels = sz_matrix_kernels_at(s->kernels->level);
    if (sz_matrix_shape(m, n_elems, n_rows))
        return m;
    strait_pool_give(&s->matrices, m);
    return NULL;
}

void sz_give_matrix(struct sz_state *s, struct sz_matrix *m)
{
    if (m)
        strait_pool_give(&s->matrices, m);
}

void sz_state_free(void *state)
{
    struct sz_state *s = state;
    strait_team_free(s->team);
    for (void *piece; (piece = strait_pool_take(&s->matrices)) != NULL;)
        sz_matrix_free(piece);
    strait_pool_release(&s->matrices);
    for (void *piece; (piece = strait_pool_take(&s->encoders)) != NULL;)
        strait_buffer_free(piece);
    for (void *piece; (piece = strait_pool_take(&s->decoders)) != NULL;)
        strait_buffer_free(piece);
    strait_pool_release(&s->encoders);
    strait_pool_release(&s->decoders);
    free(s);
}

static int fill_pools(struct sz_state *s, unsigned n_threads)
{
    struct sz_encoder *e[SZ_MAX_THREADS];
    struct sz_decoder *d[SZ_MAX_THREADS];
    bool good = true;
    for (unsigned i = 0; i < n_threads; i++) {
        e[i] = sz_take_encoder(s);
        d[i] = sz_take_decoder(s);
        good = good && e[i] && d[i];
    }
    for (unsigned i = 0; i < n_threads; i++) {
        if (e[i])
            strait_pool_give(&s->encoders, e[i]);
        if (d[i])
            strait_pool_give(&s->decoders, d[i]);
    }
    return good ? 0 : -1;
}

struct sz_state *sz_state_new(const struct sz_kernels *kernels, unsigned n_threads,
                              struct strait_error *err)
{
    struct sz_state *s = calloc(1, sizeof(*s));
    if (!s) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "no memory for the codec");
        return NULL;
    }
    s->kernels = kernels;
    strait_pool_init(&s->encoders);
    strait_pool_init(&s->decoders);
    strait_pool_init(&s->matrices);
    int failed = fill_pools(s, n_threads);
    if (failed)
        strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "no memory for the codec");
    if (!failed && n_threads > 1)
        failed = (s->team = strait_team_new(n_threads, err)) ? 0 : -1;
    if (!failed)
        return s;
    sz_state_free(s);
    return NULL;
}
