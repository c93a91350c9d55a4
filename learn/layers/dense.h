/* A dense layer y = x w' + bias on n rows, and the cross entropy of a softmax over its outputs.
 * Weights are [out][in]. Gradients of weights and biases are added to what is there. */
#pragma once
#include <stddef.h>

void learn_dense_forward(float *y, const float *x, const float *w, const float *bias, size_t n,
                         size_t in, size_t out);
/** dx may be NULL. */
void learn_dense_back(float *dx, float *dw, float *dbias, const float *dy, const float *x,
                      const float *w, size_t n, size_t in, size_t out);

/** y = max(x, 0), in place; and dy = 0 where y is. A NaN stays one. */
void learn_relu(float *y, size_t n);
void learn_relu_back(float *dy, const float *y, size_t n);

/** Cross entropy of the softmax of rows x of `classes` against labels.
 *  Out:     x     its derivative divided by `over`: (softmax - one-hot) / over
 *           right how many labels have the largest value of their row (ties: the first)
 *  Returns: the sum of losses over the rows; not finite where x is not */
double learn_softmax_loss(float *x, const unsigned char *labels, size_t n, size_t classes,
                          size_t over, size_t *right);

/** sum += scale * x' x with a last column of ones beside x if `ones`: the factors of K-FAC.
 *  In:      x  n rows of d; sum (d + ones) x (d + ones) */
void learn_add_moments(float *sum, const float *x, size_t n, size_t d, int ones, float scale);
