/* blosc: libblosc's shuffle and one of its compressors, piece by piece, on the calling thread.
 * Lossless. The stream is that of pieces.h; a piece is a buffer of Blosc 1 with its own head, which
 * says how to decode it. */
#include <blosc.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/foreign/pieces.h"

enum { PIECE = 1 << 18 };
enum { PARAM_COMPRESSOR, PARAM_SHUFFLE, PARAM_LEVEL, N_PARAMS };

struct scratch {
    struct strait_pooled pooled;
    const char *compressor;
    int shuffle, level;
    unsigned char bytes[4 * PIECE + BLOSC_MAX_OVERHEAD];
};

static const char *const compressors[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd", NULL};
static const char *const shuffles[] = {"no", "byte", "bit", NULL};
static const struct strait_param params[N_PARAMS] = {
    [PARAM_COMPRESSOR] = {"compressor", "what follows the shuffle", .min = 0, .max = 4,
                          .fallback = 1, .choices = compressors},
    [PARAM_SHUFFLE] = {"shuffle", "bytes, or bits, of equal significance together", .min = 0,
                       .max = 2, .fallback = 2, .choices = shuffles},
    [PARAM_LEVEL] = {"level", "libblosc compression level", .min = 1, .max = 9, .fallback = 1},
};

static bool init(void *scratch, const double *values)
{
    static const int codes[] = {BLOSC_NOSHUFFLE, BLOSC_SHUFFLE, BLOSC_BITSHUFFLE};
    struct scratch *s = scratch;
    s->compressor = compressors[(size_t)values[PARAM_COMPRESSOR]];
    s->shuffle = codes[(size_t)values[PARAM_SHUFFLE]];
    s->level = (int)values[PARAM_LEVEL];
    return true;
}

static size_t compress(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece)
{
    struct scratch *s = scratch;
    const size_t n_bytes = 4 * piece.n_elems;
    const int len = blosc_compress_ctx(s->level, s->shuffle, sizeof(float), n_bytes, x, s->bytes,
                                       n_bytes + BLOSC_MAX_OVERHEAD, s->compressor, 0, 1);
    if (len <= 0 || (size_t)len > cap_bytes)
        return 0;
    memcpy(out, s->bytes, (size_t)len);
    return (size_t)len;
}

static bool expand(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes)
{
    (void)scratch;
    size_t n_bytes = 0;
    return blosc_cbuffer_validate(in, len_bytes, &n_bytes) == 0 && n_bytes == 4 * piece.n_elems &&
           blosc_decompress_ctx(in, y, n_bytes, 1) == (int)n_bytes;
}

static const struct strait_piece_kernel kernel = {
    .piece_elems = PIECE,
    .scratch_bytes = sizeof(struct scratch),
    .init = init,
    .compress = compress,
    .expand = expand,
};

const struct strait_codec_ops strait_codec_blosc = {
    .name = "blosc",
    .family = "lossless",
    .source = "libblosc 1: bit shuffle and LZ4, or another of its compressors",
    .id = 28,
    .flags = STRAIT_CODEC_LOSSLESS | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    STRAIT_PIECES_CODEC(&kernel),
    .encode = strait_pieces_encode,
};
