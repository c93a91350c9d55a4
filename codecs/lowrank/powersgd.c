/* powersgd: one step of subspace iteration a round, warm-started (Vogels et al. 2019): P = M Q,
 * orthonormalised; Q = M^T P; decoded to P Q^T, the projection of M on the space of P. 4 rank
 * (n_rows + n_cols) bytes; vectors and matrices that would not gain are sent as float32. Q starts
 * from the key of the first matrix's request. Values that are not finite count as 0 in the factors.
 *
 * This is the method for one worker, or for each worker and a server. With all-reduces, two of
 * them, the second after the first, go between the functions of lowrank.h. */
#include "codecs/builtin.h"
#include "lowrank_stream.h"

static void power_step(struct strait_lowrank_coder *c, const float *m)
{
    strait_lowrank_left(c->p, &c->shape, m, c->q);
    strait_lowrank_orthonormalise(c->p, c->shape.n_rows, c->rank, c->work);
    strait_lowrank_right(c->q, &c->shape, m, c->p);
}

static const struct strait_lowrank_kernel kernel = {.step = power_step};

const struct strait_codec_ops strait_codec_powersgd = {
    .name = "powersgd",
    .source = "Vogels et al. 2019, PowerSGD, algorithm 1; OpenBLAS and LAPACK",
    .id = 19,
    STRAIT_LOWRANK_CODEC(&kernel),
};
