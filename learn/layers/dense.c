/* Dense layers on BLAS, and the loss. */
#include <cblas.h>
#include <math.h>
#include <string.h>
#include "core/host.h"
#include "dense.h"

void learn_dense_forward(float *y, const float *x, const float *w, const float *bias, size_t n,
                         size_t in, size_t out)
{
    for (size_t b = 0; b < n; b++)
        for (size_t j = 0; j < out; j++)
            y[b * out + j] = bias[j];
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)out, (int)in, 1,
                            x, (int)in, w, (int)in, 1, y, (int)out));
}

void learn_dense_back(float *dx, float *dw, float *dbias, const float *dy, const float *x,
                      const float *w, size_t n, size_t in, size_t out)
{
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n, 1,
                            dy, (int)out, x, (int)in, 1, dw, (int)in));
    for (size_t b = 0; b < n; b++)
        for (size_t j = 0; j < out; j++)
            dbias[j] += dy[b * out + j];
    if (dx)
        STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)in,
                                (int)out, 1, dy, (int)out, w, (int)in, 0, dx, (int)in));
}

STRAIT_CLONED void learn_relu(float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] < 0 ? 0 : y[i];
}

STRAIT_CLONED void learn_relu_back(float *dy, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dy[i] = y[i] <= 0 ? 0 : dy[i];
}

static double row_loss(float *x, size_t label, size_t classes, size_t over, size_t *right)
{
    size_t best = 0;
    for (size_t j = 1; j < classes; j++)
        if (x[j] > x[best])
            best = j;
    *right += best == label;
    const double top = x[best], of_label = x[label];
    double sum = exp(x[0] - top);
    for (size_t j = 1; j < classes; j++)
        sum += exp(x[j] - top);
    for (size_t j = 0; j < classes; j++)
        x[j] = (float)((exp(x[j] - top) / sum - (j == label)) / (double)over);
    return log(sum) + top - of_label;
}

double learn_softmax_loss(float *x, const unsigned char *labels, size_t n, size_t classes,
                          size_t over, size_t *right)
{
    double loss = 0;
    for (size_t b = 0; b < n; b++)
        loss += row_loss(x + b * classes, labels[b], classes, over, right);
    return loss;
}

void learn_add_moments(float *sum, const float *x, size_t n, size_t d, int ones, float scale)
{
    const size_t side = d + (ones ? 1 : 0);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)d, (int)d, (int)n, scale,
                            x, (int)d, x, (int)d, 1, sum, (int)side));
    if (!ones)
        return;
    for (size_t j = 0; j < d; j++) {
        float total = 0;
        for (size_t b = 0; b < n; b++)
            total += x[b * d + j];
        sum[j * side + d] += scale * total;
        sum[d * side + j] += scale * total;
    }
    sum[d * side + d] += scale * (float)n;
}

void learn_clear_factors(const struct learn_factors *f)
{
    memset(f->a, 0, f->d_in * f->d_in * sizeof(float));
    memset(f->g, 0, f->d_out * f->d_out * sizeof(float));
}

/* dy belongs to the mean loss: a row's own derivative is n times it. */
void learn_dense_factors(const struct learn_factors *f, const float *x, const float *dy, size_t n)
{
    learn_clear_factors(f);
    learn_add_moments(f->a, x, n, f->d_in - (f->has_bias ? 1 : 0), f->has_bias, 1 / (float)n);
    learn_add_moments(f->g, dy, n, f->d_out, 0, (float)n);
}
