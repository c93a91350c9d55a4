/* zstd: bytes shuffled into planes, then libzstd, in pieces of 2^16 values so that memory stays
 * small; a piece that would grow is stored as it is. Lossless.
 *
 *   varint  n_elems
 *   for each piece: varint length, 0: raw; then the bytes
 */
#include <assert.h>
#include <stdlib.h>
#include <zstd.h>
#include "builtin.h"
#include "bound.h"
#include "bytes.h"
#include "pool.h"

enum { PIECE = 1 << 16, PIECE_BYTES = 4 * PIECE };

struct scratch {
    struct strait_pooled pooled;
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    unsigned char planes[PIECE_BYTES];
};

struct state {
    struct strait_pool pool;
    int level;
};

static const struct strait_codec_param params[] = {
    {.name = "level", .doc = "libzstd compression level", .min = 1, .max = 19, .fallback = 1},
};

static void scratch_free(struct scratch *s)
{
    ZSTD_freeCCtx(s->compress);
    ZSTD_freeDCtx(s->decompress);
    free(s);
}

static struct scratch *take(struct state *state)
{
    struct scratch *s = strait_pool_take(&state->pool);
    if (s)
        return s;
    s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    s->compress = ZSTD_createCCtx();
    s->decompress = ZSTD_createDCtx();
    if (s->compress && s->decompress &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(s->compress, ZSTD_c_compressionLevel, state->level)))
        return s;
    scratch_free(s);
    return NULL;
}

static void zstd_close(void *state)
{
    struct state *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static int zstd_open(void **state, const double *values, struct strait_error *err)
{
    if (!(values[0] >= params[0].min && values[0] <= params[0].max))
        return strait_error_set(err, STRAIT_ERR_INPUT, "zstd",
                                "expected a level from 1 to 19, found %g", values[0]);
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zstd", "no memory for the codec");
    s->level = (int)values[0];
    strait_pool_init(&s->pool);
    *state = s;
    return 0;
}

static size_t zstd_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems + n_elems / PIECE + 16;
}

static void shuffle(unsigned char *planes, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        planes[i] = (unsigned char)bits;
        planes[n + i] = (unsigned char)(bits >> 8);
        planes[2 * n + i] = (unsigned char)(bits >> 16);
        planes[3 * n + i] = (unsigned char)(bits >> 24);
    }
}

static void unshuffle(float *y, const unsigned char *planes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)planes[i] | (uint32_t)planes[n + i] << 8 |
                              (uint32_t)planes[2 * n + i] << 16 | (uint32_t)planes[3 * n + i] << 24;
        memcpy(&y[i], &bits, sizeof(bits));
    }
}

static size_t varint_bytes(size_t v)
{
    size_t n = 1;
    for (; v >= 128; v >>= 7)
        n++;
    return n;
}

/* The length is known only afterwards: leave room for that of the raw piece, then close up. */
static void encode_piece(struct scratch *s, struct strait_writer *w, const float *x, size_t n)
{
    const size_t gap = varint_bytes(4 * n);
    shuffle(s->planes, x, n);
    if (4 * n > gap) {
        const size_t len = ZSTD_compress2(s->compress, w->p + gap, 4 * n - gap, s->planes, 4 * n);
        if (!ZSTD_isError(len)) {
            unsigned char *from = w->p + gap;
            strait_write_varint(w, len);
            memmove(w->p, from, len);
            w->p += len;
            return;
        }
    }
    strait_write_u8(w, 0);
    strait_put_floats(w->p, x, n);
    w->p += 4 * n;
}

static int zstd_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                       const float *x, size_t n_elems, struct strait_request request,
                       struct strait_error *err)
{
    if (strait_bound_check(request.bound, &strait_codec_zstd, err) != 0)
        return -1;
    if (cap_bytes < zstd_max_bytes(state, n_elems))
        return strait_error_set(err, STRAIT_ERR_INPUT, "zstd",
                                "expected room for %zu bytes, found %zu",
                                zstd_max_bytes(state, n_elems), cap_bytes);
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    struct scratch *s = take(state);
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zstd", "memory ran out");
    strait_write_varint(&w, n_elems);
    for (size_t i = 0; i < n_elems; i += PIECE)
        encode_piece(s, &w, x + i, n_elems - i < PIECE ? n_elems - i : PIECE);
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    strait_pool_give(&((struct state *)state)->pool, s);
    return 0;
}

static bool decode_piece(struct scratch *s, float *y, size_t n, struct strait_reader *r)
{
    const uint64_t len = strait_read_varint(r);
    const unsigned char *p = strait_read_bytes(r, len == 0 ? 4 * n : (size_t)len);
    if (!p)
        return false;
    if (len == 0) {
        strait_get_floats(y, p, n);
        return true;
    }
    if (ZSTD_decompressDCtx(s->decompress, s->planes, 4 * n, p, (size_t)len) != 4 * n)
        return false;
    unshuffle(y, s->planes, n);
    return true;
}

static int zstd_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                       size_t len_bytes, struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    struct scratch *s = take(state);
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "zstd", "memory ran out");
    bool good = strait_read_varint(&r) == n_elems && !r.bad;
    for (size_t i = 0; i < n_elems && good; i += PIECE)
        good = decode_piece(s, y + i, n_elems - i < PIECE ? n_elems - i : PIECE, &r);
    strait_pool_give(&((struct state *)state)->pool, s);
    if (!good || r.p != r.end)
        return strait_error_set(err, STRAIT_ERR_INPUT, "zstd", "expected a stream of %zu values",
                                n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_zstd = {
    .name = "zstd",
    .family = "lossless",
    .source = "libzstd behind a byte shuffle",
    .id = 2,
    .flags = STRAIT_CODEC_LOSSLESS | STRAIT_CODEC_MACHINE,
    .bounds = 1u << STRAIT_BOUND_NONE,
    .params = params,
    .n_params = sizeof(params) / sizeof(params[0]),
    .open = zstd_open,
    .close = zstd_close,
    .max_bytes = zstd_max_bytes,
    .encode = zstd_encode,
    .decode = zstd_decode,
};
