/* Inside the sz codec: whole tensors. */
#pragma once
#include "sz_segment.h"
#include "sz_state.h"

/* Encoding of a tensor in progress. */
struct sz_coding {
    struct sz_head head;
    const float *x;
    struct sz_state *state;
    struct sz_chain chain;
};
/** Upper limit for the head of a tensor in segments. */
size_t sz_head_bytes(const struct sz_state *s, size_t n_elems);
size_t sz_max_bytes(const void *state, size_t n_elems);
/** Choose mode, grid and directions. In: n_rows as of struct strait_request. */
void sz_coding_begin(struct sz_coding *c, struct sz_state *s, struct sz_encoder *e, const float *x,
                     size_t n_elems, size_t n_rows, struct strait_bound bound);
/** Decode the directions of a head that was read, so that segments can be decoded. coding_end
 *  or sz_give_matrix frees them. *good: false when malformed. Errors: NOMEM */
int sz_open_matrix(struct sz_state *s, struct sz_head *head, bool *good, struct strait_error *err);
/** Write the next piece; without SEGMENTS the first one is everything. */
void sz_coding_put(struct sz_coding *c, struct sz_encoder *e, struct strait_writer *w,
                   size_t index);
static inline size_t sz_pieces_in(const struct sz_head *head)
{
    const bool whole = head->mode < SZ_SEGMENTS || head->n_elems == 0;
    return whole ? 1 : sz_segments_in(head->n_elems);
}

/** After a tensor in one piece was written from `start` to w: replace it by raw values if that is
 *  shorter or requested. */
void sz_finish_whole(struct strait_writer *w, const struct strait_writer *start, const float *value,
                     size_t n, bool raw);
/** Decode a tensor without segments, from behind its head. False when malformed. */
bool sz_decode_plain(float *y, struct strait_reader *r, const struct sz_head *head);
/** Encode all pieces, with the team if there is one. Errors: NOMEM. */
int sz_encode_whole(struct sz_state *s, struct strait_writer *w, const float *x, size_t n,
                    size_t n_rows, struct strait_bound bound, struct strait_error *err);
/** *good: false when malformed; otherwise the reader is behind the stream. */
int sz_decode_whole(struct sz_state *s, float *y, size_t n, struct strait_reader *r, bool *good,
                    struct strait_error *err);
/** Check the bound: 0, or -1 with *err INPUT naming it and what is allowed. */
int sz_check_bound(const struct sz_state *s, struct strait_bound bound, struct strait_error *err);

/* Sums of streams (sz_add.c), streams by pieces (sz_stream.c), target ratios (sz_target.c) */
int sz_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
           const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
           size_t n_elems, struct strait_error *err);
bool sz_summable(const void *state, const unsigned char *a, size_t a_bytes, const unsigned char *b,
                 size_t b_bytes);
extern const struct strait_codec_stream_ops sz_stream_ops;
/** The absolute bound at which raw / encoded bytes is about `ratio`, estimated from samples of
 *  x. */
double sz_target_bound(struct sz_encoder *e, const float *x, size_t n, double ratio,
                       const struct strait_extent *extent);
