/* Whatever allocation fails, a library says that memory ran out, and goes on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/breakeven.h"
#include "analysis/compare.h"
#include "analysis/grid.h"
#include "analysis/row_names.h"
#include "analysis/place.h"
#include "analysis/store.h"
#include "analysis/table.h"
#include "analysis/tradeoff.h"
#include "campaign/backends.h"
#include "campaign/plan.h"
#include "codecs/codec.h"
#include "codecs/profile/profile.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/failing/scarce.h"
#include "tests/kit/suite.h"
#include "traces/curves.h"
#include "traces/tensor_fill.h"
#include "traces/tensors.h"
#include "workloads/ask/experiment.h"
#include "workloads/rank/trial.h"

/* --- traces --------------------------------------------------------------------------------- */

static int load_model(void *arg, struct strait_error *err)
{
    struct strait_model *m = NULL;
    const int status = strait_model_load(&m, arg, err);
    strait_model_free(m);
    return status;
}

static void models(void)
{
    static const char *const names[] = {"cnn", "gpt2-small", "mobilenet-v2", "resnet50"};
    char path[4096];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CU_ASSERT(strait_scarce_each(load_model, (char *)(uintptr_t)names[i]) > 2);
    snprintf(path, sizeof(path), "%s", DATA("tests/data/kfac.csv"));
    CU_ASSERT(strait_scarce_each(load_model, path) > 4);
}

static int load_tensors(void *arg, struct strait_error *err)
{
    struct strait_tensors *t = NULL;
    (void)arg;
    const int status = strait_tensors_load(&t, NULL, err);
    strait_tensors_free(t);
    return status;
}

static int load_curves(void *arg, struct strait_error *err)
{
    struct strait_curves *c = NULL;
    const int status = strait_curves_load(&c, arg, err);
    strait_curves_free(c);
    return status;
}

struct fill {
    struct strait_model *m;
    struct strait_tensors *t;
};

static int plan_fill(void *arg, struct strait_error *err)
{
    const struct fill *f = arg;
    struct strait_tensor_fill_plan *p = NULL;
    const int status =
        strait_tensor_fill_plan_new(&p, f->m, f->t, "update", STRAIT_FILL_HELD_OUT, err);
    strait_tensor_fill_plan_free(p);
    return status;
}

static void tensors(void)
{
    struct fill f;
    struct strait_error err = {0};
    CU_ASSERT(strait_scarce_each(load_tensors, NULL) > 1);
    CU_ASSERT(strait_scarce_each(load_curves, NULL) > 1);
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&f.m, "gpt2-small", &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&f.t, NULL, &err), 0);
    CU_ASSERT(strait_scarce_each(plan_fill, &f) > 4);
    strait_model_free(f.m);
    strait_tensors_free(f.t);
}

/* --- what is asked for ---------------------------------------------------------------------- */

static const char text[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 2,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2},"
    " \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}},"
    " \"network\": {\"topology\": \"sites\", \"client\": {\"rate\": \"100 Mbps\"},"
    "   \"server\": {\"rate\": \"1 Gbps\"},"
    "   \"site\": [{\"ranks\": 1, \"rate\": \"1 Gbps\"}, {\"ranks\": 1, \"rate\": \"1 Gbps\"}],"
    "   \"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"50 Mbps\"}]},"
    " \"vary\": {\"/clients\": [2], \"/seed\": [1, 2]}}";
static char file[64];

static void write_file(void)
{
    strcpy(file, "/tmp/strait-scarce-XXXXXX");
    const int fd = mkstemp(file);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static int load_sweep(void *arg, struct strait_error *err)
{
    static const char *const settings[] = {"/strategy/rounds=3"};
    struct strait_sweep *s = NULL;
    (void)arg;
    const int status = strait_sweep_load(&s, file, settings, 1, err);
    strait_sweep_free(s);
    return status;
}

static int load_profile(void *arg, struct strait_error *err)
{
    struct strait_profile *p = NULL;
    const int status = strait_profile_load(&p, arg, err);
    strait_profile_free(p);
    return status;
}

static void questions(void)
{
    write_file();
    CU_ASSERT(strait_scarce_each(load_sweep, NULL) > 10);
    CU_ASSERT(strait_scarce_each(load_profile, (char[]){"default"}) > 1);
    unlink(file);
}

struct point {
    struct strait_experiment *e;
    struct strait_profile *profile;
    struct strait_trial_options options;
};

static int prepare_trial(void *arg, struct strait_error *err)
{
    const struct point *at = arg;
    struct strait_trial *p = NULL;
    const int status = strait_trial_new(&p, at->e, at->profile, &at->options, err);
    strait_trial_free(p);
    return status;
}

static int run_trial(void *arg, struct strait_error *err)
{
    const struct point *at = arg;
    struct strait_trial *p = NULL;
    const int failed = strait_trial_new(&p, at->e, at->profile, &at->options, err) != 0 ||
                       strait_trial_run(p, &strait_fluid, err) != 0;
    strait_trial_free(p);
    return failed ? -1 : 0;
}

static void trials(void)
{
    struct point at = {.e = NULL};
    struct strait_sweep *s;
    struct strait_error err = {0};
    write_file();
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&s, file, NULL, 0, &err), 0);
    json_t *resolved = strait_sweep_point(s, 0, NULL, &err);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&at.e, file, resolved, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&at.profile, "default", &err), 0);
    CU_ASSERT(strait_scarce_each(prepare_trial, &at) > 1);
    CU_ASSERT(strait_scarce_some(run_trial, &at, 11) > 10);
    at.options.real_payload = true;
    CU_ASSERT(strait_scarce_some(run_trial, &at, 11) > 10);
    strait_profile_free(at.profile);
    strait_experiment_free(at.e);
    json_decref(resolved);
    strait_sweep_free(s);
    unlink(file);
}

/* --- what is made of rows ------------------------------------------------------------------- */

static json_t *row(int seed, int clients, double round_s)
{
    json_t *codec = json_pack("{s:s}", "name", seed % 2 ? "none" : "zstd"),
           *point = json_pack("{s:i, s:O, s:i}", "seed", seed, "codec", codec, "clients", clients);
    struct strait_place place;
    CU_ASSERT_EQUAL_FATAL(strait_place_of_point(&place, point, NULL), 0);
    json_t *out = json_pack("{s:s, s:b, s:s, s:i, s:{s:i, s:O}, s:O, s:{s:s}, s:f, s:f}", "record",
                            "row", "valid", 1, "backend", "fluid", "clients", clients, "labels",
                            "/seed", seed / 2, "/codec", codec, "codec", codec, "download_codec",
                            "name", "none", "round_s", round_s, "total_s", 2 * round_s);
    strait_place_put(out, &place);
    json_decref(codec);
    json_decref(point);
    return out;
}

static int make_grid(void *arg, struct strait_error *err)
{
    struct strait_grid *g = NULL;
    const int status = strait_grid_new(&g, arg, err);
    strait_grid_free(g);
    return status;
}

static int make_names(void *arg, struct strait_error *err)
{
    struct strait_names *n = NULL;
    const int status = strait_names_new(&n, arg, err);
    strait_names_free(n);
    return status;
}

static int print_table(void *arg, struct strait_error *err)
{
    FILE *out = arg;
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "a", true);
    strait_table_column(t, "b", false);
    strait_table_key(t);
    strait_table_omit(t, "0");
    for (int i = 0; i < 40; i++) {
        strait_table_cellf(t, "%d", i);
        strait_table_cell(t, "word word word");
        if (i % 7 == 0)
            strait_table_rule(t);
    }
    return strait_table_finish(t, out, err);
}

static int times(double *with_s, double *without_s, long n_clients, void *context,
                 struct strait_error *err)
{
    (void)context, (void)err;
    *without_s = 10;
    *with_s = n_clients % 3 == 0 ? 9 : 11;
    return 0;
}

static int find_breakeven(void *arg, struct strait_error *err)
{
    static const long counts[] = {1, 40};
    struct strait_breakeven b = {0};
    (void)arg;
    const int status = strait_breakeven_find(&b, counts, 2, times, NULL, err);
    strait_breakeven_release(&b);
    return status;
}

static void results(void)
{
    json_t *rows = json_array();
    for (int i = 0; i < 24; i++)
        json_array_append_new(rows, row(i / 2, 2 + i % 2, 1 + i));
    FILE *nowhere = fopen("/dev/null", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(nowhere);
    CU_ASSERT(strait_scarce_some(make_grid, rows, 1) > 4);
    CU_ASSERT(strait_scarce_some(make_names, rows, 1) > 2);
    CU_ASSERT(strait_scarce_each(print_table, nowhere) > 4);
    CU_ASSERT(strait_scarce_each(find_breakeven, NULL) > 1);
    fclose(nowhere);
    json_decref(rows);
}

static int use_store(void *arg, struct strait_error *err)
{
    struct strait_store *s = NULL;
    json_t *header = json_pack("{s:s, s:s}", "record", "header", "schema", STRAIT_RESULTS_SCHEMA),
           *record = json_pack("{s:s, s:s}", "record", "row", "key", "k");
    const int failed = strait_store_open(&s, arg, true, err) != 0 ||
                       strait_store_begin(s, header, err) != 0 ||
                       strait_store_add(s, record, err) != 0;
    strait_store_free(s);
    json_decref(header);
    json_decref(record);
    return failed ? -1 : 0;
}

static void stores(void)
{
    char folder[] = "/tmp/strait-scarce-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT(strait_scarce_each(use_store, folder) > 1);
    folder_remove(folder);
}

/* --- codecs --------------------------------------------------------------------------------- */

struct codec {
    const struct strait_codec_ops *ops;
    float x[4096], y[4096];
};

/* There and back. */
static int use_codec(void *arg, struct strait_error *err)
{
    struct codec *c = arg;
    void *state = NULL;
    if (strait_codec_open_default(c->ops, &state, err) != 0)
        return -1;
    const size_t cap = c->ops->max_bytes(state, 4096);
    unsigned char *bytes = malloc(cap + 1);
    size_t n = 0;
    const bool in_range = c->ops->bounds >> STRAIT_BOUND_RANGE & 1;
    const struct strait_request request = {
        .bound = {in_range ? STRAIT_BOUND_RANGE : STRAIT_BOUND_NONE, in_range ? 1e-3 : 0}};
    const int failed = !bytes ? strait_error_memory(err, "test")
                              : strait_codec_encode(c->ops, state, bytes, cap, &n, c->x, 4096,
                                                    request, err) != 0 ||
                                    c->ops->decode(state, c->y, 4096, bytes, n, err) != 0;
    c->ops->close(state);
    free(bytes);
    return failed ? -1 : 0;
}

static void codecs(void)
{
    static struct codec c;
    for (int i = 0; i < 4096; i++)
        c.x[i] = (float)sin(0.01 * i) + (float)(i % 7) / 50;
    size_t n;
    const struct strait_codec_ops *const *all = strait_codecs(&n);
    for (size_t i = 0; i < n; i++) {
        c.ops = all[i];
        if (strait_codec_unavailable(c.ops))
            continue;
        if (strcmp(c.ops->name, "fpzip") == 0) /* stores what its library cannot encode */
            strait_scarce_some(use_codec, &c, 1);
        else
            strait_scarce_each(use_codec, &c);
    }
}

static const struct strait_test tests[] = {
    {"models and layer tables", models},
    {"recorded tensors, their plans and curves", tensors},
    {"experiments and profiles", questions},
    {"simulated runs", trials},
    {"grids, names, tables and break-evens", results},
    {"folders of results", stores},
    {"codecs, there and back", codecs},
};
STRAIT_SUITE("scarce_memory", tests);
