/* Random bits for stochastic rounding: 32 bits for value i of a tensor, which depend on (key, i)
 * alone, so that loops vectorise and pieces can be coded in any order.
 *
 * The mixer is triple32 (Wellons 2018, "Prospecting for hash functions": three multiplications,
 * bias 0.021) on i, with one word of the hashed key added before it and one in the middle: for one
 * key it is a permutation of the 2^32 numbers i, and the draws of two keys are not shifted copies
 * of each other. One key draws no 32-bit number twice, which is negligible for the 2^30 levels of a
 * probability. The cheaper lowbias32 failed tests/codecs/kit/test_chance.c: its draws for indices
 * 16 and 32 apart are correlated. */
#pragma once
#include "core/random.h"
#include "core/host.h"

struct strait_chance {
    uint32_t before, between;
};

/** The generator for values [segment 2^32, (segment + 1) 2^32) of a tensor: segment is index >>
 *  32. */
static inline struct strait_chance strait_chance_at(uint64_t key, uint64_t segment)
{
    struct strait_sequence of_key = strait_sequence_at(key);
    struct strait_sequence s = strait_sequence_at(strait_sequence_next(&of_key) + segment);
    const uint64_t bits = strait_sequence_next(&s);
    return (struct strait_chance){(uint32_t)bits, (uint32_t)(bits >> 32)};
}

/** 32 random bits; i is the low half of the index. */
STRAIT_INLINE uint32_t strait_chance_bits(struct strait_chance c, uint32_t i)
{
    uint32_t x = i + c.before;
    x = (x ^ x >> 17) * 0xed5ad4bbu;
    x += c.between;
    x = (x ^ x >> 11) * 0xac4c1b51u;
    x = (x ^ x >> 15) * 0x31848babu;
    return x ^ x >> 14;
}

/** True with probability p, rounded down to a multiple of 2^-30, for p in [0, 1]. */
STRAIT_INLINE int32_t strait_chance_below(struct strait_chance c, uint32_t i, float p)
{
    return (int32_t)(strait_chance_bits(c, i) >> 2) < (int32_t)(p * 0x1p30f);
}
