/* fpzip: libfpzip at full precision, on the flat order or in two dimensions (which makes gradients
 * and updates larger). Lossless. The stream is that of pieces.h; a piece is
 *
 *   u64     XXH3 of the rest, against accidental damage
 *   bytes   of libfpzip without its head
 *
 * The library's decoder does not know the end of its input and looks symbols up without a check, so
 * it runs in a process of its own (isolate.h), where crafted bytes do no harm. It predicts in
 * floating-point arithmetic: a piece in which that can overflow or meet a NaN is decoded again, and
 * stored raw if bits differ. */
#include <fpzip.h>
#include <math.h>
#include <string.h>
#include "core/hash.h"
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/foreign/isolate.h"
#include "codecs/foreign/pieces.h"

enum { PARAM_SHAPE, PARAM_ISOLATE, N_PARAMS };
enum { PIECE = 1 << 18, LIMIT_S = 20, SUM_BYTES = 8 };
#define SAFE_MAGNITUDE 0x1p124f /* sums of seven such values are finite */

struct scratch {
    struct strait_pooled pooled;
    struct strait_isolate isolate;
    float again[PIECE];
};

static const struct strait_param params[N_PARAMS] = {
    [PARAM_SHAPE] = {"shape", "rows: predict in two dimensions where the tensor is a matrix",
                     .min = 0, .max = 1, .fallback = STRAIT_SHAPE_FLAT, .choices = strait_shapes},
    [PARAM_ISOLATE] =
        {"isolate",
         "decode in a process of its own; no: streams are trusted, a bad one may end the program",
         .min = 0, .max = 1, .fallback = 1, .choices = strait_no_yes},
};

static void set_shape(FPZ *fpz, struct strait_piece piece)
{
    fpz->type = FPZIP_TYPE_FLOAT;
    fpz->prec = 0;
    fpz->nx = (int)(piece.n_cols > 0 ? piece.n_cols : piece.n_elems);
    fpz->ny = (int)(piece.n_cols > 0 ? piece.n_elems / piece.n_cols : 1);
    fpz->nz = 1;
    fpz->nf = 1;
}

/* Returns: bytes read, 0 when malformed. */
static size_t read_piece(float *y, struct strait_piece piece, const unsigned char *in)
{
    FPZ *fpz = fpzip_read_from_buffer(in);
    if (!fpz)
        return 0;
    set_shape(fpz, piece);
    const size_t len = fpzip_read(fpz, y);
    fpzip_read_close(fpz);
    return len;
}

/* args: n_elems, n_cols. */
static bool work(const void *context, struct strait_isolated_job *job, const unsigned char *in,
                 unsigned char *out)
{
    (void)context;
    const struct strait_piece piece = {.n_elems = (size_t)job->args[0],
                                       .n_cols = (size_t)job->args[1]};
    return read_piece((float *)(void *)out, piece, in) == job->in_bytes;
}

static bool init(void *scratch, const double *values)
{
    struct scratch *s = scratch;
    s->isolate = (struct strait_isolate){.work = work,
                                         .library = "libfpzip",
                                         .here = values[PARAM_ISOLATE] < 0.5,
                                         .limit_s = LIMIT_S};
    return true;
}

static void release(void *scratch)
{
    strait_isolate_release(&((struct scratch *)scratch)->isolate);
}

static bool all_safe(const float *x, size_t n)
{
    bool safe = true;
    for (size_t i = 0; i < n; i++)
        safe &= fabsf(x[i]) <= SAFE_MAGNITUDE; /* false for NaN */
    return safe;
}

static size_t compress(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece)
{
    struct scratch *s = scratch;
    const size_t n_bytes = 4 * piece.n_elems;
    if (cap_bytes <= SUM_BYTES)
        return 0;
    unsigned char *to = out + SUM_BYTES;
    FPZ *fpz = fpzip_write_to_buffer(to, cap_bytes - SUM_BYTES);
    if (!fpz)
        return 0;
    set_shape(fpz, piece);
    const size_t len = fpzip_write(fpz, x);
    fpzip_write_close(fpz);
    if (len == 0 || len > cap_bytes - SUM_BYTES)
        return 0;
    if (!all_safe(x, piece.n_elems) &&
        (read_piece(s->again, piece, to) != len || memcmp(s->again, x, n_bytes) != 0))
        return 0;
    strait_put64(out, strait_checksum(to, len));
    return len + SUM_BYTES;
}

static bool expand(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes)
{
    struct scratch *s = scratch;
    if (len_bytes <= SUM_BYTES)
        return false;
    const unsigned char *from = in + SUM_BYTES;
    struct strait_isolated_job job = {.in_bytes = len_bytes - SUM_BYTES,
                                      .out_bytes = 4 * piece.n_elems,
                                      .args = {piece.n_elems, piece.n_cols}};
    if (strait_get64(in) != strait_checksum(from, job.in_bytes) ||
        strait_isolate_room(&s->isolate, job.in_bytes, job.out_bytes, NULL) != 0)
        return false;
    memcpy(s->isolate.in, from, job.in_bytes);
    if (strait_isolate_call(&s->isolate, &job, NULL) != 0 || job.good != 1)
        return false;
    memcpy(y, s->isolate.out, 4 * piece.n_elems);
    return true;
}

static const struct strait_piece_kernel kernel = {
    .piece_elems = PIECE,
    .row_group = 1,
    .max_piece_elems = PIECE,
    .scratch_bytes = sizeof(struct scratch),
    .init = init,
    .release = release,
    .compress = compress,
    .expand = expand,
};

static int encode_fpzip(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                        size_t n_elems, struct strait_request request, struct strait_error *err)
{
    if (strait_pieces_param(state, PARAM_SHAPE) < STRAIT_SHAPE_ROWS)
        request.n_rows = 0;
    return strait_pieces_encode(state, out, len_bytes, x, n_elems, request, err);
}

const struct strait_codec_ops strait_codec_fpzip = {
    .name = "fpzip",
    .family = "lossless",
    .source = "libfpzip at full precision",
    .id = 26,
    .flags = STRAIT_CODEC_LOSSLESS | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    STRAIT_PIECES_CODEC(&kernel),
    .encode = encode_fpzip,
};
