/* deflate: the float32 values through zlib, level 6, as the published code does. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include "codecs/kit/scratch_pool.h"
#include "value_codec.h"

enum { LEVEL = 6 };

struct scratch {
    struct strait_pooled pooled;
    z_stream out, in;
};

static struct scratch *take(struct strait_pool *pool)
{
    struct scratch *s = strait_pool_take(pool);
    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s || deflateInit(&s->out, LEVEL) != Z_OK) {
        free(s);
        return NULL;
    }
    if (inflateInit(&s->in) != Z_OK) {
        deflateEnd(&s->out);
        free(s);
        return NULL;
    }
    return s;
}

static int deflate_open(struct strait_value_coder *c, struct strait_error *err)
{
    struct strait_pool *pool = malloc(sizeof(*pool));
    if (!pool)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "deflate", "no memory for the codec");
    strait_pool_init(pool);
    c->state = pool;
    return 0;
}

static void deflate_close(struct strait_value_coder *c)
{
    for (struct scratch *s; (s = strait_pool_take(c->state)) != NULL;) {
        deflateEnd(&s->out);
        inflateEnd(&s->in);
        free(s);
    }
    strait_pool_release(c->state);
    free(c->state);
}

/* Stored blocks: 5 bytes for each 16383 with zlib's default memory, plus header and trailer. */
static size_t deflate_max_bytes(const struct strait_value_coder *c, size_t n_values)
{
    (void)c;
    const size_t n = 4 * n_values;
    return n + (n >> 12) + (n >> 14) + (n >> 25) + 32;
}

static int deflate_encode(const struct strait_value_coder *c, struct strait_writer *w,
                          const float *v, size_t n_values, uint64_t key, struct strait_error *err)
{
    (void)key;
    struct scratch *s = take(c->state);
    if (!s)
        return strait_error_memory(err, "deflate");
    unsigned char piece[1 << 12];
    enum { PIECE_VALUES = sizeof(piece) / 4 };
    int result = Z_OK;
    deflateReset(&s->out);
    s->out.next_out = w->p;
    for (size_t i = 0; result == Z_OK && (i < n_values || i == 0); i += PIECE_VALUES) {
        const size_t n = n_values - i < PIECE_VALUES ? n_values - i : PIECE_VALUES;
        const size_t room = (size_t)(w->end - s->out.next_out);
        strait_put_floats(piece, v + i, n);
        s->out.next_in = piece;
        s->out.avail_in = (unsigned)(4 * n);
        s->out.avail_out = room < UINT_MAX ? (unsigned)room : UINT_MAX;
        result = deflate(&s->out, i + n == n_values ? Z_FINISH : Z_NO_FLUSH);
    }
    w->full |= result != Z_STREAM_END;
    w->p = s->out.next_out;
    strait_pool_give(c->state, s);
    return 0;
}

static int deflate_decode(const struct strait_value_coder *c, float *v, size_t n_values,
                          const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    struct scratch *s = take(c->state);
    if (!s)
        return strait_error_memory(err, "deflate");
    unsigned char piece[1 << 12], beyond;
    enum { PIECE_VALUES = sizeof(piece) / 4 };
    int result = len_bytes < UINT_MAX ? Z_OK : Z_DATA_ERROR;
    inflateReset(&s->in);
    s->in.next_in = (unsigned char *)in;
    s->in.avail_in = (unsigned)(len_bytes < UINT_MAX ? len_bytes : 0);
    size_t n_done = 0;
    while (result == Z_OK && n_done < n_values) {
        const size_t n = n_values - n_done < PIECE_VALUES ? n_values - n_done : PIECE_VALUES;
        s->in.next_out = piece;
        s->in.avail_out = (unsigned)(4 * n);
        result = inflate(&s->in, Z_NO_FLUSH);
        if (s->in.avail_out > 0)
            break;
        strait_get_floats(v + n_done, piece, n);
        n_done += n;
    }
    if (result == Z_OK && n_done == n_values) { /* only the end of the stream may follow */
        s->in.next_out = &beyond;
        s->in.avail_out = 1;
        result = inflate(&s->in, Z_FINISH);
        if (s->in.avail_out == 0)
            result = Z_DATA_ERROR;
    }
    const bool good = result == Z_STREAM_END && n_done == n_values && s->in.avail_in == 0;
    strait_pool_give(c->state, s);
    if (!good)
        return strait_refuse(err, "deflate", "expected a zlib stream of %zu values", n_values);
    return 0;
}

const struct strait_value_codec strait_value_deflate = {
    .name = "deflate",
    .source = "zlib, level 6 (DeepReduce, Xu et al. 2021)",
    .open = deflate_open,
    .close = deflate_close,
    .max_bytes = deflate_max_bytes,
    .encode = deflate_encode,
    .decode = deflate_decode,
};
