/* Common to the sparsifier codecs: the head of a stream, the encodings of chosen elements, the
 * state and its scratch memory.
 *
 *   u8   wire id of the codec
 *   u8   payload: enum strait_sparse_payload
 *   u32  n_elems
 *   u32  number of chosen elements
 *   positions: packed as index_rice.c, published as 32-bit or 64-bit numbers
 *   values: float32 each, in the order of their positions */
#pragma once
#include "codecs/kit/scratch_pool.h"
#include "select.h"
#include "sparse.h"

enum { STRAIT_SPARSE_HEAD_BYTES = 10 };

enum strait_sparse_payload {
    STRAIT_SPARSE_PACKED,
    STRAIT_SPARSE_PUBLISHED,      /* 32-bit positions */
    STRAIT_SPARSE_PUBLISHED_INT64 /* as PyTorch sends indices */
};
/** For `choices`: the first two, or all three. */
extern const char *const strait_sparse_two_payloads[], *const strait_sparse_three_payloads[];

struct strait_sparse_state {
    const struct strait_codec_ops *ops;
    const struct strait_sparsifier *rule;
    struct strait_sparsifier_params params;
    unsigned payload; /* the second parameter; of randomk: whether values are scaled */
    struct strait_pool pool;
};

/* Scratch for tensors of up to cap_elems values. */
struct strait_sparse_piece {
    struct strait_pooled pooled;
    size_t cap_elems;
    uint32_t *index, *scratch; /* cap_elems, plus 1024 for scratch */
    float *values;             /* cap_elems */
};

/** Members of struct strait_codec_ops of a codec whose kernel is a struct strait_sparsifier and
 *  whose parameters are the ratio or threshold, then the payload. */
void strait_sparse_init(void *state, const struct strait_codec_ops *ops, const double *params);
void strait_sparse_close(void *state);
/** Take scratch. Errors: INPUT beyond STRAIT_SPARSE_MAX_ELEMS, NOMEM. */
struct strait_sparse_piece *strait_sparse_take(struct strait_sparse_state *s, size_t n_elems,
                                               struct strait_error *err);
void strait_sparse_give(struct strait_sparse_state *s, struct strait_sparse_piece *piece);

void strait_sparse_write_head(struct strait_writer *w, const struct strait_sparse_state *s,
                              size_t n_elems, size_t n_chosen);
/** Read a head. False when it is not of this codec for n_elems values. Out: payload, n_chosen. */
bool strait_sparse_read_head(struct strait_reader *r, const struct strait_codec_ops *ops,
                             size_t n_elems, unsigned *payload, size_t *n_chosen);
/** Write or read positions in the payload's form. The reader passes their number; false if it
 *  differs. */
void strait_sparse_write_index(struct strait_writer *w, unsigned payload, uint32_t *index,
                               size_t n_chosen, size_t n_elems, uint32_t *scratch);
bool strait_sparse_read_index(struct strait_reader *r, unsigned payload, uint32_t *index,
                              size_t n_chosen, size_t n_elems, uint32_t *scratch);
size_t strait_sparse_index_max_bytes(unsigned payload, size_t n_elems, size_t n_chosen);
/** Read head and positions of a stream into piece->index. Out: n_chosen, and the 4 n_chosen bytes
 *  of values inside `in`. False: malformed. */
bool strait_sparse_read(const struct strait_sparse_state *s, struct strait_sparse_piece *piece,
                        size_t *n_chosen, const unsigned char **values, const unsigned char *in,
                        size_t len_bytes, size_t n_elems);
int strait_sparse_refused(const struct strait_codec_ops *ops, size_t n_elems,
                          struct strait_error *err);
/** Common start of encode: take scratch, choose.
 *  Out:     n_chosen  elements of piece->index
 *  Returns: NULL with *err if encode must refuse */
struct strait_sparse_piece *strait_sparse_choose(size_t *n_chosen, struct strait_sparse_state *s,
                                                 const float *x, size_t n_elems,
                                                 struct strait_request request,
                                                 struct strait_error *err);

/* Members of struct strait_codec_ops for codecs that send chosen positions with their values. */
size_t strait_sparse_max_bytes(const void *state, size_t n_elems);
/** 0 if the payload is packed or the rule's number of chosen elements varies. */
size_t strait_sparse_predict_fixed(const void *state, size_t n_elems, size_t n_rows);
int strait_sparse_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err);
int strait_sparse_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err);
int strait_sparse_sent(void *state, size_t n_elems, const unsigned char *in, size_t len_bytes,
                       strait_codec_take take, void *context, struct strait_error *err);
/* These members of a codec that does no more than that. of: its struct strait_sparsifier. */
#define STRAIT_SPARSE_CODEC(of)                                                                    \
    .family = "sparsifier", .bounds = 1u << STRAIT_BOUND_NONE, .kernel = (of),                     \
    .state_bytes = sizeof(struct strait_sparse_state), .init = strait_sparse_init,                 \
    .close = strait_sparse_close, .max_bytes = strait_sparse_max_bytes,                            \
    .encode = strait_sparse_encode, .decode = strait_sparse_decode, .sent = strait_sparse_sent

/** The sum of two floats, any NaN as 0x7fc00000: other NaN bits depend on the machine. */
static inline float strait_sparse_sum(float a, float b)
{
    const float sum = a + b;
    return sum == sum ? sum : strait_magnitude_float(0x7fc00000);
}
