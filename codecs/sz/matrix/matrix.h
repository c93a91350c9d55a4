/* Inside the sz codec: a matrix of integers as the share of few directions and a rest. The integer
 * in row r and column c is the nearest to sum_j w_rj v_jc, and the rest that is left. */
#pragma once
#include <stdbool.h>
#include "codecs/kit/scratch_pool.h"
#include "matrix_kernels.h"

enum {
    SZ_MAX_DIRECTIONS = 16,
    SZ_MATRIX_ELEMS = 16 * 1024, /* smaller tensors are not worth a look */
    SZ_MATRIX_SIDE = 8,          /* nor are narrower ones */
};

struct sz_matrix {
    struct strait_pooled pooled;
    const struct sz_matrix_kernels *kernels;
    size_t n_rows, n_columns, stride; /* stride: columns, padded */
    unsigned rank;
    float scale[SZ_MAX_DIRECTIONS];
    /** Integers in the stream: n_rows and then n_columns of each direction. */
    float *code;
    float *w, *v; /* [n_rows][rank], [rank][stride] */
    bool exact;   /* floats hold every product and sum of theirs */
    float *sketch;
    void *memory;
    size_t memory_bytes;
    unsigned char *bytes; /* encoder: the coded integers, with room for sz_matrix_room(n_elems) */
    size_t len_bytes;
};

/** Bytes that the directions of a tensor of n_elems values may take: 1 bit a value. */
static inline size_t sz_matrix_room(size_t n_elems)
{
    return n_elems / 8;
}

/** Whether directions are looked for in a tensor of this shape. */
static inline bool sz_matrix_fits(size_t n_elems, size_t n_rows)
{
    return n_elems >= SZ_MATRIX_ELEMS && n_elems <= SIZE_MAX / 64 && n_rows >= SZ_MATRIX_SIDE &&
           n_elems % n_rows == 0 && n_elems / n_rows >= SZ_MATRIX_SIDE;
}

/** Set a shape that fits and have memory for it. False when there is none. */
bool sz_matrix_shape(struct sz_matrix *m, size_t n_elems, size_t n_rows);
/** Find directions whose subtraction saves bits. Sets rank, scale and code.
 *  In:      x        finite, row-major; the integers are near x * inverse
 *           most     directions at most
 *           rival    bits a value that something else would save: directions must save more
 *  Returns: true if they save bits by an estimate from some of the rows
 *  Cost:    a fraction of coding the tensor; nothing but reading some rows where none are found
 *  Source:  own; the sketch is of Clarkson and Woodruff 2013, subspace iteration as of Halko,
 *           Martinsson and Tropp 2011 */
bool sz_matrix_find(struct sz_matrix *m, const float *x, float inverse, unsigned most,
                    double rival);
/** Set w and v from rank, scale and code. False when they are out of range. */
bool sz_matrix_complete(struct sz_matrix *m);
/* For the values at to at + n of the tensor, n at most 256: */
/** The share of the directions, an integer each. */
void sz_matrix_share(const struct sz_matrix *m, float *p, size_t at, unsigned n);
/** d = q - share. Returns: figures of d */
struct sz_sizes sz_matrix_subtract(const struct sz_matrix *m, int32_t *d, const int32_t *q,
                                   size_t at, unsigned n);
/** y = (y + share) * step; NaN stays NaN. */
void sz_matrix_restore(const struct sz_matrix *m, float *y, size_t at, unsigned n, float step);
void sz_matrix_free(struct sz_matrix *m);
