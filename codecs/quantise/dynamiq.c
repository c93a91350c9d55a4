/* dynamiq: quantisation for sums that are coded again at every hop (DynamiQ, Han et al., SIGCOMM
 * 2026). Super-groups of 256 values get 2, 4 or 8 bits by their squared norms, so that all together
 * take `budget` bits a value, scales included; inside one, groups of 16 share a scale of 8 bits in
 * units of the super-group's, and magnitudes are rounded by chance to levels that lie closer near 0
 * (section 3.3; f below). Every hop fits scales and widths to the partial sum that it codes.
 *
 *   u8     codec id
 *   u8     number of values mod 256
 *   u16    budget in 1/256 bit
 *   widths of each super-group, 2 bits: 0, 1, 2 for 2, 4, 8 bits
 *   of each super-group: bf16 mean, bf16 unit, u8 scale of each group in that unit, codes: a sign
 *   and the level's number, whole bytes
 *
 * Not as published: there all ranks agree on means and norms first, by an all-reduce of 32 bits a
 * super-group; here each hop takes those of what it codes, and sends the mean and width, 18 bits.
 *
 * Roundings are correlated (Suresh et al., ICML 2022): of n ranks each draws for a value within an
 * n-th of [0, 1) of its own. A rank rounds up where its draw is below the value's place between two
 * levels, so every rank is unbiased alone, and of ranks with the same place, p, n p round up, to
 * within one. In a ring partial sums have places of their own. Errors of two hops still have a
 * covariance, that of their draws, which add up to n equal steps' having half the squared error of
 * independent ones. The n-ths are dealt by a stride and a drawn shift, not by a permutation, so that
 * hops that follow each other, whose steps are alike, draw far apart. The authors' code was not
 * available: what they correlate, and how, may differ.
 */
#include <float.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/kit/chance.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/half.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/scratch_pool.h"
#include "core/bytes.h"

enum { HEAD_BYTES = 4, GROUP = 16, SUPER = 256, GROUPS = SUPER / GROUP, N_WIDTHS = 3 };
enum { MEAN_AND_UNIT_BYTES = 4, MAX_LEVELS = 128 };
enum { CORRELATED, INDEPENDENT };
static const char *const roundings[] = {"correlated", "independent", NULL};

/* The authors' for 2, 4 and 8 bits (cuda_hadamard.cu). */
static const double epsilons[N_WIDTHS] = {0.23, 0.18, 0.1};

struct dynamiq {
    struct strait_pool pool;
    unsigned budget; /* 1/256 bit */
    bool is_correlated;
    float levels[N_WIDTHS][MAX_LEVELS], per_gap[N_WIDTHS][MAX_LEVELS];
};

struct scratch {
    struct strait_pooled pooled;
    size_t cap;
    float *norms;     /* squared, of each super-group */
    float *means;     /* of each, BF16 */
    uint16_t *widths; /* 0, 1, 2 */
};

static const struct strait_param params[] = {
    {"budget", "bits of a value, scales and all included", .min = 2.75, .max = 8.75, .fallback = 5},
    {"rounding", "of the ranks of a sum: errors that make up for each other, or independent ones",
     STRAIT_PARAM_CHOICE, .min = 0, .max = INDEPENDENT, .fallback = CORRELATED,
     .choices = roundings},
};

static unsigned bits_of(unsigned width)
{
    return 2u << width;
}

static unsigned n_levels(unsigned width)
{
    return 1u << (bits_of(width) - 1);
}

/* f(r) = ((1 + 2 e^2)^r - 1) / ((1 + 2 e^2)^(n - 1) - 1) */
static void set_levels(struct dynamiq *s, unsigned width)
{
    const unsigned n = n_levels(width);
    const double base = 1 + 2 * epsilons[width] * epsilons[width];
    double power[MAX_LEVELS] = {1};
    for (unsigned r = 1; r < n; r++)
        power[r] = power[r - 1] * base;
    for (unsigned r = 0; r < n; r++)
        s->levels[width][r] = (float)((power[r] - 1) / (power[n - 1] - 1));
    for (unsigned r = 0; r + 1 < n; r++)
        s->per_gap[width][r] = 1 / (s->levels[width][r + 1] - s->levels[width][r]);
}

static void init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct dynamiq *s = state;
    (void)ops;
    strait_pool_init(&s->pool);
    s->budget = (unsigned)(values[0] * 256);
    s->is_correlated = (int)values[1] == CORRELATED;
    for (unsigned w = 0; w < N_WIDTHS; w++)
        set_levels(s, w);
}

static void scratch_free(struct scratch *piece)
{
    if (piece) {
        free(piece->norms);
        free(piece->means);
        free(piece->widths);
    }
    free(piece);
}

static void close_all(void *state)
{
    struct dynamiq *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct scratch *take(struct dynamiq *s, size_t n_supers, struct strait_error *err)
{
    struct scratch *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap >= n_supers)
        return piece;
    scratch_free(piece);
    piece = calloc(1, sizeof(*piece));
    if (piece) {
        piece->norms = calloc(n_supers + 1, sizeof(float));
        piece->means = calloc(n_supers + 1, sizeof(float));
        piece->widths = calloc(n_supers + 1, sizeof(uint16_t));
        piece->cap = n_supers;
    }
    if (piece && piece->norms && piece->means && piece->widths)
        return piece;
    scratch_free(piece);
    strait_error_memory(err, "dynamiq");
    return NULL;
}

static size_t supers_of(size_t n_elems)
{
    return (n_elems + SUPER - 1) / SUPER;
}

static size_t values_in(size_t super, size_t n_elems)
{
    const size_t left = n_elems - super * SUPER;
    return left < SUPER ? left : SUPER;
}

static size_t groups_in(size_t n)
{
    return (n + GROUP - 1) / GROUP;
}

static size_t super_bytes(size_t n, unsigned width)
{
    return MEAN_AND_UNIT_BYTES + groups_in(n) + strait_packed_bytes(n, bits_of(width));
}

static size_t max_bytes(const void *state, size_t n_elems)
{
    const size_t n_supers = supers_of(n_elems);
    (void)state;
    return HEAD_BYTES + strait_packed_bytes(n_supers, 2) +
           n_supers * (MEAN_AND_UNIT_BYTES + GROUPS + SUPER);
}

/* --- widths --------------------------------------------------------------------------------- */

/* Of section 3.2: a bit more saves as much at both thresholds if T(4, 8) = 512 / 17 T(2, 4). */
static unsigned width_of(float norm, float threshold)
{
    return (unsigned)(norm > threshold) + (unsigned)(norm > threshold * (512.0f / 17));
}

static uint64_t bits_at(const struct scratch *piece, size_t n_supers, float threshold)
{
    uint64_t bits = 0;
    for (size_t j = 0; j < n_supers; j++)
        bits += (uint64_t)SUPER * bits_of(width_of(piece->norms[j], threshold));
    return bits;
}

/* The lowest threshold that keeps the budget, found among all floats. */
static void choose_widths(const struct dynamiq *s, struct scratch *piece, size_t n_supers)
{
    const uint64_t scales = 8 * (MEAN_AND_UNIT_BYTES + GROUPS) + 2,
                   all = (uint64_t)s->budget * n_supers,
                   most = all > scales * n_supers ? all - scales * n_supers : 0;
    uint32_t low = 0, high = strait_bits_of(FLT_MAX); /* at high: all have 2 bits */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (bits_at(piece, n_supers, strait_float_of(middle)) <= most)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t j = 0; j < n_supers; j++)
        piece->widths[j] = (uint16_t)width_of(piece->norms[j], strait_float_of(high));
}

/* Sums of n values and of their squares, in eight parts each, so that they vectorise. */
STRAIT_CLONED
static void add_up(double *sum, double *squares, const float *x, size_t n)
{
    double parts[8] = {0}, of_squares[8] = {0};
    float rest[8] = {0};
    for (size_t i = 0; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) {
            const double v = (double)strait_finite(x[i + k]);
            parts[k] += v;
            of_squares[k] += v * v;
        }
    for (size_t i = n / 8 * 8; i < n; i++)
        rest[i % 8] = strait_finite(x[i]);
    *sum = *squares = 0;
    for (size_t k = 0; k < 8; k++) {
        const double v = (double)rest[k];
        *sum += parts[k] + v;
        *squares += of_squares[k] + v * v;
    }
}

/* --- a super-group -------------------------------------------------------------------------- */

/* BF16 at or above x, which is not negative. */
static uint16_t bfloat_above(float x)
{
    const uint32_t bits = strait_bits_of(x);
    return (uint16_t)((bits + 0xffff) >> 16);
}

struct draws {
    struct strait_chance scales, values, shifts;
    int32_t place, n_ranks; /* n_ranks 1: independent */
};

/* The n-th of a rank before the shift: about 0.38 n from that of the rank before. */
static int32_t place_of(uint32_t rank, uint32_t n_ranks)
{
    uint32_t stride = 1 + (uint32_t)(0.38 * n_ranks);
    for (uint32_t a = stride, b = n_ranks; b != 1; a = stride, b = n_ranks) {
        while (a % b != 0) {
            const uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (b == 1) /* the greatest common divisor */
            break;
        stride++;
    }
    return (int32_t)((uint64_t)rank * stride % n_ranks);
}

/* Draws of 30 bits, each in the n-th that is this rank's there. By the place of a value, not of its
 * magnitude: they count from the other side below 0. */
STRAIT_INLINE void round_apart(uint32_t *r, const float *v, const float *up, size_t n,
                               struct draws d, uint32_t first)
{
    const int32_t all = (1 << 30) - 1, width = (all + 1) / d.n_ranks;
    const float per_rank = (float)d.n_ranks * 0x1p-24f, in_width = (float)width * 0x1p-24f;
    for (size_t i = 0; i < n; i++) {
        const uint32_t index = first + (uint32_t)i;
        const int32_t shift = (int32_t)(strait_chance_bits(d.shifts, index) >> 8),
                      own = (int32_t)(strait_chance_bits(d.values, index) >> 8),
                      sum = d.place + (int32_t)((float)shift * per_rank),
                      place = sum - (sum < d.n_ranks ? 0 : d.n_ranks),
                      at = place * width + (int32_t)((float)own * in_width),
                      from = v[i] < 0 ? all : 0;
        r[i] += (uint32_t)((at ^ from) < (int32_t)(up[i] * 0x1p30f));
    }
}

/* Codes of v[n], which are divided by their groups' scales: the level at or below, and from there
 * up by chance. */
STRAIT_CLONED
static void draw(uint16_t *codes, const float *v, const float *share, size_t n, const float *levels,
                 const float *per_gap, uint32_t n_levels, struct draws d, uint32_t first)
{
    uint32_t r[SUPER] = {0};
    float up[SUPER];
    for (uint32_t half = n_levels / 2; half > 0; half /= 2)
        for (size_t i = 0; i < n; i++)
            r[i] += levels[r[i] + half] <= share[i] ? half : 0;
    for (size_t i = 0; i < n; i++) /* per_gap is 0 at the last */
        up[i] = (share[i] - levels[r[i]]) * per_gap[r[i]];
    if (d.n_ranks > 1)
        round_apart(r, v, up, n, d, first);
    else
        for (size_t i = 0; i < n; i++)
            r[i] += (uint32_t)strait_chance_below(d.values, first + (uint32_t)i, up[i]);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint16_t)(r[i] | (v[i] < 0 ? n_levels : 0));
}

/* Differences from the mean, and the largest magnitude of each group. Returns: the largest */
STRAIT_CLONED
static float centre(float *v, float *of_group, const float *x, size_t n, float mean)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        v[i] = strait_finite(strait_finite(x[i]) - mean);
    for (size_t g = 0; g < groups_in(n); g++) {
        const size_t left = n - g * GROUP;
        of_group[g] = strait_largest(v + g * GROUP, left < GROUP ? left : GROUP);
        most = of_group[g] > most ? of_group[g] : most;
    }
    return most;
}

static unsigned char *put_super(const struct dynamiq *s, unsigned char *out, const float *x,
                                size_t n, float mean, unsigned width, struct draws chance,
                                uint32_t first)
{
    float v[SUPER], share[SUPER], of_group[GROUPS];
    uint16_t codes[SUPER];
    const uint16_t unit_bits = bfloat_above(centre(v, of_group, x, n, mean) / 255);
    const float unit = strait_float_of_bfloat(unit_bits);
    strait_put16(out, (uint16_t)(strait_bits_of(mean) >> 16));
    strait_put16(out + 2, unit_bits);
    unsigned char *scales = out + MEAN_AND_UNIT_BYTES, *packed = scales + groups_in(n);
    for (size_t g = 0; g < groups_in(n); g++) {
        const float at = unit > 0 ? of_group[g] / unit : 0,
                    per_scale = of_group[g] > 0 ? of_group[g] : 1;
        const unsigned down = at < 255 ? (unsigned)at : 255;
        const uint32_t index = first / GROUP + (uint32_t)g;
        scales[g] = (unsigned char)down;
        if (down < 255 && strait_chance_below(chance.scales, index, at - (float)down))
            scales[g]++;
        for (size_t i = g * GROUP; i < n && i < (g + 1) * GROUP; i++)
            share[i] = fabsf(v[i]) / per_scale;
    }
    draw(codes, v, share, n, s->levels[width], s->per_gap[width], n_levels(width), chance, first);
    strait_pack(packed, codes, n, bits_of(width));
    return packed + strait_packed_bytes(n, bits_of(width));
}

static const unsigned char *get_super(const struct dynamiq *s, float *y, size_t n, unsigned width,
                                      const unsigned char *in)
{
    const float mean = strait_float_of_bfloat((uint16_t)strait_get16(in)),
                unit = strait_float_of_bfloat((uint16_t)strait_get16(in + 2));
    const unsigned char *scales = in + MEAN_AND_UNIT_BYTES, *packed = scales + groups_in(n);
    uint16_t codes[SUPER];
    strait_unpack(codes, packed, n, bits_of(width));
    for (size_t i = 0; i < n; i++) {
        const unsigned r = codes[i] & (n_levels(width) - 1);
        const size_t group = i / GROUP;
        const float magnitude = s->levels[width][r] * ((float)scales[group] * unit);
        y[i] = (codes[i] >= n_levels(width) ? -magnitude : magnitude) + mean;
    }
    return packed + strait_packed_bytes(n, bits_of(width));
}

/* --- tensors -------------------------------------------------------------------------------- */

static int encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                  size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct dynamiq *s = state;
    const size_t n_supers = supers_of(n_elems);
    struct scratch *piece = take(s, n_supers, err);
    struct strait_sequence keys = strait_sequence_at(request.key);
    struct draws chance = {.shifts = strait_chance_at(request.common, 0), .n_ranks = 1};
    if (!piece)
        return -1;
    if (s->is_correlated && request.n_ranks > 1) {
        chance.place = place_of(request.rank % request.n_ranks, request.n_ranks);
        chance.n_ranks = (int32_t)request.n_ranks;
    }
    chance.scales = strait_chance_at(strait_sequence_next(&keys), 0);
    chance.values = strait_chance_at(strait_sequence_next(&keys), 0);
    for (size_t j = 0; j < n_supers; j++) {
        double sum, squares;
        const size_t n = values_in(j, n_elems);
        add_up(&sum, &squares, x + j * SUPER, n);
        piece->norms[j] = squares < (double)FLT_MAX ? (float)squares : FLT_MAX;
        piece->means[j] = strait_float_of_bfloat(strait_bfloat_of((float)(sum / (double)n)));
    }
    choose_widths(s, piece, n_supers);
    out[0] = (unsigned char)strait_codec_dynamiq.id;
    out[1] = (unsigned char)(n_elems & 255);
    strait_put16(out + 2, (uint16_t)s->budget);
    strait_pack(out + HEAD_BYTES, piece->widths, n_supers, 2);
    unsigned char *p = out + HEAD_BYTES + strait_packed_bytes(n_supers, 2);
    for (size_t j = 0; j < n_supers; j++)
        p = put_super(s, p, x + j * SUPER, values_in(j, n_elems), piece->means[j], piece->widths[j],
                      chance, (uint32_t)(j * SUPER));
    strait_pool_give(&s->pool, piece);
    *len_bytes = (size_t)(p - out);
    return 0;
}

/* Whether the widths are some, and as many bytes follow as they say. */
static bool fits(const uint16_t *widths, size_t n_supers, size_t n_elems, size_t len_bytes)
{
    size_t bytes = 0;
    for (size_t j = 0; j < n_supers; j++) {
        if (widths[j] >= N_WIDTHS)
            return false;
        bytes += super_bytes(values_in(j, n_elems), widths[j]);
    }
    return bytes == len_bytes;
}

static int decode(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err)
{
    struct dynamiq *s = state;
    const size_t n_supers = supers_of(n_elems),
                 head_bytes = HEAD_BYTES + strait_packed_bytes(n_supers, 2);
    if (strait_check_head(&strait_codec_dynamiq, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(&strait_codec_dynamiq, in[1], n_elems, err) != 0)
        return -1;
    struct scratch *piece = take(s, n_supers, err);
    if (!piece)
        return -1;
    bool good = len_bytes >= head_bytes && strait_get16(in + 2) == s->budget;
    if (good) {
        strait_unpack(piece->widths, in + HEAD_BYTES, n_supers, 2);
        good = fits(piece->widths, n_supers, n_elems, len_bytes - head_bytes);
    }
    const unsigned char *p = in + head_bytes;
    for (size_t j = 0; j < n_supers && good; j++)
        p = get_super(s, y + j * SUPER, values_in(j, n_elems), piece->widths[j], p);
    strait_pool_give(&s->pool, piece);
    return good ? 0
                : strait_refuse(err, "dynamiq", "expected a stream of %zu values with this budget",
                                n_elems);
}

const struct strait_codec_ops strait_codec_dynamiq = {
    .name = "dynamiq",
    .family = "quantiser",
    .source = "DynamiQ (Han et al., SIGCOMM 2026), widths by each hop",
    .id = 45,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct dynamiq),
    .init = init,
    .close = close_all,
    .max_bytes = max_bytes,
    .encode = encode,
    .decode = decode,
};
