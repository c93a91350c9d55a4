/* A Bloom filter of positions, and DeepReduce's policies for its positives. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRAIT_BLOOM_MAX_HASHES = 32 };

struct strait_bloom {
    uint32_t n_bits;   /* 0: the filter is empty */
    unsigned n_hashes; /* 1 .. STRAIT_BLOOM_MAX_HASHES */
};

/** Shape of a filter of n_chosen among n_elems positions at this false positive rate; 0: the
 *  default, 0.1 n_chosen / n_elems. ceil(log2(1/f)) hashes, ceil(n_chosen log2(1/f) / ln 2) bits,
 *  limited to 32 hashes and 2^32 - 1 bits. */
struct strait_bloom strait_bloom_for(size_t n_elems, size_t n_chosen, double rate);
size_t strait_bloom_bytes(const struct strait_bloom *b);

/* Hash of a position: bit j of it is at start + j step, as a fraction of 2^32 of the filter; start
 * is the upper half, step the lower half made odd (double hashing, Kirsch and Mitzenmacher
 * 2008). */
static inline uint64_t strait_bloom_hash(uint32_t position)
{
    const uint64_t z = ((uint64_t)position + 1) * 0x9e3779b97f4a7c15u;
    return (z ^ z >> 32) * 0xd6e8feb86659fd93u;
}

static inline uint32_t strait_bloom_step(uint64_t hash)
{
    return (uint32_t)hash | 1;
}

static inline uint32_t strait_bloom_word(uint64_t hash, uint32_t j)
{
    return (uint32_t)(hash >> 32) + j * strait_bloom_step(hash);
}

static inline uint32_t strait_bloom_bit(uint32_t word, uint32_t n_bits)
{
    return (uint32_t)((uint64_t)word * n_bits >> 32);
}

/** Set the bits of the positions index[n] in `bits`, strait_bloom_bytes of zeros. */
void strait_bloom_insert(const struct strait_bloom *b, unsigned char *bits, const uint32_t *index,
                         size_t n);
/** All positions below n_elems whose bits are set, ascending; index has room for n_elems.
 *  Cost:    about two probes a position, since half of the bits are set */
size_t strait_bloom_query(const struct strait_bloom *b, uint32_t *index, const unsigned char *bits,
                          size_t n_elems);

/** P1: n_wanted of the n positives at random, in place and ascending. */
void strait_bloom_choose_random(uint32_t *index, size_t n, size_t n_wanted, uint64_t key);
/** P2: keep n_wanted of the n positives by conflict sets, in place and ascending; falls back to P1
 *  if the sets (a word for each bit and for each hash of a positive) do not fit into the memory.
 *  In:      n_room   length of index, at least n; the rest is used as memory
 *           scratch  uint32_t[n_scratch]; with n_room = n_elems and n_scratch = n_elems + 1024,
 *                    filters of the default rate fit up to a density of 10 % */
void strait_bloom_choose_by_conflicts(const struct strait_bloom *b, uint32_t *index, size_t n,
                                      size_t n_wanted, uint64_t key, size_t n_room,
                                      uint32_t *scratch, size_t n_scratch);
