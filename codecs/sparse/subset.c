/* A random subset of positions that follows from a key alone. */
#include "subset.h"
#include <assert.h>
#include <string.h>
#include "core/random.h"

void strait_random_subset(uint32_t *index, size_t n_elems, size_t k, uint64_t key,
                          uint32_t *scratch)
{
    const size_t n_words = n_elems / 32 + (n_elems % 32 != 0);
    const uint32_t flip = k > n_elems / 2 ? UINT32_MAX : 0;
    const size_t n_drawn = flip ? n_elems - k : k;
    struct strait_sequence s =
        strait_sequence_at(strait_random_bits(key, "random subset", n_elems, k));
    assert(k <= n_elems && n_elems < 0x80000000u);
    if (n_words > 0)
        memset(scratch, 0, n_words * sizeof(*scratch));
    for (size_t last = n_elems - n_drawn; last < n_elems; last++) {
        size_t at = strait_below(strait_sequence_next(&s), (uint32_t)last + 1);
        if (scratch[at / 32] >> at % 32 & 1)
            at = last;
        scratch[at / 32] |= 1u << at % 32;
    }
    size_t n = 0;
    for (size_t w = 0; w < n_words; w++) {
        uint32_t word = scratch[w] ^ flip;
        if (w == n_words - 1 && n_elems % 32 != 0)
            word &= (1u << n_elems % 32) - 1;
        for (; word; word &= word - 1)
            index[n++] = (uint32_t)(32 * w) + (uint32_t)__builtin_ctz(word);
    }
    assert(n == k);
}
