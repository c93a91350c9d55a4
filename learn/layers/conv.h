/* Convolutions and pooling of one image at a time, channel after channel (CHW). Weights are
 * [out][in][kernel][kernel]. Gradients of weights and biases are added to what is there. */
#pragma once
#include "dense.h"

struct learn_conv {
    size_t in, height, width; /* of the input */
    size_t out, kernel, stride, pad;
};
size_t learn_conv_height(const struct learn_conv *c); /* of the output */
size_t learn_conv_width(const struct learn_conv *c);
/** Floats of `room` for forward and back. */
size_t learn_conv_room(const struct learn_conv *c);

/** bias may be NULL. */
void learn_conv_forward(float *y, const float *x, const float *w, const float *bias,
                        const struct learn_conv *c, float *room);
/** dx and dbias may be NULL. Afterwards room begins with the patches of x. */
void learn_conv_back(float *dx, float *dw, float *dbias, const float *dy, const float *x,
                     const float *w, const struct learn_conv *c, float *room);

/** Add one image of a batch of n to the factors of K-FAC: to A (side in x kernel x kernel, and 1
 *  for a bias) the outer products of its patches, summed over pixels, by n; to G (side out) those
 *  of an example's own derivatives, the mean over pixels, by n.
 *  In:      dy       of the batch's mean loss, so n times less than the example's own
 *           patches  as learn_conv_back leaves them
 *  Source:  Grosse and Martens, arXiv 1602.01407, section 3: homogeneous derivatives */
void learn_conv_add_factors(const struct learn_factors *f, const float *dy, const float *patches,
                            const struct learn_conv *c, size_t n);

/** Maximum of 2 x 2 squares; height and width are even.
 *  Out:     y      a quarter of x
 *           which  place of each maximum in its square, 0 to 3 (ties: the first) */
void learn_pool(float *y, int *which, const float *x, size_t channels, size_t height, size_t width);
/** dx: all of it is written. height, width: of dx */
void learn_pool_back(float *dx, const float *dy, const int *which, size_t channels, size_t height,
                     size_t width);
