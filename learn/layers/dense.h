/* A dense layer y = x w' + bias on n rows, and the cross entropy of a softmax over its outputs.
 * Weights are [out][in]. Gradients of weights and biases are added to what is there. */
#pragma once
#include <stdbool.h>
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

/* The factors of K-FAC of one layer, A d_in x d_in and G d_out x d_out. */
struct learn_factors {
    size_t d_in, d_out; /* d_in with the bias' 1 */
    bool has_bias;
    float *a, *g;
};
void learn_clear_factors(const struct learn_factors *f);
/** Both from n rows: A is the mean of x's outer products, of d_in values each with the bias' 1, and
 *  G that of the derivatives by each row's own loss. Rows may be examples or, of a sequence, its
 *  tokens.
 *  In:      x   n rows without the 1
 *           dy  n rows of d_out, of the mean loss over rows
 *  Source:  Martens and Grosse, arXiv 1503.05671; tokens: Eschenhagen et al., arXiv 2311.00636,
 *           section 3.1, K-FAC-expand */
void learn_dense_factors(const struct learn_factors *f, const float *x, const float *dy, size_t n);
