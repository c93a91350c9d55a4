/* 1-bit Adam and 0/1 Adam: bytes in closed form, and every rank's parameters against the papers'
 * equations in double precision, written down another way. */
#include <math.h>
#include <stdlib.h>
#include "tests/kit/strategy_world.h"

static const char *const experiment =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"codec\":\"efsignsgd\",\"strategy\":{\"name\":\"onebit-adam\",\"rounds\":5,\"warm_up\":2,"
    "\"lr\":0.01,\"epsilon\":0.001},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},"
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}";

static const double LR = 0.01, EPSILON = 1e-3; /* the latter of the order of a gradient's root */

/* Eight steps of 0/1 Adam. Whole gradients in step 1, then (kappa = 1) every second: 2; then every
 * fourth: 4; signs in step 3. Then four steps alone: means after 5 and 6, and, since after 2 steps
 * the time alone doubles, after 8. */
static json_t *zero_one(void)
{
    return json_pack("{s:{s:s,s:i,s:i,s:i,s:i,s:i,s:f,s:f}}", "/strategy", "name", "zero-one-adam",
                     "rounds", 8, "warm_up", 4, "square_steps", 1, "double_after", 2, "most_alone",
                     2, "lr", LR, "epsilon", EPSILON);
}

/* The CNN's; a stream's place in its bundle (8), its id and its scale. */
enum { ELEMS = 105866, HEAD = 8 + 1 + 4 };

/* A sum around a ring: 2 (n - 1) times the tensor. A mean in signs: each of n parts goes n - 1
 * times to its owner and back, at a bit a value and its head. */
static void bytes(void)
{
    for (int n = 1; n <= 9; n++) {
        uint64_t whole = 2 * (uint64_t)(n - 1) * 4 * ELEMS, signs = 0;
        for (int p = 0; p < n; p++) {
            const uint64_t elems = (uint64_t)ELEMS * (uint64_t)(p + 1) / (uint64_t)n -
                                   (uint64_t)ELEMS * (uint64_t)p / (uint64_t)n;
            signs += 2 * (uint64_t)(n - 1) * (HEAD + (elems + 7) / 8);
        }
        const uint64_t hops = 2 * (uint64_t)n * (uint64_t)(n - 1);
        json_t *sets[2] = {json_object(), zero_one()};
        const int n_whole[2] = {2, 3}, n_signs[2] = {3, 1 + 3};
        for (int i = 0; i < 2; i++) {
            json_object_set_new(sets[i], "/clients", json_integer(n));
            struct strait_outcome o = strait_outcome_of(
                experiment, sets[i], "default", &strait_fluid, (struct strait_trial_options){0});
            strait_test_context("%d ranks, strategy %d", n, i);
            CU_ASSERT_EQUAL(o.payload_bytes,
                            (uint64_t)n_whole[i] * whole + (uint64_t)n_signs[i] * signs);
            CU_ASSERT_EQUAL(o.n_messages, (uint64_t)(n_whole[i] + n_signs[i]) * hops);
            strait_outcome_free(&o);
        }
    }
    strait_test_context("%s", "");
}

/* --- parameters ------------------------------------------------------------------------------ */

/* The resnet's gradients are recorded in part and else tiled by rank, so that ranks differ. */
enum { RANKS = 3 };

struct errors { /* what signs left out: of each rank, and of the owners' means */
    double *own[RANKS], *mean;
};
struct reference {
    size_t n;
    double *g[RANKS], *w[RANKS], *start[RANKS];
    double *m[RANKS], *v, *u[RANKS], *base[RANKS], *gradient[RANKS];
    struct errors a, b;
    int n_squares;
};
static struct reference reference;

static double *zeros(size_t n)
{
    double *x = calloc(n, sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    return x;
}

static double *recorded(const struct strait_trial *p, enum strait_tensor_kind kind, int rank,
                        size_t n)
{
    double *out = zeros(n);
    float *x = malloc(n * sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    strait_recorded(x, p, kind, rank);
    for (size_t i = 0; i < n; i++)
        out[i] = (double)x[i];
    free(x);
    return out;
}

/* x + error in signs of its mean magnitude; the error is what that leaves out. */
static void in_signs(double *x, double *error, size_t lo, size_t hi)
{
    double sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += fabs(x[i] += error[i]);
    for (size_t i = lo; i < hi; i++) {
        const double sign = x[i] < 0 ? -sum / (double)(hi - lo) : sum / (double)(hi - lo);
        error[i] = x[i] - sign;
        x[i] = sign;
    }
}

/* Every x becomes what all agree on. */
static void agree(struct errors *e, double *const *x, size_t n)
{
    for (size_t p = 0; p < RANKS; p++) {
        const size_t lo = n * p / RANKS, hi = n * (p + 1) / RANKS;
        for (int r = 0; r < RANKS; r++)
            in_signs(x[r], e->own[r], lo, hi);
        for (size_t i = lo; i < hi; i++)
            x[0][i] = (x[0][i] + x[1][i] + x[2][i]) / RANKS;
        in_signs(x[0], e->mean, lo, hi);
        for (size_t i = lo; i < hi; i++)
            x[1][i] = x[2][i] = x[0][i];
    }
}

static double root(const struct reference *ref, size_t i)
{
    return sqrt(ref->v[i] / (1 - pow(0.999, ref->n_squares))) + EPSILON;
}

static void descend(struct reference *ref, int step)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < ref->n; i++)
            if (ref->v[i] > 0)
                ref->w[r][i] -= LR / (1 - pow(0.9, step)) * ref->m[r][i] / root(ref, i);
}

static void momentum(struct reference *ref, double *const *g)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < ref->n; i++)
            ref->m[r][i] = 0.9 * ref->m[r][i] + 0.1 * g[r][i];
}

static void whole(struct reference *ref, int step)
{
    for (size_t i = 0; i < ref->n; i++) {
        const double g = (ref->g[0][i] + ref->g[1][i] + ref->g[2][i]) / RANKS;
        ref->gradient[0][i] = ref->gradient[1][i] = ref->gradient[2][i] = g;
        ref->v[i] = 0.999 * ref->v[i] + 0.001 * g * g;
    }
    ref->n_squares++;
    momentum(ref, ref->gradient);
    descend(ref, step);
}

static void train_onebit(struct reference *ref)
{
    for (int step = 1; step <= 5; step++) {
        if (step <= 2) {
            whole(ref, step);
        } else {
            momentum(ref, ref->g);
            agree(&ref->a, ref->m, ref->n);
            descend(ref, step);
        }
    }
}

static void signs_of_gradients(struct reference *ref, int step)
{
    for (int r = 0; r < RANKS; r++)
        memcpy(ref->gradient[r], ref->g[r], ref->n * sizeof(double));
    agree(&ref->a, ref->gradient, ref->n);
    momentum(ref, ref->gradient);
    descend(ref, step);
}

/* u: what the steps from `first` to `last` add up to, before the division by the root. */
static void alone(struct reference *ref, int first, int last)
{
    double rates = 0;
    for (int r = 0; r < RANKS; r++) /* recorded parameters differ between ranks */
        memcpy(ref->base[r], ref->w[r], ref->n * sizeof(double));
    for (int step = first; step <= last; step++) {
        const double rate = LR / (1 - pow(0.9, step));
        momentum(ref, ref->g);
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < ref->n; i++)
                ref->u[r][i] = (step == first ? 0 : ref->u[r][i]) + rate * ref->m[r][i];
        rates += rate;
    }
    agree(&ref->b, ref->u, ref->n);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < ref->n; i++) {
            ref->m[r][i] = ref->u[r][i] / rates;
            ref->w[r][i] = ref->base[r][i] - (ref->v[i] > 0 ? ref->u[r][i] / root(ref, i) : 0);
        }
}

static void train_zero_one(struct reference *ref)
{
    whole(ref, 1);
    whole(ref, 2);
    signs_of_gradients(ref, 3);
    whole(ref, 4);
    alone(ref, 5, 5);
    alone(ref, 6, 6);
    alone(ref, 7, 8);
}

/* The first tensor of parameters: a list of tensors, the newest first. */
static const float *parameters(struct strait_rank *r)
{
    const float *found = NULL;
    for (const struct strait_tensor *t = strait_rank_state_of(r)->tensors; t; t = t->next)
        if (t->kind == STRAIT_WEIGHTS && t->lo == 0 && t->hi == strait_model(r)->n_elems)
            found = t->values;
    return found;
}

/* Floats are rounded at every step; the way is some percent of w. */
static void compare(struct strait_rank *r)
{
    const struct strait_trial *p = r->run->context;
    const struct reference *ref = &reference;
    const double *wanted = ref->w[strait_me(r)], *start = ref->start[strait_me(r)];
    double most = 0, squares = 0;
    p->experiment->strategy->rank_main(r);
    const float *w = parameters(r);
    for (size_t i = 0; i < ref->n; i++) {
        most = fmax(most, fabs((double)w[i] - wanted[i]));
        squares += pow(wanted[i] - start[i], 2) / (double)ref->n;
    }
    if (!(most < 1e-4 * sqrt(squares))) {
        char text[80];
        snprintf(text, sizeof(text), "rank %d is off by %g of its way", strait_me(r),
                 most / sqrt(squares));
        fail_with(r, text);
    }
}

static void prepare(struct reference *ref, const struct strait_trial *p, size_t n)
{
    ref->n = n;
    ref->n_squares = 0;
    ref->v = zeros(n);
    ref->a.mean = zeros(n);
    ref->b.mean = zeros(n);
    for (int r = 0; r < RANKS; r++) {
        ref->g[r] = recorded(p, STRAIT_GRADIENTS, r, n);
        ref->w[r] = recorded(p, STRAIT_WEIGHTS, r, n);
        ref->start[r] = recorded(p, STRAIT_WEIGHTS, r, n);
        ref->m[r] = zeros(n);
        ref->u[r] = zeros(n);
        ref->base[r] = zeros(n);
        ref->gradient[r] = zeros(n);
        ref->a.own[r] = zeros(n);
        ref->b.own[r] = zeros(n);
    }
}

static void release(struct reference *ref)
{
    free(ref->v);
    free(ref->a.mean);
    free(ref->b.mean);
    for (int r = 0; r < RANKS; r++) {
        free(ref->g[r]);
        free(ref->w[r]);
        free(ref->start[r]);
        free(ref->m[r]);
        free(ref->u[r]);
        free(ref->base[r]);
        free(ref->gradient[r]);
        free(ref->a.own[r]);
        free(ref->b.own[r]);
    }
}

static void equations(json_t *set, void (*train)(struct reference *))
{
    json_object_set_new(set, "/model", json_string("resnet"));
    struct strait_outcome o =
        strait_outcome_of(experiment, set, "default", &strait_fluid,
                          (struct strait_trial_options){.real_payload = true});
    prepare(&reference, o.point, o.experiment->model->n_elems);
    CU_ASSERT(memcmp(reference.g[0], reference.g[1], reference.n * sizeof(double)) != 0);
    train(&reference);
    run_with(&o, compare);
    release(&reference);
    strait_outcome_free(&o);
}

static void onebit_equations(void)
{
    equations(json_object(), train_onebit);
}

static void zero_one_equations(void)
{
    equations(zero_one(), train_zero_one);
}

static const struct strait_test tests[] = {
    {"steps send whole gradients, a bit a value, or nothing", bytes},
    {"1-bit Adam moves parameters as its equations say", onebit_equations},
    {"0/1 Adam moves parameters as its equations say", zero_one_equations},
};
STRAIT_SUITE("workloads/train/sync/onebit", tests);
