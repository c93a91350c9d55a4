/* IEEE 754 binary16 and bfloat16, value by value, without branches, so that loops vectorise. Rounds
 * once, to nearest, ties to even; overflow gives infinity, NaN stays NaN (quiet). */
#pragma once
#include "checks.h"

STRAIT_INLINE uint16_t strait_half_of(float x)
{
    const uint32_t bits = strait_bits_of(x), a = bits & 0x7fffffffu;
    /* Rounds at bit 13 and changes the exponent's bias from 127 to 15. */
    const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
    /* The last bit of 1/2 is 2^-24, like that of a subnormal half: the addition rounds. */
    const float small = strait_float_of(strait_choose_bits((int32_t)a < 0x38800000, a, 0));
    const uint32_t subnormal = strait_bits_of(small + 0.5f) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | (a >> 13 & 0x3ffu);
    const uint32_t special = strait_choose_bits((int32_t)a > 0x7f800000, nan, 0x7c00u);
    uint32_t h = strait_choose_bits((int32_t)a < 0x38800000, subnormal, normal);
    h = strait_choose_bits((int32_t)a >= 0x477ff000, special, h); /* 65520 rounds to 65536 */
    return (uint16_t)(h | (bits >> 16 & 0x8000u));
}

STRAIT_INLINE float strait_float_of_half(uint16_t half)
{
    const uint32_t h = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t normal = (h << 13) + (112u << 23);
    const uint32_t subnormal = strait_bits_of((float)(int32_t)h * 0x1p-24f);
    const uint32_t special = h << 13 | 0x7f800000u;
    const uint32_t a = strait_choose_bits(h < 0x400u, subnormal, normal);
    return strait_float_of(strait_choose_bits(h >= 0x7c00u, special, a) | sign);
}

STRAIT_INLINE uint16_t strait_bfloat_of(float x)
{
    const uint32_t bits = strait_bits_of(x);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

STRAIT_INLINE float strait_float_of_bfloat(uint16_t bfloat)
{
    return strait_float_of((uint32_t)bfloat << 16);
}
