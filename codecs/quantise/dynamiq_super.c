/* A super-group of dynamiq: levels, draws, codes. */
#include "dynamiq_super.h"

#include "codecs/kit/checks.h"
#include "codecs/kit/half.h"
#include "codecs/kit/pack.h"
#include "core/bytes.h"

enum { GROUP = STRAIT_DYNAMIQ_GROUP, SUPER = STRAIT_DYNAMIQ_SUPER, GROUPS = SUPER / GROUP };
enum { UNIT_BYTES = 2 };

/* The authors' for 2, 4 and 8 bits (cuda_hadamard.cu). */
static const double epsilons[STRAIT_DYNAMIQ_WIDTHS] = {0.23, 0.18, 0.1};

unsigned strait_dynamiq_bits(unsigned width)
{
    return 2u << width;
}

static unsigned n_levels(unsigned width)
{
    return 1u << (strait_dynamiq_bits(width) - 1);
}

/* f(r) = ((1 + 2 e^2)^r - 1) / ((1 + 2 e^2)^(n - 1) - 1) */
static void set_levels(struct strait_dynamiq_levels *s, unsigned width)
{
    const unsigned n = n_levels(width);
    const double base = 1 + 2 * epsilons[width] * epsilons[width];
    double power[STRAIT_DYNAMIQ_MAX_LEVELS] = {1};
    for (unsigned r = 1; r < n; r++)
        power[r] = power[r - 1] * base;
    for (unsigned r = 0; r < n; r++)
        s->levels[width][r] = (float)((power[r] - 1) / (power[n - 1] - 1));
    for (unsigned r = 0; r + 1 < n; r++)
        s->per_gap[width][r] = 1 / (s->levels[width][r + 1] - s->levels[width][r]);
}

void strait_dynamiq_levels_init(struct strait_dynamiq_levels *s)
{
    for (unsigned w = 0; w < STRAIT_DYNAMIQ_WIDTHS; w++)
        set_levels(s, w);
}

static size_t groups_in(size_t n)
{
    return (n + GROUP - 1) / GROUP;
}

size_t strait_dynamiq_bytes(size_t n, unsigned width)
{
    return UNIT_BYTES + groups_in(n) + strait_packed_bytes(n, strait_dynamiq_bits(width));
}

/* In eight parts, so that they vectorise. */
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

void strait_dynamiq_add_up(double *sum, double *squares, const float *x, size_t n)
{
    add_up(sum, squares, x, n);
}

/* BF16 at or above x, which is not negative. */
static uint16_t bfloat_above(float x)
{
    const uint32_t bits = strait_bits_of(x);
    return (uint16_t)((bits + 0xffff) >> 16);
}

/* About 0.38 n from that of the rank before. */
int32_t strait_dynamiq_place(uint32_t rank, uint32_t n_ranks)
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
                               struct strait_dynamiq_draws d, uint32_t first)
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
                 const float *per_gap, uint32_t n_levels, struct strait_dynamiq_draws d,
                 uint32_t first)
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

unsigned char *strait_dynamiq_put(const struct strait_dynamiq_levels *s, unsigned char *out,
                                  const float *x, size_t n, float mean, unsigned width,
                                  struct strait_dynamiq_draws *chance)
{
    float v[SUPER], share[SUPER], of_group[GROUPS];
    uint16_t codes[SUPER];
    const uint16_t unit_bits = bfloat_above(centre(v, of_group, x, n, mean) / 255);
    const float unit = strait_float_of_bfloat(unit_bits);
    strait_put16(out, unit_bits);
    unsigned char *scales = out + UNIT_BYTES, *packed = scales + groups_in(n);
    for (size_t g = 0; g < groups_in(n); g++) {
        const float at = unit > 0 ? of_group[g] / unit : 0,
                    per_scale = of_group[g] > 0 ? of_group[g] : 1;
        const unsigned down = at < 255 ? (unsigned)at : 255;
        const uint32_t index = chance->group + (uint32_t)g;
        scales[g] = (unsigned char)down;
        if (down < 255 && strait_chance_below(chance->scales, index, at - (float)down))
            scales[g]++;
        for (size_t i = g * GROUP; i < n && i < (g + 1) * GROUP; i++)
            share[i] = fabsf(v[i]) / per_scale;
    }
    draw(codes, v, share, n, s->levels[width], s->per_gap[width], n_levels(width), *chance,
         chance->value);
    chance->value += (uint32_t)n;
    chance->group += (uint32_t)groups_in(n);
    strait_pack(packed, codes, n, strait_dynamiq_bits(width));
    return packed + strait_packed_bytes(n, strait_dynamiq_bits(width));
}

const unsigned char *strait_dynamiq_get(const struct strait_dynamiq_levels *s, float *y, size_t n,
                                        float mean, unsigned width, const unsigned char *in)
{
    const float unit = strait_float_of_bfloat((uint16_t)strait_get16(in));
    const unsigned char *scales = in + UNIT_BYTES, *packed = scales + groups_in(n);
    uint16_t codes[SUPER];
    strait_unpack(codes, packed, n, strait_dynamiq_bits(width));
    for (size_t i = 0; i < n; i++) {
        const unsigned r = codes[i] & (n_levels(width) - 1);
        const size_t group = i / GROUP;
        const float magnitude = s->levels[width][r] * ((float)scales[group] * unit);
        y[i] = (codes[i] >= n_levels(width) ? -magnitude : magnitude) + mean;
    }
    return packed + strait_packed_bytes(n, strait_dynamiq_bits(width));
}
