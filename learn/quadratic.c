/* A task without data whose answers are closed forms: worker k minimises
 *
 *     f_k(w) = 1/2 sum_i h_ki (w_i - c_ki)^2,     h_ki = condition^(-i/(dim-1)) (1 + skew s_ki),
 *     c_ki = shift u_ki + c_i,
 *
 * s_ki = 1 or -1, c_i and u_ki standard normal, all keyed by seed (and k). All start at w = 0. A
 * batch of B adds (noise / sqrt(B)) sum_i z_i (w_i - c_ki) with z standard normal, keyed by seed, k
 * and step, so its gradient has that noise in each element. With p_k = 1 / workers and plain steps
 * of size lr:
 *     optimum of all   w*_i = sum_k p_k h_ki c_ki / h_i,  h_i = sum_k p_k h_ki
 *     score            1/2 sum_i h_i (w_i - w*_i)^2: how far the loss is above its least
 *     one worker       w(t)_i - c_ki = (1 - lr h_ki)^t (w(0)_i - c_ki)
 *     federated        with T local steps and q_ki = p_k (1 - (1 - lr h_ki)^T), rounds go to
 *                      sum_k q_ki c_ki / sum_k q_ki: not to w* where curvatures differ and T > 1
 *     noise            the variance of w_i goes to lr (noise^2 / B) / (h_i (2 - lr h_i))
 * Source of the federated fixed point: own; it is the average of the line above. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "learn/data/draws.h"
#include "quadratic.h"

enum option { DIM, CONDITION, NOISE, SHIFT, SKEW, LAYERS, N_OPTIONS };
static const struct strait_param options[N_OPTIONS] = {
    [DIM] = {"dim", "parameters", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e8, .fallback = 1000},
    [CONDITION] = {"condition", "largest curvature by smallest", STRAIT_PARAM_NUMBER, .min = 1,
                   .max = 1e12, .fallback = 100},
    [NOISE] = {"noise", "standard deviation of a gradient's element at batch 1",
               STRAIT_PARAM_NUMBER, .min = 0, .max = 1e6, .fallback = 0},
    [SHIFT] = {"shift", "how far the workers' optima lie apart", STRAIT_PARAM_NUMBER, .min = 0,
               .max = 1e6, .fallback = 0},
    [SKEW] = {"skew", "how much the workers' curvatures differ", STRAIT_PARAM_NUMBER, .min = 0,
              .max = 0.99, .fallback = 0},
    [LAYERS] = {"layers", "tensors that the parameters are cut into", STRAIT_PARAM_INTEGER,
                .min = 1, .max = 100, .fallback = 4},
};

struct quadratic {
    double *curvature, *optimum; /* of all workers together */
};

static double base_curvature(const struct strait_learn *l, size_t i)
{
    const double place = l->n_elems > 1 ? (double)i / (double)(l->n_elems - 1) : 0;
    return pow(l->training.options[CONDITION], -place);
}

static double flipped(const struct strait_learn *l, int worker, size_t i, double h)
{
    const bool up = strait_random_bits(l->seed, "quadratic skew", (uint64_t)worker, i) >> 63;
    return h * (1 + (up ? 1 : -1) * l->training.options[SKEW]);
}

static double normal(const struct strait_learn *l, const char *what, uint64_t worker, uint64_t i)
{
    struct strait_sequence s = strait_draws_at(l->seed, what, worker, i);
    return strait_draw_normal(&s);
}

static double centre(const struct strait_learn *l, int worker, size_t i)
{
    const double shift = l->training.options[SHIFT];
    const double moved = shift > 0 ? shift * normal(l, "quadratic shift", (uint64_t)worker, i) : 0;
    return normal(l, "quadratic optimum", 0, i) + moved;
}

double strait_quadratic_curvature(const struct strait_learn *l, int worker, size_t i)
{
    return flipped(l, worker, i, base_curvature(l, i));
}

double strait_quadratic_centre(const struct strait_learn *l, int worker, size_t i)
{
    return centre(l, worker, i);
}

static void close_quadratic(struct strait_learn *l)
{
    struct quadratic *q = l->data;
    if (q) {
        free(q->curvature);
        free(q->optimum);
    }
    free(q);
}

static int open_quadratic(struct strait_learn *l, struct strait_error *err)
{
    const size_t dim = (size_t)l->training.options[DIM];
    size_t n_layers = (size_t)l->training.options[LAYERS];
    if (n_layers > dim)
        return strait_refuse(err, NULL,
                             "expected at most as many layers as dimensions, found %zu and %zu",
                             n_layers, dim);
    bool good = true;
    for (size_t i = 0; i < n_layers && good; i++) {
        char layer[STRAIT_LEARN_NAME_CHARS];
        snprintf(layer, sizeof(layer), "part%zu", i + 1);
        const size_t n = dim * (i + 1) / n_layers - dim * i / n_layers;
        good = strait_learn_add(l, layer, "weight", "Quadratic", &n, 1);
    }
    struct quadratic *q = l->data = calloc(1, sizeof(*q));
    if (q) {
        q->curvature = calloc(dim, sizeof(*q->curvature));
        q->optimum = calloc(dim, sizeof(*q->optimum));
    }
    if (!good || !q || !q->curvature || !q->optimum)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %zu dimensions", dim);
    l->data_bytes = sizeof(*q) + dim * 2 * sizeof(double);
    l->n_train = (uint32_t)l->n_workers; /* one a worker: all shares are equal */
    l->n_held_out = 1;
    return 0;
}

static int share(struct strait_learn *l, struct strait_error *err)
{
    (void)err;
    struct quadratic *q = l->data;
    for (size_t i = 0; i < l->n_elems; i++) {
        const double base = base_curvature(l, i);
        double sum = 0, weighted = 0;
        for (int k = 0; k < l->n_workers; k++) {
            const double h = flipped(l, k, i, base);
            sum += h;
            weighted += h * centre(l, k, i);
        }
        q->curvature[i] = sum / l->n_workers;
        q->optimum[i] = weighted / sum;
    }
    return 0;
}

static void init(const struct strait_learn *l, float *w)
{
    memset(w, 0, l->n_elems * sizeof(*w));
}

/* The worker's curvatures and centres, which would cost a logarithm an element and step. */
static size_t work_bytes(const struct strait_learn *l, int max_batch)
{
    (void)max_batch;
    return 2 * l->n_elems * sizeof(double);
}

static void leave(struct strait_learner *x)
{
    double *curvatures = x->work;
    curvatures[0] = 0; /* as in a new workspace: none is known */
}

static double gradient(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *g)
{
    const struct strait_learn *l = x->learn;
    const size_t n = l->n_elems;
    double *curvatures = x->work, *centres = curvatures + n, loss = 0;
    if (curvatures[0] == 0)
        for (size_t i = 0; i < n; i++) {
            curvatures[i] = strait_quadratic_curvature(l, x->worker, i);
            centres[i] = centre(l, x->worker, i);
        }
    const double sd = l->training.options[NOISE] / sqrt(b->n);
    struct strait_sequence s =
        strait_draws_at(l->seed, "quadratic noise", (uint64_t)x->worker, b->step);
    for (size_t i = 0; i < n; i++) {
        const double away = (double)w[i] - centres[i];
        const double noise = sd > 0 ? sd * strait_draw_normal(&s) : 0;
        loss += 0.5 * curvatures[i] * away * away + noise * away;
        g[i] = (float)(curvatures[i] * away + noise);
    }
    return loss;
}

static void score(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n)
{
    (void)b, (void)right;
    const struct quadratic *q = x->learn->data;
    double sum = 0;
    for (size_t i = 0; i < x->learn->n_elems; i++) {
        const double away = (double)w[i] - q->optimum[i];
        sum += 0.5 * q->curvature[i] * away * away;
    }
    *loss += sum;
    *n += 1;
}

const struct strait_learn_network strait_quadratic = {
    .info = {.name = "quadratic",
             .summary = "a quadratic bowl with known optimum, condition number and noise",
             STRAIT_PARAMS(options)},
    .open = open_quadratic,
    .share = share,
    .close = close_quadratic,
    .init = init,
    .work_bytes = work_bytes,
    .leave = leave,
    .gradient = gradient,
    .score = score,
};
