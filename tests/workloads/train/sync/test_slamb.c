/* SLAMB against its bytes and its time; and its moments, means and LAMB's steps on real gradients
 * against the same in double precision, written down another way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/sync/slamb_parts.h"
#include "tests/kit/strategy_world.h"

static const char *const experiment =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"slamb\",\"rounds\":6,\"local_steps\":3,\"ratio\":0.25},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},"
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}";

/* The CNN's 105,866 parameters: fc1, 100,352, is a large matrix; conv1 144, conv2 4608, fc2 640 and
 * the biases 16 + 32 + 64 + 10 are not. */
enum { ELEMS = 105866, MASKED = 100352, ALWAYS = ELEMS - MASKED, TENSORS = 8 };

static size_t chunk(int j, int n_chunks)
{
    return (size_t)((double)MASKED * (j + 1) / n_chunks) - (size_t)((double)MASKED * j / n_chunks);
}

/* Every rank sends 2 (n - 1) parts of each all-reduce; together 2 (n - 1) times its bytes. */
static void bytes(void)
{
    for (int n = 1; n <= 9; n++) {
        struct strait_outcome o =
            strait_outcome_of(experiment, json_pack("{s:i}", "/clients", n), "default",
                              &strait_fluid, (struct strait_trial_options){0});
        uint64_t elems = 0;
        for (int step = 0; step < 6; step++)
            elems += chunk(step % 4, 4) + ALWAYS;
        elems += 2 * ELEMS; /* after steps 3 and 6 */
        const uint64_t hops = 2 * (uint64_t)(n - 1);
        CU_ASSERT_EQUAL(o.payload_bytes, 4 * hops * elems);
        CU_ASSERT_EQUAL(o.n_messages, hops * (uint64_t)n * (6 + 2 * TENSORS));
        strait_outcome_free(&o);
    }
}

/* Mean bytes a step: M (ratio + 1 / H), and what is always summed. */
static void mean_bytes(void)
{
    json_t *set = json_pack("{s:i, s:i, s:f}", "/strategy/rounds", 200, "/strategy/local_steps",
                            100, "/strategy/ratio", 0.1);
    struct strait_outcome o = strait_outcome_of(experiment, set, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const double per_step = (double)o.payload_bytes / (2 * 2) / 200;
    CU_ASSERT_DOUBLE_EQUAL(per_step, 4 * (0.1 * MASKED + ALWAYS + ELEMS / 100.0), 1e-6);
    strait_outcome_free(&o);
}

static void run_real(void)
{
    struct strait_outcome o =
        strait_outcome_of(experiment, json_object(), "default", &strait_fluid,
                          (struct strait_trial_options){.real_payload = true});
    struct strait_outcome sized = strait_outcome_of(
        experiment, json_object(), "default", &strait_fluid, (struct strait_trial_options){0});
    CU_ASSERT_EQUAL(o.payload_bytes, sized.payload_bytes);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, sized.total_s, 1e-9 * sized.total_s);
    strait_outcome_free(&o);
    strait_outcome_free(&sized);
}

static void less_than_all(void)
{
    json_t *all = json_pack("{s:s, s:i}", "/strategy/name", "bsp", "/clients", 8);
    json_object_set_new(all, "/strategy", json_pack("{s:s, s:i}", "name", "bsp", "rounds", 6));
    json_object_del(all, "/strategy/name");
    struct strait_outcome dense = strait_outcome_of(experiment, all, "default", &strait_fluid,
                                                    (struct strait_trial_options){0});
    struct strait_outcome sparse = strait_outcome_of(
        experiment, json_pack("{s:i, s:i}", "/clients", 8, "/strategy/local_steps", 100), "default",
        &strait_fluid, (struct strait_trial_options){0});
    CU_ASSERT(sparse.total_s < dense.total_s);
    CU_ASSERT(sparse.payload_bytes * 3 < dense.payload_bytes);
    strait_outcome_free(&dense);
    strait_outcome_free(&sparse);
}

/* --- moments --------------------------------------------------------------------------------- */

/* The resnet's gradients are recorded in part and else tiled by rank, so that ranks differ. Seven
 * steps: every chunk is averaged twice at least, some a third time; parameters after step 4. */
enum { RANKS = 3, STEPS = 7, CHUNKS = 3, EVERY = 4, SMALL = -1 };
static const double LR = 0.02, BETA_3 = 0.8;

struct reference {
    const struct strait_model *model;
    size_t n;
    double *g[RANKS], *m[RANKS], *v[RANKS], *w[RANKS], *start[RANKS];
    int *chunk; /* of each element, or SMALL */
};
static struct reference reference;

static double *doubles(const struct strait_trial *p, enum strait_tensor_kind kind, int rank,
                       size_t n)
{
    double *out = calloc(n, sizeof(*out));
    float *x = malloc(n * sizeof(*x));
    CU_ASSERT_FATAL(out != NULL && x != NULL);
    if (kind != STRAIT_SCRATCH) {
        strait_recorded(x, p, kind, rank);
        for (size_t i = 0; i < n; i++)
            out[i] = (double)x[i];
    }
    free(x);
    return out;
}

/* i -> (a i + b) mod n of the large matrices' elements one after another, a the first at or after
 * its draw that is coprime to n; chunk c has the next n / CHUNKS of them. */
static void cut(struct reference *ref, uint64_t seed)
{
    size_t n_large = 0, at = 0, *place = calloc(ref->n, sizeof(*place));
    for (size_t row = 0; row < ref->model->n_rows; at += ref->model->rows[row++].n_elems) {
        const struct strait_param_row *r = &ref->model->rows[row];
        for (size_t i = 0; i < r->n_elems; i++) {
            ref->chunk[at + i] = SMALL;
            if (r->n_dims > 1 && r->n_elems >= 9000)
                place[n_large++] = at + i;
        }
    }
    uint64_t a = 1 + strait_random_bits(seed, "slamb", 0, 0) % n_large;
    const uint64_t b = strait_random_bits(seed, "slamb", 1, 0) % n_large;
    for (bool coprime = false; !coprime;) {
        uint64_t x = a, y = n_large;
        while (y > 0) {
            const uint64_t rest = x % y;
            x = y;
            y = rest;
        }
        coprime = x == 1;
        a = coprime ? a : a % n_large + 1;
    }
    for (size_t i = 0; i < n_large; i++) {
        int c = 0;
        while ((double)n_large * (c + 1) / CHUNKS <= (double)i)
            c++;
        ref->chunk[place[(a * i + b) % n_large]] = c;
    }
    free(place);
}

/* Steps since the element was averaged; since the beginning where it never was. */
static int age_of(int chunk, int step)
{
    return chunk == SMALL ? 0 : step < chunk ? step + 1 : (step - chunk) % CHUNKS;
}

static void mean_over_ranks(double *const *x, size_t i)
{
    double sum = 0;
    for (int r = 0; r < RANKS; r++)
        sum += x[r][i];
    for (int r = 0; r < RANKS; r++)
        x[r][i] = sum / RANKS;
}

/* LAMB's u of one element, and its step over all elements of one tensor. */
static double wish(const struct reference *ref, int r, size_t i, int step)
{
    const double m = ref->m[r][i] / (1 - pow(0.9, step + 1)),
                 v = ref->v[r][i] / (1 - pow(0.999, step + 1));
    return m / (sqrt(v) + 1e-6) + 0.01 * ref->w[r][i];
}

static void go(struct reference *ref, int r, size_t lo, size_t hi, bool is_matrix, int step)
{
    double w2[2] = {0}, u2[2] = {0};
    for (size_t i = lo; i < hi; i++) {
        const int own = age_of(ref->chunk[i], step) > 0;
        w2[own] += pow(ref->w[r][i], 2);
        u2[own] += pow(wish(ref, r, i, step), 2);
    }
    double trust[2];
    for (int own = 0; own < 2; own++)
        trust[own] = w2[own] > 0 && u2[own] > 0 ? sqrt(w2[own]) / sqrt(u2[own]) : 1;
    for (size_t i = lo; i < hi; i++) {
        const double f = pow(BETA_3, age_of(ref->chunk[i], step));
        const double lr = LR / sqrt(RANKS) + f * (LR - LR / sqrt(RANKS));
        double ratio = trust[1] + f * (trust[0] - trust[1]);
        ratio = is_matrix && ratio < 0.01 ? 0.01 : ratio;
        ref->w[r][i] -= lr * ratio * wish(ref, r, i, step);
    }
}

static void train(struct reference *ref)
{
    for (int step = 0; step < STEPS; step++) {
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < ref->n; i++) {
                const double g = ref->g[r][i];
                ref->m[r][i] += 0.1 * (g - ref->m[r][i]);
                ref->v[r][i] += 0.001 * (g * g - ref->v[r][i]);
            }
        for (size_t i = 0; i < ref->n; i++)
            if (age_of(ref->chunk[i], step) == 0)
                mean_over_ranks(ref->m, i);
        for (int r = 0; r < RANKS; r++)
            for (size_t row = 0, at = 0; row < ref->model->n_rows; row++) {
                const struct strait_param_row *t = &ref->model->rows[row];
                go(ref, r, at, at + t->n_elems, t->n_dims > 1, step);
                at += ref->model->rows[row].n_elems;
            }
        for (size_t i = 0; i < ref->n && (step + 1) % EVERY == 0; i++)
            mean_over_ranks(ref->w, i);
    }
}

/* The largest difference over the rms of what it should be; of weights, of their way. */
static double difference(const float *found, const double *wanted, const double *from, size_t n)
{
    double most = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double way = wanted[i] - (from ? from[i] : 0);
        most = fmax(most, fabs((double)found[i] - wanted[i]));
        squares += way * way / (double)n;
    }
    return most / sqrt(squares);
}

/* The k-th newest tensor of a kind that is as large as the model. */
static const float *newest(struct strait_rank *r, enum strait_tensor_kind kind, int k)
{
    const struct strait_tensor *t = strait_rank_state_of(r)->tensors;
    for (; t; t = t->next)
        if (t->kind == kind && t->lo == 0 && t->hi == strait_model(r)->n_elems && k-- == 0)
            return t->values;
    return NULL;
}

/* Everything is a float, rounded at every step: of ways that are some percent of w, and of squares
 * of the largest gradients, 3e-6 to 6e-6 of the rms were found. */
static void compare(struct strait_rank *r)
{
    const struct strait_trial *p = r->run->context;
    const int me = strait_me(r);
    p->experiment->strategy->rank_main(r);
    const float *w = newest(r, STRAIT_WEIGHTS, 0), *squares = newest(r, STRAIT_SCRATCH, 0),
                *moments = newest(r, STRAIT_SCRATCH, 1);
    const double off[3] = {difference(moments, reference.m[me], NULL, reference.n),
                           difference(squares, reference.v[me], NULL, reference.n),
                           difference(w, reference.w[me], reference.start[me], reference.n)};
    static const double most[3] = {2e-5, 2e-5, 2e-5};
    static const char *const names[3] = {"moments", "squares", "weights"};
    for (int i = 0; i < 3; i++) {
        char text[80];
        snprintf(text, sizeof(text), "%s of rank %d are off by %g", names[i], me, off[i]);
        if (!(off[i] < most[i]))
            fail_with(r, text);
    }
}

static void arithmetic(void)
{
    struct strait_outcome o = strait_outcome_of(
        experiment,
        json_pack("{s:s, s:i, s:i, s:f, s:f, s:f}", "/model", "resnet", "/strategy/rounds", STEPS,
                  "/strategy/local_steps", EVERY, "/strategy/ratio", 1.0 / CHUNKS, "/strategy/lr",
                  LR, "/strategy/beta_3", BETA_3),
        "default", &strait_fluid, (struct strait_trial_options){.real_payload = true});
    struct reference *ref = &reference;
    ref->model = o.experiment->model;
    ref->n = ref->model->n_elems;
    ref->chunk = calloc(ref->n, sizeof(*ref->chunk));
    for (int r = 0; r < RANKS; r++) {
        ref->g[r] = doubles(o.point, STRAIT_GRADIENTS, r, ref->n);
        ref->w[r] = doubles(o.point, STRAIT_WEIGHTS, r, ref->n);
        ref->start[r] = doubles(o.point, STRAIT_WEIGHTS, r, ref->n);
        ref->m[r] = doubles(o.point, STRAIT_SCRATCH, r, ref->n);
        ref->v[r] = doubles(o.point, STRAIT_SCRATCH, r, ref->n);
    }
    CU_ASSERT(memcmp(ref->g[0], ref->g[1], ref->n * sizeof(double)) != 0);
    cut(ref, o.experiment->seed);
    train(ref);
    CU_ASSERT(memcmp(ref->m[0], ref->m[1], ref->n * sizeof(double)) != 0);
    run_with(&o, compare);
    for (int r = 0; r < RANKS; r++) {
        free(ref->g[r]);
        free(ref->w[r]);
        free(ref->start[r]);
        free(ref->m[r]);
        free(ref->v[r]);
    }
    free(ref->chunk);
    strait_outcome_free(&o);
}

/* One rank, a matrix and a vector of two equal elements 1e-4 each and a first step along a gradient
 * of 1: u is 1 + 1e-6 of decay, less 1e-6 of epsilon. Trust would be 1e-4: so goes the vector,
 * while the matrix has the least, 0.01. */
static void least_trust(void)
{
    struct strait_param_row rows[2] = {{.n_elems = 2, .n_dims = 2}, {.n_elems = 2, .n_dims = 1}};
    const struct strait_model model = {.rows = rows, .n_rows = 2, .n_elems = 4};
    const struct slamb_mask mask = {0};
    const double powers[1] = {1};
    float g[4], m[4] = {0}, v[4] = {0}, w[4];
    for (int i = 0; i < 4; i++) {
        g[i] = 1;
        w[i] = 1e-4f;
    }
    struct slamb_work k = {.mask = &mask,
                           .model = &model,
                           .gradients = g,
                           .moments = m,
                           .squares = v,
                           .w = w,
                           .n_ranks = 1,
                           .lr = 0.5,
                           .powers = powers};
    slamb_moments(&k);
    slamb_lamb(&k);
    CU_ASSERT_DOUBLE_EQUAL(w[0], 1e-4 - 0.5 * 0.01, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(w[2], 1e-4 - 0.5 * 1e-4, 1e-9);
}

static const struct strait_test tests[] = {
    {"the trust of a matrix has a limit, that of a vector none", least_trust},
    {"bytes and messages are those of chunks, small tensors and synchronisations", bytes},
    {"a step's mean bytes are M (ratio + 1 / H) and the small tensors", mean_bytes},
    {"real moments take the same bytes and time", run_real},
    {"moments, their means and LAMB's steps are those in double precision", arithmetic},
    {"a masked sum is quicker than a whole one", less_than_all},
};
STRAIT_SUITE("workloads/train/sync/slamb", tests);
