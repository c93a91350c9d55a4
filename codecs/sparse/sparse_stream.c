/* Common to the sparsifier codecs: head of a stream, encodings of chosen elements, state and
 * scratch. */
#include "sparse_stream.h"
#include <assert.h>
#include <stdlib.h>

const char *const strait_sparse_two_payloads[] = {"packed", "published", NULL};
const char *const strait_sparse_three_payloads[] = {"packed", "published", "published-int64", NULL};

void strait_sparse_init(void *state, const struct strait_codec_ops *ops, const double *params)
{
    struct strait_sparse_state *s = state;
    s->ops = ops;
    s->rule = ops->kernel;
    s->params = (struct strait_sparsifier_params){.ratio = params[0], .threshold = params[0]};
    s->payload = (unsigned)params[1];
    strait_pool_init(&s->pool);
}

static void piece_free(struct strait_sparse_piece *piece)
{
    if (piece)
        free(piece->index);
    free(piece);
}

void strait_sparse_close(void *state)
{
    struct strait_sparse_state *s = state;
    for (struct strait_sparse_piece *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        piece_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

struct strait_sparse_piece *strait_sparse_take(struct strait_sparse_state *s, size_t n_elems,
                                               struct strait_error *err)
{
    if (n_elems > STRAIT_SPARSE_MAX_ELEMS) {
        strait_refuse(err, s->ops->name, "expected at most %d values, found %zu",
                      STRAIT_SPARSE_MAX_ELEMS, n_elems);
        return NULL;
    }
    struct strait_sparse_piece *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap_elems >= n_elems)
        return piece;
    piece_free(piece);
    piece = malloc(sizeof(*piece));
    /* One array for all three. */
    uint32_t *index = malloc(4 * (3 * n_elems + 1024));
    if (!piece || !index) {
        free(piece);
        free(index);
        strait_error_memory(err, s->ops->name);
        return NULL;
    }
    *piece = (struct strait_sparse_piece){.cap_elems = n_elems,
                                          .index = index,
                                          .scratch = index + n_elems,
                                          .values = (float *)(index + 2 * n_elems + 1024)};
    return piece;
}

void strait_sparse_give(struct strait_sparse_state *s, struct strait_sparse_piece *piece)
{
    if (piece)
        strait_pool_give(&s->pool, piece);
}

void strait_sparse_write_head(struct strait_writer *w, const struct strait_sparse_state *s,
                              size_t n_elems, size_t n_chosen)
{
    strait_write_u8(w, s->ops->id);
    strait_write_u8(w, s->payload);
    strait_write_u32(w, (uint32_t)n_elems);
    strait_write_u32(w, (uint32_t)n_chosen);
}

bool strait_sparse_read_head(struct strait_reader *r, const struct strait_codec_ops *ops,
                             size_t n_elems, unsigned *payload, size_t *n_chosen)
{
    const unsigned id = strait_read_u8(r);
    *payload = strait_read_u8(r);
    const size_t n = strait_read_u32(r);
    *n_chosen = strait_read_u32(r);
    return !r->bad && id == ops->id && *payload <= STRAIT_SPARSE_PUBLISHED_INT64 && n == n_elems &&
           *n_chosen <= n_elems;
}

size_t strait_sparse_index_max_bytes(unsigned payload, size_t n_elems, size_t n_chosen)
{
    if (payload == STRAIT_SPARSE_PACKED)
        return strait_index_rice.max_bytes(n_elems, n_chosen, 0);
    return (payload == STRAIT_SPARSE_PUBLISHED ? 4 : 8) * n_chosen;
}

void strait_sparse_write_index(struct strait_writer *w, unsigned payload, uint32_t *index,
                               size_t n_chosen, size_t n_elems, uint32_t *scratch)
{
    if (payload == STRAIT_SPARSE_PACKED) {
        size_t n = n_chosen;
        strait_index_rice.encode(w, index, &n, n_elems, 0, 0, scratch);
        return;
    }
    const size_t width = payload == STRAIT_SPARSE_PUBLISHED ? 4 : 8;
    if (!strait_write_room(w, width * n_chosen))
        return;
    if (width == 4)
        for (size_t i = 0; i < n_chosen; i++)
            strait_put32(w->p + 4 * i, index[i]);
    else
        for (size_t i = 0; i < n_chosen; i++)
            strait_put64(w->p + 8 * i, index[i]);
    w->p += width * n_chosen;
}

bool strait_sparse_read_index(struct strait_reader *r, unsigned payload, uint32_t *index,
                              size_t n_chosen, size_t n_elems, uint32_t *scratch)
{
    if (payload == STRAIT_SPARSE_PACKED) {
        size_t n;
        return strait_index_rice.decode(r, index, &n, n_elems, scratch) && n == n_chosen;
    }
    const size_t width = payload == STRAIT_SPARSE_PUBLISHED ? 4 : 8;
    const unsigned char *p = strait_read_bytes(r, width * n_chosen);
    uint32_t high = 0;
    if (!p)
        return false;
    if (width == 4)
        for (size_t i = 0; i < n_chosen; i++)
            index[i] = strait_get32(p + 4 * i);
    else
        for (size_t i = 0; i < n_chosen; i++) {
            index[i] = strait_get32(p + 8 * i);
            high |= strait_get32(p + 8 * i + 4);
        }
    return high == 0 && strait_index_ascends(index, n_chosen, n_elems);
}

size_t strait_sparse_max_bytes(const void *state, size_t n_elems)
{
    const struct strait_sparse_state *s = state;
    const size_t n_chosen = s->rule->max_chosen(&s->params, n_elems);
    return STRAIT_SPARSE_HEAD_BYTES + strait_sparse_index_max_bytes(s->payload, n_elems, n_chosen) +
           4 * n_chosen;
}

size_t strait_sparse_predict_fixed(const void *state, size_t n_elems, size_t n_rows)
{
    const struct strait_sparse_state *s = state;
    (void)n_rows;
    return s->payload == STRAIT_SPARSE_PACKED ? 0 : strait_sparse_max_bytes(state, n_elems);
}

struct strait_sparse_piece *strait_sparse_choose(size_t *n_chosen, struct strait_sparse_state *s,
                                                 const float *x, size_t n_elems,
                                                 struct strait_request request,
                                                 struct strait_error *err)
{
    struct strait_sparse_piece *piece = strait_sparse_take(s, n_elems, err);
    struct strait_sparsifier_params params = s->params;
    if (s->rule == &strait_sparsifier_dgc && request.share > 0)
        params.ratio = request.share; /* there is room for any */
    if (piece)
        *n_chosen = s->rule->choose(piece->index, x, n_elems, &params, request.key, piece->scratch);
    return piece;
}

int strait_sparse_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_writer w = {.p = out, .end = out + s->ops->max_bytes(state, n_elems)};
    size_t n;
    struct strait_sparse_piece *piece = strait_sparse_choose(&n, s, x, n_elems, request, err);
    if (!piece)
        return -1;
    strait_sparse_write_head(&w, s, n_elems, n);
    strait_sparse_write_index(&w, s->payload, piece->index, n, n_elems, piece->scratch);
    if (strait_write_room(&w, 4 * n)) {
        for (size_t i = 0; i < n; i++)
            strait_put_float(w.p + 4 * i, x[piece->index[i]]);
        w.p += 4 * n;
    }
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    strait_sparse_give(s, piece);
    return 0;
}

bool strait_sparse_read(const struct strait_sparse_state *s, struct strait_sparse_piece *piece,
                        size_t *n_chosen, const unsigned char **values, const unsigned char *in,
                        size_t len_bytes, size_t n_elems)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    unsigned payload;
    if (!strait_sparse_read_head(&r, s->ops, n_elems, &payload, n_chosen) ||
        !strait_sparse_read_index(&r, payload, piece->index, *n_chosen, n_elems, piece->scratch))
        return false;
    *values = strait_read_bytes(&r, 4 * *n_chosen);
    return *values && r.p == r.end;
}

int strait_sparse_refused(const struct strait_codec_ops *ops, size_t n_elems,
                          struct strait_error *err)
{
    return strait_refuse(err, ops->name, "expected a stream of %zu values", n_elems);
}

int strait_sparse_sent(void *state, size_t n_elems, const unsigned char *in, size_t len_bytes,
                       strait_codec_take take, void *context, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    const unsigned char *values;
    size_t n;
    struct strait_sparse_piece *piece = strait_sparse_take(s, n_elems, err);
    if (!piece)
        return -1;
    const bool good = strait_sparse_read(s, piece, &n, &values, in, len_bytes, n_elems);
    if (good)
        take(context, piece->index, values, n);
    strait_sparse_give(s, piece);
    return good ? 0 : strait_sparse_refused(s->ops, n_elems, err);
}

struct scattering {
    float *y;
    size_t n_elems;
};

static void scatter(void *context, const uint32_t *index, const unsigned char *values, size_t n)
{
    const struct scattering *s = context;
    if (s->n_elems > 0)
        memset(s->y, 0, 4 * s->n_elems);
    for (size_t i = 0; i < n; i++)
        s->y[index[i]] = strait_get_float(values + 4 * i);
}

int strait_sparse_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    struct scattering s = {y, n_elems};
    return strait_sparse_sent(state, n_elems, in, len_bytes, scatter, &s, err);
}
