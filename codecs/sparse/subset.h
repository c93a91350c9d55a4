/* A random subset of positions that follows from a key alone: ranks that share the key choose the
 * same positions without communication. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/** Choose k of n_elems positions, each subset equally likely (to 2^-33).
 *  Out:     index    ascending, k of them
 *  In:      scratch  uint32_t[n_elems]; n_elems < 2^31, k <= n_elems
 *  Cost:    O(k) draws and n_elems / 32 words
 *  Source:  Floyd's sampling without replacement (Bentley and Floyd, Comm. ACM 30(9), 1987) over a
 *           bit for each position; if k exceeds half of the positions, those left out are drawn */
void strait_random_subset(uint32_t *index, size_t n_elems, size_t k, uint64_t key,
                          uint32_t *scratch);

/** A number below n < 2^32 from 64 random bits, uniform to 2^-32. */
static inline uint32_t strait_below(uint64_t bits, uint32_t n)
{
    const uint64_t low = (bits & 0xffffffffu) * n >> 32;
    return (uint32_t)(((bits >> 32) * n + low) >> 32);
}
