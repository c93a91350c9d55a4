/* Inside the sz codec: streams and what they are made of. The parts of a segment are in sz_parts.h.
 */
#pragma once
#include "codecs/bound.h"
#include "sz_kernels.h"
#include "codecs/kit/team.h"

/* ---- the head of a stream (sz_head.c) */

enum sz_mode {
    SZ_RAW,
    SZ_CONST,
    SZ_FIXED,
    SZ_SEGMENTS = 4, /* 3 was segments of 2^20 values with tables of their own */
    SZ_RAW_SEGMENTS
};

/* How a value is a sign and a power of 2^step: pointwise bounds (sz_pointwise.c). */
struct sz_powers {
    float within;                 /* the bound less what rounding takes; all else follows from it */
    double step, offset, inverse; /* |x| is about 2^(integer * step + offset) */
    double limit;                 /* encoder: |x - y| <= limit * |x| */
    int32_t middle;               /* what integers are counted from */
    int32_t least, most;          /* decoder: no more than floats need, counted so */
    unsigned signs;               /* 0: both, 1: all plus, 2: all minus */
};

struct sz_head {
    enum sz_mode mode;
    bool pointwise;
    bool delta; /* encoder: integers as differences */
    size_t n_elems;
    float constant;
    struct sz_grid grid; /* pointwise: of integers themselves */
    struct sz_powers powers;
};

/* The grid on which integers are themselves. */
extern const struct sz_grid sz_integers;

/** A grid for this absolute bound: without centre its step follows from the bound alone, so that
 * streams of equal bounds can be summed. False: nothing below float32 itself would do. */
bool sz_grid_for(struct sz_grid *grid, double bound, float centre);
void sz_write_head(struct strait_writer *w, const struct sz_head *head);
/** False when these bytes are no head of a stream of n_elems values. */
bool sz_read_head(struct strait_reader *r, struct sz_head *head, size_t n_elems);

/* Tensors of up to SZ_FIXED_ELEMS values (sz_fixed.c): integers of one width. */
struct sz_fixed {
    int32_t q[SZ_FIXED_ELEMS];
    uint8_t mark[SZ_FIXED_ELEMS]; /* an escape: */
    float value[SZ_FIXED_ELEMS];  /* this, and what the others decode to once read */
};
void sz_fixed_quantise(struct sz_fixed *f, const float *x, size_t n, const struct sz_head *head);
void sz_fixed_write(struct strait_writer *w, const struct sz_fixed *f, size_t n);
bool sz_fixed_read(struct sz_fixed *f, size_t n, struct strait_reader *r,
                   const struct sz_head *head);

/* ---- segments (sz_segment.c) */

static inline size_t sz_segments_in(size_t n_elems)
{
    return (n_elems + SZ_SEGMENT - 1) / SZ_SEGMENT;
}

static inline size_t sz_segment_elems(size_t n_elems, size_t index)
{
    const size_t left = n_elems - index * SZ_SEGMENT;
    return left < SZ_SEGMENT ? left : SZ_SEGMENT;
}

/* Encoding takes three steps; the middle one segment after segment. */

/** Quantise n values and take their integers apart into e->split. */
void sz_segment_split(struct sz_encoder *e, const float *x, size_t n, const struct sz_head *head);
/** The same from e->integer, which it may overwrite; `value` is what stands for an escape. */
void sz_segment_split_integers(struct sz_encoder *e, const float *value, size_t n,
                               const struct sz_head *head, bool delta);
/* then sz_chain_choose, then: */
/** Write segment `index` of the tensor; at most 4 n bytes and SZ_TABLE_BYTES. */
void sz_segment_write(struct sz_encoder *e, struct strait_writer *w, const float *value, size_t n,
                      const struct sz_head *head, size_t index);

/* One segment on its way out: opened in order, decoded in any. */
struct sz_unpacker {
    const struct sz_head *head;
    struct sz_decoder *d;
    struct strait_reader body;
    struct sz_source source;
    unsigned how;
    size_t n_elems, n_coded, at; /* at: values done */
    int32_t before;
    bool any_escape; /* in the last block as integers */
};
/** Read the head of segment `index`, bring the chain up to date and give the unpacker its copy.
 *  Returns: false when these bytes are none; r is then anywhere */
bool sz_segment_open(struct sz_unpacker *u, struct sz_decoder *d, struct sz_chain *chain,
                     struct strait_reader *r, const struct sz_head *head, size_t index);
/** Before the first block; false when the bytes are no segment. */
bool sz_unpack_begin(struct sz_unpacker *u);
/** Values of the next block, m of them. */
bool sz_unpack_values(struct sz_unpacker *u, float *y, unsigned m);
/** Integers of the next block; NaN for an escape or a raw value, which is then in y. */
bool sz_unpack_integers(struct sz_unpacker *u, float *q, float *y, unsigned m);
/** After the last block: everything was used up. */
bool sz_unpack_end(const struct sz_unpacker *u);
/** All of it, begin to end. */
bool sz_segment_decode(struct sz_unpacker *u, float *y);

/* ---- pointwise bounds (sz_pointwise.c) */

/** log2 of a positive normal double and 2^x for |x| < 1000, the same bits on every machine. */
double sz_log2(double x);
double sz_exp2(double x);
/** False: the bound is so tight that float32 itself has to do. */
bool sz_powers_for(struct sz_powers *powers, double bound, const float *x, size_t n,
                   const struct strait_extent *extent);
/** What follows from `within`. False when it is not in range. */
bool sz_powers_complete(struct sz_powers *powers);
void sz_powers_forward(float *q, const float *x, size_t n, const struct sz_powers *powers);
/** q are integers below 2^28 in magnitude. */
void sz_powers_inverse(float *y, const float *q, unsigned n, const struct sz_powers *powers);

/* ---- whole tensors (sz.c, sz_whole.c) */

struct sz_state {
    const struct sz_kernels *kernels;
    struct strait_pool encoders, decoders;
    struct strait_team *team; /* NULL: one thread */
};
struct sz_encoder *sz_take_encoder(struct sz_state *s);
struct sz_decoder *sz_take_decoder(struct sz_state *s);

/* A tensor on its way into a stream. */
struct sz_coding {
    struct sz_head head;
    const float *x;
    double bound; /* absolute, where there is one */
    struct sz_chain chain;
};
size_t sz_max_bytes(const void *state, size_t n_elems);
/** Choose mode and grid. */
void sz_coding_begin(struct sz_coding *c, struct sz_state *s, struct sz_encoder *e, const float *x,
                     size_t n_elems, struct strait_bound bound);
/** The pieces one after another; where the mode is no SEGMENTS, the first is all. */
void sz_coding_put(struct sz_coding *c, struct sz_encoder *e, struct strait_writer *w,
                   size_t index);
static inline size_t sz_pieces_in(const struct sz_head *head)
{
    const bool whole = head->mode < SZ_SEGMENTS || head->n_elems == 0;
    return whole ? 1 : sz_segments_in(head->n_elems);
}

/** A tensor in one piece was written from `start` to w: put the values as they are in its place
 * where that is shorter, or asked for. */
void sz_finish_whole(struct strait_writer *w, const struct strait_writer *start, const float *value,
                     size_t n, bool raw);
/** A tensor without segments, from behind its head. False when these bytes are none. */
bool sz_decode_plain(float *y, struct strait_reader *r, const struct sz_head *head);
/** All pieces, by the team where there is one. Errors: NOMEM. */
int sz_encode_whole(struct sz_state *s, struct strait_writer *w, const float *x, size_t n,
                    struct strait_bound bound, struct strait_error *err);
/** *good: false when these bytes are no stream; the reader is behind it otherwise. */
int sz_decode_whole(struct sz_state *s, float *y, size_t n, struct strait_reader *r, bool *good,
                    struct strait_error *err);
/** 0, or -1 with *err INPUT: the bound as a whole, then what it may be. */
int sz_check_bound(struct strait_bound bound, struct strait_error *err);

/* Sums of streams (sz_add.c), streams by pieces (sz_stream.c), target ratios (sz_target.c) */
int sz_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
           const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
           size_t n_elems, struct strait_error *err);
bool sz_summable(const void *state, const unsigned char *a, size_t a_bytes, const unsigned char *b,
                 size_t b_bytes);
extern const struct strait_codec_stream_ops sz_stream_ops;
/** The absolute bound at which raw / encoded bytes are about `ratio`, from samples of x. */
double sz_target_bound(struct sz_encoder *e, const float *x, size_t n, double ratio,
                       const struct strait_extent *extent);
