/* Causal softmax attention of one head over one sequence, forward and backward. */
#pragma once
#include <stddef.h>

/* n tokens of d values; rows of queries, keys, values and outputs are so many floats apart. */
struct learn_head {
    size_t n, d;
    size_t in, out;
    const float *q, *k, *v; /* rows `in` apart */
};

/** out = p v, p = softmax of q k' / sqrt(d) over the tokens up to its own.
 *  Out:     out  n rows, h->out apart
 *           p    n x n, zero after the diagonal; kept for the backward pass */
void learn_attend(float *out, float *p, const struct learn_head *h);
/** Gradients by q, k and v, rows h->in apart, from dout, rows h->out apart.
 *  In:      room  n x n */
void learn_attend_back(float *dq, float *dk, float *dv, const float *dout, const float *p,
                       float *room, const struct learn_head *h);
/** In place: rows of scores become softmax(scale x) over the tokens up to the row's own. */
void learn_causal_softmax(float *x, float scale, size_t n);
