/* lz4: bytes sorted by significance, then liblz4, piece by piece. Lossless. The stream is that of
 * pieces.h; a piece begins with a byte that says whether its bytes are sorted. */
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/foreign/pieces.h"
#include "planes.h"

enum { PIECE = 1 << 16 };

struct scratch {
    struct strait_pooled pooled;
    int level;
    bool shuffle;
    void *memory; /* of liblz4, for this level */
    unsigned char planes[4 * PIECE];
};

static const char *const shuffles[] = {"no", "byte", NULL};
static const struct strait_param params[] = {
    {"level", "1 is LZ4, 2 to 12 are the levels of LZ4 HC", .min = 1, .max = LZ4HC_CLEVEL_MAX,
     .fallback = 1},
    {"shuffle", "bytes of equal significance together", .min = 0, .max = 1, .fallback = 1,
     .choices = shuffles},
};

static bool init(void *scratch, const double *values)
{
    struct scratch *s = scratch;
    s->level = (int)values[0];
    s->shuffle = values[1] > 0;
    s->memory = malloc((size_t)(s->level > 1 ? LZ4_sizeofStateHC() : LZ4_sizeofState()));
    return s->memory != NULL;
}

static void release(void *scratch)
{
    free(((struct scratch *)scratch)->memory);
}

static size_t compress(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece)
{
    struct scratch *s = scratch;
    if (cap_bytes < 2)
        return 0;
    if (s->shuffle)
        strait_planes_split(s->planes, x, piece.n_elems);
    const char *from = s->shuffle ? (const char *)s->planes : (const char *)x;
    char *to = (char *)out + 1;
    const int n_bytes = (int)(4 * piece.n_elems), cap = (int)cap_bytes - 1;
    const int len = s->level > 1
                        ? LZ4_compress_HC_extStateHC(s->memory, from, to, n_bytes, cap, s->level)
                        : LZ4_compress_fast_extState(s->memory, from, to, n_bytes, cap, 1);
    out[0] = s->shuffle;
    return len > 0 ? (size_t)len + 1 : 0;
}

static bool expand(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes)
{
    struct scratch *s = scratch;
    const int n_bytes = (int)(4 * piece.n_elems);
    const bool shuffled = in[0] == 1;
    char *to = shuffled ? (char *)s->planes : (char *)y;
    if (in[0] > 1 ||
        LZ4_decompress_safe((const char *)in + 1, to, (int)len_bytes - 1, n_bytes) != n_bytes)
        return false;
    if (shuffled)
        strait_planes_join(y, s->planes, piece.n_elems);
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

const struct strait_codec_ops strait_codec_lz4 = {
    .name = "lz4",
    .family = "lossless",
    .source = "liblz4 behind a byte shuffle",
    .id = 27,
    .flags = STRAIT_CODEC_LOSSLESS | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    STRAIT_PIECES_CODEC(&kernel),
    .encode = strait_pieces_encode,
};
