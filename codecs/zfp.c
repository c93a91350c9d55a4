/* zfp: libzfp's fixed-accuracy mode on the flat order of the values, in pieces of 2^14. A piece
 * with values that are not finite, or whose decoded values miss the bound, is stored as it is.
 *
 *   varint  n_elems
 *   float64 tolerance
 *   for each piece: varint length, 0: raw float32; then the bytes
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <zfp.h>
#include "builtin.h"
#include "bound.h"
#include "bytes.h"
#include "pool.h"

enum { PIECE = 1 << 14, PIECE_BYTES = 4 * PIECE };

struct scratch {
    struct strait_pooled pooled;
    zfp_stream *stream;
    zfp_field *field;
    bitstream *bits;
    size_t buffer_bytes;
    unsigned char *buffer; /* twice what the encoder may need: a hostile stream reads no further */
    float values[PIECE];
};

struct state {
    struct strait_pool pool;
    bool verify;
};

static const struct strait_codec_param params[] = {
    {.name = "verify",
     .doc = "1: decode every piece again and store it raw where the bound fails; 0: trust libzfp",
     .min = 0,
     .max = 1,
     .fallback = 1},
};

static void scratch_free(struct scratch *s)
{
    if (s->bits)
        stream_close(s->bits);
    if (s->field)
        zfp_field_free(s->field);
    if (s->stream)
        zfp_stream_close(s->stream);
    free(s->buffer);
    free(s);
}

static struct scratch *take(struct state *state)
{
    struct scratch *s = strait_pool_take(&state->pool);
    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->stream = zfp_stream_open(NULL);
    s->field = zfp_field_1d(s->values, zfp_type_float, PIECE);
    if (s->stream && s->field) {
        zfp_stream_set_accuracy(s->stream, 0x1p-140); /* the most bits that any tolerance takes */
        s->buffer_bytes = 2 * zfp_stream_maximum_size(s->stream, s->field) + 64;
        s->buffer = calloc(1, s->buffer_bytes);
        s->bits = s->buffer ? stream_open(s->buffer, s->buffer_bytes) : NULL;
    }
    if (s->bits) {
        zfp_stream_set_bit_stream(s->stream, s->bits);
        return s;
    }
    scratch_free(s);
    return NULL;
}

static void zfp_close(void *state)
{
    struct state *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static int zfp_open(void **state, const double *values, struct strait_error *err)
{
    if (!(values[0] >= 0 && values[0] <= 1))
        return strait_error_set(err, STRAIT_ERR_INPUT, "zfp", "expected verify 0 or 1, found %g",
                                values[0]);
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zfp", "no memory for the codec");
    s->verify = values[0] > 0;
    strait_pool_init(&s->pool);
    *state = s;
    return 0;
}

static size_t zfp_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems + n_elems / PIECE + 32;
}

static void begin(struct scratch *s, float *values, size_t n)
{
    zfp_field_set_pointer(s->field, values);
    zfp_field_set_size_1d(s->field, n);
    zfp_stream_rewind(s->stream);
}

static bool all_finite(const float *x, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

/* A tolerance of 0 compresses nothing: what is set then is not used. */
static void set_accuracy(struct scratch *s, double tolerance)
{
    zfp_stream_set_accuracy(s->stream, tolerance > 0 && isfinite(tolerance) ? tolerance : 0x1p-140);
}

/* Compressed bytes of the piece in s->buffer, or 0 where it has to be stored. */
static size_t compress_piece(struct scratch *s, const float *x, size_t n, double tolerance,
                             bool verify)
{
    if (!(tolerance > 0) || !all_finite(x, n))
        return 0;
    memcpy(s->values, x, 4 * n); /* libzfp takes a pointer to what may change */
    begin(s, s->values, n);
    const size_t len = zfp_compress(s->stream, s->field);
    if (len == 0 || len >= 4 * n - (n > 1 ? 3 : 1))
        return 0;
    if (!verify)
        return len;
    begin(s, s->values, n);
    if (zfp_decompress(s->stream, s->field) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)s->values[i]) <= tolerance))
            return 0;
    return len;
}

static int zfp_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                      const float *x, size_t n_elems, struct strait_request request,
                      struct strait_error *err)
{
    struct state *shared = state;
    if (strait_bound_check(request.bound, &strait_codec_zfp, err) != 0)
        return -1;
    if (cap_bytes < zfp_max_bytes(state, n_elems))
        return strait_error_set(err, STRAIT_ERR_INPUT, "zfp",
                                "expected room for %zu bytes, found %zu",
                                zfp_max_bytes(state, n_elems), cap_bytes);
    struct scratch *s = take(shared);
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zfp", "memory ran out");
    const double tolerance = strait_bound_absolute(request.bound, x, n_elems);
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    strait_write_varint(&w, n_elems);
    strait_put_double(w.p, tolerance);
    w.p += 8;
    set_accuracy(s, tolerance);
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        const size_t len = compress_piece(s, x + i, n, tolerance, shared->verify);
        strait_write_varint(&w, len);
        if (len > 0) {
            strait_write_bytes(&w, s->buffer, len);
        } else if (strait_write_room(&w, 4 * n)) {
            strait_put_floats(w.p, x + i, n);
            w.p += 4 * n;
        }
    }
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    strait_pool_give(&shared->pool, s);
    return 0;
}

static bool decode_piece(struct scratch *s, float *y, size_t n, struct strait_reader *r)
{
    const uint64_t len = strait_read_varint(r);
    if (len >= 4 * n || 2 * len > s->buffer_bytes)
        return false;
    const unsigned char *p = strait_read_bytes(r, len == 0 ? 4 * n : (size_t)len);
    if (!p)
        return false;
    if (len == 0) {
        strait_get_floats(y, p, n);
        return true;
    }
    memcpy(s->buffer, p, (size_t)len);
    memset(s->buffer + len, 0, 64); /* libzfp reads whole words */
    begin(s, y, n);
    return zfp_decompress(s->stream, s->field) != 0;
}

static int zfp_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                      size_t len_bytes, struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    struct scratch *s = take(state);
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zfp", "memory ran out");
    bool good = strait_read_varint(&r) == n_elems;
    const unsigned char *p = strait_read_bytes(&r, 8);
    good = good && p;
    set_accuracy(s, p ? strait_get_double(p) : 0);
    for (size_t i = 0; i < n_elems && good; i += PIECE)
        good = decode_piece(s, y + i, n_elems - i < PIECE ? n_elems - i : PIECE, &r);
    strait_pool_give(&((struct state *)state)->pool, s);
    if (!good || r.p != r.end)
        return strait_error_set(err, STRAIT_ERR_INPUT, "zfp", "expected a stream of %zu values",
                                n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_zfp = {
    .name = "zfp",
    .family = "error-bounded",
    .source = "libzfp, fixed accuracy, one dimension",
    .id = 4,
    .flags = STRAIT_CODEC_BOUNDED | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .open = zfp_open,
    .close = zfp_close,
    .max_bytes = zfp_max_bytes,
    .encode = zfp_encode,
    .decode = zfp_decode,
};
