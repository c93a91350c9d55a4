/* sz: pointwise bounds. A value is a sign and a power of two whose exponent is an integer times a
 * step: |x - y| <= e |x| is then one interval of exponents, whatever the magnitude. Logarithms and
 * powers use additions, multiplications and one division in double, so that their bits are the same
 * on every machine, and every value is compared with what the decoder will compute.
 *
 *   integer 0: zero; 1: minus zero
 *   v < 0: integer v; v >= 0: integer v + 2, where
 *   v = 2 k + (1 if negative), or k alone where all values have one sign; k counts from `middle` */
#include <math.h>
#include <stdlib.h>
#include "codecs/kit/checks.h"
#include "sz_head.h"

/* Into functions of every level, whose vectors have other lengths. */
#define INLINE static inline __attribute__((always_inline))

/* Adding it rounds a double below 2^51 to an integer in the low bits. */
static const double magic = 0x1.8p52;

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

INLINE double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* x = 2^k m with m from sqrt(1/2) to sqrt(2), log m = 2 artanh((m - 1) / (m + 1)): the first
 * omitted term is below 2^-40. Zero, infinities and NaN give some number. */
INLINE double log_of(double x)
{
    const uint64_t bits = bits_of(x), one = UINT64_C(1023) << 52;
    const uint64_t k = (bits + (one - UINT64_C(0x3fe6a09e00000000))) >> 52; /* 1023 too large */
    const double m = double_of(bits - (k << 52) + one);
    const double t = (m - 1) / (m + 1), u = t * t;
    const double series =
        t * (0x1.71547652b82fep+1 +
             u * (0x1.ec709dc3a03fdp-1 +
                  u * (0x1.2776c50ef9bfep-1 +
                       u * (0x1.a61762a7aded9p-2 +
                            u * (0x1.484b13d7c02a9p-2 +
                                 u * (0x1.0c9a84994022dp-2 + u * 0x1.c68f568d31760p-3))))));
    return double_of(UINT64_C(0x4330000000000000) | k) - (0x1p52 + 1023) + series;
}

/* 2^x = 2^k 2^f with |f| <= 1/2: the first omitted term is below 2^-40. */
INLINE double power_of(double x)
{
    const double shifted = x + magic, f = x - (shifted - magic);
    const double series =
        1 + f * (0x1.62e42fefa39efp-1 +
                 f * (0x1.ebfbdff82c58ep-3 +
                      f * (0x1.c6b08d704a0bfp-5 +
                           f * (0x1.3b2ab6fba4e77p-7 +
                                f * (0x1.5d87fe78a6730p-10 +
                                     f * (0x1.430912f86c786p-13 +
                                          f * (0x1.ffcbfc588b0c5p-17 +
                                               f * (0x1.62c0223a5c822p-20 +
                                                    f * (0x1.b5253d395e7c1p-24 +
                                                         f * 0x1.e4cf5158b8ec7p-28)))))))));
    return series * double_of((bits_of(shifted) + 1023) << 52);
}

double sz_log2(double x)
{
    return log_of(x);
}

double sz_exp2(double x)
{
    return power_of(x);
}

/* y stands for every x from y / (1 + e) to y / (1 - e). */
bool sz_powers_complete(struct sz_powers *p)
{
    if (!(p->within >= 0x1p-24f && p->within <= 0.9f))
        return false;
    const double up = log_of(1 + (double)p->within), down = -log_of(1 - (double)p->within);
    p->step = up + down;
    p->offset = up - p->step / 2;
    p->inverse = 1 / p->step;
    /* No float has an exponent beyond these, and no tensor its middle. */
    const double least = floor(-160 * p->inverse) - p->middle;
    const double most = ceil(130 * p->inverse) - p->middle;
    if (least > 0 || most < 0)
        return false;
    p->least = (int32_t)fmax(fmin(least, 0x1p30), -0x1p30);
    p->most = (int32_t)fmax(fmin(most, 0x1p30), -0x1p30);
    return true;
}

/* Values rounded in float. The exponent times `inverse` is an integer, as `whole` is, and some 64 at
 * most; the rest of the logarithm, at most 1/2, is off by 2^-22. What is then nearer than `least` to
 * the middle between two integers is left to forward_block. */
struct quick {
    float inverse, rest, most; /* most: by which a sure value may differ from its integer */
    int32_t whole;
};

/* With so few integers to an octave, the bound holds of itself for what is well within the range of
 * floats: `within` leaves 2^-20 of it, and both functions above are off by 2^-39 of a value. */
static bool is_quick(const struct sz_powers *p)
{
    return p->inverse <= 8192;
}

static struct quick quick_for(const struct sz_powers *p)
{
    const double whole = floor(p->inverse + 0.5);
    return (struct quick){.inverse = (float)p->inverse,
                          .rest = (float)(p->inverse - whole),
                          .most = (float)(0.5 - 0x1p-16 - p->inverse * 0x1p-21),
                          .whole = (int32_t)whole};
}

/* The logarithm of a normal number as an exponent and a rest, which is 2 artanh again: the first
 * omitted term is below 2^-29. */
INLINE float quick_log(uint32_t size, int32_t *exponent)
{
    const uint32_t root = 0x3f3504f3, moved = size + (0x3f800000u - root);
    const float m = strait_float_of((moved & 0x7fffff) + root);
    const float t = (m - 1) / (m + 1), u = t * t;
    *exponent = (int32_t)(moved >> 23) - 127;
    return t * (0x1.715476p+1f +
                u * (0x1.ec709ep-1f +
                     u * (0x1.2776c6p-1f + u * (0x1.a61762p-2f + u * 0x1.484b14p-2f))));
}

enum { SAMPLES = 64, SAMPLE_ELEMS = 64 };

/* Mean exponent of the sampled values, as an integer. */
INLINE int32_t middle_of(const float *x, size_t n, const struct sz_powers *p)
{
    double sum = 0, count = 0;
    const size_t apart = n <= SAMPLES * SAMPLE_ELEMS ? SAMPLE_ELEMS : n / SAMPLES;
    for (size_t sample = 0; sample < SAMPLES && sample * apart < n; sample++) {
        const float *from = x + sample * apart;
        const size_t left = n - sample * apart, m = left < SAMPLE_ELEMS ? left : SAMPLE_ELEMS;
        double exponent[SAMPLE_ELEMS];
        for (size_t i = 0; i < m; i++)
            exponent[i] = log_of(fabs((double)from[i]));
        for (size_t i = 0; i < m; i++)
            if (isfinite(from[i]) && (from[i] < 0 || from[i] > 0)) {
                sum += exponent[i];
                count++;
            }
    }
    return count > 0 ? (int32_t)(sum / count * p->inverse) : 0;
}

/* The same from logarithms in float, in units of 2^-24, whose mean is off by 2^-22. Returns: whether
 * that leaves no doubt. */
STRAIT_CLONED
static bool quick_middle(int32_t *middle, const float *x, size_t n, const struct sz_powers *p)
{
    const size_t apart = n <= SAMPLES * SAMPLE_ELEMS ? SAMPLE_ELEMS : n / SAMPLES;
    double sum = 0;
    uint32_t count = 0, odd = 0; /* odd: numbers that are not normal */
    for (size_t sample = 0; sample < SAMPLES && sample * apart < n; sample++) {
        const float *from = x + sample * apart;
        const size_t left = n - sample * apart, m = left < SAMPLE_ELEMS ? left : SAMPLE_ELEMS;
        int32_t exponents = 0, rests = 0;
        for (size_t i = 0; i < m; i++) {
            const uint32_t size = strait_bits_of(from[i]) & INT32_MAX;
            const uint32_t is_number = size - 1 < 0x7f7fffff ? 1 : 0;
            int32_t exponent;
            const float rest = quick_log(size, &exponent);
            exponents += exponent & -(int32_t)is_number;
            rests += (int32_t)(rest * 0x1p24f) & -(int32_t)is_number;
            count += is_number;
            odd += size - 1 < 0x007fffff ? 1 : 0;
        }
        sum += exponents + 0x1p-24 * rests;
    }
    const double found = count > 0 ? sum / count * p->inverse : 0;
    *middle = (int32_t)found;
    return odd == 0 && fabs(found - rint(found)) > p->inverse * 0x1p-21;
}

bool sz_powers_for(struct sz_powers *p, double bound, const float *x, size_t n,
                   const struct strait_extent *extent)
{
    if (!(bound >= 0x1p-21)) /* rounding y to float takes 2^-24 of the bound */
        return false;
    p->limit = nextafter(bound, 0);
    /* A bound of 1 or more would allow all zeros. */
    const double within = bound > 0.9 ? 0.9 : bound;
    p->within = (float)((within - 0x1p-24) * (1 - 0x1p-20));
    p->signs = extent->min >= 0 ? 1 : extent->max <= 0 ? 2 : 0;
    p->middle = 0;
    if (!sz_powers_complete(p))
        return false;
    if (!is_quick(p) || !quick_middle(&p->middle, x, n, p))
        p->middle = middle_of(x, n, p);
    return sz_powers_complete(p);
}

/* The decoder's magnitude for an integer, counted from 0. */
INLINE double magnitude_of(double k, const struct sz_powers *p)
{
    return power_of(k * p->step + p->offset);
}

INLINE void compute(float *restrict y, const int32_t *restrict k, unsigned n,
                    const struct sz_powers *p)
{
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)magnitude_of(k[i], p);
}

/* Branch-free so that it vectorises: masks instead of conditions. */
INLINE void forward_block(float *restrict q, const float *restrict x, unsigned n,
                          const struct sz_powers *p)
{
    double value[SZ_BLOCK], found[SZ_BLOCK], near[SZ_BLOCK];
    float y[SZ_BLOCK];
    int32_t k[SZ_BLOCK];
    uint32_t too_far[SZ_BLOCK];
    const double inverse = p->inverse, limit = p->limit;
    const uint32_t both = p->signs == 0;
    for (unsigned i = 0; i < n; i++)
        value[i] = (double)x[i];
    for (unsigned i = 0; i < n; i++)
        found[i] = log_of(fabs(value[i])) * inverse + magic;
    for (unsigned i = 0; i < n; i++) { /* zeros, infinities and NaN: as any number */
        const uint32_t is_number = -(uint32_t)((strait_bits_of(x[i]) & INT32_MAX) - 1 < 0x7f7fffff);
        k[i] = (int32_t)((bits_of(found[i]) & is_number) | ((uint32_t)p->middle & ~is_number));
    }
    compute(y, k, n, p);
    for (unsigned i = 0; i < n; i++)
        near[i] = (double)y[i];
    for (unsigned i = 0; i < n; i++) {
        const double size = fabs(value[i]), left = limit * size - fabs(size - near[i]);
        too_far[i] = (uint32_t)(bits_of(left) >> 63);
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t bits = strait_bits_of(x[i]), size = bits & INT32_MAX;
        const uint32_t zero = -(uint32_t)(size == 0), sign = bits >> 31;
        const uint32_t broken = -(uint32_t)((int32_t)size >= 0x7f800000);
        const int32_t v = (int32_t)(((uint32_t)(k[i] - p->middle) << both) + (sign & both));
        const uint32_t integer = strait_bits_of((float)(v + (v < 0 ? 0 : 2)));
        const uint32_t of_zero = -sign & 0x3f800000u; /* 1 for minus zero */
        /* all ones: a NaN */
        q[i] = strait_float_of((zero & of_zero) | (~zero & (integer | broken | -too_far[i])));
    }
}

/* Returns: how many are unsure, and marks them */
INLINE unsigned quick_block(float *restrict q, uint32_t *restrict unsure, const float *restrict x,
                            unsigned n, const struct sz_powers *p, const struct quick *f)
{
    const uint32_t both = p->signs == 0, low = 0x0d800000, high = 0x71800000; /* 2^-100, 2^100 */
    const float inverse = f->inverse, rest = f->rest, most = f->most;
    const int32_t whole = f->whole, middle = p->middle;
    uint32_t n_unsure = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t bits = strait_bits_of(x[i]), size = bits & INT32_MAX, sign = bits >> 31;
        const uint32_t zero = -(uint32_t)(size == 0), of_zero = -sign & 0x3f800000u;
        int32_t exponent;
        const float found = quick_log(size, &exponent) * inverse + (float)exponent * rest;
        const float shifted = found + 0x1.8p23f, off = fabsf(found - (shifted - 0x1.8p23f));
        const int32_t k = exponent * whole + (int32_t)(strait_bits_of(shifted) - 0x4b400000u);
        const int32_t v = (int32_t)(((uint32_t)(k - middle) << both) + (sign & both));
        const uint32_t integer = strait_bits_of((float)(v + (v < 0 ? 0 : 2)));
        q[i] = strait_float_of((zero & of_zero) | (~zero & integer));
        unsure[i] = ~zero & ((off > most ? 1u : 0u) | (size - low > high - low ? 1u : 0u));
        n_unsure += unsure[i];
    }
    return n_unsure;
}

INLINE void forward(float *q, const float *x, size_t n, const struct sz_powers *p)
{
    enum { FEW = SZ_BLOCK / 8 };
    uint32_t unsure[SZ_BLOCK];
    const bool quick = is_quick(p);
    const struct quick f = quick_for(p);
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        const unsigned n_unsure = quick ? quick_block(q + i, unsure, x + i, m, p, &f) : m;
        const bool all = n_unsure > FEW || n_unsure == m;
        if (all)
            forward_block(q + i, x + i, m, p);
        for (unsigned k = 0; k < m && n_unsure > 0 && !all; k++)
            if (unsure[k])
                forward_block(q + i + k, x + i + k, 1, p);
    }
}

INLINE void inverse_block(float *restrict y, const float *restrict q, unsigned n,
                          const struct sz_powers *p)
{
    int32_t k[SZ_BLOCK];
    uint32_t sign[SZ_BLOCK];
    const int32_t least = p->least, most = p->most;
    const int both = p->signs == 0;
    const uint32_t all = p->signs == 2 ? UINT32_MAX : 0, parity = both ? 1u : 0u;
    for (unsigned i = 0; i < n; i++) {
        const float number = strait_float_of(strait_bits_of(q[i]) & -(uint32_t)(q[i] == q[i]));
        const int32_t integer = (int32_t)number;
        const int32_t v = integer - (integer < 0 ? 0 : 2), counted = v >> both;
        const int32_t bounded = counted < least ? least : counted > most ? most : counted;
        k[i] = bounded + p->middle;
        const uint32_t minus = ((uint32_t)v & parity) | (all & 1);
        const uint32_t zero = -(uint32_t)((uint32_t)integer < 2);
        /* the sign bit, and in the others the bits of the value */
        sign[i] = ((zero & (uint32_t)integer) | (~zero & minus)) << 31 | (~zero >> 1);
    }
    compute(y, k, n, p);
    for (unsigned i = 0; i < n; i++)
        y[i] =
            strait_float_of((strait_bits_of(y[i]) & sign[i] & INT32_MAX) | (sign[i] & 0x80000000u));
}

/* The window around the tensor's middle; what another tensor left there is kept where it fits. */
static void open_kept(struct sz_kept_powers *kept, const struct sz_powers *p)
{
    const int32_t first = p->middle - SZ_KEPT / 2;
    kept->y[2 * SZ_KEPT] = 0;
    kept->y[2 * SZ_KEPT + 1] = -0.0f;
    if (strait_bits_of(kept->within) == strait_bits_of(p->within) &&
        abs(first - kept->first) <= SZ_KEPT / 4)
        return;
    kept->within = p->within;
    kept->first = first;
    memset(kept->has, 0, sizeof(kept->has));
}

INLINE void fill_page(struct sz_kept_powers *kept, int32_t page, const struct sz_powers *p)
{
    int32_t k[SZ_KEPT_PAGE];
    float *y = kept->y + page * SZ_KEPT_PAGE;
    for (int32_t i = 0; i < SZ_KEPT_PAGE; i++) {
        const int32_t counted = kept->first + (page * SZ_KEPT_PAGE + i) / 2 - p->middle;
        const int32_t bounded = counted < p->least ? p->least : counted;
        k[i] = (bounded > p->most ? p->most : bounded) + p->middle;
    }
    compute(y, k, SZ_KEPT_PAGE, p);
    for (unsigned i = 1; i < SZ_KEPT_PAGE; i += 2)
        y[i] = -y[i];
    kept->has[page] = true;
}

/* One by one: as a vector, which the empty instruction rules out, it takes longer to gather. */
static void look_up(float *restrict y, const float *restrict kept, const uint32_t *restrict at,
                    unsigned n)
{
#pragma GCC unroll 8
    for (unsigned i = 0; i < n; i++) {
        y[i] = kept[at[i]];
        __asm__ volatile("");
    }
}

/* Look values up where they are kept, since those of a block lie close together and come again in
 * the next. */
INLINE void inverse_kept(float *restrict y, const float *restrict q, unsigned n,
                         const struct sz_powers *p, struct sz_kept_powers *kept)
{
    enum { FEW = SZ_BLOCK / 8, LAST = 2 * SZ_KEPT - 1 };
    uint32_t at[SZ_BLOCK], outside[SZ_BLOCK], low = LAST, high = 0, n_outside = 0;
    const int alone = p->signs != 0; /* one sign has every second */
    const uint32_t middle = 2 * (uint32_t)(p->middle - kept->first);
    const uint32_t base = middle + (p->signs == 2 ? 1 : 0);
    for (unsigned i = 0; i < n; i++) {
        const float number = strait_float_of(strait_bits_of(q[i]) & -(uint32_t)(q[i] == q[i]));
        const int32_t integer = (int32_t)number;
        const uint32_t v = (uint32_t)(integer - (integer < 0 ? 0 : 2));
        const uint32_t zero = -(uint32_t)((uint32_t)integer < 2);
        const uint32_t from = (((v << alone) + base) & ~zero) | (middle & zero);
        const uint32_t place = from < LAST ? from : LAST;
        at[i] = (place & ~zero) | ((2 * SZ_KEPT + (uint32_t)integer) & zero);
        outside[i] = from > LAST ? 1 : 0;
        n_outside += outside[i];
        low = place < low ? place : low;
        high = place > high ? place : high;
    }
    if (n_outside > FEW) {
        inverse_block(y, q, n, p);
        return;
    }
    for (uint32_t page = low / SZ_KEPT_PAGE; page <= high / SZ_KEPT_PAGE; page++)
        if (!kept->has[page])
            fill_page(kept, (int32_t)page, p);
    look_up(y, kept->y, at, n);
    for (unsigned i = 0; i < n && n_outside > 0; i++)
        if (outside[i])
            inverse_block(y + i, q + i, 1, p);
}

INLINE void inverse(float *y, const float *q, unsigned n, const struct sz_powers *p,
                    struct sz_kept_powers *kept)
{
    for (unsigned i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? n - i : SZ_BLOCK;
        if (kept)
            inverse_kept(y + i, q + i, m, p, kept);
        else
            inverse_block(y + i, q + i, m, p);
    }
}

#if defined(__x86_64__)
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

AVX2 static void forward_avx2(float *q, const float *x, size_t n, const struct sz_powers *p)
{
    forward(q, x, n, p);
}

AVX512 static void forward_avx512(float *q, const float *x, size_t n, const struct sz_powers *p)
{
    forward(q, x, n, p);
}

AVX2 static void inverse_avx2(float *y, const float *q, unsigned n, const struct sz_powers *p,
                              struct sz_kept_powers *kept)
{
    inverse(y, q, n, p, kept);
}

AVX512 static void inverse_avx512(float *y, const float *q, unsigned n, const struct sz_powers *p,
                                  struct sz_kept_powers *kept)
{
    inverse(y, q, n, p, kept);
}
#endif

void sz_powers_forward(float *q, const float *x, size_t n, const struct sz_powers *p,
                       enum strait_simd level)
{
#if defined(__x86_64__)
    if (level == STRAIT_SIMD_AVX512) {
        forward_avx512(q, x, n, p);
        return;
    }
    if (level == STRAIT_SIMD_AVX2) {
        forward_avx2(q, x, n, p);
        return;
    }
#endif
    (void)level;
    forward(q, x, n, p);
}

void sz_powers_inverse(float *y, const float *q, unsigned n, const struct sz_powers *p,
                       struct sz_kept_powers *kept, enum strait_simd level)
{
    if (kept)
        open_kept(kept, p);
#if defined(__x86_64__)
    if (level == STRAIT_SIMD_AVX512) {
        inverse_avx512(y, q, n, p, kept);
        return;
    }
    if (level == STRAIT_SIMD_AVX2) {
        inverse_avx2(y, q, n, p, kept);
        return;
    }
#endif
    (void)level;
    inverse(y, q, n, p, kept);
}
