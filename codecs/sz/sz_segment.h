/* Inside the sz codec: segments, encoded (sz_segment.c) and decoded (sz_unpack.c). */
#pragma once
#include "sz_head.h"
#include "sz_kernels.h"

static inline size_t sz_segments_in(size_t n_elems)
{
    return (n_elems + SZ_SEGMENT - 1) / SZ_SEGMENT;
}

static inline size_t sz_segment_elems(size_t n_elems, size_t index)
{
    const size_t left = n_elems - index * SZ_SEGMENT;
    return left < SZ_SEGMENT ? left : SZ_SEGMENT;
}

/* Encoding takes three steps; the second one must run segment by segment, in order. */

/** Step 1: quantise n values of segment `index` and split their integers into e->split. */
void sz_segment_split(struct sz_encoder *e, const float *x, size_t n, const struct sz_head *head,
                      size_t index);
/** The same from e->integer, which may be overwritten, without a matrix; `value` holds the
 *  escapes. */
void sz_segment_split_integers(struct sz_encoder *e, const float *value, size_t n,
                               const struct sz_head *head, bool delta);
/* Step 2: sz_chain_choose. */
/** Step 3: write segment `index` of the tensor; at most 4 n bytes and SZ_TABLE_BYTES. */
void sz_segment_write(struct sz_encoder *e, struct strait_writer *w, const float *value, size_t n,
                      const struct sz_head *head, size_t index);

/* Decoding one segment: segments are opened in order and then decoded in any order. */
struct sz_unpacker {
    const struct sz_head *head;
    struct sz_decoder *d;
    size_t first; /* value of the tensor */
    struct strait_reader body;
    struct sz_source source;
    unsigned how;
    size_t n_elems, n_coded, at; /* at: values done so far */
    int32_t before;
    bool any_escape; /* in the last block of integers */
};
/** Read the head of segment `index`, update the chain and copy it into the unpacker.
 *  Returns: false when malformed; the position of r is then undefined */
bool sz_segment_open(struct sz_unpacker *u, struct sz_decoder *d, struct sz_chain *chain,
                     struct strait_reader *r, const struct sz_head *head, size_t index);
/** Call before the first block; false when malformed. */
bool sz_unpack_begin(struct sz_unpacker *u);
/** The integers of the next block; NaN for an escape or a raw value, which is then in y. */
bool sz_unpack_integers(struct sz_unpacker *u, float *q, float *y, unsigned m);
/** Call after the last block: whether everything was consumed. */
bool sz_unpack_end(const struct sz_unpacker *u);
/** Decode the whole segment, begin to end. */
bool sz_segment_decode(struct sz_unpacker *u, float *y);
