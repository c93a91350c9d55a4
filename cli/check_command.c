/* strait check: what an experiment asks for, and what can run it on this machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/kit/memory.h"
#include "analysis/label.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "campaign/backends.h"
#include "cli/kit/command.h"
#include "core/host.h"
#include "core/names.h"
#include "cli/kit/options.h"
#include "campaign/plan.h"
#include "learn/task.h"
#include "workloads/ask/packet_effects.h"
#include "cli/show/show.h"

enum { MAX_BACKENDS = 8, MAX_LINES = 40 };

/* What one backend says of all points. */
struct verdict {
    const struct strait_backend *backend;
    size_t n_can;
    double max_bytes;          /* of a point, all ranks together */
    double training_s;         /* processor time of real training, of all points */
    struct strait_error first; /* why not, of the first that it cannot */
    size_t i_first;
    json_t *effects; /* {text of packet_effects.h: points} */
};

struct check {
    const char *on, *profile_name;
    struct strait_texts settings;
    bool json;
    struct strait_sweep *sweep;
    struct strait_profile *profile;
    struct verdict verdicts[MAX_BACKENDS];
    size_t n_verdicts;
    json_t *filled; /* {hash of what decides which recorded tensors a point takes: true} */
    struct strait_learn *learn; /* the open task of the last point that trains, NULL before it */
    json_t *learned;            /* that point but for its codecs */
};

static void note_effects(struct verdict *v, const struct strait_network *n)
{
    char text[STRAIT_EFFECTS_CHARS];
    json_t *effects = strait_packet_effects(n);
    if (*strait_effects_text(text, effects)) {
        if (!v->effects)
            v->effects = json_object();
        const json_int_t n_before = json_integer_value(json_object_get(v->effects, text));
        json_object_set_new(v->effects, text, json_integer(n_before + 1));
    }
    json_decref(effects);
}

/* Whether the recorded tensors of such a point were looked for before: they are there, or the check
 * would be over. */
static bool is_filled(const struct check *c, const json_t *resolved)
{
    static const char *const keys[] = {"tensors", "model", "strategy", "training"};
    char hash[STRAIT_KEY_CHARS];
    json_t *what = json_object();
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        json_object_set(what, keys[i], json_object_get(resolved, keys[i]));
    const bool hashed = strait_hash_json(hash, what) != NULL;
    const bool known = hashed && json_object_get(c->filled, hash);
    if (hashed)
        json_object_set_new(c->filled, hash, json_true());
    json_decref(what);
    return known;
}

/* Keep the open task, whose data take a while to read, where only codecs differ. */
static void keep_task(struct check *c, const json_t *resolved)
{
    json_t *point = json_copy((json_t *)resolved);
    json_object_del(point, "codec");
    json_object_del(point, "download_codec");
    if (!c->learned || !json_equal(point, c->learned)) {
        strait_learn_free(c->learn);
        c->learn = NULL;
    }
    json_decref(c->learned);
    c->learned = point;
}

/* One point on one backend; *err is set only by what makes the whole check fail. */
static int check_point(struct verdict *v, struct check *c, size_t i, const json_t *resolved,
                       struct strait_error *err)
{
    const struct strait_plan_setup setup = {.file = c->sweep->file,
                                            .n_threads = strait_host_processors()};
    struct strait_trial_options options;
    struct strait_error why = {0};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    int status = -1;
    if (strait_experiment_read(&e, c->sweep->file, resolved, err) != 0)
        goto out;
    options = strait_plan_trial_options(&setup, v->backend, e);
    options.without_values = options.real_payload && is_filled(c, resolved);
    keep_task(c, resolved);
    options.learn = &c->learn;
    if (strait_trial_new(&p, e, c->profile, &options, err) != 0)
        goto out;
    if (strait_trial_check(p, v->backend, &why) == 0) {
        v->n_can++;
    } else if (why.code == STRAIT_ERR_NOMEM || why.code == STRAIT_ERR_SYSTEM) {
        *err = why;
        goto out;
    } else if (v->first.code == STRAIT_OK) {
        v->first = why;
        v->i_first = i;
    }
    v->max_bytes = fmax(v->max_bytes,
                        v->backend == &strait_emu ? p->run.allocated_bytes : p->run.memory_bytes);
    v->training_s += strait_trial_training_s(p);
    if (!v->backend->has_packets)
        note_effects(v, e->network);
    status = 0;
out:
    strait_trial_free(p);
    strait_experiment_free(e);
    return status;
}

static int check_all(struct check *c, struct strait_error *err)
{
    for (size_t i = 0; i < c->sweep->n_points; i++) {
        json_t *resolved = strait_sweep_point(c->sweep, i, NULL, err);
        int failed = !resolved;
        for (size_t b = 0; b < c->n_verdicts && !failed; b++)
            failed = check_point(&c->verdicts[b], c, i, resolved, err);
        json_decref(resolved);
        if (failed)
            return -1;
    }
    return 0;
}

/* --- showing ------------------------------------------------------------------------------ */

/* Of the first point: models and ranks may vary. */
static void put_model(const struct strait_experiment *e, const struct strait_sweep *sweep)
{
    char bytes[STRAIT_NUMBER_CHARS], step[STRAIT_NUMBER_CHARS];
    const char *which = sweep->n_points > 1 ? "Point 1: " : "", *many = e->n_ranks == 1 ? "" : "s";
    printf("%s\n", e->title);
    strait_show_set(stdout, "set", sweep->set);
    if (e->graph) /* whose model is a stand-in */
        strait_prose(stdout, "%s%s, replayed; %d rank%s", which, e->model->name, e->n_ranks, many);
    else
        strait_prose(stdout, "%s%s: %.4g M parameters, %s, %s a step (%s); %s, %d rank%s", which,
                     e->model->name, (double)e->model->n_elems / 1e6,
                     strait_bytes_text(bytes, 4.0 * (double)e->model->n_elems),
                     strait_seconds_text(step, strait_model_step_s(e->model) / e->compute_speed),
                     strait_timing_name(e->model->timing), e->strategy->name, e->n_ranks, many);
    printf("\n");
}

static int show_points(const struct check *c, struct strait_error *err)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "point", true);
    for (size_t a = 0; a < c->sweep->n_axes; a++) {
        char *title = strait_label_axis(c->sweep->axes[a].pointer);
        strait_table_column(t, strait_or_end(title), false);
        free(title);
    }
    int status = 0;
    for (size_t i = 0; i < c->sweep->n_points && i < MAX_LINES && status == 0; i++) {
        json_t *labels = NULL, *resolved = strait_sweep_point(c->sweep, i, &labels, err);
        struct strait_experiment *e = NULL;
        if (!resolved || strait_experiment_read(&e, c->sweep->file, resolved, err) != 0) {
            status = -1;
        } else {
            if (i == 0)
                put_model(e, c->sweep);
            strait_table_cellf(t, "%zu", i + 1);
            for (size_t a = 0; a < c->sweep->n_axes; a++) {
                char *text = strait_label_value(json_object_get(labels, c->sweep->axes[a].pointer));
                strait_table_cell(t, strait_or_end(text));
                free(text);
            }
        }
        strait_experiment_free(e);
        json_decref(labels);
        json_decref(resolved);
    }
    if (status == 0)
        strait_show_table(t);
    else
        strait_table_free(t);
    if (status == 0 && c->sweep->n_points > MAX_LINES)
        printf("... and %zu more\n", c->sweep->n_points - MAX_LINES);
    if (status == 0)
        printf("\n%zu point%s\n\n", c->sweep->n_points, c->sweep->n_points == 1 ? "" : "s");
    return status;
}

static void show_verdicts(const struct check *c)
{
    struct strait_table *t = strait_table_new();
    char bytes[STRAIT_NUMBER_CHARS];
    static const char *const titles[] = {"backend", "can run", "memory", "why not all"};
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        strait_table_column(t, titles[i], i == 2);
    for (size_t b = 0; b < c->n_verdicts; b++) {
        const struct verdict *v = &c->verdicts[b];
        strait_table_cell(t, v->backend->name);
        strait_table_cellf(t, "%zu of %zu", v->n_can, c->sweep->n_points);
        strait_table_cell(t, v->max_bytes > 0 ? strait_bytes_text(bytes, v->max_bytes) : "-");
        if (v->first.code == STRAIT_OK)
            strait_table_cell(t, "");
        else
            strait_table_cellf(t, "point %zu: %s", v->i_first + 1, v->first.text);
    }
    strait_show_table(t);
    bool trains = false;
    for (size_t b = 0; b < c->n_verdicts; b++)
        if (c->verdicts[b].training_s > 0) {
            trains = true;
            strait_prose(stdout,
                         "%s: real training takes about %s of processor time, by one gradient "
                         "here; codecs come on top\n",
                         c->verdicts[b].backend->name,
                         strait_seconds_text(bytes, c->verdicts[b].training_s));
        }
    const char *better = strait_blas_better_core();
    if (trains && better)
        strait_prose(stdout,
                     "OpenBLAS does not know this processor: training is quicker with "
                     "OPENBLAS_CORETYPE=%s\n",
                     better);
    for (size_t b = 0; b < c->n_verdicts; b++) {
        const char *text;
        json_t *n;
        json_object_foreach (c->verdicts[b].effects, text, n)
            strait_prose(stdout, "%s, %lld point%s: %s\n", c->verdicts[b].backend->name,
                         (long long)json_integer_value(n), json_integer_value(n) == 1 ? "" : "s",
                         text);
    }
}

static void print_json(const struct check *c)
{
    json_t *backends = json_array();
    for (size_t b = 0; b < c->n_verdicts; b++) {
        const struct verdict *v = &c->verdicts[b];
        const bool all = v->first.code == STRAIT_OK;
        json_array_append_new(
            backends, json_pack("{s:s, s:i, s:o, s:o, s:s?, s:O?}", "backend", v->backend->name,
                                "can", (int)v->n_can, "memory_bytes",
                                v->max_bytes > 0 ? strait_json_number(v->max_bytes) : json_null(),
                                "training_s",
                                v->training_s > 0 ? strait_json_number(v->training_s) : json_null(),
                                "why_not", all ? NULL : v->first.text, "not_modelled", v->effects));
    }
    json_t *out = json_pack("{s:s, s:i, s:o}", "experiment", c->sweep->file, "points",
                            (int)c->sweep->n_points, "backends", backends);
    if (json_object_size(c->sweep->set) > 0)
        json_object_set(out, "set", c->sweep->set);
    strait_command_print_json(out);
    json_decref(out);
}

/* 3 for what this machine cannot, 2 for what the backend does not know; of the first that cannot.
 */
static int status_of(struct check *c)
{
    for (size_t b = 0; b < c->n_verdicts; b++) {
        struct strait_error *first = &c->verdicts[b].first;
        if (first->code == STRAIT_OK)
            continue;
        if (!*first->where)
            snprintf(first->where, sizeof(first->where), "%s", c->verdicts[b].backend->name);
        return strait_command_fail(first);
    }
    return 0;
}

static int check(struct check *c, const char *experiment, struct strait_error *err)
{
    size_t n;
    const struct strait_backend *const *backends = strait_backends(&n);
    c->filled = json_object();
    for (size_t b = 0; b < n && b < MAX_BACKENDS; b++)
        if (!c->on || strcmp(c->on, backends[b]->name) == 0)
            c->verdicts[c->n_verdicts++].backend = backends[b];
    static const char *const names[] = {"sim", "fluid", "emu", NULL};
    if (c->n_verdicts == 0)
        return strait_refuse_name(err, STRAIT_ERR_USAGE, "check", "sim, fluid or emu after --on",
                                  c->on, names);
    if (strait_sweep_load(&c->sweep, experiment, c->settings.items, c->settings.n, err) != 0 ||
        strait_profile_load(&c->profile, c->profile_name ? c->profile_name : "default", err) != 0 ||
        check_all(c, err) != 0)
        return -1;
    if (c->json) {
        print_json(c);
        return 0;
    }
    if (show_points(c, err) != 0)
        return -1;
    show_verdicts(c);
    return 0;
}

static const char notes[] =
    "Exit status 3 if this machine cannot run every point on every backend checked,\n"
    "2 if a backend does not support a point.\n"
    "\n"
    "  strait check wan-scaling\n"
    "  strait check my.json --on emu --set /clients=8\n";

int strait_command_check(int argc, char **argv)
{
    struct check c = {.on = NULL};
    const struct strait_option options[] = {
        {"on", 0, STRAIT_OPTION_TEXT, &c.on, "BACKEND", "check only sim, fluid or emu"},
        {"set", 0, STRAIT_OPTION_TEXTS, &c.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"profile", 0, STRAIT_OPTION_TEXT, &c.profile_name, "FILE",
         "codec costs: a name or a file"},
        {"json", 0, STRAIT_OPTION_FLAG, &c.json, NULL, "one JSON object on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "check", "EXPERIMENT",
        "Validate an experiment, list its points, say which backends can run it here.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    const char *experiment = NULL;
    int status;
    if (strait_command_begin(&status, &usage, argc, argv, &experiment, 1, NULL))
        status = check(&c, experiment, &err) != 0 ? strait_command_fail(&err) : status_of(&c);
    for (size_t b = 0; b < c.n_verdicts; b++)
        json_decref(c.verdicts[b].effects);
    json_decref(c.filled);
    json_decref(c.learned);
    strait_learn_free(c.learn);
    strait_profile_free(c.profile);
    strait_sweep_free(c.sweep);
    free(c.settings.items);
    return status;
}
