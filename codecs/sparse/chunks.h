/* Common to codecs that send a fixed number of values of each chunk: positions inside a chunk take
 * few bits, and choosing needs no look at the whole tensor. */
#pragma once
#include "codecs/kit/scratch_pool.h"
#include "core/bytes.h"
#include "codecs/codec.h"

enum { STRAIT_CHUNK_MAX = 1 << 16 }; /* values: positions are 16 bits at the most */

/* Scratch of one call, for `cap_chosen` values of chunks of up to `cap_chunk`. */
struct strait_chunk_piece {
    struct strait_pooled pooled;
    size_t cap_chosen, cap_chunk;
    uint16_t *at;              /* cap_chosen positions inside chunks */
    float *values;             /* cap_chosen */
    uint32_t *index, *scratch; /* cap_chunk */
    float *in, *out, *between; /* cap_chunk: a chunk and its transform */
};

/** A piece of the pool or a new one. Errors: NOMEM */
struct strait_chunk_piece *strait_chunk_take(struct strait_pool *pool,
                                             const struct strait_codec_ops *ops, size_t n_chosen,
                                             size_t chunk, struct strait_error *err);
/** Free all pieces, and the pool. */
void strait_chunk_pool_release(struct strait_pool *pool);

/** Choose the k largest of x[n] (select.h) as chosen values `first` and following of the piece.
 *  Returns: how many, min(k, n) */
size_t strait_chunk_choose(struct strait_chunk_piece *piece, size_t first, const float *x, size_t n,
                           size_t k);

/** Positions of all chunks as codes of `bits` bits; their bytes: strait_packed_bytes(n, bits). */
void strait_chunk_write_at(struct strait_writer *w, const struct strait_chunk_piece *piece,
                           size_t n_chosen, unsigned bits);
/** False when there are too few bytes. */
bool strait_chunk_read_at(struct strait_reader *r, struct strait_chunk_piece *piece,
                          size_t n_chosen, unsigned bits);
/** Whether positions [first, first + n) of the piece ascend below chunk_elems. */
bool strait_chunk_ascends(const struct strait_chunk_piece *piece, size_t first, size_t n,
                          size_t chunk_elems);
