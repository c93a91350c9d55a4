/* Inside the sz codec: the head of a stream, and tensors without segments. */
#pragma once
#include "codecs/bound.h"
#include "codecs/sz/matrix/matrix.h"
#include "core/host.h"
#include "sz_parts.h"

enum sz_mode {
    SZ_RAW,
    SZ_CONST,
    SZ_FIXED,
    SZ_SEGMENTS = 4, /* 3 was segments of 2^20 values with tables of their own */
    SZ_RAW_SEGMENTS
};

/* A value as a sign and an integer power of 2^step: pointwise bounds (sz_pointwise.c). */
struct sz_powers {
    float within;                 /* the bound less what rounding takes; all else follows from it */
    double step, offset, inverse; /* |x| is about 2^(integer * step + offset) */
    double limit;                 /* encoder: |x - y| <= limit * |x| */
    int32_t middle;               /* what integers are counted from */
    int32_t least, most;          /* decoder: limits for finite floats, counted from `middle` */
    unsigned signs;               /* 0: both, 1: all plus, 2: all minus */
};

/* Directions that integers were subtracted from, as the stream has them (sz_whole.c reads them). */
struct sz_directions {
    size_t n_rows, len_bytes;
    unsigned rank; /* 0: none */
    float scale[SZ_MAX_DIRECTIONS];
    const unsigned char *bytes; /* of the stream that was read */
};

struct sz_head {
    enum sz_mode mode;
    bool pointwise;
    bool delta; /* encoder: integers as differences */
    size_t n_elems;
    float constant;
    struct sz_grid grid; /* pointwise: of the integers */
    struct sz_powers powers;
    struct sz_directions directions;
    struct sz_matrix *matrix; /* these, ready for use; NULL: none */
};

/* The grid with step 1 and no centre. */
extern const struct sz_grid sz_integers;

/** A grid for this absolute bound. Without centre its step follows from the bound alone, so that
 *  streams of equal bounds can be summed. False: only float32 itself would meet the bound. */
bool sz_grid_for(struct sz_grid *grid, double bound, float centre);
double sz_rounding_share(double centre, double bound);
/** With its directions, if it has a matrix. */
void sz_write_head(struct strait_writer *w, const struct sz_head *head);
/** False when malformed or not of n_elems values. Leaves the matrix NULL: see sz_open_matrix. */
bool sz_read_head(struct strait_reader *r, struct sz_head *head, size_t n_elems);
/** Whether the head at r is of a stream without directions. */
bool sz_head_is_plain(const struct strait_reader *r);

/* Tensors of up to SZ_FIXED_ELEMS values (sz_fixed.c): integers of one width. */
struct sz_fixed {
    int32_t q[SZ_FIXED_ELEMS];
    uint8_t mark[SZ_FIXED_ELEMS]; /* 1: an escape, whose float is */
    float value[SZ_FIXED_ELEMS];  /* here; after reading, the decoded value of every element */
};
void sz_fixed_quantise(struct sz_fixed *f, const float *x, size_t n, const struct sz_head *head);
void sz_fixed_write(struct strait_writer *w, const struct sz_fixed *f, size_t n);
bool sz_fixed_read(struct sz_fixed *f, size_t n, struct strait_reader *r,
                   const struct sz_head *head);

/* ---- pointwise bounds (sz_pointwise.c) */

/** log2 of a positive normal double and 2^x for |x| < 1000, the same bits on every machine. */
double sz_log2(double x);
double sz_exp2(double x);
/** False: the bound is so tight that values must be stored raw. */
bool sz_powers_for(struct sz_powers *powers, double bound, const float *x, size_t n,
                   const struct strait_extent *extent);
/** Compute the members that follow from `within`. False when it is out of range. */
bool sz_powers_complete(struct sz_powers *powers);
/** The same bits at every level that the machine has, and whatever is kept (NULL: nothing). */
void sz_powers_forward(float *q, const float *x, size_t n, const struct sz_powers *powers,
                       enum strait_simd level);
/** q are integers below 2^28 in magnitude. */
void sz_powers_inverse(float *y, const float *q, unsigned n, const struct sz_powers *powers,
                       struct sz_kept_powers *kept, enum strait_simd level);
