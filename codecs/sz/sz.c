/* sz: the error-bounded codec of this project. It predicts no value from its neighbours, because
 * the values of a neural network are noise to any such predictor; of a matrix whose rows are close
 * to a few directions it subtracts these first (matrix/). It quantises, splits blocks of 256 values
 * into symbols and low bits, and codes the symbols with interleaved rANS under a few shared tables.
 * Measured against coders with prediction on recorded weights, gradients and updates: smaller at
 * every bound, and several times as fast.
 *
 *   u8      mode (low 3 bits), 8: a centre follows the step, 16: pointwise, 32: directions
 *   varint  n_elems
 *   RAW     float32 values
 *   CONST   float32
 *   FIXED   grid; integers of one width, see sz_fixed.c
 *   SEGMENTS      grid; segments, see sz_segment.c
 *   RAW_SEGMENTS  segments, each raw
 *   a grid:    float32 step, [centre]
 *   directions, behind the grid: varint n_rows, u8 how many, float32 scale of each, a power of 2;
 *              varint bytes that follow, a stream of integers, of each direction one for every row
 *              and then one for every column. The share of a value is the nearest integer to the
 *              sum over directions of row * column * scale, in float; segments hold the rest
 *   pointwise: float32 bound less what rounding takes, u8 signs, varint zigzag of the middle,
 *              see sz_pointwise.c
 *
 * The pieces of a streamed tensor, concatenated, are these same bytes: a piece is a segment, the
 * first one with the head before it; a tensor without segments is one piece. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "sz.h"
#include "sz_whole.h"

const struct sz_kernels *sz_kernels_at(enum strait_simd level)
{
#if defined(__x86_64__)
    if (level != STRAIT_SIMD_PORTABLE)
        return level == STRAIT_SIMD_AVX512 ? &sz_avx512 : &sz_avx2;
#endif
    (void)level;
    return &sz_portable;
}

int sz_open_at(void **state, const double *params, enum strait_simd level, struct strait_error *err)
{
    struct sz_state *s = sz_state_new(sz_kernels_at(level), (unsigned)params[0], err);
    if (s) {
        s->ops = &strait_codec_sz;
        s->most_directions = (unsigned)params[1];
    }
    *state = s;
    return s ? 0 : -1;
}

static int sz_open(void **state, const struct strait_codec_ops *ops, const double *params,
                   struct strait_error *err)
{
    (void)ops;
    return sz_open_at(state, params, strait_simd_level(), err);
}

/* The bound for a target ratio is estimated from samples; the target is then corrected by the miss
 * and tried again, and the best result is kept. */
static int encode_target(struct sz_state *s, struct strait_writer *w, const float *x, size_t n,
                         struct strait_bound bound, struct strait_error *err)
{
    enum { TRIES = 3 };
    const double wanted = bound.value, raw_bytes = 4 * (double)n;
    const struct strait_writer start = *w;
    double best = wanted, best_off = INFINITY, off = 0;
    for (unsigned tries = 0; tries < TRIES; tries++) {
        *w = start;
        if (sz_encode_whole(s, w, x, n, 0, bound, err) != 0)
            return -1;
        const double got = raw_bytes / (double)(w->p - start.p);
        off = fabs(sz_log2(got / wanted)) + (got < 0.97 * wanted ? 100 : 0); /* prefer too small */
        if (off < best_off) {
            best = bound.value;
            best_off = off;
        }
        if (off < 0.01 || off > best_off)
            break;
        bound.value = fmax(1, bound.value * wanted / got);
    }
    if (off <= best_off)
        return 0;
    *w = start;
    bound.value = best;
    return sz_encode_whole(s, w, x, n, 0, bound, err);
}

static int sz_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                     size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct strait_writer w = {.p = out, .end = out + sz_max_bytes(state, n_elems)};
    if (sz_check_bound(state, request.bound, err) != 0)
        return -1;
    const bool target = request.bound.kind == STRAIT_BOUND_RATIO && n_elems > 0;
    if ((target ? encode_target(state, &w, x, n_elems, request.bound, err)
                : sz_encode_whole(state, &w, x, n_elems, request.n_rows, request.bound, err)) != 0)
        return -1;
    assert(!w.full);
    *len_bytes = (size_t)(w.p - out);
    return 0;
}

static int sz_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                     size_t len_bytes, struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    bool good;
    if (sz_decode_whole(state, y, n_elems, &r, &good, err) != 0)
        return -1;
    if (!good || r.p != r.end)
        return strait_refuse(err, "sz", "expected a stream of %zu values", n_elems);
    return 0;
}

double strait_sz_delivered_bound(const unsigned char *in, size_t len_bytes)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    struct sz_head head;
    strait_read_u8(&r);
    const uint64_t n = strait_read_varint(&r);
    r = (struct strait_reader){.p = in, .end = in + len_bytes};
    if (n > SIZE_MAX || !sz_read_head(&r, &head, (size_t)n) || head.pointwise ||
        head.mode == SZ_CONST)
        return (double)NAN;
    if (head.mode == SZ_RAW || head.mode == SZ_RAW_SEGMENTS)
        return 0;
    /* The largest share that this step and centre can have come from. The step was rounded to
     * float: up to half a unit in its last place. */
    const double half = (double)head.grid.step / 2, centre = (double)head.grid.centre;
    double share = 0x1p-3;
    while (share > 0x1p-12 && sz_rounding_share(centre, half / (1 - share)) < share)
        share /= 2;
    return half / (1 - share) * (1 + 0x1p-23);
}

static const struct strait_param params[] = {
    {"threads", "threads that share the work on one tensor; the bytes are the same with any number",
     STRAIT_PARAM_INTEGER, .min = 1, .max = SZ_MAX_THREADS, .fallback = 1},
    {"directions",
     "directions of a matrix whose share is sent first, at most; as many as save bytes",
     STRAIT_PARAM_INTEGER, .min = 0, .max = SZ_MAX_DIRECTIONS, .fallback = 0},
};

const struct strait_codec_ops strait_codec_sz = {
    .name = "sz",
    .family = "error-bounded",
    .source = "own",
    .id = 3,
    .flags = STRAIT_CODEC_BOUNDED,
    .bounds = 1u << STRAIT_BOUND_ABS | 1u << STRAIT_BOUND_RANGE | 1u << STRAIT_BOUND_RMS |
              1u << STRAIT_BOUND_POINTWISE | 1u << STRAIT_BOUND_RATIO,
    STRAIT_PARAMS(params),
    .open = sz_open,
    .close = sz_state_free,
    .max_bytes = sz_max_bytes,
    .encode = sz_encode,
    .decode = sz_decode,
    .add = sz_add,
    .summable = sz_summable,
    .stream = &sz_stream_ops,
};
