/* Framework for codecs that pass a tensor to a library piece by piece. */
#include "pieces.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "codecs/bound.h"
#include "core/bytes.h"

enum { MAX_PARAMS = 4 };

struct state {
    const struct strait_codec_ops *ops;
    const struct strait_piece_kernel *kernel;
    struct strait_pool pool;
    double params[MAX_PARAMS];
};

const char *const strait_no_yes[] = {"no", "yes", NULL};
const char *const strait_shapes[] = {"flat", "rows", NULL};

/* How a tensor is cut. */
struct cut {
    size_t n_cols, piece_elems;
};

static void drop(const struct strait_piece_kernel *kernel, void *scratch)
{
    if (kernel->release)
        kernel->release(scratch);
    free(scratch);
}

/* Scratch memory for this thread, NULL when memory ran out. */
static void *take(struct state *s)
{
    void *scratch = strait_pool_take(&s->pool);
    if (scratch)
        return scratch;
    scratch = calloc(1, s->kernel->scratch_bytes);
    if (!scratch || s->kernel->init(scratch, s->params))
        return scratch;
    drop(s->kernel, scratch);
    return NULL;
}

int strait_pieces_open(void **state, const struct strait_codec_ops *ops, const double *params,
                       struct strait_error *err)
{
    assert(ops->n_params <= MAX_PARAMS);
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, ops->name, "no memory for the codec");
    s->ops = ops;
    s->kernel = ops->kernel;
    for (unsigned i = 0; i < ops->n_params; i++)
        s->params[i] = params[i];
    strait_pool_init(&s->pool);
    *state = s;
    return 0;
}

double strait_pieces_param(const void *state, unsigned i)
{
    return ((const struct state *)state)->params[i];
}

void strait_pieces_close(void *state)
{
    struct state *s = state;
    for (void *scratch; (scratch = strait_pool_take(&s->pool)) != NULL;)
        drop(s->kernel, scratch);
    strait_pool_release(&s->pool);
    free(s);
}

/* Every piece but the last has more than half of piece_elems. */
size_t strait_pieces_max_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    return 4 * n_elems + 2 * (n_elems / s->kernel->piece_elems) + 40;
}

/* Whether rows of this length can be cut into pieces. */
static bool shape_fits(const struct strait_piece_kernel *k, size_t n_elems, size_t n_cols)
{
    return k->row_group > 0 && n_cols > 1 && n_cols < n_elems && n_elems % n_cols == 0 &&
           n_cols <= k->max_piece_elems / k->row_group;
}

static struct cut cut_of(const struct strait_piece_kernel *k, size_t n_cols)
{
    if (n_cols == 0)
        return (struct cut){0, k->piece_elems};
    const size_t groups = k->piece_elems / n_cols / k->row_group;
    return (struct cut){n_cols, (groups > 0 ? groups : 1) * k->row_group * n_cols};
}

static bool is_bounded(const struct state *s)
{
    return (s->ops->flags & STRAIT_CODEC_BOUNDED) != 0;
}

static size_t varint_bytes(size_t v)
{
    size_t n = 1;
    for (; v >= 128; v >>= 7)
        n++;
    return n;
}

/* The length is known only afterwards: leave room for the longest, then move the bytes up. */
static void encode_piece(const struct state *s, void *scratch, struct strait_writer *w,
                         const float *x, struct strait_piece piece)
{
    const size_t raw_bytes = 4 * piece.n_elems, gap = varint_bytes(raw_bytes);
    const bool possible = raw_bytes > gap && (!is_bounded(s) || piece.tolerance > 0);
    const size_t len =
        possible ? s->kernel->compress(scratch, w->p + gap, raw_bytes - gap, x, piece) : 0;
    assert(len == 0 || len <= raw_bytes - gap);
    const unsigned char *from = w->p + gap;
    strait_write_varint(w, len);
    if (len > 0) {
        memmove(w->p, from, len);
        w->p += len;
    } else {
        strait_put_floats(w->p, x, piece.n_elems);
        w->p += raw_bytes;
    }
}

/* Out:     piece: the properties that all pieces share. */
static void encode_head(const struct state *s, struct strait_piece *piece, struct strait_writer *w,
                        const float *x, size_t n_elems, struct strait_request request)
{
    const struct strait_piece_kernel *k = s->kernel;
    *piece = (struct strait_piece){0};
    strait_write_u8(w, s->ops->id);
    strait_write_varint(w, n_elems);
    if (k->row_group > 0) {
        const size_t n_cols = request.n_rows > 0 ? n_elems / request.n_rows : 0;
        piece->n_cols = shape_fits(k, n_elems, n_cols) ? n_cols : 0;
        strait_write_varint(w, piece->n_cols);
    }
    if (is_bounded(s)) {
        const double tolerance = strait_bound_absolute(request.bound, x, n_elems);
        piece->tolerance = isfinite(tolerance) ? tolerance : 0;
        strait_put_double(w->p, piece->tolerance);
        w->p += 8;
    }
}

int strait_pieces_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct state *s = state;
    void *scratch = take(s);
    if (!scratch)
        return strait_error_memory(err, s->ops->name);
    struct strait_writer w = {.p = out, .end = out + strait_pieces_max_bytes(state, n_elems)};
    struct strait_piece piece;
    encode_head(s, &piece, &w, x, n_elems, request);
    const struct cut cut = cut_of(s->kernel, piece.n_cols);
    for (size_t i = 0; i < n_elems; i += cut.piece_elems) {
        piece.n_elems = n_elems - i < cut.piece_elems ? n_elems - i : cut.piece_elems;
        encode_piece(s, scratch, &w, x + i, piece);
    }
    assert(!w.full && w.p <= w.end);
    *len_bytes = (size_t)(w.p - out);
    strait_pool_give(&s->pool, scratch);
    return 0;
}

static bool decode_piece(const struct strait_piece_kernel *k, void *scratch, float *y,
                         struct strait_piece piece, struct strait_reader *r)
{
    const size_t raw_bytes = 4 * piece.n_elems;
    const uint64_t len = strait_read_varint(r);
    if (len >= raw_bytes)
        return false;
    const unsigned char *p = strait_read_bytes(r, len == 0 ? raw_bytes : (size_t)len);
    if (p && len == 0)
        strait_get_floats(y, p, piece.n_elems);
    return p && (len == 0 || k->expand(scratch, y, piece, p, (size_t)len));
}

/* Read the head into the properties that all pieces share. */
static bool decode_head(const struct state *s, struct strait_piece *piece, struct strait_reader *r,
                        size_t n_elems)
{
    const struct strait_piece_kernel *k = s->kernel;
    *piece = (struct strait_piece){0};
    if (strait_read_u8(r) != s->ops->id || strait_read_varint(r) != n_elems)
        return false;
    if (k->row_group > 0) {
        const uint64_t n_cols = strait_read_varint(r);
        if (n_cols != 0 && (n_cols > n_elems || !shape_fits(k, n_elems, (size_t)n_cols)))
            return false;
        piece->n_cols = (size_t)n_cols;
    }
    if (is_bounded(s)) {
        const unsigned char *p = strait_read_bytes(r, 8);
        piece->tolerance = p ? strait_get_double(p) : 0;
        if (!(piece->tolerance >= 0) || isinf(piece->tolerance))
            return false;
    }
    return !r->bad;
}

int strait_pieces_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err)
{
    struct state *s = state;
    const struct strait_piece_kernel *k = s->kernel;
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    struct strait_piece piece;
    void *scratch = take(s);
    if (!scratch)
        return strait_error_memory(err, s->ops->name);
    bool good = decode_head(s, &piece, &r, n_elems);
    const struct cut cut = cut_of(k, good ? piece.n_cols : 0);
    for (size_t i = 0; i < n_elems && good; i += cut.piece_elems) {
        piece.n_elems = n_elems - i < cut.piece_elems ? n_elems - i : cut.piece_elems;
        good = decode_piece(k, scratch, y + i, piece, &r);
    }
    strait_pool_give(&s->pool, scratch);
    if (!good || r.p != r.end)
        return strait_refuse(err, s->ops->name, "expected a stream of %zu values", n_elems);
    return 0;
}
