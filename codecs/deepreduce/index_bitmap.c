/* A bit for each position, lowest first, padded with zeros to whole bytes. */
#include "codecs/sparse/sparse.h"
#include <assert.h>

static size_t bitmap_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    (void)n_chosen;
    (void)parameter;
    return n_elems / 8 + (n_elems % 8 != 0);
}

static void bitmap_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen,
                          size_t n_elems, double parameter, uint64_t key, uint32_t *scratch)
{
    const size_t n_bytes = bitmap_max_bytes(n_elems, 0, 0);
    (void)parameter;
    (void)key;
    (void)scratch;
    assert(*n_chosen <= n_elems);
    if (!strait_write_room(w, n_bytes) || n_bytes == 0)
        return;
    size_t i = 0;
    for (size_t at = 0; at < n_bytes; at += 8) { /* a word at a time, then the remaining bytes */
        uint64_t word = 0;
        while (i < *n_chosen && index[i] / 8 < at + 8) {
            word |= (uint64_t)1 << index[i] % 64;
            i++;
        }
        if (n_bytes - at >= 8)
            strait_put64(w->p + at, word);
        else
            for (size_t k = 0; k < n_bytes - at; k++)
                w->p[at + k] = (unsigned char)(word >> (8 * k));
    }
    w->p += n_bytes;
}

static bool bitmap_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen,
                          size_t n_elems, uint32_t *scratch)
{
    const size_t n_bytes = bitmap_max_bytes(n_elems, 0, 0);
    const unsigned char *p = strait_read_bytes(r, n_bytes);
    size_t n = 0;
    (void)scratch;
    if (!p || (n_elems % 8 != 0 && p[n_bytes - 1] >> n_elems % 8 != 0))
        return false;
    for (size_t at = 0; at < n_bytes; at += 8) {
        uint64_t word = 0;
        if (n_bytes - at >= 8)
            word = strait_get64(p + at);
        else
            for (size_t k = 0; k < n_bytes - at; k++)
                word |= (uint64_t)p[at + k] << (8 * k);
        for (; word; word &= word - 1)
            index[n++] = (uint32_t)(8 * at) + (uint32_t)__builtin_ctzll(word);
    }
    *n_chosen = n;
    return true;
}

const struct strait_index_codec strait_index_bitmap = {
    .name = "bitmap",
    .source = "own",
    .exact = true,
    .max_bytes = bitmap_max_bytes,
    .encode = bitmap_encode,
    .decode = bitmap_decode,
};
