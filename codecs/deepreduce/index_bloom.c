/* bloom-p0, bloom-p1, bloom-p2: a Bloom filter of the chosen positions. P0: all positives are sent,
 * false ones too, with their true values. P1, P2: as many positives as were chosen are kept, at
 * random (P1) or by conflict sets (P2). The set of positions changes, and the caller reads the
 * values of the new set.
 *
 *   varint  bits of the filter m; 0: no positions, and nothing follows
 *   u8      hashes h
 *   varint  number of chosen k  } P1 and P2
 *   u32     key of the draws    }
 *   filter  ceil(m / 8) bytes, bit 0 lowest */
#include "core/random.h"
#include "bloom.h"
#include "core/bytes.h"
#include "codecs/sparse/sparse.h"

enum policy { P0, P1, P2 };

static size_t bloom_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    const struct strait_bloom b = strait_bloom_for(n_elems, n_chosen, parameter);
    return strait_bloom_bytes(&b) + 32;
}

/* The filter's positives after this policy. */
static size_t positives(enum policy policy, const struct strait_bloom *b, uint32_t *index,
                        const unsigned char *bits, size_t n_wanted, size_t n_elems, uint32_t key,
                        uint32_t *scratch)
{
    const size_t n = strait_bloom_query(b, index, bits, n_elems);
    if (policy == P0 || n <= n_wanted)
        return n;
    if (policy == P1)
        strait_bloom_choose_random(index, n, n_wanted, key);
    else
        strait_bloom_choose_by_conflicts(b, index, n, n_wanted, key, n_elems, scratch,
                                         n_elems + 1024);
    return n_wanted;
}

static void encode(enum policy policy, struct strait_writer *w, uint32_t *index, size_t *n_chosen,
                   size_t n_elems, double parameter, uint64_t key, uint32_t *scratch)
{
    const struct strait_bloom b = strait_bloom_for(n_elems, *n_chosen, parameter);
    const uint32_t draws = (uint32_t)strait_random_bits(key, "bloom", 0, 0);
    strait_write_varint(w, b.n_bits);
    if (b.n_bits == 0)
        return;
    strait_write_u8(w, b.n_hashes);
    if (policy != P0) {
        strait_write_varint(w, *n_chosen);
        strait_write_u32(w, draws);
    }
    if (!strait_write_room(w, strait_bloom_bytes(&b)))
        return;
    memset(w->p, 0, strait_bloom_bytes(&b));
    strait_bloom_insert(&b, w->p, index, *n_chosen);
    *n_chosen = positives(policy, &b, index, w->p, *n_chosen, n_elems, draws, scratch);
    w->p += strait_bloom_bytes(&b);
}

static bool decode(enum policy policy, struct strait_reader *r, uint32_t *index, size_t *n_chosen,
                   size_t n_elems, uint32_t *scratch)
{
    const uint64_t n_bits = strait_read_varint(r);
    *n_chosen = 0;
    if (n_bits == 0)
        return !r->bad;
    const struct strait_bloom b = {(uint32_t)n_bits, strait_read_u8(r)};
    const uint64_t n_wanted = policy == P0 ? 0 : strait_read_varint(r);
    const uint32_t key = policy == P0 ? 0 : strait_read_u32(r);
    if (n_bits > UINT32_MAX || b.n_hashes < 1 || b.n_hashes > STRAIT_BLOOM_MAX_HASHES ||
        n_wanted > n_elems || n_wanted > 64 * n_bits) /* no rate below 0.99 gives so few bits */
        return false;
    const unsigned char *bits = strait_read_bytes(r, strait_bloom_bytes(&b));
    if (!bits || (n_bits % 8 != 0 && bits[n_bits / 8] >> n_bits % 8 != 0))
        return false;
    *n_chosen = positives(policy, &b, index, bits, (size_t)n_wanted, n_elems, key, scratch);
    return policy == P0 || *n_chosen == n_wanted;
}

static void p0_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      double parameter, uint64_t key, uint32_t *scratch)
{
    encode(P0, w, index, n_chosen, n_elems, parameter, key, scratch);
}

static void p1_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      double parameter, uint64_t key, uint32_t *scratch)
{
    encode(P1, w, index, n_chosen, n_elems, parameter, key, scratch);
}

static void p2_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      double parameter, uint64_t key, uint32_t *scratch)
{
    encode(P2, w, index, n_chosen, n_elems, parameter, key, scratch);
}

static bool p0_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      uint32_t *scratch)
{
    return decode(P0, r, index, n_chosen, n_elems, scratch);
}

static bool p1_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      uint32_t *scratch)
{
    return decode(P1, r, index, n_chosen, n_elems, scratch);
}

static bool p2_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                      uint32_t *scratch)
{
    return decode(P2, r, index, n_chosen, n_elems, scratch);
}

static const char source[] = "DeepReduce, Xu et al. 2021, section 4";

const struct strait_index_codec strait_index_bloom_p0 = {
    .name = "bloom-p0",
    .source = source,
    .max_bytes = bloom_max_bytes,
    .encode = p0_encode,
    .decode = p0_decode,
};
const struct strait_index_codec strait_index_bloom_p1 = {
    .name = "bloom-p1",
    .source = source,
    .max_bytes = bloom_max_bytes,
    .encode = p1_encode,
    .decode = p1_decode,
};
const struct strait_index_codec strait_index_bloom_p2 = {
    .name = "bloom-p2",
    .source = source,
    .max_bytes = bloom_max_bytes,
    .encode = p2_encode,
    .decode = p2_decode,
};
