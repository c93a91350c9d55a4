/* A fixed number of values of each chunk. */
#include "chunks.h"
#include <stdlib.h>
#include "codecs/kit/pack.h"
#include "select.h"

static void piece_free(struct strait_chunk_piece *piece)
{
    if (!piece)
        return;
    free(piece->at);
    free(piece->values);
    free(piece->index);
    free(piece->in);
    free(piece);
}

struct strait_chunk_piece *strait_chunk_take(struct strait_pool *pool,
                                             const struct strait_codec_ops *ops, size_t n_chosen,
                                             size_t chunk, struct strait_error *err)
{
    struct strait_chunk_piece *piece = strait_pool_take(pool);
    if (piece && piece->cap_chosen >= n_chosen && piece->cap_chunk >= chunk)
        return piece;
    piece_free(piece);
    piece = calloc(1, sizeof(*piece));
    if (piece) {
        piece->cap_chosen = n_chosen;
        piece->cap_chunk = chunk;
        piece->at = malloc(sizeof(*piece->at) * (n_chosen + 1));
        piece->values = malloc(sizeof(*piece->values) * (n_chosen + 1));
        piece->index = malloc(sizeof(*piece->index) * (2 * chunk + 1));
        piece->in = malloc(sizeof(*piece->in) * (3 * chunk + 1));
    }
    if (!piece || !piece->at || !piece->values || !piece->index || !piece->in) {
        piece_free(piece);
        strait_error_memory(err, ops->name);
        return NULL;
    }
    piece->scratch = piece->index + chunk;
    piece->out = piece->in + chunk;
    piece->between = piece->out + chunk;
    return piece;
}

void strait_chunk_pool_release(struct strait_pool *pool)
{
    for (struct strait_chunk_piece *piece; (piece = strait_pool_take(pool)) != NULL;)
        piece_free(piece);
    strait_pool_release(pool);
}

size_t strait_chunk_choose(struct strait_chunk_piece *piece, size_t first, const float *x, size_t n,
                           size_t k)
{
    k = k < n ? k : n;
    strait_select_largest(piece->index, x, n, k, piece->scratch);
    for (size_t i = 0; i < k; i++) {
        piece->at[first + i] = (uint16_t)piece->index[i];
        piece->values[first + i] = x[piece->index[i]];
    }
    return k;
}

void strait_chunk_write_at(struct strait_writer *w, const struct strait_chunk_piece *piece,
                           size_t n_chosen, unsigned bits)
{
    const size_t n_bytes = strait_packed_bytes(n_chosen, bits);
    if (!strait_write_room(w, n_bytes))
        return;
    strait_pack(w->p, piece->at, n_chosen, bits);
    w->p += n_bytes;
}

bool strait_chunk_read_at(struct strait_reader *r, struct strait_chunk_piece *piece,
                          size_t n_chosen, unsigned bits)
{
    const unsigned char *packed = strait_read_bytes(r, strait_packed_bytes(n_chosen, bits));
    if (packed)
        strait_unpack(piece->at, packed, n_chosen, bits);
    return packed != NULL;
}

bool strait_chunk_ascends(const struct strait_chunk_piece *piece, size_t first, size_t n,
                          size_t chunk_elems)
{
    size_t least = 0;
    bool good = true;
    for (size_t i = first; i < first + n; i++) {
        good = good && piece->at[i] >= least && piece->at[i] < chunk_elems;
        least = (size_t)piece->at[i] + 1;
    }
    return good;
}
