/* Positions as they are: varint how many, then 32 bits each. */
#include "codecs/sparse/sparse.h"
#include <assert.h>

bool strait_index_ascends(const uint32_t *index, size_t n, size_t n_elems)
{
    uint32_t falls = 0;
    for (size_t i = 1; i < n; i++)
        falls |= index[i] <= index[i - 1] ? 1u : 0u;
    return n == 0 || (!falls && index[n - 1] < n_elems);
}

static size_t raw_max_bytes(size_t n_elems, size_t n_chosen, double parameter)
{
    (void)n_elems;
    (void)parameter;
    return 5 + 4 * n_chosen;
}

static void raw_encode(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                       double parameter, uint64_t key, uint32_t *scratch)
{
    (void)parameter;
    (void)key;
    (void)scratch;
    assert(*n_chosen <= n_elems);
    strait_write_varint(w, *n_chosen);
    if (!strait_write_room(w, 4 * *n_chosen))
        return;
    for (size_t i = 0; i < *n_chosen; i++)
        strait_put32(w->p + 4 * i, index[i]);
    w->p += 4 * *n_chosen;
}

static bool raw_decode(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                       uint32_t *scratch)
{
    (void)scratch;
    const uint64_t n = strait_read_varint(r);
    const unsigned char *p = n <= n_elems ? strait_read_bytes(r, 4 * (size_t)n) : NULL;
    if (r->bad || !p)
        return false;
    for (size_t i = 0; i < n; i++)
        index[i] = strait_get32(p + 4 * i);
    *n_chosen = (size_t)n;
    return strait_index_ascends(index, (size_t)n, n_elems);
}

const struct strait_index_codec strait_index_raw = {
    .name = "raw",
    .source = "own",
    .exact = true,
    .max_bytes = raw_max_bytes,
    .encode = raw_encode,
    .decode = raw_decode,
};
