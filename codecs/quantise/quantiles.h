/* The edges that divide a tensor into bins of equally many values, and the bin of each value.
 * Values that are not finite count as 0, and so does -0. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { STRAIT_QUANTILES_PIECE = 4096, STRAIT_QUANTILES_MAX_BINS = 32768 };

struct strait_quantiles;

/** For n_bins from 2 to STRAIT_QUANTILES_MAX_BINS; NULL when memory ran out. */
struct strait_quantiles *strait_quantiles_new(uint32_t n_bins);
void strait_quantiles_free(struct strait_quantiles *s);
/** Place the edges: edge i is the quantile i / n_bins of x, interpolated between the two values
 *  around it. Exact for up to 2^16 values. Longer tensors use a sample of 2^16 values, one at a
 *  fixed random place in each of as many equal parts: the share of the tensor below an edge is then
 *  i / n_bins with a standard deviation of at most 2^-9.
 *  In:      n  above 0
 *  Cost:    two passes over x and a radix sort of 2^16 values; no allocation */
void strait_quantiles_place(struct strait_quantiles *s, const float *x, size_t n);
/** Find the bin of each value.
 *  Out:     values  x with non-finite values and -0 as 0
 *           bins    how many edges are <= the value: 0 .. n_bins - 1
 *  In:      x       of the tensor given to strait_quantiles_place, n up to STRAIT_QUANTILES_PIECE
 *  Cost:    a table of 2^14 cells gives the edges near a value; few steps remain */
void strait_quantiles_find(struct strait_quantiles *s, float *values, uint32_t *bins,
                           const float *x, size_t n);
