/* For tests of real training: three workers on the task `quadratic`, each with curvatures and an
 * optimum of its own, and the same task in double precision to follow a strategy by hand. */
#pragma once
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "data.h"
#include "harness.h"
#include "learn/task.h"
#include "suite.h"

/* learn/quadratic.h */
double strait_quadratic_curvature(const struct strait_learn *l, int worker, size_t i);
double strait_quadratic_centre(const struct strait_learn *l, int worker, size_t i);

enum { WORKERS = 3, DIM = 40 };
#define LR       0.2
#define MOMENTUM 0.5

struct live {
    struct strait_experiment *experiment;
    struct strait_profile *profile;
    struct strait_trial *trial;
};

static inline void live_free(struct live *o)
{
    strait_trial_free(o->trial);
    strait_experiment_free(o->experiment);
    strait_profile_free(o->profile);
    *o = (struct live){0};
}

/* What is trained: a model's table and "training". */
struct live_task {
    const char *model, *training;
};
#define LIVE_QUADRATIC                                                                             \
    ((struct live_task){DATA("tests/data/quadratic.csv"),                                          \
                        "{\"task\":\"quadratic\",\"dim\":40,\"condition\":10,\"shift\":1,"         \
                        "\"skew\":0.5,\"batch\":8,\"lr\":0.2,\"momentum\":0.5}"})

/** Read an experiment of three clients and make it ready. In: strategy: its object; more: keys with
 *  a comma before each, or "". */
static inline int live_try(struct live *o, struct live_task task, const char *strategy,
                           const char *more, bool emulated, int n_threads, struct strait_error *err)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"seed\":5,\"clients\":3,"
             "\"strategy\":%s,\"network\":{\"client\":{\"rate\":\"10 Mbps\",\"rtt\":\"4 ms\"},"
             "\"server\":{\"rate\":\"10 Mbps\"}},\"training\":%s%s}",
             task.model, strategy, task.training, more);
    json_t *resolved = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(resolved);
    *o = (struct live){0};
    const struct strait_trial_options options = {
        .real_payload = true, .measured_cost = emulated, .n_threads = n_threads};
    const int failed = strait_profile_load(&o->profile, "default", err) != 0 ||
                       strait_experiment_read(&o->experiment, "test.json", resolved, err) != 0 ||
                       strait_trial_new(&o->trial, o->experiment, o->profile, &options, err) != 0;
    json_decref(resolved);
    return failed ? -1 : 0;
}

/** The same, and run it. False: this host cannot, and the test is skipped. */
static inline bool live_run_task(struct live *o, struct live_task task, const char *strategy,
                                 const char *more, const struct strait_backend *backend,
                                 int n_threads)
{
    struct strait_error err = {0};
    const bool emulated = backend == &strait_emu;
    if (live_try(o, task, strategy, more, emulated, n_threads, &err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", strategy, err.where, err.text);
        CU_FAIL_FATAL("it cannot be made ready");
    }
    if (emulated && strait_trial_check(o->trial, backend, &err) != 0) {
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        strait_test_skip(err.text);
        live_free(o);
        return false;
    }
    if (strait_trial_run(o->trial, backend, &err) != 0) {
        fprintf(stderr, "%s on %s: %s: %s\n", strategy, backend->name, err.where, err.text);
        CU_FAIL_FATAL("it does not run");
    }
    return true;
}

static inline bool live_run(struct live *o, const char *strategy, const char *more,
                            const struct strait_backend *backend)
{
    return live_run_task(o, LIVE_QUADRATIC, strategy, more, backend, 2);
}

/* It cannot be made ready, and the error has this part. */
static inline void live_refuses(const char *strategy, const char *more, const char *part)
{
    struct strait_error err = {0};
    struct live o;
    CU_ASSERT_EQUAL(live_try(&o, LIVE_QUADRATIC, strategy, more, false, 1, &err), -1);
    CU_ASSERT_CONTAINS(err.text, part);
    live_free(&o);
}

/** The same with the task's vectors as matrices of two rows, so that codecs see them ("cutoff" 0 of
 *  the codec): vectors are sent lossless. */
static inline bool live_run_coded(struct live *o, const char *strategy, const char *more)
{
    struct strait_error err = {0};
    if (live_try(o, LIVE_QUADRATIC, strategy, more, false, 2, &err) != 0) {
        fprintf(stderr, "%s: %s: %s\n", strategy, err.where, err.text);
        CU_FAIL_FATAL("it cannot be made ready");
    }
    struct strait_model *m = o->experiment->model;
    for (size_t i = 0; i < m->n_rows; i++) {
        m->rows[i].n_dims = 2;
        m->rows[i].shape[1] = m->rows[i].shape[0] / 2;
        m->rows[i].shape[0] = 2;
    }
    CU_ASSERT_EQUAL(strait_trial_run(o->trial, &strait_fluid, &err), 0);
    if (err.code != STRAIT_OK)
        fprintf(stderr, "%s: %s: %s\n", strategy, err.where, err.text);
    return err.code == STRAIT_OK;
}

/* The task in double precision; curvature h and centre c of each worker. */
struct bowl {
    double h[WORKERS][DIM], c[WORKERS][DIM], mean_h[DIM], best[DIM];
};

static inline void bowl_of(struct bowl *b, const struct strait_learn *l)
{
    memset(b, 0, sizeof(*b));
    for (int i = 0; i < DIM; i++) {
        for (int k = 0; k < WORKERS; k++) {
            b->h[k][i] = strait_quadratic_curvature(l, k, (size_t)i);
            b->c[k][i] = strait_quadratic_centre(l, k, (size_t)i);
            b->mean_h[i] += b->h[k][i] / WORKERS;
            b->best[i] += b->h[k][i] * b->c[k][i] / WORKERS;
        }
        b->best[i] /= b->mean_h[i];
    }
}

/** How far the mean loss at w is above its least. */
static inline double bowl_score(const struct bowl *b, const double *w)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += 0.5 * b->mean_h[i] * (w[i] - b->best[i]) * (w[i] - b->best[i]);
    return sum;
}

/** n_steps of SGD with momentum m on one worker, in place. */
static inline void bowl_train(const struct bowl *b, int worker, double *w, double *m, int n_steps)
{
    for (int step = 0; step < n_steps; step++)
        for (int i = 0; i < DIM; i++) {
            m[i] = MOMENTUM * m[i] + b->h[worker][i] * (w[i] - b->c[worker][i]);
            w[i] -= LR * m[i];
        }
}

/** One step of all together, along the mean gradient. */
static inline void bowl_step(const struct bowl *b, double *w, double *m)
{
    for (int i = 0; i < DIM; i++) {
        double g = 0;
        for (int k = 0; k < WORKERS; k++)
            g += b->h[k][i] * (w[i] - b->c[k][i]) / WORKERS;
        m[i] = MOMENTUM * m[i] + g;
        w[i] -= LR * m[i];
    }
}

/** By what a worker's w changes in n_steps from `from`, with an optimiser that begins anew. */
static inline void bowl_change(const struct bowl *b, int worker, double *change, const double *from,
                               int n_steps)
{
    double m[DIM] = {0};
    memcpy(change, from, DIM * sizeof(*change));
    bowl_train(b, worker, change, m, n_steps);
    for (int i = 0; i < DIM; i++)
        change[i] -= from[i];
}

/* Floats have 24 bits: a score sums 40 squares of differences of numbers around 1, after some
 * hundred roundings each. */
#define LIVE_RATIO 1e-5
