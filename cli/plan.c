/* Tasks and their running. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../analysis/inflation.h"
#include "../analysis/label.h"
#include "../analysis/row.h"
#include "machine.h"
#include "live.h"
#include "plan.h"

void strait_plan_setup_hashes(struct strait_plan_setup *s)
{
    if (s->profile)
        strait_profile_hash(s->profile_hash, s->profile);
    strait_program_hash(s->program);
    strait_machine_hash(s->machine);
}

const char *strait_plan_control(const struct strait_plan_setup *setup,
                                const struct strait_backend *backend)
{
    if (!setup->control)
        return NULL;
    const bool breaks_sim =
        strcmp(setup->control, "no-ramp") == 0 || strcmp(setup->control, "no-codec-cost") == 0;
    return breaks_sim == (backend != &strait_emu) ? setup->control : NULL;
}

struct strait_point_options strait_plan_point_options(const struct strait_plan_setup *setup,
                                                      const struct strait_backend *backend)
{
    const bool is_emu = backend == &strait_emu;
    const bool real = is_emu && !(setup->timing && strcmp(setup->timing, "replay") == 0);
    return (struct strait_point_options){.real_payload = real,
                                         .measured_cost = real,
                                         .control = strait_plan_control(setup, backend),
                                         .dilation = setup->dilation,
                                         .realisation = setup->realisation,
                                         .launcher = setup->launcher,
                                         .every_round = setup->every_round,
                                         .one_at_a_time = is_emu && setup->timing &&
                                                          strcmp(setup->timing, "serial") == 0};
}

const char *strait_plan_kappa_key(char key[STRAIT_KEY_CHARS], const struct strait_plan_setup *setup,
                                  const json_t *resolved, int n_ranks)
{
    json_t *all = json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:i, s:O?}", "machine", setup->machine,
                            "program", setup->program, "realisation", setup->realisation,
                            "launcher", setup->launcher, "timing", setup->timing, "ranks", n_ranks,
                            "network", json_object_get(resolved, "network"));
    const char *hashed = all ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}

double strait_plan_kappa_s(const struct strait_plan_setup *setup, const json_t *resolved,
                           int n_ranks)
{
    char key[STRAIT_KEY_CHARS];
    return setup->kappas && strait_plan_kappa_key(key, setup, resolved, n_ranks)
               ? json_number_value(json_object_get(setup->kappas, key))
               : 0;
}

json_t *strait_plan_without_codec(const json_t *resolved)
{
    json_t *plain = json_deep_copy(resolved);
    json_object_set_new(plain, "codec", json_pack("{s:s}", "name", "none"));
    json_object_del(plain, "download_codec");
    return plain;
}

static json_t *labels_without_codec(const json_t *labels)
{
    json_t *plain = json_object();
    const char *pointer;
    json_t *value;
    json_object_foreach((json_t *)labels, pointer, value) if (!strait_label_is_codec(pointer))
        json_object_set(plain, pointer, value);
    return plain;
}

/* "setting / clients" of a point. */
static void place_of(char *buf, size_t cap, const json_t *labels, int n_clients)
{
    json_t *plain = labels_without_codec(labels);
    char *text = json_dumps(plain, JSON_COMPACT | JSON_SORT_KEYS);
    snprintf(buf, cap, "%s %d", text ? text : "", n_clients);
    free(text);
    json_decref(plain);
}

static bool is_plain(const struct strait_experiment *e)
{
    return strcmp(e->up.spec.ops->name, "none") == 0 && strcmp(e->down.spec.ops->name, "none") == 0;
}

static struct strait_task_plan *grow(struct strait_plan *plan, struct strait_error *err)
{
    if (plan->n_tasks == plan->cap_tasks) {
        const size_t cap = plan->cap_tasks ? 2 * plan->cap_tasks : 64;
        struct strait_task_plan *more = realloc(plan->tasks, cap * sizeof(*more));
        if (!more) {
            strait_error_set(err, STRAIT_ERR_NOMEM, "run", "memory ran out");
            return NULL;
        }
        plan->tasks = more;
        plan->cap_tasks = cap;
    }
    struct strait_task_plan *task = &plan->tasks[plan->n_tasks++];
    *task = (struct strait_task_plan){0};
    return task;
}

/* What a profile does not know is the experiment's mistake, unless the file itself is wrong. */
static void blame_codec(struct strait_error *err, const char *file, const struct strait_error *why)
{
    char where[sizeof(why->where)];
    if (why->code != STRAIT_ERR_INPUT || strstr(why->where, ".json")) {
        strait_error_set(err, why->code, why->where, "%s", why->text);
        return;
    }
    snprintf(where, sizeof(where), "%.200s#/codec", file);
    strait_error_set(err, why->code, where, "%s", why->text);
}

/* One point with all its repeats. */
static int add_point(struct strait_plan *plan, const json_t *resolved, const json_t *labels,
                     const struct strait_backend *backend, int n_repeats, bool reference,
                     const char *tensors, struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    struct strait_point *p = NULL;
    const struct strait_point_options sized = {.control =
                                                   strait_plan_control(&plan->setup, backend)};
    int status = -1;
    struct strait_error why = {0};
    if (strait_experiment_read(&e, plan->setup.file, resolved, err) != 0)
        goto out;
    if (strait_point_new(&p, e, plan->setup.profile, &sized, &why) != 0) {
        blame_codec(err, plan->setup.file, &why);
        goto out;
    }
    for (int repeat = 0; repeat < n_repeats; repeat++) {
        struct strait_task_plan *task = grow(plan, err);
        if (!task)
            goto out;
        task->resolved = json_deep_copy(resolved);
        task->labels = json_deep_copy(labels);
        task->backend = backend;
        task->repeat = repeat;
        task->reference = reference;
        const bool emu = backend == &strait_emu;
        const struct strait_row_inputs inputs = {
            .resolved = resolved,
            .backend = backend->name,
            .control = strait_plan_control(&plan->setup, backend),
            .profile = plan->setup.profile_hash,
            .program = plan->setup.program,
            .machine = emu ? plan->setup.machine : NULL,
            .tensors = emu ? tensors : NULL,
            .point = p,
            .dilation = plan->setup.dilation,
            .realisation = emu ? plan->setup.realisation : NULL,
            .launcher = emu ? plan->setup.launcher : NULL,
            .timing = emu ? plan->setup.timing : NULL,
            .check = emu && plan->setup.check,
            .every_round = !emu && plan->setup.every_round,
            .repeat = repeat};
        if (strait_row_key(task->key, &inputs, err) != 0)
            goto out;
    }
    status = 0;
out:
    strait_point_free(p);
    strait_experiment_free(e);
    return status;
}

int strait_plan_add(struct strait_plan *plan, const struct strait_sweep *sweep,
                    const struct strait_backend *backend, int n_repeats, bool with_references,
                    struct strait_error *err)
{
    json_t *plain_places = json_object(), *wanted = json_array();
    char place[1024], tensors[STRAIT_KEY_CHARS] = "", folder[4096] = "";
    int status = -1;
    size_t w;
    json_t *reference;
    for (size_t i = 0; i < sweep->n_points; i++) {
        json_t *labels = NULL, *resolved = strait_sweep_point(sweep, i, &labels, err);
        struct strait_experiment *e = NULL;
        int failed = !resolved || strait_experiment_read(&e, sweep->file, resolved, err) != 0;
        const char *here = json_string_value(json_object_get(resolved, "tensors"));
        if (!failed && backend == &strait_emu && (!*tensors || strcmp(folder, here ? here : ""))) {
            failed = strait_row_tensors_hash(tensors, here, err);
            snprintf(folder, sizeof(folder), "%s", here ? here : "");
        }
        if (!failed)
            failed = add_point(plan, resolved, labels, backend, n_repeats, false, tensors, err);
        if (!failed) {
            place_of(place, sizeof(place), labels, e->n_clients);
            if (is_plain(e))
                json_object_set_new(plain_places, place, json_true());
            else if (with_references)
                json_array_append_new(wanted,
                                      json_pack("{s:s, s:O, s:o}", "place", place, "point",
                                                resolved, "labels", labels_without_codec(labels)));
        }
        json_decref(labels);
        json_decref(resolved);
        strait_experiment_free(e);
        if (failed)
            goto out;
    }
    json_array_foreach(wanted, w, reference)
    {
        const char *at = json_string_value(json_object_get(reference, "place"));
        if (json_object_get(plain_places, at))
            continue;
        json_object_set_new(plain_places, at, json_true());
        json_t *plain = strait_plan_without_codec(json_object_get(reference, "point"));
        const int failed = add_point(plan, plain, json_object_get(reference, "labels"), backend, 1,
                                     true, tensors, err);
        json_decref(plain);
        if (failed)
            goto out;
    }
    status = 0;
out:
    json_decref(plain_places);
    json_decref(wanted);
    return status;
}

void strait_plan_release(struct strait_plan *plan)
{
    for (size_t i = 0; i < plan->n_tasks; i++) {
        json_decref(plan->tasks[i].resolved);
        json_decref(plan->tasks[i].labels);
    }
    free(plan->tasks);
    plan->tasks = NULL;
    plan->n_tasks = plan->cap_tasks = 0;
}

static double mean_round_s(const struct strait_point *p)
{
    double sum_s = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->logs[0].n_spans; i++)
        if (p->logs[0].spans[i].kind == STRAIT_SPAN_ROUND) {
            sum_s += p->logs[0].spans[i].end_s - p->logs[0].spans[i].start_s;
            n++;
        }
    return n > 0 ? sum_s / (double)n : NAN;
}

/* --- the interval of a prediction --------------------------------------------------------- */

/* A codec's cost with every tensor at this end of the profile's quantiles. */
static void move_cost(struct strait_codec_cost *cost, const struct strait_point *p, int way,
                      bool slow)
{
    const struct strait_experiment *e = p->experiment;
    const struct strait_codec_choice *choice = way == 0 ? &e->up : &e->down;
    const struct strait_profile *own = p->own_profiles[way];
    const char *kind = way == 0                             ? e->strategy->uplink_kind
                       : e->strategy->downlink_kind != NULL ? e->strategy->downlink_kind
                                                            : "param";
    struct strait_profile_cost found;
    struct strait_error ignored = {0};
    const struct strait_profile *from =
        own && strait_profile_has(own, choice->spec.ops->name) ? own : p->profile;
    if (strcmp(choice->spec.ops->name, "none") == 0 ||
        strait_profile_find(&found, from, &choice->spec, kind, e->model->name, &ignored) != 0)
        return;
    const struct strait_quantiles *q[3] = {&found.ratios, &found.encode, &found.decode};
    double *moved[3] = {&cost->ratio, &cost->encode_bytes_per_s, &cost->decode_bytes_per_s};
    for (int i = 0; i < 3; i++)
        if (q[i]->p50 > 0)
            *moved[i] *= (slow ? q[i]->p10 : q[i]->p90) / q[i]->p50;
}

/* Mean round with every tensor's ratio and speeds at the profile's p90, then at its p10, by the
 * fluid backend; NAN where it cannot. A stated profile has no spread, and so no interval. */
static void find_interval(double interval_s[2], const struct strait_plan_setup *setup,
                          const struct strait_experiment *e)
{
    const struct strait_point_options sized = {.control =
                                                   strait_plan_control(setup, &strait_fluid)};
    struct strait_error ignored = {0};
    for (int slow = 0; slow < 2; slow++) {
        struct strait_point *p;
        interval_s[slow] = NAN;
        if (strait_point_new(&p, e, setup->profile, &sized, &ignored) != 0)
            return;
        move_cost(&p->up, p, 0, slow);
        move_cost(&p->down, p, 1, slow);
        if (strait_point_run(p, &strait_fluid, &ignored) == 0)
            interval_s[slow] = mean_round_s(p);
        strait_point_free(p);
    }
    if (!(interval_s[1] > interval_s[0] * (1 + 1e-9)))
        interval_s[0] = interval_s[1] = NAN;
}

/* --- what codecs took --------------------------------------------------------------------- */

/* A flag where a machine that calibrated them gives them less of itself now. */
static void flag_inflation(struct strait_point *p, const struct strait_plan_setup *setup,
                           const struct strait_experiment *e)
{
    const struct strait_point_options sized = {.every_round = true};
    struct strait_error ignored = {0};
    struct strait_point *calibrated = NULL;
    char text[256];
    if (strait_point_new(&calibrated, e, setup->profile, &sized, &ignored) == 0 &&
        strait_point_run(calibrated, &strait_fluid, &ignored) == 0 &&
        strait_inflation_text(text, sizeof(text), p->logs, calibrated->logs, e->n_ranks))
        json_array_append_new(p->facts.flags, json_string(text));
    strait_point_free(calibrated);
}

/* --- running ------------------------------------------------------------------------------ */

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One attempt at a task. */
static json_t *attempt(const struct strait_plan *plan, const struct strait_task_plan *task,
                       double dilation, struct strait_error *err)
{
    struct strait_point_options options = strait_plan_point_options(&plan->setup, task->backend);
    struct strait_experiment *e = NULL;
    struct strait_point *p = NULL;
    json_t *row = NULL;
    const double start_s = clock_s();
    options.dilation = dilation;
    options.watch = plan->setup.view ? strait_live_watch : NULL;
    options.watcher = plan->setup.view;
    int failed = strait_experiment_read(&e, plan->setup.file, task->resolved, err) != 0 ||
                 strait_point_new(&p, e, plan->setup.profile, &options, err) != 0;
    if (!failed)
        p->run.kappa_s_per_gbit = strait_plan_kappa_s(&plan->setup, task->resolved, e->n_ranks);
    if (!failed && strait_point_run(p, task->backend, err) == 0) {
        json_t *machine = task->backend == &strait_emu ? strait_machine_json() : NULL;
        struct strait_row_context context = {.backend = task->backend->name,
                                             .key = task->key,
                                             .profile = plan->setup.profile_hash,
                                             .labels = task->labels,
                                             .control = options.control,
                                             .repeat = task->repeat,
                                             .machine = machine,
                                             .wall_s = clock_s() - start_s,
                                             .interval_s = {NAN, NAN}};
        if (task->backend != &strait_emu && !options.measured_cost && !is_plain(e))
            find_interval(context.interval_s, &plan->setup, e);
        else if (options.measured_cost && plan->setup.calibrated)
            flag_inflation(p, &plan->setup, e);
        row = strait_row_new(p, &context, err);
        json_decref(machine);
        if (row && task->reference)
            json_object_set_new(row, "reference", json_true());
        if (row) /* for the store, which keeps constants once: the parent takes them out */
            json_object_set_new(row, "facts_constants", json_deep_copy(p->facts.constants));
    }
    strait_point_free(p);
    strait_experiment_free(e);
    return row;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_round_s(const json_t *row)
{
    const json_t *rounds = json_object_get(row, "rounds_s");
    const size_t n = json_array_size(rounds);
    double *all = calloc(n + 1, sizeof(*all)), median_s = NAN;
    for (size_t i = 0; all && i < n; i++)
        all[i] = json_number_value(json_array_get(rounds, i));
    if (all && n > 0) {
        qsort(all, n, sizeof(*all), by_value);
        median_s = (all[(n - 1) / 2] + all[n / 2]) / 2;
    }
    free(all);
    return median_s;
}

/* More than this between a run and one at twice its dilation: the host bent one of them. */
static const double INVARIANCE_RATIO = 0.02;

/* The same point again at twice the dilation: where its time differs, the row is INVALID. */
static int check_invariance(json_t *row, const struct strait_plan *plan,
                            const struct strait_task_plan *task, struct strait_error *err)
{
    const double k = json_number_value(json_object_get(json_object_get(row, "report"), "dilation"));
    json_t *again = attempt(plan, task, 2 * k, err);
    if (!again)
        return -1;
    const double s = median_round_s(row), again_s = median_round_s(again);
    const bool valid = json_is_true(json_object_get(again, "valid"));
    json_object_set_new(row, "invariance",
                        json_pack("{s:f, s:o, s:b, s:o}", "dilation", 2 * k, "round_s",
                                  strait_json_number(again_s), "valid", valid, "relative",
                                  strait_json_number(again_s / s - 1)));
    if (!valid || !(fabs(again_s / s - 1) <= INVARIANCE_RATIO)) {
        json_t *invalid = json_object_get(row, "invalid");
        json_array_append_new(
            invalid,
            valid ? json_sprintf("a median round took %.4g s at dilation %g and %.4g s at %g, "
                                 "expected at most %.0f %% between them",
                                 s, k, again_s, 2 * k, 100 * INVARIANCE_RATIO)
                  : json_sprintf(
                        "the check at dilation %g was invalid itself: %s", 2 * k,
                        json_string_value(json_array_get(json_object_get(again, "invalid"), 0))));
        json_object_set_new(row, "valid", json_false());
    }
    json_decref(again);
    return 0;
}

/* A busy host spoils an emulation now and then: what came back INVALID is tried again, each time
 * with twice the dilation, and the row keeps what was wrong before. */
json_t *strait_plan_run_task(const struct strait_plan *plan, size_t i, struct strait_error *err)
{
    const struct strait_task_plan *task = &plan->tasks[i];
    double dilation = plan->setup.dilation;
    json_t *row = attempt(plan, task, dilation, err), *before = json_array();
    const bool again = task->backend == &strait_emu && !plan->setup.control;
    for (int n = 0;
         again && n < plan->setup.n_retries && row && !json_is_true(json_object_get(row, "valid"));
         n++) {
        json_array_extend(before, json_object_get(row, "invalid"));
        const json_t *used = json_object_get(json_object_get(row, "report"), "dilation");
        if (!(plan->setup.dilation > 0))
            dilation = 2 * json_number_value(used);
        struct strait_error why = {0};
        json_t *next = attempt(plan, task, dilation, &why);
        if (!next && why.code == STRAIT_ERR_INPUT)
            break; /* not possible at that dilation: the row stays INVALID */
        if (!next)
            *err = why;
        json_decref(row);
        row = next;
    }
    if (row && plan->setup.check && task->backend == &strait_emu &&
        json_is_true(json_object_get(row, "valid")) &&
        check_invariance(row, plan, task, err) != 0) {
        json_decref(row);
        row = NULL;
    }
    if (row && json_array_size(before) > 0)
        json_object_set(row, "invalid_before", before);
    json_decref(before);
    return row;
}

int strait_plan_round_s(double *round_s, const struct strait_plan_setup *setup,
                        const json_t *resolved, const struct strait_backend *backend,
                        struct strait_error *err)
{
    const struct strait_point_options sized = {.control = strait_plan_control(setup, backend)};
    struct strait_experiment *e = NULL;
    struct strait_point *p = NULL;
    int status = -1;
    if (strait_experiment_read(&e, setup->file, resolved, err) == 0 &&
        strait_point_new(&p, e, setup->profile, &sized, err) == 0 &&
        strait_point_run(p, backend, err) == 0) {
        *round_s = mean_round_s(p);
        status = 0;
    }
    strait_point_free(p);
    strait_experiment_free(e);
    return status;
}
