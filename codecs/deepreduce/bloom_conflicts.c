/* Policy P2 of DeepReduce (Xu et al. 2021, section 4 and algorithm 1). All positives that point to
 * one set bit form a conflict set: at least one of them is true, and a positive alone in its set is
 * certainly true. The sets are visited from small to large, those of equal size by bit number; a
 * set without a chosen member gives a random one. When every set has a chosen member and more are
 * wanted, each set gives one more, in the same order, until there are enough.
 *
 * Both sides draw from the same key and so choose the same positions. */
#include <assert.h>
#include "core/random.h"
#include "bloom.h"

static const uint32_t chosen_mark = 0x80000000u; /* positions are below 2^31 */

struct sets {
    const struct strait_bloom *bloom;
    uint32_t *index; /* n positives, chosen ones marked */
    size_t n, n_left;
    struct strait_sequence random;
    uint32_t *start;  /* per bit, plus the end: where its members begin */
    uint32_t *member; /* indices of positives */
    uint32_t largest; /* size of the largest set */
};

/* Whether double hashing can return to the same bit, which then counts once: only if a multiple of
 * the step is less than a bit's width from a whole turn. */
static bool may_repeat(uint32_t step, unsigned n_hashes, uint32_t width)
{
    bool near = false;
    for (unsigned j = 1; j < n_hashes; j++) {
        const uint32_t forward = j * step, back = -forward;
        near |= (forward < back ? forward : back) <= width;
    }
    return near;
}

/* The bits of a positive, each once. Returns how many. */
static unsigned bits_of(uint32_t bits[STRAIT_BLOOM_MAX_HASHES], const struct strait_bloom *b,
                        uint32_t position)
{
    const uint64_t hash = strait_bloom_hash(position);
    const uint32_t width = b->n_bits > 1 ? UINT32_MAX / b->n_bits + 1 : UINT32_MAX;
    for (unsigned j = 0; j < b->n_hashes; j++)
        bits[j] = strait_bloom_bit(strait_bloom_word(hash, j), b->n_bits);
    if (!may_repeat(strait_bloom_step(hash), b->n_hashes, width))
        return b->n_hashes;
    unsigned n = 0;
    for (unsigned j = 0; j < b->n_hashes; j++) {
        bool first = true;
        for (unsigned k = 0; k < n; k++)
            first &= bits[k] != bits[j];
        bits[n] = bits[j];
        n += first;
    }
    return n;
}

/* Store the members after the starts, or in the scratch memory if there is no room; false:
 * neither. */
static bool fill_sets(struct sets *s, uint32_t *scratch, size_t n_scratch, uint32_t *spare,
                      size_t n_spare)
{
    uint32_t bits[STRAIT_BLOOM_MAX_HASHES];
    const size_t n_bits = s->bloom->n_bits;
    size_t n_members = 0;
    if (n_bits >= n_scratch)
        return false;
    s->start = scratch;
    for (size_t b = 0; b <= n_bits; b++)
        s->start[b] = 0;
    for (size_t i = 0; i < s->n; i++) {
        const unsigned n = bits_of(bits, s->bloom, s->index[i]);
        n_members += n;
        for (unsigned j = 0; j < n; j++)
            s->start[bits[j] + 1]++;
    }
    if (n_members <= n_scratch - n_bits - 1)
        s->member = scratch + n_bits + 1;
    else if (n_members <= n_spare)
        s->member = spare;
    else
        return false;
    for (size_t b = 0; b < n_bits; b++) {
        s->largest = s->start[b + 1] > s->largest ? s->start[b + 1] : s->largest;
        s->start[b + 1] += s->start[b];
    }
    for (size_t i = 0; i < s->n; i++) { /* start[b] moves on to the end of the set */
        const unsigned n = bits_of(bits, s->bloom, s->index[i]);
        for (unsigned j = 0; j < n; j++)
            s->member[s->start[bits[j]]++] = (uint32_t)i;
    }
    for (size_t b = n_bits; b > 0; b--)
        s->start[b] = s->start[b - 1];
    s->start[0] = 0;
    return true;
}

/* Choose one member of this set: any that is not chosen yet; in the first round only if none is
 * chosen. */
static void draw(struct sets *s, uint32_t b, bool first_round)
{
    const uint32_t *member = s->member + s->start[b];
    const uint32_t size = s->start[b + 1] - s->start[b];
    uint32_t n_free = 0;
    for (uint32_t i = 0; i < size; i++)
        n_free += s->index[member[i]] < chosen_mark;
    if (n_free == 0 || (first_round && n_free < size))
        return;
    uint32_t skip = (uint32_t)((strait_sequence_next(&s->random) >> 32) * n_free >> 32);
    for (uint32_t i = 0;; i++)
        if (s->index[member[i]] < chosen_mark && skip-- == 0) {
            s->index[member[i]] |= chosen_mark;
            s->n_left--;
            return;
        }
}

void strait_bloom_choose_by_conflicts(const struct strait_bloom *b, uint32_t *index, size_t n,
                                      size_t n_wanted, uint64_t key, size_t n_room,
                                      uint32_t *scratch, size_t n_scratch)
{
    struct sets s = {
        .bloom = b, .index = index, .n = n, .n_left = n_wanted, .random = strait_sequence_at(key)};
    assert(n_wanted <= n && n <= n_room);
    if (!fill_sets(&s, scratch, n_scratch, index + n, n_room - n)) {
        strait_bloom_choose_random(index, n, n_wanted, key);
        return;
    }
    for (bool first_round = true; s.n_left > 0; first_round = false)
        for (uint32_t size = 1; size <= s.largest && s.n_left > 0; size++)
            for (uint32_t bit = 0; bit < b->n_bits && s.n_left > 0; bit++)
                if (s.start[bit + 1] - s.start[bit] == size)
                    draw(&s, bit, first_round);
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++)
        if (index[i] >= chosen_mark)
            index[n_out++] = index[i] & ~chosen_mark;
}
