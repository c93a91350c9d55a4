/* PowerSGD and ACP-SGD against closed forms of their bytes and schedules, and on gradients of low
 * rank, which they must give back. */
#include <math.h>
#include "core/random.h"
#include "tests/kit/gradients.h"

static const char *const powersgd = GRADIENTS_TEXT("{\"name\":\"powersgd\",\"rounds\":1}");
static const char *const acpsgd = GRADIENTS_TEXT("{\"name\":\"acpsgd\",\"rounds\":1}");

/* Rank 4 of the model with odd sizes (tests/workloads/train/plans/test_lowrank_plan.c): 480 of all
 * P, 644 of all Q, 120 of vectors. */
enum { P_ELEMS = 480, Q_ELEMS = 644, PLAIN_ELEMS = 120, MATRICES = 4 };

/* A ring all-reduce of B bytes is 2 (P - 1) B in all, in 2 P (P - 1) messages. */
static void check_traffic(const char *text, json_t *settings, int n, uint64_t elems,
                          uint64_t n_rings)
{
    struct strait_outcome o = sized_run(text, settings, n);
    const uint64_t ranks = (uint64_t)n;
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * (ranks - 1) * 4 * elems);
    CU_ASSERT_EQUAL(o.n_messages, 2 * ranks * (ranks - 1) * n_rings);
    strait_outcome_free(&o);
}

static void bytes(void)
{
    for (int n = 1; n <= MAX_RANKS; n++) {
        check_traffic(powersgd, json_object(), n, P_ELEMS + PLAIN_ELEMS + Q_ELEMS, 2);
        check_traffic(acpsgd, json_object(), n, P_ELEMS + PLAIN_ELEMS, 1);
        check_traffic(acpsgd, json_pack("{s:i}", "/strategy/rounds", 2), n,
                      P_ELEMS + Q_ELEMS + 2 * PLAIN_ELEMS, 2);
        check_traffic(acpsgd, json_pack("{s:s}", "/strategy/bucket", "1 B"), n,
                      P_ELEMS + PLAIN_ELEMS, 4); /* one a layer */
    }
}

/* --- time ----------------------------------------------------------------------------------- */

struct ring { /* when each rank is ready, and its link to the next one free */
    int n;
    double ready_s[MAX_RANKS], free_s[MAX_RANKS], path_s;
};

/* Step by step: rank i sends a part, gets one from i - 1 and works on it. Parts of three ranks:
 * 0 2 1, then 1 0 2 gathered, as sent by rank 0. */
static void all_reduce(struct ring *g, const struct strait_trial *p, size_t elems)
{
    for (int step = 0; step < 2 * (g->n - 1); step++) {
        const bool adds = step < g->n - 1;
        double arrived_s[MAX_RANKS];
        for (int i = 0; i < g->n; i++) {
            const int part = ((adds ? i - step : i + 1 - (step - (g->n - 1))) + 2 * g->n) % g->n;
            const double bytes = 4.0 * (double)part_of(elems, part, g->n);
            g->free_s[i] = fmax(g->free_s[i], g->ready_s[i]) + (bytes + FRAME_BYTES) / bytes_per_s;
            arrived_s[(i + 1) % g->n] = g->free_s[i] + g->path_s +
                                        bytes / (adds ? p->add_bytes_per_s : p->copy_bytes_per_s);
        }
        for (int i = 0; i < g->n; i++)
            g->ready_s[i] = fmax(g->ready_s[i], arrived_s[i]);
    }
}

/* The profile's time of the codec over elements of matrices. */
static double coding_s(const struct strait_trial *p, const char *codec, bool encode, int n_matrices,
                       size_t elems)
{
    struct strait_codec_spec spec = strait_codec_spec_default(strait_codec_find(codec));
    struct strait_profile_cost cost;
    CU_ASSERT_EQUAL_FATAL(strait_profile_find(&cost, p->profile, &spec, "grad", "", NULL), 0);
    return encode
               ? n_matrices * cost.encode_fixed_s + 4.0 * (double)elems / cost.encode_bytes_per_s
               : n_matrices * cost.decode_fixed_s + 4.0 * (double)elems / cost.decode_bytes_per_s;
}
enum { MATRIX_ELEMS = 259 + 2368 + 2112 + 324 };

static void everybody_works(struct ring *g, double s)
{
    for (int i = 0; i < g->n; i++)
        g->ready_s[i] += s;
}

/* Backward, a third of the codec's time, a ring, a third, a ring that depends on it, a third.
 * Vectors are copied into the first buffer and out of it at the end. */
static void powersgd_time(void)
{
    for (int n = 1; n <= MAX_RANKS; n++) {
        struct strait_outcome o = sized_run(powersgd, json_object(), n);
        const struct strait_model *m = o.experiment->model;
        const double third_s = coding_s(o.point, "powersgd", true, MATRICES, MATRIX_ELEMS) / 3;
        const double copy_s = 4.0 * PLAIN_ELEMS / o.point->copy_bytes_per_s;
        struct ring g = {.n = n, .path_s = path_s};
        everybody_works(&g, m->fwd_s + m->bwd_s + third_s + copy_s);
        all_reduce(&g, o.point, P_ELEMS + PLAIN_ELEMS);
        everybody_works(&g, third_s);
        all_reduce(&g, o.point, Q_ELEMS);
        const double expected = g.ready_s[0] + third_s + copy_s + m->opt_s;
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9 * expected);
        strait_outcome_free(&o);
    }
}

/* Layers from the last: matrix, vector, and P's part of the buffer (35 = 7 x 4 + 7, ...). */
static const struct {
    size_t matrix, vector, sent;
} layers[4] = {{259, 7, 35}, {2368, 37, 185}, {2112, 64, 320}, {324, 12, 60}};

/* A bucket's ring begins when its last layer was compressed and the ring before is through; the
 * step waits for the last one. On a short path rings hide behind the backward pass; on a long one
 * they follow one another. 1 B: a bucket a layer; 25 MB: one, which hides nothing. */
static void check_acpsgd_time(int n, const char *rtt, double one_way_s, bool one_bucket)
{
    json_t *settings = json_pack("{s:s, s:s}", "/network/client/rtt", rtt, "/strategy/bucket",
                                 one_bucket ? "25 MB" : "1 B");
    struct strait_outcome o = sized_run(acpsgd, settings, n);
    const struct strait_model *m = o.experiment->model;
    struct ring g = {.n = n, .path_s = one_way_s};
    double main_s = m->fwd_s;
    size_t sent = 0;
    for (int l = 0; l < 4; l++) {
        main_s += m->layers[3 - l].bwd_s_p50 +
                  coding_s(o.point, "acpsgd", true, 1, layers[l].matrix) +
                  4.0 * (double)layers[l].vector / o.point->copy_bytes_per_s;
        sent += layers[l].sent;
        if (one_bucket && l < 3)
            continue;
        for (int i = 0; i < n; i++)
            g.ready_s[i] = fmax(g.ready_s[i], main_s);
        all_reduce(&g, o.point, sent);
        sent = 0;
    }
    const double expected = fmax(main_s, g.ready_s[0]) +
                            coding_s(o.point, "acpsgd", false, MATRICES, MATRIX_ELEMS) +
                            4.0 * PLAIN_ELEMS / o.point->copy_bytes_per_s + m->opt_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-9 * expected);
    strait_outcome_free(&o);
}

static void acpsgd_time(void)
{
    for (int n = 1; n <= MAX_RANKS; n++)
        for (int one_bucket = 0; one_bucket < 2; one_bucket++) {
            check_acpsgd_time(n, "13 ms", 0.013, one_bucket); /* no addition meets encoding */
            check_acpsgd_time(n, "40 us", 40e-6, one_bucket);
        }
}

/* --- values --------------------------------------------------------------------------------- */

/* Every matrix is U V^T with four columns: U the same on all ranks, V of the rank, both uniform.
 * Vectors are drawn. */
static void draw_low_rank(float *x, int rank)
{
    static const size_t n_rows[ODD_ROWS] = {12, 1, 64, 1, 37, 1, 7, 1},
                        n_cols[ODD_ROWS] = {27, 12, 33, 64, 64, 37, 37, 7};
    for (uint64_t row = 0, at = 0; row < ODD_ROWS; row++)
        for (uint64_t i = 0; i < n_rows[row]; i++)
            for (uint64_t j = 0; j < n_cols[row]; j++, at++) {
                double sum = 0;
                for (uint64_t k = 0; k < 4; k++)
                    sum += (strait_random_unit(row, "U", i, k) - 0.5) *
                           (strait_random_unit(row, "V", j, k << 8 | (uint64_t)rank) - 0.5);
                x[at] = (float)sum;
            }
}

/* Distance from `times` the mean gradient, relative to that. */
static double distance(int n, double times)
{
    double error = 0, norm = 0;
    for (size_t i = 0; i < ODD_ELEMS; i++) {
        double mean = 0;
        for (int k = 0; k < n; k++)
            mean += (double)gradients->in[k][i] / n;
        error += pow((double)gradients->out[0][i] - times * mean, 2);
        norm += pow(times * mean, 2);
    }
    return sqrt(error / norm);
}

/* P = M Q spans U, since Q is drawn; then P (M^T P)^T of orthonormal P is M. Float rounding, 6e-8
 * for each of some dozen additions, times the condition of a drawn 4 x 4 matrix, some tens. */
static void powersgd_is_exact(void)
{
    make_gradient = draw_low_rank;
    for (int n = 1; n <= 5; n++) {
        run_gradients(powersgd, json_object(), n, STRAIT_SCRATCH);
        check_alike(n);
        CU_ASSERT(distance(n, 1) < 2e-5);
    }
    make_gradient = NULL;
}

/* The first step sends the part of M along a drawn Q and keeps the rest E, of which the second
 * step, whose P spans U, sends all together with the new M: 2 M in two steps. */
static void acpsgd_gives_all_back(void)
{
    float *first = malloc(sizeof(gradients->out[0]));
    CU_ASSERT_FATAL(first != NULL);
    make_gradient = draw_low_rank;
    for (int n = 1; n <= 5; n++) {
        run_gradients(acpsgd, json_object(), n, STRAIT_SCRATCH);
        check_alike(n);
        memcpy(first, gradients->out[0], sizeof(gradients->out[0]));
        CU_ASSERT(distance(n, 1) > 0.1);
        run_gradients(acpsgd, json_pack("{s:i}", "/strategy/rounds", 2), n, STRAIT_SCRATCH);
        check_alike(n);
        for (size_t i = 0; i < ODD_ELEMS; i++)
            gradients->out[0][i] += first[i];
        CU_ASSERT(distance(n, 2) < 2e-5);
    }
    make_gradient = NULL;
    free(first);
}

/* --- what is refused ------------------------------------------------------------------------ */

static void refusals(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    json_t *json = json_loads(powersgd, 0, NULL);
    json_object_set_new(json, "codec", json_string("topk"));
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "x.json", json, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "x.json#/codec");
    CU_ASSERT(strstr(err.text, "expected \"none\"") != NULL);
    json_decref(json);
}

/* A profile that knows other codecs only: seven passes of memory, and one to decode. */
static void other_profiles(void)
{
    json_t *settings = json_pack("{s:i}", "/clients", 1);
    struct strait_outcome o = strait_outcome_of(powersgd, settings, "sz3-class", &strait_fluid,
                                                (struct strait_trial_options){0});
    const struct strait_model *m = o.experiment->model;
    const double expected =
        m->fwd_s + m->bwd_s + m->opt_s +
        (7 * 4.0 * MATRIX_ELEMS + 2 * 4.0 * PLAIN_ELEMS) / o.point->copy_bytes_per_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-12);
    strait_outcome_free(&o);
}

/* "codec": {"name": "none", "speed": 4}: what encodes and decodes takes a quarter; copies of
 * vectors and the rest take as long as before. */
static void faster(void)
{
    json_t *settings =
        json_pack("{s:i, s:{s:s, s:i}}", "/clients", 1, "/codec", "name", "none", "speed", 4);
    struct strait_outcome o = sized_run(powersgd, settings, 1);
    const struct strait_model *m = o.experiment->model;
    const double expected = m->fwd_s + m->bwd_s + m->opt_s +
                            coding_s(o.point, "powersgd", true, MATRICES, MATRIX_ELEMS) / 4 +
                            2 * 4.0 * PLAIN_ELEMS / o.point->copy_bytes_per_s;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected, 1e-12);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"bytes are two rings of 4 r (rows + columns) and the vectors, or one of half", bytes},
    {"PowerSGD is backward and two dependent all-reduces", powersgd_time},
    {"ACP-SGD sums buckets beside the backward pass", acpsgd_time},
    {"PowerSGD gives the mean of gradients of its rank back", powersgd_is_exact},
    {"ACP-SGD gives the mean back over two steps, by error feedback", acpsgd_gives_all_back},
    {"another codec is refused", refusals},
    {"a codec of four times the speed takes a quarter of its time", faster},
    {"a profile without low-rank codecs is charged as passes of memory", other_profiles},
};
STRAIT_SUITE("workloads/train/lowrank/lowrank_work", tests);
