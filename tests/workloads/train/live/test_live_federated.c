/* Real training in strategies with local steps, without compression: the run's model is that of the
 * published algorithm in double precision. */
#include <stdlib.h>
#include "tests/kit/live_world.h"

/* Round by round: the score that rank 0 logged, and that of w by hand. */
static void check_score(const struct live *o, int round, const struct bowl *b, const double *w)
{
    const struct strait_log *log = &o->trial->logs[0];
    const double score = bowl_score(b, w);
    CU_ASSERT_FATAL(round < (int)log->n_scored);
    CU_ASSERT_DOUBLE_EQUAL(log->scored[round].loss, score, LIVE_RATIO * score);
}

/* w += the mean of what it changes by on each worker. */
static void average(const struct bowl *b, double *w, int n_steps)
{
    double change[DIM], sum[DIM] = {0};
    for (int k = 0; k < WORKERS; k++) {
        bowl_change(b, k, change, w, n_steps);
        for (int i = 0; i < DIM; i++)
            sum[i] += change[i] / WORKERS;
    }
    for (int i = 0; i < DIM; i++)
        w[i] += sum[i];
}

static void fedavg(void)
{
    static const char *const forms[] = {
        "{\"name\":\"fedavg\",\"rounds\":5,\"local_steps\":3}",
        "{\"name\":\"fedavg\",\"rounds\":5,\"local_steps\":3,\"pieces\":4}",
        "{\"name\":\"fedavg\",\"rounds\":5,\"local_steps\":3,\"straggler_spread\":1}"};
    for (int form = 0; form < 3; form++) {
        struct live o;
        struct bowl b;
        double w[DIM] = {0};
        if (!live_run(&o, forms[form], "", &strait_fluid))
            return;
        bowl_of(&b, o.trial->learn);
        for (int round = 0; round < 5; round++) {
            average(&b, w, 3);
            check_score(&o, round, &b, w);
        }
        live_free(&o);
    }
}

/* Regions of ranks 1 and 2, and of rank 3 alone; two rounds in each for one of the server. */
static void hierfl(void)
{
    struct live o;
    struct bowl b;
    double w[DIM] = {0};
    if (!live_run(&o,
                  "{\"name\":\"hierfl\",\"rounds\":4,\"local_steps\":2,\"region_rounds\":2,"
                  "\"region_size\":2}",
                  "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    static const int first[] = {0, 2, 3}; /* workers of each region */
    for (int round = 0; round < 4; round++) {
        double next[DIM];
        memcpy(next, w, sizeof(w));
        for (int region = 0; region < 2; region++) {
            const int n = first[region + 1] - first[region];
            double v[DIM], change[DIM];
            memcpy(v, w, sizeof(w));
            for (int inner = 0; inner < 2; inner++) {
                double sum[DIM] = {0};
                for (int k = first[region]; k < first[region + 1]; k++) {
                    bowl_change(&b, k, change, v, 2);
                    for (int i = 0; i < DIM; i++)
                        sum[i] += change[i] / n;
                }
                for (int i = 0; i < DIM; i++)
                    v[i] += sum[i];
            }
            for (int i = 0; i < DIM; i++)
                next[i] += (v[i] - w[i]) * n / WORKERS;
        }
        memcpy(w, next, sizeof(w));
        check_score(&o, round, &b, w);
    }
    live_free(&o);
}

/* Workers keep their momentum over rounds. */
static void localsgd(void)
{
    struct live o;
    struct bowl b;
    double w[DIM] = {0}, m[WORKERS][DIM] = {{0}};
    if (!live_run(&o, "{\"name\":\"localsgd\",\"rounds\":5,\"local_steps\":3}", "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < 5; round++) {
        double sum[DIM] = {0}, v[DIM];
        for (int k = 0; k < WORKERS; k++) {
            memcpy(v, w, sizeof(v));
            bowl_train(&b, k, v, m[k], 3);
            for (int i = 0; i < DIM; i++)
                sum[i] += v[i] / WORKERS;
        }
        memcpy(w, sum, sizeof(w));
        check_score(&o, round, &b, w);
    }
    live_free(&o);
}

/* The outer Nesterov step with its published values, 0.7 and 0.9. */
static void outer_step(double *w, double *m, const double *g, int lo, int hi)
{
    for (int i = lo; i < hi; i++) {
        m[i] = 0.9 * m[i] + g[i];
        w[i] += 0.7 * (g[i] + 0.9 * m[i]);
    }
}

static void diloco(void)
{
    struct live o;
    struct bowl b;
    double w[DIM] = {0}, outer[DIM] = {0}, m[WORKERS][DIM] = {{0}};
    if (!live_run(&o, "{\"name\":\"diloco\",\"rounds\":5,\"local_steps\":3}", "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int round = 0; round < 5; round++) {
        double g[DIM] = {0}, v[DIM];
        for (int k = 0; k < WORKERS; k++) {
            memcpy(v, w, sizeof(v));
            bowl_train(&b, k, v, m[k], 3);
            for (int i = 0; i < DIM; i++)
                g[i] += (v[i] - w[i]) / WORKERS;
        }
        outer_step(w, outer, g, 0, DIM);
        check_score(&o, round, &b, w);
    }
    live_free(&o);
}

/* Two fragments of two layers, begun after inner steps 3 and 6 of 6; their outer steps are taken
 * two steps later, and half of the result is what the worker has by then. */
static void streaming_diloco(void)
{
    enum { INNER = 6, LATE = 2, ROUNDS = 4 };
    struct live o;
    struct bowl b;
    double global[DIM] = {0}, outer[DIM] = {0}, m[WORKERS][DIM] = {{0}};
    double local[WORKERS][DIM] = {{0}}, g[DIM] = {0};
    int due[2] = {-1, -1};
    if (!live_run(&o,
                  "{\"name\":\"streaming-diloco\",\"rounds\":4,\"local_steps\":6,\"fragments\":2,"
                  "\"overlap_steps\":2}",
                  "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    for (int step = 1; step <= ROUNDS * INNER; step++) {
        for (int k = 0; k < WORKERS; k++)
            bowl_train(&b, k, local[k], m[k], 1);
        for (int p = 0; p < 2; p++) {
            const int lo = p * DIM / 2, hi = lo + DIM / 2;
            if (step % INNER == (p + 1) * 3 % INNER) {
                due[p] = step + LATE;
                for (int i = lo; i < hi; i++)
                    g[i] = (local[0][i] + local[1][i] + local[2][i]) / WORKERS - global[i];
            }
            if (step != due[p])
                continue;
            outer_step(global, outer, g, lo, hi);
            for (int k = 0; k < WORKERS; k++)
                for (int i = lo; i < hi; i++)
                    local[k][i] = 0.5 * local[k][i] + 0.5 * global[i];
        }
        if (step % INNER == 0 && step < ROUNDS * INNER)
            check_score(&o, step / INNER - 1, &b, global);
    }
    outer_step(global, outer, g, DIM / 2, DIM); /* after the run: the last fragment's */
    check_score(&o, ROUNDS - 1, &b, global);
    live_free(&o);
}

/* --- how a run ends ----------------------------------------------------------------------- */

/* The first round at which the model is good enough is the last, on both simulators, whatever lanes
 * rank 0 has then. A late schedule shows the model of the round before. */
static void until(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    static const struct {
        const char *strategy;
        bool has_steps, is_late;
    } forms[] = {
        {"{\"name\":\"fedavg\",\"rounds\":50,\"local_steps\":3}", false, false},
        {"{\"name\":\"bsp\",\"rounds\":50}", true, false},
        {"{\"name\":\"wfbp\",\"rounds\":50}", true, false},
        {"{\"name\":\"ps\",\"rounds\":50,\"servers\":2}", true, false},
        {"{\"name\":\"grace\",\"rounds\":50}", true, false},
        {"{\"name\":\"fusion\",\"rounds\":50,\"style\":\"horovod\"}", true, false},
        {"{\"name\":\"acpsgd\",\"rounds\":50}", true, false},
        {"{\"name\":\"dear\",\"rounds\":50,\"fusion\":\"90 B\"}", true, true},
        {"{\"name\":\"bytescheduler\",\"rounds\":50,\"partition\":\"20 B\"}", true, true},
    };
    enum { N_FORMS = sizeof(forms) / sizeof(forms[0]) };
    for (int i = 0; i < 2 * N_FORMS; i++) {
        struct live o;
        struct bowl b;
        double w[DIM] = {0}, m[DIM] = {0};
        if (!live_run(&o, forms[i / 2].strategy, ",\"until\":{\"loss\":0.5}", backends[i % 2]))
            return;
        bowl_of(&b, o.trial->learn);
        size_t n = forms[i / 2].is_late ? 1 : 0;
        for (; bowl_score(&b, w) > 0.5; n++) {
            if (forms[i / 2].has_steps)
                bowl_step(&b, w, m);
            else
                average(&b, w, 3);
        }
        CU_ASSERT(n > 1 && n < 50);
        CU_ASSERT_EQUAL(o.trial->logs[0].n_scored, n);
        CU_ASSERT_EQUAL(o.trial->logs[0].n_of_kind[STRAIT_SPAN_ROUND], n);
        live_free(&o);
    }
}

/* Held-out examples: 1, in batches of 8 of the table, whose forward pass takes 4 ms. Rank 0 pays
 * that after each round but the last, whose end is the run's. */
static void charged(void)
{
    static const char *const forms[] = {"false", "true"};
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        struct live o;
        char training[128];
        snprintf(training, sizeof(training),
                 "{\"task\":\"quadratic\",\"dim\":40,\"eval\":{\"charge\":%s}}", forms[i]);
        const struct live_task task = {LIVE_QUADRATIC.model, training};
        if (!live_run_task(&o, task, "{\"name\":\"fedavg\",\"rounds\":4,\"local_steps\":3}", "",
                           &strait_fluid, 1))
            return;
        total_s[i] = o.trial->logs[0].total_s[STRAIT_SPAN_ROUND];
        live_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[1] - total_s[0], 3 * 0.004, 1e-9);
}

static void look(const struct strait_run *run, const struct strait_live *live)
{
    int *n_ends = run->watcher;
    *n_ends += live == NULL;
}

/* Who looks on is told of the end, and finds the last round and its score. */
static void watched(void)
{
    struct live o;
    struct strait_error err = {0};
    int n_ends = 0;
    CU_ASSERT_EQUAL_FATAL(live_try(&o, LIVE_QUADRATIC,
                                   "{\"name\":\"fedavg\",\"rounds\":4,\"local_steps\":3}", "",
                                   false, 1, &err),
                          0);
    o.trial->run.watch = look;
    o.trial->run.watcher = &n_ends;
    CU_ASSERT_EQUAL(strait_trial_run(o.trial, &strait_fluid, &err), 0);
    CU_ASSERT_EQUAL(n_ends, 1);
    CU_ASSERT_EQUAL(atomic_load(&o.trial->run.score->n_rounds), 4);
    CU_ASSERT(atomic_load(&o.trial->run.score->loss) == o.trial->logs[0].scored[3].loss);
    live_free(&o);
}

/* With a step of 1e6 a loss grows by 1e12 h^2 a step and is beyond a float's square soon. */
static void diverged(void)
{
    struct live o;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        live_try(&o, LIVE_QUADRATIC, "{\"name\":\"bsp\",\"rounds\":90}", "", false, 1, &err), 0);
    o.experiment->training.lr = 1e6;
    strait_trial_free(o.trial);
    const struct strait_trial_options options = {.real_payload = true};
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&o.trial, o.experiment, o.profile, &options, &err), 0);
    CU_ASSERT_EQUAL(strait_trial_run(o.trial, &strait_fluid, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, "round "));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, ", rank "));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "training diverged: the loss is "));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "with codec \"none\""));
    live_free(&o);
}

/* --- in order of arrival -------------------------------------------------------------------- */

enum { MAX_ARRIVALS = 16 };

/* Who sent the server what, in the order in which it took it, and with which version it began. */
static int arrivals(const struct live *o, int *worker, int *version)
{
    const struct strait_log *log = &o->trial->logs[0];
    int n = 0;
    for (size_t i = 0; i < log->n_spans && n < MAX_ARRIVALS; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_TRANSFER) {
            worker[n] = strait_spans_at(&log->spans, i).peer - 1;
            version[n++] = strait_spans_at(&log->spans, i).tag;
        }
    return n;
}

static void fedasync(void)
{
    struct live o;
    struct bowl b;
    double w[MAX_ARRIVALS + 1][DIM] = {{0}}; /* by version */
    int worker[MAX_ARRIVALS], version[MAX_ARRIVALS];
    if (!live_run(&o,
                  "{\"name\":\"fedasync\",\"rounds\":9,\"local_steps\":3,\"straggler_spread\":1}",
                  "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    const int n = arrivals(&o, worker, version);
    bool stale = false;
    CU_ASSERT_EQUAL_FATAL(n, 9);
    for (int k = 0; k < n; k++) {
        double change[DIM];
        const double *from = w[version[k]];
        const double alpha = 0.6 / sqrt(k - version[k] + 1); /* polynomial, a = 0.5 */
        stale |= k - version[k] > 2;
        bowl_change(&b, worker[k], change, from, 3);
        for (int i = 0; i < DIM; i++)
            w[k + 1][i] = (1 - alpha) * w[k][i] + alpha * (from[i] + change[i]);
        check_score(&o, k, &b, w[k + 1]);
    }
    CU_ASSERT_TRUE(stale); /* it is not the order of ranks in turn */
    live_free(&o);
}

static void fedbuff(void)
{
    struct live o;
    struct bowl b;
    double w[MAX_ARRIVALS + 1][DIM] = {{0}}, now[DIM] = {0};
    int worker[MAX_ARRIVALS], version[MAX_ARRIVALS];
    if (!live_run(&o,
                  "{\"name\":\"fedbuff\",\"rounds\":5,\"local_steps\":3,\"buffer\":2,"
                  "\"straggler_spread\":1}",
                  "", &strait_fluid))
        return;
    bowl_of(&b, o.trial->learn);
    const int n = arrivals(&o, worker, version);
    CU_ASSERT_EQUAL_FATAL(n, 10);
    for (int k = 0; k < n; k++) {
        double change[DIM];
        bowl_change(&b, worker[k], change, w[version[k]], 3);
        for (int i = 0; i < DIM; i++)
            now[i] += change[i] / 2 / sqrt(1 + k / 2 - version[k]);
        if (k % 2 == 0)
            continue;
        memcpy(w[k / 2 + 1], now, sizeof(now));
        check_score(&o, k / 2, &b, now);
    }
    live_free(&o);
}

static const struct strait_test tests[] = {
    {"federated averaging is the mean of local training", fedavg},
    {"regions average before the server does", hierfl},
    {"local SGD is the mean of workers that keep their momentum", localsgd},
    {"DiLoCo takes an outer Nesterov step along the mean change", diloco},
    {"streaming DiLoCo takes it fragment by fragment, some steps late", streaming_diloco},
    {"a run ends with the round that reaches its target", until},
    {"scores cost time where they are charged", charged},
    {"who looks on a run that trains sees how it goes", watched},
    {"training that diverges ends the run with the round, the rank and the codec", diverged},
    {"FedAsync mixes parameters in as they arrive", fedasync},
    {"FedBuff steps after every second update", fedbuff},
};
STRAIT_SUITE("workloads/train/live/live_federated", tests);
