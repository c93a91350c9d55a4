#include "server_step.h"

#include <math.h>

const char *const strait_server_optimisers[] = {"sgd", "momentum", "adam", NULL};

struct strait_server_step strait_server_step_of(struct strait_rank *r, bool needs_mean)
{
    struct strait_server_step s = {
        .optimiser = (enum strait_server_optimiser)(int)strait_param(r, "server_optimiser")};
    if (s.optimiser != STRAIT_SERVER_SGD || needs_mean)
        s.mean = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    if (s.optimiser != STRAIT_SERVER_SGD)
        s.m = strait_like(r, s.mean);
    if (s.optimiser == STRAIT_SERVER_ADAM)
        s.v = strait_like(r, s.mean);
    return s;
}

struct adam {
    float *w, *m, *v;
    const float *mean;
    size_t n;
    float lr, beta1, beta2, tau;
    bool is_first;
};

static void adam_now(void *arg)
{
    const struct adam *a = arg;
    for (size_t i = 0; i < a->n; i++) {
        const float g = a->mean[i], v = a->is_first ? a->tau * a->tau : a->v[i];
        a->m[i] = a->beta1 * a->m[i] + (1 - a->beta1) * g;
        a->v[i] = a->beta2 * v + (1 - a->beta2) * g * g;
        a->w[i] += a->lr * a->m[i] / (sqrtf(a->v[i]) + a->tau);
    }
}

void strait_server_step(struct strait_rank *r, const struct strait_server_step *s,
                        struct strait_tensor *w, int round)
{
    const double lr = strait_param(r, "server_lr"), beta1 = strait_param(r, "server_momentum");
    if (s->optimiser == STRAIT_SERVER_SGD && s->mean)
        strait_add(r, w, s->mean, lr);
    if (s->optimiser == STRAIT_SERVER_MOMENTUM) {
        strait_set(r, s->m, s->m, beta1);
        strait_add(r, s->m, s->mean, 1);
        strait_add(r, w, s->m, lr);
    }
    if (s->optimiser != STRAIT_SERVER_ADAM)
        return;
    struct adam a = {.w = strait_values(r, w),
                     .m = strait_values(r, s->m),
                     .v = strait_values(r, s->v),
                     .mean = strait_values(r, s->mean),
                     .n = strait_n_elems(w),
                     .lr = (float)lr,
                     .beta1 = (float)beta1,
                     .beta2 = (float)strait_param(r, "server_beta2"),
                     .tau = (float)strait_param(r, "server_tau"),
                     .is_first = round == 0};
    strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU,
                5 * 4.0 * (double)a.n * strait_add_s_per_byte(r), a.w ? adam_now : NULL, &a);
}
