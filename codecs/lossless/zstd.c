/* zstd: bytes sorted by significance, then libzstd, piece by piece. Lossless. The stream is that of
 * pieces.h. */
#include <zstd.h>
#include "codecs/builtin.h"
#include "codecs/foreign/pieces.h"
#include "planes.h"

enum { PIECE = 1 << 16 };

struct scratch {
    struct strait_pooled pooled;
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    unsigned char planes[4 * PIECE];
};

static const struct strait_param params[] = {
    {"level", "libzstd compression level", .min = 1, .max = 19, .fallback = 1},
};

static bool init(void *scratch, const double *values)
{
    struct scratch *s = scratch;
    s->compress = ZSTD_createCCtx();
    s->decompress = ZSTD_createDCtx();
    return s->compress && s->decompress &&
           !ZSTD_isError(
               ZSTD_CCtx_setParameter(s->compress, ZSTD_c_compressionLevel, (int)values[0]));
}

static void release(void *scratch)
{
    struct scratch *s = scratch;
    ZSTD_freeCCtx(s->compress);
    ZSTD_freeDCtx(s->decompress);
}

static size_t compress(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece)
{
    struct scratch *s = scratch;
    strait_planes_split(s->planes, x, piece.n_elems);
    const size_t len = ZSTD_compress2(s->compress, out, cap_bytes, s->planes, 4 * piece.n_elems);
    return ZSTD_isError(len) ? 0 : len;
}

static bool expand(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes)
{
    struct scratch *s = scratch;
    const size_t n = piece.n_elems;
    if (ZSTD_decompressDCtx(s->decompress, s->planes, 4 * n, in, len_bytes) != 4 * n)
        return false;
    strait_planes_join(y, s->planes, n);
    return true;
}

static const struct strait_piece_kernel kernel = {
    .piece_elems = PIECE,
    .scratch_bytes = sizeof(struct scratch),
    .init = init,
    .release = release,
    .compress = compress,
    .expand = expand,
};

const struct strait_codec_ops strait_codec_zstd = {
    .name = "zstd",
    .family = "lossless",
    .source = "libzstd behind a byte shuffle",
    .id = 2,
    .flags = STRAIT_CODEC_LOSSLESS | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    STRAIT_PIECES_CODEC(&kernel),
    .encode = strait_pieces_encode,
};
