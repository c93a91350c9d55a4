#include "kfac_factors.h"

#include <math.h>
#include <string.h>

/* Rates for models without FLOPs. CPU core: single-precision matrix products of 64 to 2048 rows,
 * one thread of OpenBLAS 0.3.21, measured on an AMD EPYC with AVX-512: 103 to 115 GFLOP/s.
 * Accelerator: half of the 15.7 TFLOP/s of the NVIDIA V100's data sheet, stated, not measured. */
#define CORE_FLOP_PER_S        107e9
#define ACCELERATOR_FLOP_PER_S 7.85e12

size_t strait_triangle(size_t dim)
{
    return dim % 2 == 0 ? dim / 2 * (dim + 1) : (dim + 1) / 2 * dim;
}

double strait_inverse_s(const struct strait_factor_costs *c, size_t dim)
{
    const double d = (double)dim;
    if (c->inverse_s && c->inverse_s->n > 0)
        return strait_measured_at(c->inverse_s, d);
    return c->inverse_base_s * exp(c->inverse_growth * d) + c->inverse_cubic_s * d * d * d;
}

/* Batch x forward FLOPs over forward time if the model's table has FLOPs; else a stated rate of
 * its device. */
static double matrix_flop_per_s(const struct strait_model *m)
{
    if (m->fwd_flop_per_sample > 0 && m->fwd_s > 0 && m->batch > 0)
        return m->fwd_flop_per_sample * m->batch / m->fwd_s;
    return m->on_cpu ? CORE_FLOP_PER_S : ACCELERATOR_FLOP_PER_S;
}

/* The weight of a layer with factors, else NULL. in: inputs times kernel size, without the bias. */
static const struct strait_param_row *weight_of(const struct strait_model *m, int layer, size_t *in,
                                                size_t *out, bool *bias, size_t largest_dim)
{
    const struct strait_layer *l = &m->layers[layer];
    const struct strait_param_row *weight = NULL;
    *bias = false;
    for (size_t i = l->first_row; i < l->first_row + l->n_rows; i++) {
        const struct strait_param_row *row = &m->rows[i];
        const bool known =
            strncmp(row->type, "Linear", 6) == 0 || strncmp(row->type, "Conv", 4) == 0;
        if (known && row->n_dims >= 2 && strcmp(row->param, "weight") == 0)
            weight = row;
        *bias |= strcmp(row->param, "bias") == 0;
    }
    if (!weight)
        return NULL;
    /* PyTorch stores [out, in, ...]; GPT-2's Conv1D is a linear layer stored as [in, out] */
    *out = weight->shape[strcmp(weight->type, "Conv1D") == 0 && weight->n_dims == 2 ? 1 : 0];
    *in = weight->n_elems / *out;
    return *out <= largest_dim && *in + (*bias ? 1 : 0) <= largest_dim ? weight : NULL;
}

int strait_n_factor_layers(const struct strait_model *m, size_t largest_dim)
{
    int n = 0;
    size_t in, out;
    bool bias;
    for (size_t l = 0; l < m->n_layers; l++)
        n += weight_of(m, (int)l, &in, &out, &bias, largest_dim) != NULL;
    return n;
}

/* Forward is rows x in x out multiply-adds; a factor of dimension d is rows x d x d. */
static struct strait_factor factor(int layer, bool of_input, size_t dim, double forward_s,
                                   size_t in, size_t out, const struct strait_factor_costs *c)
{
    const double d = (double)dim;
    return (struct strait_factor){.layer = layer,
                                  .of_input = of_input,
                                  .dim = dim,
                                  .n_elems = strait_triangle(dim),
                                  .compute_s = forward_s * d * d / ((double)in * (double)out) /
                                               c->factor_speed,
                                  .inverse_s = strait_inverse_s(c, dim)};
}

/* A layer's charged time: its share of the recorded total. */
static double share(double layer_s, double layers_s, double total_s)
{
    return layers_s > 0 ? layer_s * total_s / layers_s : 0;
}

static void fill_ready(struct strait_factor *all, int n, const struct strait_model *m, double fwd_s,
                       double bwd_s)
{
    double now_s = 0;
    int i = 0;
    for (int l = 0; l < (int)m->n_layers; l++) {
        if (i < n && all[i].layer == l) {
            now_s += all[i].compute_s;
            all[i++].ready_s = now_s;
        }
        now_s += share(m->layers[l].fwd_s_p50, fwd_s, m->fwd_s);
    }
    for (int l = (int)m->n_layers - 1; l >= 0; l--) {
        now_s += share(m->layers[l].bwd_s_p50, bwd_s, m->bwd_s);
        if (i < 2 * n && all[i].layer == l) {
            now_s += all[i].compute_s;
            all[i++].ready_s = now_s;
        }
    }
}

void strait_factors_of(struct strait_factor *all, const struct strait_model *m,
                       const struct strait_factor_costs *c)
{
    const int n = strait_n_factor_layers(m, c->largest_dim);
    const double flop_per_s =
        c->matrix_flop_per_s > 0 ? c->matrix_flop_per_s : matrix_flop_per_s(m);
    double fwd_s = 0, bwd_s = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        fwd_s += m->layers[l].fwd_s_p50;
        bwd_s += m->layers[l].bwd_s_p50;
    }
    for (int l = 0, i = 0; i < n; l++) {
        size_t in, out;
        bool bias;
        if (!weight_of(m, l, &in, &out, &bias, c->largest_dim))
            continue;
        const double forward_s = share(m->layers[l].fwd_s_p50, fwd_s, m->fwd_s);
        const size_t a = in + (bias ? 1 : 0);
        all[i] = factor(l, true, a, forward_s, in, out, c);
        all[i].precondition_s =
            2.0 * (double)out * (double)a * (double)(out + a) / flop_per_s; /* G^-1 dW, dW A^-1 */
        all[2 * n - 1 - i] = factor(l, false, out, forward_s, in, out, c);
        i++;
    }
    fill_ready(all, n, m, fwd_s, bwd_s);
}
