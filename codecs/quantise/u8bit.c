/* u8bit: the 8-bit dynamic tree data type, in units of the tensor's largest magnitude.
 *
 *   u8      codec id
 *   u8      rounding: 0 nearest, 1 down
 *   f32     largest magnitude m
 *   i8[]    level, negative for negative values
 *
 * Level 0 is 0; the 126 levels above are the midpoints of intervals: each decade from 10^-6 to 1 is
 * cut at 4.5, and both parts of decade 10^g (g = -6 .. -1) into 2^(g + 6) intervals. Rounding to
 * the nearest (Dettmers), level 127 is 1, and |x - y| <= 0.0086 m (half of the widest step, 0.55 /
 * 32). Rounding down (GRACE), level 127 is the midpoint between level 126 and 1, and |x - y| <=
 * 0.0172 m. Values that are not finite count as 0. */
#include <assert.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "codecs/kit/checks.h"

enum { HEAD_BYTES = 6, PIECE = 4096, N_LEVELS = 128 };
enum rounding { NEAREST, DOWN, N_ROUNDINGS };

/* Cells of equal upper bits find a level's place: six bits of fraction are 1/64 of a value apart,
 * which is less than the distance of levels. The first cell is everything below 2^-20. */
enum { CELL_SHIFT = 17, FIRST_CELL = (127 - 20) << 6, N_CELLS = (20 << 6) + 1 };

struct state {
    enum rounding rounding;
    float levels[N_ROUNDINGS][N_LEVELS];
    float thresholds[N_LEVELS + 1]; /* level k begins at thresholds[k]; [128]: infinity */
    uint8_t cells[N_CELLS];         /* level of the smallest value of the cell */
};

static const char *const roundings[] = {"nearest", "down", NULL};
static const struct strait_param params[] = {
    {"rounding", "to the nearest level, or to the level below as GRACE's code", .min = 0, .max = 1,
     .fallback = NEAREST, .choices = roundings},
};

static void make_levels(struct state *s)
{
    static const double decades[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    unsigned k = 1;
    for (unsigned g = 0; g < 6; g++)
        for (unsigned part = 0; part < 2; part++)
            for (unsigned i = 0; i < 1u << g; i++) {
                const double at = (i + 0.5) / (double)(1u << g);
                const double v = decades[g] * (part == 0 ? 1 + 3.5 * at : 4.5 + 5.5 * at);
                s->levels[NEAREST][k] = s->levels[DOWN][k] = (float)v;
                k++;
            }
    assert(k == N_LEVELS - 1);
    s->levels[NEAREST][0] = s->levels[DOWN][0] = 0;
    s->levels[NEAREST][k] = 1;
    s->levels[DOWN][k] = (s->levels[DOWN][k - 1] + 1) / 2;
}

static void make_search(struct state *s)
{
    const float *levels = s->levels[s->rounding];
    s->thresholds[0] = 0;
    for (unsigned k = 1; k < N_LEVELS; k++)
        s->thresholds[k] = s->rounding == DOWN
                               ? levels[k]
                               : (float)(((double)levels[k - 1] + (double)levels[k]) / 2);
    s->thresholds[N_LEVELS] = INFINITY;
    unsigned k = 0;
    for (uint32_t c = 0; c < N_CELLS; c++) {
        const float low = c == 0 ? 0 : strait_float_of((FIRST_CELL + c) << CELL_SHIFT);
        const unsigned before = k;
        while (s->thresholds[k + 1] <= low)
            k++;
        assert(k - before <= 1);
        s->cells[c] = (uint8_t)k;
    }
}

static void u8bit_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    struct state *s = state;
    s->rounding = (enum rounding)values[0];
    make_levels(s);
    make_search(s);
}

static size_t u8bit_bytes(const void *state, size_t n_elems)
{
    (void)state;
    return HEAD_BYTES + n_elems;
}

STRAIT_CLONED
static float largest(const float *x, size_t n)
{
    return strait_largest(x, n);
}

/* Values in units of scale, at most 1, and the cell of each. */
STRAIT_CLONED
static void normalise(float *v, int32_t *cells, const float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = strait_finite_abs(x[i]) / scale;
        const int32_t cell = (int32_t)(strait_bits_of(v[i]) >> CELL_SHIFT) - FIRST_CELL;
        cells[i] = cell > 0 ? cell : 0;
    }
}

static void search(unsigned char *out, const struct state *s, const float *v, const int32_t *cells,
                   const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned below = s->cells[cells[i]];
        const unsigned level = below + (v[i] >= s->thresholds[below + 1]);
        const unsigned minus = -(strait_bits_of(x[i]) >> 31);
        out[i] = (unsigned char)((level ^ minus) - minus);
    }
}

static int u8bit_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                        size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct state *s = state;
    float v[PIECE];
    int32_t cells[PIECE];
    (void)request;
    (void)err;
    const float scale = largest(x, n_elems);
    out[0] = (unsigned char)strait_codec_u8bit.id;
    out[1] = (unsigned char)s->rounding;
    strait_put_float(out + 2, scale);
    for (size_t i = 0; i < n_elems; i += PIECE) {
        const size_t n = n_elems - i < PIECE ? n_elems - i : PIECE;
        normalise(v, cells, x + i, n, scale > 0 ? scale : 1);
        search(out + HEAD_BYTES + i, s, v, cells, x + i, n);
    }
    *len_bytes = u8bit_bytes(s, n_elems);
    return 0;
}

static int u8bit_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                        size_t len_bytes, struct strait_error *err)
{
    const struct state *s = state;
    float values[256];
    if (strait_check_head(&strait_codec_u8bit, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_length(&strait_codec_u8bit, u8bit_bytes(s, n_elems), len_bytes, err) != 0)
        return -1;
    if (in[1] >= N_ROUNDINGS)
        return strait_refuse(err, "u8bit", "expected rounding 0 or 1, found %u", in[1]);
    const float scale = strait_get_float(in + 2);
    for (unsigned k = 0; k < N_LEVELS; k++) {
        values[k] = s->levels[in[1]][k] * scale;
        values[(256 - k) & 255] = -values[k];
    }
    values[0] = 0;
    values[128] = -values[127]; /* encode never writes it */
    for (size_t i = 0; i < n_elems; i++)
        y[i] = values[in[HEAD_BYTES + i]];
    return 0;
}

const struct strait_codec_ops strait_codec_u8bit = {
    .name = "u8bit",
    .family = "quantiser",
    .source = "Dettmers 2015, dynamic tree data type; levels and rounding down as in GRACE",
    .id = 18,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct state),
    .init = u8bit_init,
    .close = free,
    .max_bytes = u8bit_bytes,
    .fixed_size = true,
    .encode = u8bit_encode,
    .decode = u8bit_decode,
};
