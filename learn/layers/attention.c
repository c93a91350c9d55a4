#include "attention.h"

#include <cblas.h>
#include <math.h>

#include "float_lanes.h"
#include "core/host.h"

STRAIT_CLONED
void learn_causal_softmax(float *x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++, x += n) {
        const float most = learn_largest(x, i + 1);
        for (size_t j = 0; j <= i; j++)
            x[j] = learn_exp((x[j] - most) * scale);
        const float over = 1 / learn_sum(x, i + 1);
        for (size_t j = 0; j <= i; j++)
            x[j] *= over;
        for (size_t j = i + 1; j < n; j++)
            x[j] = 0;
    }
}

/* In place: dp becomes the gradient by the scores, p (dp - sum(p dp)), times scale. */
STRAIT_CLONED
static void softmax_back(float *dp, const float *p, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++, dp += n, p += n) {
        const float mean = learn_dot(dp, p, i + 1);
        for (size_t j = 0; j <= i; j++)
            dp[j] = p[j] * (dp[j] - mean) * scale;
        for (size_t j = i + 1; j < n; j++)
            dp[j] = 0;
    }
}

void learn_attend(float *out, float *p, const struct learn_head *h)
{
    const int n = (int)h->n, d = (int)h->d, in = (int)h->in;
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, h->q, in, h->k, in,
                            0, p, n));
    learn_causal_softmax(p, 1 / sqrtf((float)h->d), h->n);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, 1, p, n, h->v, in,
                            0, out, (int)h->out));
}

void learn_attend_back(float *dq, float *dk, float *dv, const float *dout, const float *p,
                       float *room, const struct learn_head *h)
{
    const int n = (int)h->n, d = (int)h->d, in = (int)h->in, out = (int)h->out;
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, d, n, 1, p, n, dout, out, 0,
                            dv, in));
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, dout, out, h->v,
                            in, 0, room, n));
    softmax_back(room, p, 1 / sqrtf((float)h->d), h->n);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, n, 1, room, n, h->k,
                            in, 0, dq, in));
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, d, n, 1, room, n, h->q, in,
                            0, dk, in));
}
