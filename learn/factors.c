/* Where a task's factors are. */
#include "factors.h"
#include <assert.h>
#include <string.h>
#include "learn_network.h"

bool strait_task_has_factors(const char *task)
{
    const struct strait_learn_network *network = strait_learn_network_find(task);
    return network && network->factors;
}

static size_t triangle(size_t d)
{
    return d * (d + 1) / 2;
}

/* Of dense layers and convolutions; embeddings and norms have none. */
static bool has_factors(const struct strait_learn_param *p)
{
    return p->n_dims >= 2 && (strcmp(p->type, "Linear") == 0 || strcmp(p->type, "Conv2d") == 0);
}

/* Call with each layer in turn. */
static bool next_layer(const struct strait_learn *l, size_t *param, size_t *at,
                       struct strait_factor_layer *out)
{
    if (l->training.optimiser != STRAIT_KFAC || !l->network->factors)
        return false;
    while (*param < l->n_params && !has_factors(&l->params[*param]))
        ++*param;
    if (*param >= l->n_params)
        return false;
    const struct strait_learn_param *p = &l->params[*param], *next = p + 1;
    const bool has_bias = *param + 1 < l->n_params && next->layer_index == p->layer_index;
    *out = (struct strait_factor_layer){.d_out = p->shape[0],
                                        .n_inputs = p->n_elems / p->shape[0],
                                        .weight = p->first,
                                        .bias = has_bias ? next->first : 0,
                                        .param = *param,
                                        .has_bias = has_bias};
    out->d_in = out->n_inputs + (has_bias ? 1 : 0);
    out->a = *at;
    out->g = *at + triangle(out->d_in);
    *at = out->g + triangle(out->d_out);
    ++*param;
    return true;
}

size_t strait_learn_n_factor_elems(const struct strait_learn *l)
{
    size_t param = 0, at = 0;
    struct strait_factor_layer f;
    while (next_layer(l, &param, &at, &f))
        ;
    return at;
}

bool strait_learn_factor_layer(const struct strait_learn *l, size_t layer,
                               struct strait_factor_layer *out)
{
    size_t param = 0, at = 0;
    while (next_layer(l, &param, &at, out))
        if (l->params[out->param].layer_index == layer)
            return true;
    return false;
}

void strait_learner_triangles(struct strait_learner *x, float *triangles)
{
    size_t param = 0, at = 0, d_in, d_out;
    const float *a, *g;
    struct strait_factor_layer f;
    while (next_layer(x->learn, &param, &at, &f)) {
        const bool has = strait_learner_factors(x, f.param, &d_in, &d_out, &a, &g);
        assert(has && d_in == f.d_in && d_out == f.d_out);
        (void)has;
        learn_triangle_of(triangles + f.a, a, d_in);
        learn_triangle_of(triangles + f.g, g, d_out);
    }
}

size_t strait_learn_kfac_bytes(const struct strait_learn *l)
{
    size_t param = 0, at = 0, most = 0;
    struct strait_factor_layer f;
    while (next_layer(l, &param, &at, &f)) {
        const size_t d = f.d_in > f.d_out ? f.d_in : f.d_out;
        most = d > most ? d : most;
    }
    return (3 * at + (at > 0 ? 2 * l->n_elems : 0)) * sizeof(float) +
           2 * most * most * sizeof(double);
}
