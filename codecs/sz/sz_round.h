/* Inside the sz codec: floats to integers without a conversion that could overflow. */
#pragma once
#include <stdint.h>
#include <string.h>

/* Adding 1.5 * 2^23 rounds a float below 2^22 in magnitude to an integer, held in its low bits. */
#define SZ_MAGIC       12582912.0f
#define SZ_MAX_INTEGER 4194303.0f

static inline uint32_t sz_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/** The integer nearest to x, ties to even, if |x| <= SZ_MAX_INTEGER; else undefined. */
static inline int32_t sz_round(float x)
{
    return (int32_t)(sz_bits_of(x + SZ_MAGIC) - sz_bits_of(SZ_MAGIC));
}
