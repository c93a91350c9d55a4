/* sz: the error-bounded codec of this project: no prediction, for the values of a neural network
 * are noise to every predictor. Quantise, take blocks of 256 apart into symbols and low bits, code
 * the symbols with interleaved rANS under a few shared tables. Measured against coders with
 * prediction on recorded weights, gradients and updates: smaller at every bound, and several times
 * as fast.
 *
 *   u8      mode (low 3 bits), 8: a centre follows the step
 *   varint  n_elems
 *   RAW     float32 values
 *   CONST   float32
 *   FIXED   float32 step, [centre]
 *           varint zigzag of the least integer, u8 width (128 more: with escapes)
 *           integers above the least in `width` bits, all ones an escape; float32 escapes
 *   CODED   float32 step, [centre]; segments, see sz_segment.c
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "../core/buffer.h"
#include "bound.h"
#include "builtin.h"
#include "sz_parts.h"

enum { RAW, CONST, FIXED, CODED, MODES = 7, HAS_CENTRE = 8, FIXED_ELEMS = 512 };
enum { HEADER_BYTES = 32 };

struct state {
    struct strait_pool encoders, decoders;
};

static struct sz_encoder *take_encoder(struct state *s)
{
    struct sz_encoder *e = strait_pool_take(&s->encoders);
    if (!e && (e = strait_buffer_new(sizeof(*e))) != NULL)
        sz_log_init(&e->logs);
    return e;
}

static struct sz_decoder *take_decoder(struct state *s)
{
    struct sz_decoder *d = strait_pool_take(&s->decoders);
    return d ? d : strait_buffer_new(sizeof(*d));
}

static void sz_close(void *state)
{
    struct state *s = state;
    for (void *piece; (piece = strait_pool_take(&s->encoders)) != NULL;)
        strait_buffer_free(piece);
    for (void *piece; (piece = strait_pool_take(&s->decoders)) != NULL;)
        strait_buffer_free(piece);
    strait_pool_release(&s->encoders);
    strait_pool_release(&s->decoders);
    free(s);
}

/* One piece of scratch memory each is there before the first call, which so costs what others do.
 */
static int sz_open(void **state, const double *params, struct strait_error *err)
{
    (void)params;
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "no memory for the codec");
    strait_pool_init(&s->encoders);
    strait_pool_init(&s->decoders);
    struct sz_encoder *e = take_encoder(s);
    struct sz_decoder *d = take_decoder(s);
    if (e)
        strait_pool_give(&s->encoders, e);
    if (d)
        strait_pool_give(&s->decoders, d);
    if (!e || !d) {
        sz_close(s);
        return strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "no memory for the codec");
    }
    *state = s;
    return 0;
}

static size_t sz_max_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return 4 * n_elems + n_elems / SZ_SEGMENT + HEADER_BYTES;
}

bool sz_grid_for(struct sz_grid *grid, double bound, double typical, float centre)
{
    if (bound > 0x1p120)
        bound = 0x1p120;
    if (!(bound >= 0x1p-110))
        return false;
    /* Leave room for the rounding of y to float, half a unit in its last place, so that hardly
     * any value needs an escape. */
    const double rounding = typical * 0x1p-24 / bound;
    const double shrink = 0x1p-12 + (rounding < 0.125 ? rounding : 0.125);
    grid->centre = centre;
    grid->step = (float)(2 * bound * (1 - shrink));
    grid->inverse = 1.0f / grid->step;
    /* A float difference <= threshold was at most half a unit larger before it was rounded: one
     * unit below the bound is enough. */
    grid->threshold = (float)bound;
    if ((double)grid->threshold > bound)
        grid->threshold = nextafterf(grid->threshold, 0);
    grid->threshold = nextafterf(grid->threshold, 0);
    return true;
}

static void write_header(struct strait_writer *w, unsigned mode, size_t n,
                         const struct sz_grid *grid)
{
    const bool centred = grid && (grid->centre < 0 || grid->centre > 0);
    strait_write_u8(w, mode | (centred ? (unsigned)HAS_CENTRE : 0u));
    strait_write_varint(w, n);
    if (!grid || !strait_write_room(w, 8))
        return;
    strait_put_float(w->p, grid->step);
    strait_put_float(w->p + 4, grid->centre);
    w->p += centred ? 8 : 4;
}

static void encode_raw(struct strait_writer *w, const float *x, size_t n)
{
    write_header(w, RAW, n, NULL);
    if (strait_write_room(w, 4 * n)) {
        strait_put_floats(w->p, x, n);
        w->p += 4 * n;
    }
}

static uint32_t zigzag(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static unsigned width_of(uint32_t v)
{
    return v == 0 ? 0 : 32 - (unsigned)__builtin_clz(v);
}

/* Small tensors: integers of one width, without tables. */
static void encode_fixed(struct strait_writer *w, const float *x, size_t n,
                         const struct sz_grid *grid)
{
    int32_t q[FIXED_ELEMS], least = INT32_MAX, most = INT32_MIN;
    uint8_t mark[FIXED_ELEMS] = {0};
    bool escapes = false;
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        if (sz_quantise(q + i, x + i, m, grid))
            sz_repair(q + i, mark + i, x + i, m, grid);
    }
    for (size_t i = 0; i < n; i++) {
        escapes |= mark[i];
        if (!mark[i]) {
            least = q[i] < least ? q[i] : least;
            most = q[i] > most ? q[i] : most;
        }
    }
    if (least > most)
        least = most = 0;
    const unsigned width = width_of((uint32_t)(most - least) + escapes);
    const uint32_t escape = width > 0 ? UINT32_MAX >> (32 - width) : 0;
    write_header(w, FIXED, n, grid);
    strait_write_varint(w, zigzag(least));
    strait_write_u8(w, width | (escapes ? 128u : 0u));
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        held |= (uint64_t)(mark[i] ? escape : (uint32_t)(q[i] - least)) << n_held;
        for (n_held += width; n_held >= 8; n_held -= 8, held >>= 8)
            strait_write_u8(w, (unsigned)(held & 255));
    }
    if (n_held > 0)
        strait_write_u8(w, (unsigned)held);
    for (size_t i = 0; i < n && escapes; i++)
        if (mark[i] && strait_write_room(w, 4)) {
            strait_put_float(w->p, x[i]);
            w->p += 4;
        }
}

static void encode_coded(struct sz_encoder *e, struct strait_writer *w, const float *x, size_t n,
                         const struct sz_grid *grid)
{
    const bool delta = sz_sample_delta(&e->logs, x, n, grid);
    write_header(w, CODED, n, grid);
    for (size_t i = 0; i < n; i += SZ_SEGMENT)
        sz_segment_encode(e, w, x + i, n - i < SZ_SEGMENT ? n - i : SZ_SEGMENT, grid, delta);
}

static struct sz_sample sample_of(const float *x, size_t n, const struct strait_extent *extent)
{
    if (n > FIXED_ELEMS)
        return sz_sample_values(x, n);
    const bool apart = extent->min > 0 || extent->max < 0;
    return (struct sz_sample){.centre = apart ? (float)(extent->min / 2 + extent->max / 2) : 0.0f,
                              .typical = fmax(-extent->min, extent->max)};
}

static int sz_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                     const float *x, size_t n_elems, struct strait_request request,
                     struct strait_error *err)
{
    if (strait_bound_check(request.bound, &strait_codec_sz, err) != 0)
        return -1;
    if (cap_bytes < sz_max_bytes(state, n_elems))
        return strait_error_set(err, STRAIT_ERR_INPUT, "sz",
                                "expected room for %zu bytes, found %zu",
                                sz_max_bytes(state, n_elems), cap_bytes);
    const struct strait_extent extent = strait_extent_of(x, n_elems);
    const double limit = strait_bound_within(request.bound, &extent, x, n_elems);
    const double middle = (double)(float)(extent.min / 2 + extent.max / 2);
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    struct sz_grid grid;
    const struct sz_sample sample = sample_of(x, n_elems, &extent);
    if (n_elems > 0 && extent.all_finite && extent.max - middle <= limit &&
        middle - extent.min <= limit) {
        write_header(&w, CONST, n_elems, NULL);
        strait_put_float(w.p, (float)middle);
        w.p += 4;
    } else if (n_elems > 0 && sz_grid_for(&grid, limit, sample.typical, sample.centre)) {
        if (n_elems <= FIXED_ELEMS) {
            encode_fixed(&w, x, n_elems, &grid);
        } else {
            struct sz_encoder *e = take_encoder(state);
            if (!e)
                return strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "memory ran out");
            encode_coded(e, &w, x, n_elems, &grid);
            strait_pool_give(&((struct state *)state)->encoders, e);
        }
    }
    struct strait_writer raw = {.p = out, .end = out + cap_bytes};
    const size_t len = (size_t)(w.p - out);
    if (w.full || len == 0 || len > 4 * n_elems + 1) {
        encode_raw(&raw, x, n_elems);
        w = raw;
    }
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    return 0;
}

static bool decode_fixed(float *y, size_t n, struct strait_reader *r, const struct sz_grid *grid)
{
    const uint64_t code = strait_read_varint(r);
    const unsigned byte = strait_read_u8(r), width = byte & 127;
    if (n > FIXED_ELEMS || code > UINT32_MAX || width > 32)
        return false;
    const uint32_t least = (uint32_t)(code >> 1) ^ -(uint32_t)(code & 1);
    const uint32_t escape = width > 0 ? UINT32_MAX >> (32 - width) : 0;
    const unsigned char *bytes = strait_read_bytes(r, (n * width + 7) / 8);
    if (!bytes)
        return false;
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        for (; n_held < width; n_held += 8)
            held |= (uint64_t)*bytes++ << n_held;
        const uint32_t v = (uint32_t)held & escape;
        held >>= width;
        n_held -= width;
        y[i] = (float)(int32_t)(least + v) * grid->step + grid->centre;
        if (byte >= 128 && v == escape) {
            const unsigned char *p = strait_read_bytes(r, 4);
            y[i] = p ? strait_get_float(p) : 0;
        }
    }
    return !r->bad;
}

/* All modes but CODED, or the grid of that. Returns false when the bytes are no stream. */
static bool decode_head(float *y, size_t n, struct strait_reader *r, unsigned *mode,
                        struct sz_grid *grid)
{
    const unsigned byte = strait_read_u8(r);
    *mode = byte & MODES;
    if (strait_read_varint(r) != n || r->bad || byte > CODED + HAS_CENTRE)
        return false;
    if (*mode == RAW || *mode == CONST) {
        const unsigned char *p = strait_read_bytes(r, *mode == RAW ? 4 * n : 4);
        if (!p || byte != *mode)
            return false;
        if (*mode == RAW)
            strait_get_floats(y, p, n);
        for (size_t i = 0; i < n && *mode == CONST; i++)
            y[i] = strait_get_float(p);
        return true;
    }
    const unsigned char *p = strait_read_bytes(r, byte & HAS_CENTRE ? 8 : 4);
    if (!p || *mode > CODED)
        return false;
    *grid = (struct sz_grid){.step = strait_get_float(p),
                             .centre = byte & HAS_CENTRE ? strait_get_float(p + 4) : 0};
    if (!isfinite(grid->step) || !(grid->step > 0) || !isfinite(grid->centre))
        return false;
    grid->inverse = 1.0f / grid->step;
    return *mode != FIXED || decode_fixed(y, n, r, grid);
}

static int sz_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                     size_t len_bytes, struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    struct sz_grid grid;
    unsigned mode;
    bool good = decode_head(y, n_elems, &r, &mode, &grid);
    if (good && mode == CODED) {
        struct sz_decoder *d = take_decoder(state);
        if (!d)
            return strait_error_set(err, STRAIT_ERR_NOMEM, "sz", "memory ran out");
        for (size_t i = 0; i < n_elems && good; i += SZ_SEGMENT)
            good = sz_segment_decode(d, y + i, n_elems - i < SZ_SEGMENT ? n_elems - i : SZ_SEGMENT,
                                     &r, &grid);
        strait_pool_give(&((struct state *)state)->decoders, d);
    }
    if (!good || r.p != r.end)
        return strait_error_set(err, STRAIT_ERR_INPUT, "sz", "expected a stream of %zu values",
                                n_elems);
    return 0;
}

const struct strait_codec_ops strait_codec_sz = {
    .name = "sz",
    .family = "error-bounded",
    .source = "own",
    .id = 3,
    .flags = STRAIT_CODEC_BOUNDED,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS,
    .open = sz_open,
    .close = sz_close,
    .max_bytes = sz_max_bytes,
    .encode = sz_encode,
    .decode = sz_decode,
};
