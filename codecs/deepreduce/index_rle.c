/* rle: run lengths of the bitmap of chosen elements, each in as many bits as the longest needs. The
 * published form begins with a 32-bit count and an 8-bit width ("5 bytes"), its first run is of
 * zeros, possibly empty, and it cannot express a run whose length is a power of two. Here a flag
 * says which kind comes first, so no run is empty and length - 1 is sent: ceil(log2 longest) bits.
 *
 *   varint  number of runs; nothing follows 0
 *   u8      width, 128: the first run is of chosen elements
 *   runs    length - 1, `width` bits each, to whole bytes */
#include "index_bits.h"
#include "codecs/sparse/sparse.h"

enum { FIRST_CHOSEN = 128 };

static unsigned width_of(uint32_t v)
{
    return v == 0 ? 0 : 32 - (unsigned)__builtin_clz(v);
}

static size_t rle_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    (void)parameter;
    const size_t n_runs = n_chosen < n_elems / 2 ? 2 * n_chosen + 1 : n_elems;
    return (n_runs * width_of((uint32_t)n_elems) + 7) / 8 + 16;
}

/* Lengths of the runs of chosen and other elements, alternating. Returns how many. */
static size_t runs_of(uint32_t *run, const uint32_t *index, size_t n_chosen, size_t n_elems)
{
    size_t n = 0, i = 0;
    uint32_t at = 0;
    while (i < n_chosen) {
        const uint32_t first = index[i];
        for (i++; i < n_chosen && index[i] == index[i - 1] + 1;)
            i++;
        if (first > at)
            run[n++] = first - at;
        at = index[i - 1] + 1;
        run[n++] = at - first;
    }
    if (at < n_elems)
        run[n++] = (uint32_t)n_elems - at;
    return n;
}

static void rle_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                       double parameter, uint64_t key, uint32_t *scratch)
{
    (void)parameter;
    (void)key;
    const size_t n_runs = runs_of(scratch, index, *n_chosen, n_elems);
    strait_write_varint(w, n_runs);
    if (n_runs == 0)
        return;
    uint32_t all = 0;
    for (size_t i = 0; i < n_runs; i++)
        all |= scratch[i] - 1;
    const bool chosen = *n_chosen > 0 && index[0] == 0;
    const unsigned width = width_of(all);
    strait_write_u8(w, width | (chosen ? (unsigned)FIRST_CHOSEN : 0u));
    struct strait_bit_writer bits = {.w = w};
    for (size_t i = 0; i < n_runs; i++)
        strait_put_bits(&bits, scratch[i] - 1, width);
    strait_flush_bits(&bits);
}

static bool rle_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                       uint32_t *scratch)
{
    (void)scratch;
    const uint64_t n_runs = strait_read_varint(r);
    *n_chosen = 0;
    if (r->bad || n_runs > n_elems || (n_runs == 0) != (n_elems == 0))
        return false;
    if (n_runs == 0)
        return true;
    const unsigned byte = strait_read_u8(r), width = byte & 127;
    bool chosen = byte >= FIRST_CHOSEN;
    if (width > 31)
        return false;
    struct strait_bit_reader bits = strait_bit_reader_of(r);
    size_t at = 0, n = 0;
    for (uint64_t i = 0; i < n_runs; i++, chosen = !chosen) {
        const size_t run = (size_t)strait_get_bits(&bits, width) + 1;
        if (run > n_elems - at)
            return false;
        for (size_t k = 0; k < run && chosen; k++)
            index[n++] = (uint32_t)(at + k);
        at += run;
    }
    *n_chosen = n;
    return strait_end_bits(&bits, r) && at == n_elems;
}

const struct strait_index_codec strait_index_rle = {
    .name = "rle",
    .source = "DeepReduce, Xu et al. 2021, appendix F.2",
    .exact = true,
    .max_bytes = rle_max_bytes,
    .encode = rle_encode,
    .decode = rle_decode,
};
