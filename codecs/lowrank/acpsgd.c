/* acpsgd: alternate compressed PowerSGD (Zhang et al. 2023): half a step of subspace iteration a
 * round. Even rounds: Q orthonormalised, P = M Q; odd rounds: P orthonormalised, Q = M^T P; decoded
 * to P Q^T. Half the arithmetic of powersgd, which it follows with a delay of half a step.
 *
 * Bytes: in an all-reduce all workers have the other factor from the round before, so only the new
 * one travels: 4 rank n_rows or 4 rank n_cols bytes, the published figure. That is a strategy on
 * the functions of lowrank.h. A stream must be decodable without memory, so here both factors
 * travel: 4 rank (n_rows + n_cols) bytes, as in powersgd. A fresh factor from a shared seed would
 * cost no bytes, but without the warm start the method does not converge as published.
 *
 * Vectors, matrices that would not gain, the first Q and values that are not finite: as
 * powersgd. */
#include "codecs/builtin.h"
#include "lowrank_stream.h"

static void half_step(struct strait_lowrank_coder *c, const float *m)
{
    if (c->n_steps % 2 == 0) {
        strait_lowrank_orthonormalise(c->q, c->shape.n_cols, c->rank, c->work);
        strait_lowrank_left(c->p, &c->shape, m, c->q);
    } else {
        strait_lowrank_orthonormalise(c->p, c->shape.n_rows, c->rank, c->work);
        strait_lowrank_right(c->q, &c->shape, m, c->p);
    }
}

static const struct strait_lowrank_kernel kernel = {.step = half_step};

const struct strait_codec_ops strait_codec_acpsgd = {
    .name = "acpsgd",
    .source = "Zhang et al. 2023, ACP-SGD; OpenBLAS and LAPACK",
    .id = 20,
    STRAIT_LOWRANK_CODEC(&kernel),
};
