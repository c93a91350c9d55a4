/* zfp: libzfp's fixed-accuracy mode, in two dimensions if the tensor is a matrix, else on the flat
 * order. The stream is that of pieces.h; a piece is libzfp's bytes, whose decoder knows where they
 * end, and where values are not finite or miss the bound as decoded, a list of these behind them
 * (corrections.h). A piece that is no smaller so is stored raw. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zfp.h>
#include "codecs/builtin.h"
#include "corrections.h"
#include "pieces.h"

enum { PARAM_VERIFY, PARAM_SHAPE, N_PARAMS };
enum { PIECE = 1 << 14, MAX_PIECE = 1 << 18, BLOCK_SIDE = 4 };

struct scratch {
    struct strait_pooled pooled;
    bool verify;
    zfp_stream *stream;
    zfp_field *field;
    size_t max_elems; /* room in what follows */
    float *values;
    bitstream *bits;
    size_t buffer_bytes;
    unsigned char *buffer; /* twice what the encoder needs: a hostile stream cannot read further */
};

static const struct strait_param params[N_PARAMS] = {
    [PARAM_VERIFY] = {"verify", "decode again and correct what misses the bound; no: trust zfp",
                      .min = 0, .max = 1, .fallback = 1, .choices = strait_no_yes},
    [PARAM_SHAPE] = {"shape", "rows: transform in two dimensions where the tensor is a matrix",
                     .min = 0, .max = 1, .fallback = STRAIT_SHAPE_ROWS, .choices = strait_shapes},
};

static void drop_buffers(struct scratch *s)
{
    if (s->bits)
        stream_close(s->bits);
    free(s->buffer);
    free(s->values);
    s->bits = NULL;
    s->buffer = NULL;
    s->values = NULL;
    s->max_elems = 0;
}

/* Make room for pieces of this shape; rows with partial blocks at both edges take the most. */
static bool make_room(struct scratch *s, struct strait_piece piece)
{
    if (piece.n_elems <= s->max_elems)
        return true;
    drop_buffers(s);
    const size_t n = piece.n_elems > PIECE ? MAX_PIECE : PIECE;
    zfp_stream_set_accuracy(s->stream, 0x1p-140); /* the most bits that any tolerance takes */
    zfp_field_set_size_1d(s->field, n * BLOCK_SIDE);
    s->buffer_bytes = 2 * zfp_stream_maximum_size(s->stream, s->field) + 64;
    s->buffer = calloc(1, s->buffer_bytes);
    s->values = malloc(sizeof(float) * n);
    s->bits = s->buffer ? stream_open(s->buffer, s->buffer_bytes) : NULL;
    if (!s->bits || !s->values)
        return false;
    zfp_stream_set_bit_stream(s->stream, s->bits);
    s->max_elems = n;
    return true;
}

static bool init(void *scratch, const double *values)
{
    struct scratch *s = scratch;
    s->verify = values[PARAM_VERIFY] > 0.5;
    s->stream = zfp_stream_open(NULL);
    s->field = zfp_field_1d(NULL, zfp_type_float, PIECE);
    return s->stream && s->field && make_room(s, (struct strait_piece){.n_elems = PIECE});
}

static void release(void *scratch)
{
    struct scratch *s = scratch;
    drop_buffers(s);
    if (s->field)
        zfp_field_free(s->field);
    if (s->stream)
        zfp_stream_close(s->stream);
}

static void begin(struct scratch *s, float *values, struct strait_piece piece)
{
    zfp_field_set_pointer(s->field, values);
    if (piece.n_cols > 0)
        zfp_field_set_size_2d(s->field, piece.n_cols, piece.n_elems / piece.n_cols);
    else
        zfp_field_set_size_1d(s->field, piece.n_elems);
    zfp_stream_set_accuracy(s->stream, piece.tolerance);
    zfp_stream_rewind(s->stream);
}

/* Write libzfp's len bytes and the list behind them. False: there is no room. */
static bool write_piece(struct strait_writer *w, const struct scratch *s, size_t len,
                        const float *x, struct strait_piece piece)
{
    strait_write_bytes(w, s->buffer, len);
    struct strait_writer list = *w;
    const float *y = s->verify ? s->values : NULL;
    if (!w->full && strait_corrections_put(&list, x, y, piece.n_elems, piece.tolerance) > 0)
        *w = list;
    return !w->full;
}

static size_t compress(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece)
{
    struct scratch *s = scratch;
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    if (!make_room(s, piece) || !strait_corrections_fill(s->values, x, piece.n_elems))
        return 0;
    begin(s, s->values, piece);
    const size_t len = zfp_compress(s->stream, s->field);
    if (len == 0)
        return 0;
    if (s->verify) {
        begin(s, s->values, piece);
        if (zfp_decompress(s->stream, s->field) != len)
            return 0;
    }
    return write_piece(&w, s, len, x, piece) ? (size_t)(w.p - out) : 0;
}

static bool expand(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes)
{
    struct scratch *s = scratch;
    if (!(piece.tolerance > 0) || !make_room(s, piece) || 2 * len_bytes > s->buffer_bytes)
        return false;
    memcpy(s->buffer, in, len_bytes);
    memset(s->buffer + len_bytes, 0, 64); /* libzfp reads whole words */
    begin(s, y, piece);
    const size_t len = zfp_decompress(s->stream, s->field);
    if (len == 0 || len >= len_bytes)
        return len != 0;
    struct strait_reader list = {.p = in + len, .end = in + len_bytes};
    return strait_corrections_get(y, piece.n_elems, &list) && list.p == list.end;
}

static const struct strait_piece_kernel kernel = {
    .piece_elems = PIECE,
    .row_group = BLOCK_SIDE,
    .max_piece_elems = MAX_PIECE,
    .scratch_bytes = sizeof(struct scratch),
    .init = init,
    .release = release,
    .compress = compress,
    .expand = expand,
};

static int encode_zfp(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                      size_t n_elems, struct strait_request request, struct strait_error *err)
{
    if (strait_pieces_param(state, PARAM_SHAPE) < STRAIT_SHAPE_ROWS)
        request.n_rows = 0;
    return strait_pieces_encode(state, out, len_bytes, x, n_elems, request, err);
}

const struct strait_codec_ops strait_codec_zfp = {
    .name = "zfp",
    .family = "error-bounded",
    .source = "libzfp, fixed accuracy, one dimension or two",
    .id = 4,
    .flags = STRAIT_CODEC_BOUNDED | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS,
    STRAIT_PARAMS(params),
    STRAIT_PIECES_CODEC(&kernel),
    .encode = encode_zfp,
};
