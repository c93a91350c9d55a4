/* Keys: every number that determines a row changes them, each by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"
#include "workloads/rates/jitter.h"
#include "workloads/rates/schedule.h"

/* A point whose model, ports and curves lie in here: two ranks, of which rank 1's port changes its
 * rate. */
struct world {
    struct strait_experiment experiment;
    struct strait_model model;
    struct strait_param_row table[2];
    struct strait_network network;
    struct strait_link out[2], in[2];
    struct strait_schedule schedules[2];
    struct strait_jitter jitters[2];
    double steps[2][4], jitter[2][2], slowness[2], curves[4][2];
    struct strait_trial trial;
};

static void set_up(struct world *w)
{
    *w = (struct world){.slowness = {1, 2},
                        .steps = {{0, 1, 5, 6}, {0, 2, 7, 8}},
                        .jitter = {{1, 2}, {3, 4}},
                        .curves = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}};
    w->model.rows = w->table;
    w->model.n_rows = 2;
    for (int i = 0; i < 2; i++) {
        w->schedules[i] = (struct strait_schedule){.next = i == 0 ? &w->schedules[1] : NULL,
                                                   .n = 2,
                                                   .at_s = w->steps[i],
                                                   .bits_per_s = w->steps[i] + 2,
                                                   .period_s = 10};
        w->jitters[i] = (struct strait_jitter){
            .next = i == 0 ? &w->jitters[1] : NULL, .n = 2, .x = w->jitter[i]};
    }
    w->out[1].schedule = &w->schedules[0];
    w->network = (struct strait_network){.n_ranks = 2,
                                         .out = w->out,
                                         .in = w->in,
                                         .schedules = &w->schedules[0],
                                         .jitters = &w->jitters[0]};
    w->experiment = (struct strait_experiment){.model = &w->model,
                                               .network = &w->network,
                                               .slowness = w->slowness,
                                               .n_slowness = 2,
                                               .link.gather = {w->curves[0], w->curves[1], 2},
                                               .inverse_s = {w->curves[2], w->curves[3], 2}};
    w->trial.experiment = &w->experiment;
}

/* Whether the files' hash is another one after *number has been changed, which is undone. */
static bool counts(struct world *w, double *number)
{
    char before[STRAIT_KEY_CHARS], after[STRAIT_KEY_CHARS];
    const double old = *number;
    CU_ASSERT_PTR_NOT_NULL_FATAL(strait_row_files_hash(before, &w->trial));
    *number += 0.5;
    CU_ASSERT_PTR_NOT_NULL_FATAL(strait_row_files_hash(after, &w->trial));
    *number = old;
    return strcmp(before, after) != 0;
}

static void files(void)
{
    struct world w;
    set_up(&w);
    double *const numbers[] = {
        &w.steps[0][1],           &w.steps[0][3],           &w.steps[1][1],  &w.steps[1][3],
        &w.schedules[0].period_s, &w.schedules[1].period_s, &w.jitter[0][0], &w.jitter[0][1],
        &w.jitter[1][0],          &w.jitter[1][1],          &w.slowness[0],  &w.slowness[1],
        &w.curves[0][0],          &w.curves[0][1],          &w.curves[1][0], &w.curves[1][1],
        &w.curves[2][0],          &w.curves[2][1],          &w.curves[3][0], &w.curves[3][1]};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        strait_test_context("number %zu", i);
        CU_ASSERT_TRUE(counts(&w, numbers[i]));
    }
    /* and what is not there does not */
    w.experiment.n_slowness = 1;
    CU_ASSERT_FALSE(counts(&w, &w.slowness[1]));
    w.out[1].schedule = NULL;
    CU_ASSERT_FALSE(counts(&w, &w.steps[0][1]));
    w.experiment.inverse_s.n = 0;
    CU_ASSERT_FALSE(counts(&w, &w.curves[2][0]));
}

/* Curves of two kinds with the same numbers are not the same: each has its name. */
static void exchanged(void)
{
    struct world w;
    char one[STRAIT_KEY_CHARS], other[STRAIT_KEY_CHARS];
    set_up(&w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(strait_row_files_hash(one, &w.trial));
    const struct strait_measured gather = w.experiment.link.gather;
    w.experiment.link.gather = w.experiment.inverse_s;
    w.experiment.inverse_s = gather;
    CU_ASSERT_PTR_NOT_NULL_FATAL(strait_row_files_hash(other, &w.trial));
    CU_ASSERT_STRING_NOT_EQUAL(one, other);
}

static void model(void)
{
    struct world w;
    char base[STRAIT_KEY_CHARS], key[STRAIT_KEY_CHARS];
    set_up(&w);
    strait_row_model_hash(base, &w.model);
    struct strait_param_row *const last = &w.table[1];
    double *const times[] = {&last->fwd_s_p50, &last->fwd_s_p90,   &last->bwd_s_p50,
                             &last->bwd_s_p90, &last->ready_s_p50, &w.table[0].fwd_s_p50,
                             &w.model.fwd_s,   &w.model.bwd_s,     &w.model.opt_s};
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        *times[i] = 1;
        strait_test_context("time %zu", i);
        CU_ASSERT_STRING_NOT_EQUAL(strait_row_model_hash(key, &w.model), base);
        *times[i] = 0;
    }
    size_t *const sizes[] = {&last->layer_index, &last->n_elems, &last->ready_order,
                             &w.model.n_elems};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        *sizes[i] = 1;
        strait_test_context("size %zu", i);
        CU_ASSERT_STRING_NOT_EQUAL(strait_row_model_hash(key, &w.model), base);
        *sizes[i] = 0;
    }
    last->n_dims = 1;
    CU_ASSERT_STRING_NOT_EQUAL(strait_row_model_hash(key, &w.model), base);
    last->n_dims = 0;
    w.model.batch = 1;
    CU_ASSERT_STRING_NOT_EQUAL(strait_row_model_hash(key, &w.model), base);
    w.model.batch = 0;
    w.model.on_cpu = true;
    CU_ASSERT_STRING_NOT_EQUAL(strait_row_model_hash(key, &w.model), base);
    w.model.on_cpu = false;
    CU_ASSERT_STRING_EQUAL(strait_row_model_hash(key, &w.model), base);
}

/* What not every run has; no two of them are taken for each other. */
static void inputs(void)
{
    enum { N = 14 };
    struct world w;
    char keys[N][STRAIT_KEY_CHARS];
    set_up(&w);
    json_t *point = json_object();
    struct strait_row_inputs in[N];
    for (int i = 0; i < N; i++)
        in[i] = (struct strait_row_inputs){
            .resolved = point, .backend = "emu", .profile = "p", .program = "x", .trial = &w.trial};
    in[1].timing = "x";
    in[2].check = true;
    in[3].every_round = true;
    in[4].learned = "x";
    in[5].realisation = "x";
    in[6].launcher = "x";
    in[7].tensors = "x";
    in[8].machine = "x";
    in[9].control = "x";
    in[10].repeat = 1;
    in[11].dilation = 2;
    in[12].profile = NULL;
    in[13].sizes = "x";
    for (int i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(strait_row_key(keys[i], &in[i], NULL), 0);
        for (int k = 0; k < i; k++) {
            strait_test_context("inputs %d and %d", k, i);
            CU_ASSERT_STRING_NOT_EQUAL(keys[i], keys[k]);
        }
    }
    json_decref(point);
}

/* A folder of one tensor of two values: as they are, changed, and told of another step. */
static void tensors(void)
{
    static const char manifest[] =
        "{\"format\": \"raw float32 little-endian, C order\", \"tensors\": [{\"file\": \"t.f32\", "
        "\"model\": \"m\", \"layer\": \"l\", \"kind\": \"grad\", \"step\": %d, \"shape\": [2], "
        "\"dtype\": \"f32le\", \"n\": 2, \"min\": 1, \"max\": 2, \"rms\": 1, \"zeros\": 0}]}";
    static const struct {
        float last;
        int step;
    } cases[] = {{2, 1}, {2, 1}, {3, 1}, {2, 2}};
    char keys[4][STRAIT_KEY_CHARS];
    for (int i = 0; i < 4; i++) {
        char folder[] = "/tmp/strait-row-XXXXXX", path[64];
        struct strait_error err = {0};
        const float values[2] = {1, cases[i].last};
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/t.f32", folder);
        FILE *out = fopen(path, "we");
        CU_ASSERT_FATAL(out && fwrite(values, sizeof(values), 1, out) == 1 && fclose(out) == 0);
        snprintf(path, sizeof(path), "%s/manifest.json", folder);
        out = fopen(path, "we");
        CU_ASSERT_FATAL(out && fprintf(out, manifest, cases[i].step) > 0 && fclose(out) == 0);
        CU_ASSERT_EQUAL(strait_row_tensors_hash(keys[i], folder, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        folder_remove(folder);
    }
    CU_ASSERT_STRING_EQUAL(keys[0], keys[1]);
    CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[2]);
    CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[3]);
}

static const struct strait_test tests[] = {
    {"every number of a file that a point names counts", files},
    {"curves do not stand for each other", exchanged},
    {"every number of a model's table counts", model},
    {"all that a run was asked for counts", inputs},
    {"every recorded value counts", tensors},
};
STRAIT_SUITE("analysis/row_key", tests);
