/* The filter itself. A query takes blocks of positions, hash by hash, and keeps those whose bit is
 * set, without a branch on a bit. */
#include "bloom.h"
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "codecs/kit/stable_math.h"

enum { BLOCK = 512 };

struct strait_bloom strait_bloom_for(size_t n_elems, size_t n_chosen, double rate)
{
    struct strait_bloom b = {0, 1};
    if (n_chosen == 0)
        return b;
    if (!(rate > 0 && rate < 1))
        rate = 0.1 * (double)n_chosen / (double)n_elems;
    if (rate < 0x1p-32)
        rate = 0x1p-32;
    const double doublings = -strait_stable_log2(rate);
    const double n_bits = ceil((double)n_chosen * doublings * 0x1.71547652b82fep+0);
    b.n_hashes = doublings > 1 ? (unsigned)ceil(doublings) : 1;
    b.n_bits = n_bits < 1 ? 1 : n_bits < 4294967295.0 ? (uint32_t)n_bits : UINT32_MAX;
    return b;
}

size_t strait_bloom_bytes(const struct strait_bloom *b)
{
    return ((size_t)b->n_bits + 7) / 8;
}

void strait_bloom_insert(const struct strait_bloom *b, unsigned char *bits, const uint32_t *index,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t hash = strait_bloom_hash(index[i]);
        for (unsigned j = 0; j < b->n_hashes; j++) {
            const uint32_t bit = strait_bloom_bit(strait_bloom_word(hash, j), b->n_bits);
            bits[bit / 8] |= (unsigned char)(1u << bit % 8);
        }
    }
}

/* Positions from .. from + BLOCK whose bits were all set so far. */
struct block {
    uint64_t hash[BLOCK];
    uint32_t position[BLOCK];
    size_t n;
};

static inline unsigned is_set(const unsigned char *bits, uint32_t n_bits, uint64_t hash, unsigned j)
{
    const uint32_t bit = strait_bloom_bit(strait_bloom_word(hash, j), n_bits);
    return bits[bit / 8] >> bit % 8 & 1;
}

static void first_probe(struct block *k, uint32_t from, size_t n_positions,
                        const unsigned char *bits, uint32_t n_bits)
{
    size_t n = 0;
    for (size_t i = 0; i < n_positions; i++) {
        const uint64_t hash = strait_bloom_hash(from + (uint32_t)i);
        k->position[n] = from + (uint32_t)i;
        k->hash[n] = hash;
        n += is_set(bits, n_bits, hash, 0);
    }
    k->n = n;
}

static void probe(struct block *k, unsigned j, const unsigned char *bits, uint32_t n_bits)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        const uint64_t hash = k->hash[i];
        k->position[n] = k->position[i];
        k->hash[n] = hash;
        n += is_set(bits, n_bits, hash, j);
    }
    k->n = n;
}

size_t strait_bloom_query(const struct strait_bloom *b, uint32_t *index, const unsigned char *bits,
                          size_t n_elems)
{
    struct block k;
    size_t n = 0;
    if (b->n_bits == 0)
        return 0;
    for (size_t from = 0; from < n_elems; from += BLOCK) {
        const size_t n_positions = n_elems - from < BLOCK ? n_elems - from : BLOCK;
        first_probe(&k, (uint32_t)from, n_positions, bits, b->n_bits);
        for (unsigned j = 1; j < b->n_hashes && k.n > 0; j++)
            probe(&k, j, bits, b->n_bits);
        memcpy(index + n, k.position, 4 * k.n);
        n += k.n;
    }
    return n;
}

/* Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S). */
void strait_bloom_choose_random(uint32_t *index, size_t n, size_t n_wanted, uint64_t key)
{
    struct strait_sequence s = strait_sequence_at(key);
    size_t n_out = 0;
    for (size_t i = 0; i < n && n_out < n_wanted; i++)
        if ((strait_sequence_next(&s) >> 32) * (n - i) >> 32 < n_wanted - n_out)
            index[n_out++] = index[i];
}
