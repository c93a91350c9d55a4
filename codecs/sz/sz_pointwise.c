/* sz: pointwise bounds. A value is a sign and a power of two whose exponent is an integer times a
 * step: |x - y| <= e |x| is then one interval of exponents, whatever the magnitude. Logarithms and
 * powers use additions, multiplications and one division in double, so that their bits are the same
 * on every machine, and every value is compared with what the decoder will compute.
 *
 *   integer 0: zero; 1: minus zero
 *   v < 0: integer v; v >= 0: integer v + 2, where
 *   v = 2 k + (1 if negative), or k alone where all values have one sign; k counts from `middle` */
#include <math.h>
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
    /* No float has an exponent beyond these. */
    const double least = floor(-160 * p->inverse) - p->middle;
    const double most = ceil(130 * p->inverse) - p->middle;
    p->least = (int32_t)fmax(fmin(least, 0x1p30), -0x1p30);
    p->most = (int32_t)fmax(fmin(most, 0x1p30), -0x1p30);
    return true;
}

enum { SAMPLES = 64, SAMPLE_ELEMS = 64 };

/* Mean exponent of the sampled values, as an integer. */
static int32_t middle_of(const float *x, size_t n, const struct sz_powers *p)
{
    double sum = 0, count = 0;
    const size_t all = SAMPLES * SAMPLE_ELEMS;
    for (size_t i = 0; i < (n < all ? n : all); i++) {
        const size_t at = n <= all ? i : i / SAMPLE_ELEMS * (n / SAMPLES) + i % SAMPLE_ELEMS;
        if (isfinite(x[at]) && (x[at] < 0 || x[at] > 0)) {
            sum += log_of(fabs((double)x[at]));
            count++;
        }
    }
    return count > 0 ? (int32_t)(sum / count * p->inverse) : 0;
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
    p->middle = middle_of(x, n, p);
    return sz_powers_complete(p);
}

/* The decoder's magnitude for an integer, counted from 0. */
INLINE double magnitude_of(double k, const struct sz_powers *p)
{
    return power_of(k * p->step + p->offset);
}

INLINE uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

INLINE float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* 0 or 1 */
INLINE double is_negative(double x)
{
    return double_of(UINT64_C(0x4330000000000000) | bits_of(x) >> 63) - 0x1p52;
}

/* Branch-free so that it vectorises: masks instead of conditions. */
INLINE void forward_block(float *restrict q, const float *restrict x, unsigned n,
                          const struct sz_powers *p)
{
    double k[SZ_BLOCK], value[SZ_BLOCK], near[SZ_BLOCK];
    float y[SZ_BLOCK];
    const double inverse = p->inverse, middle = p->middle, limit = p->limit;
    const double per_step = p->signs == 0 ? 2 : 1, per_sign = p->signs == 0 ? 1 : 0;
    for (unsigned i = 0; i < n; i++)
        value[i] = (double)x[i];
    for (unsigned i = 0; i < n; i++)
        k[i] = log_of(fabs(value[i])) * inverse + magic - magic;
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)magnitude_of(k[i], p);
    for (unsigned i = 0; i < n; i++)
        near[i] = (double)y[i];
    for (unsigned i = 0; i < n; i++) {
        const double size = fabs(value[i]);
        const double v = per_step * (k[i] - middle) + per_sign * is_negative(value[i]);
        const double integer = v + (2 - 2 * is_negative(v));
        const double left = limit * size - fabs(size - near[i]);
        k[i] = double_of(bits_of(integer) | -(bits_of(left) >> 63)); /* all ones: a NaN */
    }
    for (unsigned i = 0; i < n; i++) {
        const uint32_t bits = bits_of_float(x[i]);
        const uint32_t zero = -(uint32_t)((bits & INT32_MAX) == 0);
        const uint32_t broken = -(uint32_t)((int32_t)(bits & INT32_MAX) >= 0x7f800000);
        const uint32_t of_zero = -(bits >> 31) & 0x3f800000u; /* 1 for minus zero */
        q[i] = float_of((zero & of_zero) | (~zero & (bits_of_float((float)k[i]) | broken)));
    }
}

INLINE void forward(float *q, const float *x, size_t n, const struct sz_powers *p)
{
    for (size_t i = 0; i < n; i += SZ_BLOCK)
        forward_block(q + i, x + i, n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK, p);
}

INLINE void inverse_block(float *restrict y, const float *restrict q, unsigned n,
                          const struct sz_powers *p)
{
    int32_t k[SZ_BLOCK];
    uint32_t sign[SZ_BLOCK];
    const double middle = p->middle;
    const int32_t least = p->least, most = p->most;
    const int both = p->signs == 0;
    const uint32_t all = p->signs == 2 ? UINT32_MAX : 0, parity = both ? 1u : 0u;
    for (unsigned i = 0; i < n; i++) {
        const float number = float_of(bits_of_float(q[i]) & -(uint32_t)(q[i] == q[i]));
        const int32_t integer = (int32_t)number;
        const int32_t v = integer - (integer < 0 ? 0 : 2), counted = v >> both;
        k[i] = counted < least ? least : counted > most ? most : counted;
        const uint32_t minus = ((uint32_t)v & parity) | (all & 1);
        const uint32_t zero = -(uint32_t)((uint32_t)integer < 2);
        /* the sign bit, and in the others the bits of the value */
        sign[i] = ((zero & (uint32_t)integer) | (~zero & minus)) << 31 | (~zero >> 1);
    }
    for (unsigned i = 0; i < n; i++)
        y[i] = (float)magnitude_of((double)k[i] + middle, p);
    for (unsigned i = 0; i < n; i++)
        y[i] = float_of((bits_of_float(y[i]) & sign[i] & INT32_MAX) | (sign[i] & 0x80000000u));
}

INLINE void inverse(float *y, const float *q, unsigned n, const struct sz_powers *p)
{
    for (unsigned i = 0; i < n; i += SZ_BLOCK)
        inverse_block(y + i, q + i, n - i < SZ_BLOCK ? n - i : SZ_BLOCK, p);
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

AVX2 static void inverse_avx2(float *y, const float *q, unsigned n, const struct sz_powers *p)
{
    inverse(y, q, n, p);
}

AVX512 static void inverse_avx512(float *y, const float *q, unsigned n, const struct sz_powers *p)
{
    inverse(y, q, n, p);
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
                       enum strait_simd level)
{
#if defined(__x86_64__)
    if (level == STRAIT_SIMD_AVX512) {
        inverse_avx512(y, q, n, p);
        return;
    }
    if (level == STRAIT_SIMD_AVX2) {
        inverse_avx2(y, q, n, p);
        return;
    }
#endif
    (void)level;
    inverse(y, q, n, p);
}
