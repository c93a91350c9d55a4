/* Floating-point formats of 4 to 8 bits: a sign, an exponent, a fraction of a few bits, denormals.
 * Sources: FP8 formats for deep learning (Micikevicius et al. 2022), OCP Microscaling formats 1.0
 * (2023). Values beyond the largest become it, as the OCP's conversion saturates. */
#pragma once
#include "codecs/kit/checks.h"

struct strait_minifloat {
    unsigned bits;          /* of a code: sign, exponent, fraction */
    unsigned fraction_bits; /* m */
    int min_exponent;       /* of the smallest normal value, and of denormals */
    int max_exponent;       /* of the largest value */
    float max;
    unsigned first_special; /* magnitudes of codes from here on are no numbers; 0: none is */
    bool has_infinity;      /* the first of these with a fraction of 0 */
};

extern const struct strait_minifloat strait_e4m3, strait_e5m2, strait_e3m2, strait_e2m3,
    strait_e2m1, strait_e3m0;

/** The code of the value nearest to v, ties to the even fraction; without a fraction (E3M0) to the
 *  larger value, or to 0. v: finite. */
STRAIT_INLINE uint16_t strait_minifloat_code(float v, const struct strait_minifloat *f)
{
    const uint32_t bits = strait_bits_of(v), magnitude = bits & 0x7fffffffu,
                   most = strait_bits_of(f->max);
    const uint32_t a = magnitude < most ? magnitude : most;
    const int32_t own = (int32_t)(a >> 23) - 127;
    const int32_t e = own > f->min_exponent ? own : f->min_exponent;
    /* In units of its last place it is below 2^(m + 1): adding 2^23 rounds it to a whole number. */
    const float per_unit = strait_float_of((uint32_t)(127 + (int32_t)f->fraction_bits - e) << 23);
    const uint32_t units =
        strait_bits_of(strait_float_of(a) * per_unit + 0x1p23f) - strait_bits_of(0x1p23f);
    const uint32_t code = ((uint32_t)(e - f->min_exponent) << f->fraction_bits) + units;
    return (uint16_t)(code | bits >> 31 << (f->bits - 1));
}

/** The values of all codes. Out: values[1 << f->bits] */
void strait_minifloat_values(float *values, const struct strait_minifloat *f);
