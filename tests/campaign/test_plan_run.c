/* Rows of tasks: the interval of a prediction, and what marks a reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/breakeven.h"
#include "analysis/row.h"
#include "campaign/backends.h"
#include "campaign/plan.h"
#include "core/shipped.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static char folder[64];

static void write_text(char path[128], const char *name, const char *text)
{
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    CU_ASSERT_FATAL(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

#define SPREAD(key, one)                                                                           \
    "{\"" key "\": " one ", \"p10\": " one ", \"p50\": " one ", \"p90\": " one "}"
#define ONES   SPREAD("aggregate", "1")
#define SPEEDS SPREAD("speed", "\"1 GB/s\"")

/* A profile of one codec, and of the stage behind it: ratio, and MB a second of encoding and of
 * decoding; measured, with half and twice of each as quantiles, or stated. */
static struct strait_profile *profile_of(int ratio, int encode, int decode, bool stated)
{
    char text[2000], path[128], spread[3][160] = {"", "", ""};
    struct strait_profile *p = NULL;
    struct strait_error err = {0};
    if (!stated) {
        snprintf(spread[0], 160, ", \"p10\": %g, \"p50\": %d, \"p90\": %d", ratio / 2.0, ratio,
                 2 * ratio);
        snprintf(spread[1], 160,
                 ", \"fixed\": \"0 s\", \"p10\": \"%g MB/s\", \"p50\": \"%d MB/s\", \"p90\": \"%d "
                 "MB/s\"",
                 encode / 2.0, encode, 2 * encode);
        snprintf(spread[2], 160,
                 ", \"fixed\": \"0 s\", \"p10\": \"%g MB/s\", \"p50\": \"%d MB/s\", \"p90\": \"%d "
                 "MB/s\"",
                 decode / 2.0, decode, 2 * decode);
    }
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-profile/1\", \"title\": \"t\", \"machine\": \"m\", \"date\": "
             "\"2026-01-01\", \"version\": \"1\", \"source\": \"s\", \"stated\": %s, \"add\": \"10 "
             "GB/s\", \"copy\": \"10 GB/s\", \"entries\": [{\"codec\": \"sz\", \"bound\": "
             "{\"range\": 1e-3}, \"kind\": \"any\", \"ratio\": {\"aggregate\": %d%s}, \"encode\": "
             "{\"speed\": \"%d MB/s\"%s}, \"decode\": {\"speed\": \"%d MB/s\"%s}}, {\"codec\": "
             "\"zstd\", \"kind\": \"any\", \"ratio\": " ONES ", \"encode\": " SPEEDS
             ", \"decode\": " SPEEDS "}]}",
             stated ? "true" : "false", ratio, spread[0], encode, spread[1], decode, spread[2]);
    write_text(path, "p.json", text);
    const int status = strait_profile_load(&p, path, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(status, 0);
    return p;
}

static const char plain[] = "\"none\"", sz[] = "{\"name\": \"sz\", \"bound\": {\"range\": 1e-3}}";

/* The row of a task of one point: the first, or the last where that is its reference. */
static json_t *row_of(const struct strait_profile *profile, const char *up, const char *down,
                      bool reference)
{
    char text[1024], path[128];
    struct strait_sweep *sweep;
    struct strait_error err = {0};
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
             " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\": %s,"
             " \"download_codec\": %s, \"network\": {\"client\": {\"rate\": \"100 Mbps\"},"
             " \"server\": {\"rate\": \"1 Gbps\"}}}",
             up, down);
    write_text(path, "e.json", text);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
    struct strait_plan plan = {.setup = {.file = sweep->file, .profile = profile}};
    CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&plan.setup, &err), 0);
    CU_ASSERT_EQUAL(strait_plan_add(&plan, sweep, &strait_fluid, 1, reference, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    json_t *row = strait_plan_run_task(&plan, plan.n_tasks - 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    return row;
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static double end_of(const json_t *row, const char *group, const char *key, size_t i)
{
    const json_t *ends = json_object_get(group ? json_object_get(row, group) : row, key);
    CU_ASSERT_EQUAL_FATAL(json_array_size(ends), 2);
    return json_number_value(json_array_get(ends, i));
}

/* With the quantiles half and twice of each figure, the codec's part of the interval is what stated
 * profiles with these figures predict: its quick end first. The whole holds it and the spread of
 * the model's recorded steps, which is there with a stated profile too. */
static void interval_of(const char *up, const char *down)
{
    struct strait_profile *measured = profile_of(8, 100, 200, false),
                          *quick = profile_of(16, 200, 400, true),
                          *slow = profile_of(4, 50, 100, true);
    json_t *row = row_of(measured, up, down, false), *first = row_of(quick, up, down, false),
           *last = row_of(slow, up, down, false);
    const double quick_s = number(first, "round_s"), slow_s = number(last, "round_s");
    CU_ASSERT_DOUBLE_EQUAL(end_of(row, "uncertainty", "codec_s", 0), quick_s, 1e-6 * quick_s);
    CU_ASSERT_DOUBLE_EQUAL(end_of(row, "uncertainty", "codec_s", 1), slow_s, 1e-6 * slow_s);
    CU_ASSERT(quick_s < number(row, "round_s") && number(row, "round_s") < slow_s);
    CU_ASSERT(end_of(row, NULL, "interval_s", 0) < quick_s);
    CU_ASSERT(end_of(row, NULL, "interval_s", 1) > slow_s);
    const json_t *stated = json_object_get(first, "uncertainty");
    CU_ASSERT_TRUE(json_is_null(json_object_get(stated, "codec_s")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(stated, "draws_s")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(stated, "model"))); /* no table was given */
    const double both = end_of(first, "uncertainty", "compute_s", 1);
    CU_ASSERT_DOUBLE_EQUAL(end_of(first, NULL, "interval_s", 1), both, 1e-9);
    /* of two rounds together: the fixture runs two */
    CU_ASSERT_DOUBLE_EQUAL(end_of(first, NULL, "total_interval_s", 1),
                           both / quick_s * number(first, "total_s"), 1e-9);
    json_decref(row);
    json_decref(first);
    json_decref(last);
    strait_profile_free(measured);
    strait_profile_free(quick);
    strait_profile_free(slow);
}

static void intervals(void)
{
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    interval_of(sz, plain);
    interval_of(plain, sz);
    interval_of(sz, sz);
    folder_remove(folder);
}

/* Beside a round without codec that is twice as long, the codec pays as it is: its quick end says
 * nothing more and is left out. Beside one of half the length its slow end is. What pays at either
 * end is what it is with both. */
static void ends_that_matter(void)
{
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct strait_profile *profile = profile_of(8, 100, 200, false);
    const struct strait_plan_setup setup = {.file = "e.json", .profile = profile};
    struct strait_plan_times all = {0};
    struct strait_error err = {0};
    json_t *point = json_loads("{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\","
                               " \"clients\": 2, \"strategy\": {\"name\": \"fedavg\", \"rounds\":"
                               " 2}, \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
                               " \"network\": {\"client\": {\"rate\": \"100 Mbps\"}, \"server\":"
                               " {\"rate\": \"1 Gbps\"}}}",
                               0, NULL);
    CU_ASSERT_EQUAL_FATAL(strait_plan_times(&all, &setup, point, NULL, &err), 0);
    CU_ASSERT(all.quick_s < all.round_s && all.round_s < all.slow_s);
    for (int longer = 0; longer < 2; longer++) {
        struct strait_plan_times with = {0}, without = all;
        without.round_s = all.round_s * (longer ? 2 : 0.5);
        CU_ASSERT_EQUAL_FATAL(strait_plan_times(&with, &setup, point, &without, &err), 0);
        CU_ASSERT_EQUAL(with.quick_s, longer ? all.round_s : all.quick_s);
        CU_ASSERT_EQUAL(with.slow_s, longer ? all.slow_s : all.round_s);
        for (int end = -1; end <= 1; end++) {
            double with_s[2], without_s[2];
            strait_plan_times_at(&with_s[0], &without_s[0], &with, &without, end);
            strait_plan_times_at(&with_s[1], &without_s[1], &all, &without, end);
            CU_ASSERT_EQUAL(strait_breakeven_pays(with_s[0], without_s[0]),
                            strait_breakeven_pays(with_s[1], without_s[1]));
        }
    }
    json_decref(point);
    strait_profile_free(profile);
    folder_remove(folder);
}

static void expect_same(const struct strait_plan_times *a, const struct strait_plan_times *b)
{
    CU_ASSERT_EQUAL(a->round_s, b->round_s);
    CU_ASSERT_EQUAL(a->network_s, b->network_s);
    CU_ASSERT_EQUAL(a->quick_s, b->quick_s);
    CU_ASSERT_EQUAL(a->slow_s, b->slow_s);
    CU_ASSERT_EQUAL(a->low_factor, b->low_factor);
    CU_ASSERT_EQUAL(a->high_factor, b->high_factor);
}

/* As a row comes from a worker or a file: through text. */
static json_t *read_again(json_t *row)
{
    char *text = json_dumps(row, JSON_COMPACT);
    json_t *again = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    json_decref(row);
    free(text);
    return again;
}

/* What simulations find for a break-even, the row of the same point says to the last digit. */
static void times_of_rows(void)
{
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct strait_profile *profile = profile_of(8, 100, 200, false);
    struct strait_sweep *sweep;
    struct strait_learned learned;
    struct strait_error err = {0};
    char path[128], table[4096];
    json_t *rows[2];
    struct strait_plan_times simulated[2], said[2];
    write_text(path, "e.json",
               "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 3,"
               " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 3}, \"codec\": {\"name\":"
               " \"sz\", \"bound\": {\"range\": 1e-3}}, \"network\": {\"client\": {\"rate\":"
               " \"70 Mbps\", \"rtt\": \"7 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}}}");
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
    strait_share_path(table, sizeof(table), STRAIT_LEARNED_FILE);
    CU_ASSERT_EQUAL_FATAL(strait_learned_load(&learned, table, &err), 0);
    struct strait_plan plan = {
        .setup = {.file = sweep->file, .profile = profile, .learned = &learned}};
    CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&plan.setup, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(&plan, sweep, &strait_fluid, 1, true, &err), 0);
    CU_ASSERT_EQUAL_FATAL(plan.n_tasks, 2); /* with its codec, and without */
    for (size_t i = 0; i < 2; i++) {
        const json_t *resolved = plan.tasks[i].resolved;
        rows[i] = read_again(strait_plan_run_task(&plan, i, &err));
        CU_ASSERT_TRUE(strait_plan_row_has_times(&plan.setup, rows[i]));
        CU_ASSERT_EQUAL(strait_plan_times(&simulated[i], &plan.setup, resolved, NULL, &err), 0);
        CU_ASSERT_EQUAL(
            strait_plan_times_of_row(&said[i], &plan.setup, resolved, rows[i], NULL, &err), 0);
        expect_same(&said[i], &simulated[i]);
    }
    CU_ASSERT(said[0].quick_s < said[0].round_s && said[0].low_factor < 1);
    const json_t *resolved = plan.tasks[0].resolved;
    struct strait_plan_times without = simulated[1];
    for (int longer = 0; longer < 2; longer++) { /* one end of the two is left out */
        without.round_s = said[1].round_s * (longer ? 20 : 0.05);
        CU_ASSERT_EQUAL(strait_plan_times(&simulated[0], &plan.setup, resolved, &without, &err), 0);
        CU_ASSERT_EQUAL(
            strait_plan_times_of_row(&said[0], &plan.setup, resolved, rows[0], &without, &err), 0);
        expect_same(&said[0], &simulated[0]);
        CU_ASSERT_EQUAL((longer ? said[0].quick_s : said[0].slow_s), said[0].round_s);
    }
    /* Rows of other runs do not: each round simulated, sizes of what is sent, real training. */
    plan.setup.every_round = true;
    CU_ASSERT_FALSE(strait_plan_row_has_times(&plan.setup, rows[0]));
    plan.setup.every_round = false;
    plan.setup.sends_sizes = true;
    CU_ASSERT_FALSE(strait_plan_row_has_times(&plan.setup, rows[0]));
    plan.setup.sends_sizes = false;
    json_object_set_new(rows[0], "training", json_object());
    CU_ASSERT_FALSE(strait_plan_row_has_times(&plan.setup, rows[0]));
    json_decref(rows[0]);
    json_decref(rows[1]);
    strait_learned_release(&learned);
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    strait_profile_free(profile);
    folder_remove(folder);
}

static void references(void)
{
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct strait_profile *p = profile_of(8, 100, 200, false);
    json_t *with = row_of(p, sz, plain, false), *without = row_of(p, sz, plain, true);
    CU_ASSERT_PTR_NULL(json_object_get(with, "reference"));
    CU_ASSERT_TRUE(json_is_true(json_object_get(without, "reference")));
    const json_t *parts = json_object_get(without, "uncertainty");
    CU_ASSERT_TRUE(json_is_null(json_object_get(parts, "codec_s"))); /* nothing to vary */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(with, "backend")), "fluid");
    CU_ASSERT_TRUE(json_is_null(json_object_get(with, "machine"))); /* of no machine */
    CU_ASSERT_TRUE(json_is_object(json_object_get(with, "facts_constants")));
    CU_ASSERT_PTR_NULL(json_object_get(with, "invalid_before"));
    json_decref(with);
    json_decref(without);
    strait_profile_free(p);
    folder_remove(folder);
}

/* Losses are drawn: the row's own draw lies between the ends of all of them, and another seed's
 * losses fall elsewhere. Without loss nothing is drawn, and packets are tried on other rates. */
static void draws(void)
{
    static const char *const losses[] = {"0 %", "1 %", "0 %"};
    char text[1024], path[128];
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    struct strait_profile *p = profile_of(8, 100, 200, true);
    for (int i = 0; i < 3; i++) {
        struct strait_sweep *sweep;
        struct strait_error err = {0};
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
                 " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\": \"none\","
                 " \"network\": {\"client\": {\"rate\": \"50 Mbps\", \"rtt\": \"20 ms\","
                 " \"loss\": \"%s\"}, \"server\": {\"rate\": \"1 Gbps\"}%s}}",
                 losses[i], i == 2 ? ", \"detail\": \"packets\"" : "");
        write_text(path, "e.json", text);
        CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
        struct strait_plan plan = {.setup = {.file = sweep->file, .profile = p}};
        CU_ASSERT_EQUAL(strait_plan_add(&plan, sweep, &strait_fluid, 1, false, &err), 0);
        json_t *row = strait_plan_run_task(&plan, 0, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        const json_t *parts = json_object_get(row, "uncertainty");
        if (i != 1) {
            CU_ASSERT_TRUE(json_is_null(json_object_get(parts, "draws_s")));
            CU_ASSERT_TRUE(json_is_null(json_object_get(parts, "other_draws_s")));
            CU_ASSERT_EQUAL(json_is_array(json_object_get(parts, "edges_s")), i == 2);
            CU_ASSERT_EQUAL(json_is_array(json_object_get(parts, "order_s")), i == 2);
        } else {
            CU_ASSERT_EQUAL(json_array_size(json_object_get(parts, "other_draws_s")), 8);
            CU_ASSERT_TRUE(json_is_null(json_object_get(parts, "edges_s")));
            CU_ASSERT_PTR_NULL(json_object_get(parts, "order_s"));
            CU_ASSERT(end_of(row, "uncertainty", "draws_s", 0) <= number(row, "round_s"));
            CU_ASSERT(end_of(row, "uncertainty", "draws_s", 1) >= number(row, "round_s"));
            CU_ASSERT(end_of(row, "uncertainty", "draws_s", 1) >
                      1.01 * end_of(row, "uncertainty", "draws_s", 0));
        }
        json_decref(row);
        strait_plan_release(&plan);
        strait_sweep_free(sweep);
    }
    strait_profile_free(p);
    folder_remove(folder);
}

/* WFBP where all that a round waits for are its calls: cnn's 8 tensors after backward at a launch
 * of 100 ms each, on a network that adds next to nothing. An error of 10 ms moves them by 1.645 x
 * 10 % either way; without a figure nothing moves. */
static void constants(void)
{
    static const char *const errors[] = {"10 ms: why", "not known"};
    char text[1024], path[128], name[128];
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        struct strait_sweep *sweep;
        struct strait_error err = {0};
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-software/1\", \"title\": \"s\", \"software\": "
                 "{\"constants\": {\"launch\": \"100 ms\"}}, \"sources\": {\"launch\": {"
                 "\"source\": \"s\", \"model\": \"cnn\", \"device\": \"d\", \"figures\": 2,"
                 " \"error\": \"%s\", \"reach\": \"all\"}}}",
                 errors[i]);
        write_text(name, "s.json", text);
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
                 " \"strategy\": {\"name\": \"wfbp\", \"rounds\": 2}, \"codec\": \"none\","
                 " \"network\": {\"client\": {\"rate\": \"40 Gbps\"}}, \"software\": \"%s\"}",
                 name);
        write_text(path, "e.json", text);
        CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
        struct strait_profile *p = profile_of(8, 100, 200, true);
        struct strait_plan plan = {.setup = {.file = sweep->file, .profile = p}};
        CU_ASSERT_EQUAL(strait_plan_add(&plan, sweep, &strait_fluid, 1, false, &err), 0);
        json_t *row = strait_plan_run_task(&plan, 0, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        if (i == 0)
            CU_ASSERT_DOUBLE_EQUAL(end_of(row, "uncertainty", "constants_s", 1) /
                                       number(row, "round_s"),
                                   1.1645, 0.003);
        else
            CU_ASSERT_PTR_NULL(json_object_get(json_object_get(row, "uncertainty"), "constants_s"));
        json_decref(row);
        strait_plan_release(&plan);
        strait_profile_free(p);
        strait_sweep_free(sweep);
    }
    folder_remove(folder);
}

/* 10 MB between two ranks of Open MPI: 2 (n - 1) / n of it each way in segments of 1448 of 1538
 * bytes, both ways at once or one after the other, six delays of 5 ms, and a step of 50 ms; in the
 * first of five rounds connections open, two round trips, and ranks are up to 10 ms late. Chance
 * decides which, so the interval spans both; where ranks are said to be never late it does not. */
static void both_states(void)
{
    const double one_way_s = 10e6 * 8 * 1538 / 1448 / 200e6,
                 rest_s = 0.03 + 0.05 + (0.01 + 0.01) / 5;
    char text[512], path[128];
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int never = 0; never < 2; never++) {
        struct strait_sweep *sweep;
        struct strait_error err = {0};
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-experiment/1\", \"clients\": 2, \"codec\": \"none\","
                 " \"model\": {\"params\": \"2.5 M\", \"step\": \"50 ms\"},"
                 " \"strategy\": {\"name\": \"bsp\", \"collective\": \"open_mpi\"%s},"
                 " \"network\": {\"client\": {\"rate\": \"200 Mbps\", \"rtt\": \"5 ms\"}}}",
                 never ? ", \"skew\": \"0 s\"" : "");
        write_text(path, "e.json", text);
        CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
        struct strait_profile *p = profile_of(8, 100, 200, true);
        struct strait_plan plan = {.setup = {.file = sweep->file, .profile = p}};
        CU_ASSERT_EQUAL(strait_plan_add(&plan, sweep, &strait_fluid, 1, false, &err), 0);
        json_t *row = strait_plan_run_task(&plan, 0, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        if (never) {
            CU_ASSERT_PTR_NULL(json_object_get(json_object_get(row, "uncertainty"), "constants_s"));
        } else {
            const double at_once_s = one_way_s + rest_s, in_turn_s = 2 * one_way_s + rest_s;
            CU_ASSERT_DOUBLE_EQUAL(end_of(row, "uncertainty", "constants_s", 0), at_once_s,
                                   0.05 * at_once_s);
            CU_ASSERT_DOUBLE_EQUAL(end_of(row, "uncertainty", "constants_s", 1), in_turn_s,
                                   0.05 * in_turn_s);
        }
        json_decref(row);
        strait_plan_release(&plan);
        strait_profile_free(p);
        strait_sweep_free(sweep);
    }
    folder_remove(folder);
}

static bool says(const json_t *row, const char *words)
{
    size_t i;
    json_t *text;
    json_array_foreach (json_object_get(row, "approximations"), i, text)
        if (strstr(json_string_value(text), words))
            return true;
    return false;
}

static json_t *row_of_sizes(struct strait_plan *plan, const char *experiment, bool sends)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    char path[128];
    write_text(path, "x.json", experiment);
    plan->setup.sends_sizes = sends;
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&sweep, path, NULL, 0, &err), 0);
    plan->setup.file = sweep->file;
    CU_ASSERT_EQUAL_FATAL(strait_plan_add(plan, sweep, &strait_fluid, 1, false, &err), 0);
    json_t *row = strait_plan_run_task(plan, plan->n_tasks - 1, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    strait_sweep_free(sweep);
    return row;
}

static json_int_t payload_of(const json_t *row)
{
    return json_integer_value(json_object_get(json_object_get(row, "bytes"), "payload"));
}

/* A profile that says ratio 2, and one that says 8: what is sent is the same if the tensors tell,
 * and so is how far the round may be off, but for the speeds. Two rows, two keys. Where a round has
 * more than anybody waits for, the row has the profile's sizes and the reason. */
static void sizes(void)
{
#define FEDAVG(model)                                                                              \
    "{\"schema\": \"strait-experiment/1\", \"model\": " model ", \"clients\": 2, \"strategy\": "   \
    "{\"name\": \"fedavg\", \"rounds\": 1}, \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": " \
    "1e-3}}, \"network\": {\"client\": {\"rate\": \"100 Mbps\"}, \"server\": {\"rate\": \"1 "      \
    "Gbps\"}}}"
    struct strait_plan plans[2] = {0};
    struct strait_profile *profiles[2];
    json_t *rows[2][2];
    strcpy(folder, "/tmp/strait-rows-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        profiles[i] = profile_of(i == 0 ? 2 : 8, 1000, 1000, false);
        plans[i].setup.profile = profiles[i];
        for (int sends = 0; sends < 2; sends++)
            rows[i][sends] = row_of_sizes(&plans[i], FEDAVG("\"cnn\""), sends);
        CU_ASSERT_STRING_NOT_EQUAL(plans[i].tasks[0].key, plans[i].tasks[1].key);
        CU_ASSERT_FALSE(strait_row_has_sent_sizes(rows[i][0]));
        CU_ASSERT_TRUE(strait_row_has_sent_sizes(rows[i][1]));
        CU_ASSERT_TRUE(says(rows[i][1], "encoded sizes are those of the recorded tensors"));
    }
    CU_ASSERT_TRUE(payload_of(rows[0][0]) > payload_of(rows[1][0]));
    CU_ASSERT_EQUAL(payload_of(rows[0][1]), payload_of(rows[1][1]));
    CU_ASSERT_TRUE(json_equal(json_object_get(rows[0][1], "uncertainty"),
                              json_object_get(rows[1][1], "uncertainty")));
    json_t *large =
        row_of_sizes(&plans[0], FEDAVG("{\"params\": \"250 M\", \"step\": \"1 s\"}"), true);
    CU_ASSERT_FALSE(strait_row_has_sent_sizes(large));
    CU_ASSERT_TRUE(says(large, "no tensor is encoded: a round has more than 1 GB to encode"));
    json_decref(large);
    for (int i = 0; i < 2; i++) {
        for (int sends = 0; sends < 2; sends++)
            json_decref(rows[i][sends]);
        strait_plan_release(&plans[i]);
        strait_profile_free(profiles[i]);
    }
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"sizes are those of what is sent where a run is to encode it", sizes},
    {"an interval spans both states of Open MPI's exchanges", both_states},
    {"draws of losses spread a prediction", draws},
    {"constants of software spread it by their errors", constants},
    {"a break-even simulates the ends of a codec that can change it", ends_that_matter},
    {"an interval lies between what the profile's quantiles predict", intervals},
    {"the same point without a codec is a reference", references},
    {"what a break-even needs of a point, its row says to the last digit", times_of_rows},
};
STRAIT_SUITE("campaign/plan_run", tests);
