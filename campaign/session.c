/* Plans, simulates and stores a run; run_command.c prints it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "backends.h"
#include "campaign/crew/crew.h"
#include "core/clock.h"
#include "core/shipped.h"
#include "emu_estimate.h"
#include "packet_estimate.h"
#include "breakeven_sweep.h"
#include "own_profile.h"
#include "worker_pool.h"
#include "session.h"
#include "session_header.h"

enum { PATH_CHARS = 4096 };

bool strait_session_is_both(const struct strait_session *r)
{
    return strcmp(r->on, "both") == 0;
}

/* --- before anything is written ----------------------------------------------------------- */

/* results/<name of the experiment> */
static const char *default_folder(char *buf, size_t cap, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const size_t n = strlen(base);
    const bool json = n > 5 && strcmp(base + n - 5, ".json") == 0;
    snprintf(buf, cap, "results/%.*s", (int)(json ? n - 5 : n), base);
    return buf;
}

static int choose_profile(struct strait_session *r, struct strait_error *err)
{
    if (r->profile_name || !strait_session_is_both(r))
        return strait_profile_load(&r->profile, r->profile_name ? r->profile_name : "default", err);
    r->calibrated = true;
    return strait_own_profile_choose(r, err);
}

/* Beside a prediction that is compared the run encodes the very tensors; replayed it encodes none,
 * and sends what the profile says. */
static bool sends_sizes(const struct strait_session *r)
{
    if (r->sizes)
        return strcmp(r->sizes, "sent") == 0;
    return strait_session_is_both(r) && !(r->timing && strcmp(r->timing, "replay") == 0);
}

static int make_plan(struct strait_session *r, struct strait_error *err)
{
    struct strait_plan *plan = &r->plan;
    plan->setup.file = r->sweep->file;
    plan->setup.control = r->control;
    plan->setup.dilation = r->dilation;
    plan->setup.timing = r->timing;
    plan->setup.check = r->check;
    plan->setup.sends_sizes = sends_sizes(r);
    plan->setup.every_round = r->every_round;
    plan->setup.save_state = r->save_state;
    plan->setup.realisation = r->realisation;
    plan->setup.launcher = r->launcher;
    plan->setup.world = r->world;
    plan->setup.afar = r->afar;
    plan->setup.n_retries = (int)r->n_tries - 1;
    plan->setup.notes = r->notes;
    if (strait_plan_setup_hashes(&plan->setup, err) != 0 || choose_profile(r, err) != 0)
        return -1;
    char path[PATH_CHARS];
    strait_share_path(path, sizeof(path), STRAIT_LEARNED_FILE);
    if (strait_learned_load(&r->learned, path, err) != 0)
        return -1;
    plan->setup.learned = &r->learned;
    plan->setup.calibrated = r->calibrated;
    plan->setup.profile = r->profile;
    if (!strait_profile_hash(plan->setup.profile_hash, r->profile))
        return strait_error_memory(err, "profile");
    if (strait_session_is_both(r))
        return strait_plan_add(plan, r->sweep, &strait_sim, 1, true, err) != 0 ||
                       strait_plan_add(plan, r->sweep, &strait_emu, (int)r->n_repeats, false,
                                       err) != 0
                   ? -1
                   : 0;
    const struct strait_backend *backend = strait_backend_find(r->on);
    const bool measured = backend->is_measured;
    return strait_plan_add(plan, r->sweep, backend, measured ? (int)r->n_repeats : 1, !measured,
                           err);
}

bool strait_session_trains_alike(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"training", "model", "clients", "strategy"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);
        if (x != y && !json_equal(x, y)) /* both may lack a model; nothing equals NULL to jansson */
            return false;
    }
    return a && b;
}

/* Report what this host cannot do, and what cannot be trained, before the first point runs. Of
 * points that train alike the first is checked, since it opens the data. */
static int check_host(const struct strait_session *r, struct strait_error *err)
{
    const json_t *trained = NULL;
    int failed = 0;
    for (size_t i = 0; i < r->plan.n_tasks && !failed; i++) {
        const struct strait_task_plan *task = &r->plan.tasks[i];
        const bool trains = json_object_get(task->resolved, "training") != NULL;
        if (task->repeat > 0 || (r->afar && task->backend == &strait_emu) ||
            (!task->backend->is_measured &&
             (!trains || strait_session_trains_alike(task->resolved, trained))))
            continue;
        trained = trains ? task->resolved : trained;
        struct strait_experiment *e = NULL;
        struct strait_trial *p = NULL;
        failed = strait_experiment_read(&e, r->sweep->file, task->resolved, err);
        if (!failed) {
            const struct strait_trial_options options =
                strait_plan_trial_options(&r->plan.setup, task->backend, e);
            failed = strait_trial_new(&p, e, r->profile, &options, err) != 0 ||
                     strait_trial_check(p, task->backend, err) != 0;
        }
        strait_trial_free(p);
        strait_experiment_free(e);
    }
    return failed ? -1 : 0;
}

int strait_session_load(struct strait_session *r, const char *experiment, struct strait_error *err)
{
    char folder[PATH_CHARS];
    strait_resume_load(&r->step);
    if (strait_sweep_load(&r->sweep, experiment, r->settings.items, r->settings.n, err) != 0)
        return -1;
    if (!r->out)
        r->out = default_folder(folder, sizeof(folder), r->sweep->file);
    r->folder = strdup(r->out);
    if (!r->folder)
        return strait_error_memory(err, "run");
    r->out = r->folder;
    return 0;
}

int strait_session_prepare(struct strait_session *r, const char *experiment,
                           struct strait_error *err)
{
    return strait_session_load(r, experiment, err) != 0 || make_plan(r, err) != 0 ||
                   check_host(r, err) != 0
               ? -1
               : 0;
}

/* --- rows --------------------------------------------------------------------------------- */

/* What takes the place of a row: the point, and why it has none. */
static json_t *failure_of(const struct strait_session *r, size_t i_task, const char *where,
                          const char *text)
{
    return json_pack("{s:{s:O, s:s, s:s}}", "failure", "labels", r->plan.tasks[i_task].labels,
                     "where", where, "text", text);
}

static json_t *point(size_t i_task, void *context, struct strait_error *err)
{
    struct strait_session *r = context; /* a worker's own copy */
    if (r->store)
        strait_store_leave(r->store); /* so that an orphan does not keep the lock */
    json_t *row = strait_plan_run_task(&r->plan, i_task, err);
    /* training that diverges at one point of many says nothing of the others */
    const bool alone = r->plan.n_tasks == 1;
    const bool simulated = r->plan.tasks[i_task].backend != &strait_emu;
    if (row || alone || !simulated || err->code != STRAIT_ERR_BACKEND)
        return row;
    return failure_of(r, i_task, err->where, err->text);
}

static json_t *work(size_t i, void *context, struct strait_error *err)
{
    struct strait_session *r = context;
    r->view.i_task = i + 1;
    return point(r->missing[i], r, err);
}

char *strait_session_answer(size_t i_task, void *context)
{
    return strait_pool_make_answer(i_task, point, context);
}

/* Whoever reads a row should know whether it was measured now, and what it answers: a stored row
 * has the labels of the sweep that it was computed for, which this one need not be. */
static void use_row(struct strait_session *r, size_t i_task, const json_t *row, bool stored)
{
    const char *key = r->plan.tasks[i_task].key;
    json_t *copy = json_copy((json_t *)row);
    json_object_set_new(copy, "stored", json_boolean(stored));
    json_object_set(copy, "labels", r->plan.tasks[i_task].labels);
    if (json_object_size(r->sweep->set) > 0)
        json_object_set(copy, "set", r->sweep->set);
    json_object_set_new(r->rows_by_key, key, copy);
}

/* Store constants once: in the header, or as a record if a row's differ. */
static int take_row(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct strait_session *r = context;
    const json_t *failure = json_object_get(result, "failure");
    if (failure)
        return json_array_append(r->failures, (json_t *)failure);
    json_t *row = json_deep_copy(result);
    const json_t *constants = json_object_get(result, "facts_constants");
    const char *key = json_string_value(json_object_get(result, "constants"));
    int status = -1;
    json_object_del(row, "facts_constants");
    if (!strait_store_written(r->store) && strait_session_begin(r, constants, err) != 0)
        goto out;
    if (!strait_store_find(r->store, "constants", key)) {
        json_t *record =
            json_pack("{s:s, s:s, s:O}", "record", "constants", "key", key, "constants", constants);
        status = strait_store_add(r->store, record, err);
        json_decref(record);
        if (status != 0)
            goto out;
    }
    status = strait_store_add(r->store, row, err);
    use_row(r, r->missing[i], row, false);
out:
    json_decref(row);
    return status;
}

/* Memory that a calibration gave back is scattered in a guest: what ranks get of it then is slower
 * than what was measured. So a part of its own calibrates. */
static bool only_calibrates(const struct strait_session *r)
{
    return r->step.path && !r->step.began && r->calibrated_now && strait_cpu_is_of_host();
}

/* The how-manieth point it is, in the order of the plan; other backends and repeats of a point have
 * its place. */
static size_t place_of(json_t *points, const json_t *resolved)
{
    char hash[STRAIT_KEY_CHARS];
    if (!strait_hash_json(hash, resolved))
        return 0;
    if (!json_object_get(points, hash))
        json_object_set_new(points, hash, json_integer((json_int_t)json_object_size(points)));
    return (size_t)json_integer_value(json_object_get(points, hash));
}

/* One part of a run emulates the first row that earlier parts neither computed nor found
 * INVALID. */
static int find_missing(struct strait_session *r, struct strait_error *err)
{
    struct strait_resume *step = &r->step;
    size_t n_emulated = 0;
    r->missing = calloc(r->plan.n_tasks + 1, sizeof(*r->missing));
    r->rows_by_key = json_object();
    r->failures = json_array();
    if (!r->missing || !r->rows_by_key || !r->failures)
        return strait_error_memory(err, "run");
    json_t *points = json_object(); /* {hash of a point: its place} */
    for (size_t i = 0; i < r->plan.n_tasks; i++) {
        const char *key = r->plan.tasks[i].key;
        if (!strait_shard_has(&r->shard, place_of(points, r->plan.tasks[i].resolved)))
            continue;
        const bool emulated = r->plan.tasks[i].backend == &strait_emu;
        const bool earlier = emulated ? n_emulated < step->from : step->began;
        const bool ours = !emulated || !step->path ||
                          (!earlier && step->next == step->from && !only_calibrates(r));
        const json_t *row = r->fresh && !earlier ? NULL : strait_store_find(r->store, "row", key);
        n_emulated += emulated;
        if (row) {
            use_row(r, i, row, true);
        } else if (ours) {
            r->missing[r->n_missing++] = i;
            if (emulated)
                step->next = n_emulated;
        } else if (!earlier) {
            step->more = true;
        }
    }
    json_decref(points);
    return 0;
}

/* Does one of the first n missing tasks train for real? */
static bool trains_any(const struct strait_session *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_object_get(r->plan.tasks[r->missing[i]].resolved, "training"))
            return true;
    return false;
}

/* A run of which nothing is left has failed as its first point did. */
static int note_failures(struct strait_session *r, struct strait_error *err)
{
    const json_t *first = json_array_get(r->failures, 0);
    r->n_missing -= json_array_size(r->failures);
    r->failed = r->failed || first;
    if (!first || json_object_size(r->rows_by_key) > 0)
        return 0;
    return strait_error_set(err, STRAIT_ERR_BACKEND, strait_text_of(first, "where"), "%s",
                            strait_text_of(first, "text"));
}

/* What the processes of a sweep answer. */
static int take_answer(size_t i, const json_t *answer, void *context, struct strait_error *err)
{
    return strait_pool_take_answer(answer, i, take_row, context, err);
}

/* A point that has cost one worker after the other. */
static int take_loss(size_t i, const char *why, void *context, struct strait_error *err)
{
    struct strait_session *r = context;
    json_t *failure = failure_of(r, r->missing[i], "sweep", why);
    const int status = take_row(i, failure, r, err);
    json_decref(failure);
    return status;
}

static int compute_by_crew(struct strait_session *r, struct strait_error *err)
{
    const struct strait_crew_use use = {take_answer, take_loss, r};
    return strait_crew_lead(r->crew, r->missing, r->n_missing, &use, "simulating", err) == 0
               ? note_failures(r, err)
               : -1;
}

/* On real machines this process is rank 0, and MPI stands no fork. */
static int compute_here(struct strait_session *r, struct strait_error *err)
{
    for (size_t i = 0; i < r->n_missing; i++) {
        json_t *row = strait_plan_run_task(&r->plan, r->missing[i], err);
        if (!row || take_row(i, row, r, err) != 0)
            return -1;
        json_decref(row);
    }
    return 0;
}

/* Points in virtual time run on all workers; in real time on one, since others would disturb the
 * measurement. */
static int compute(struct strait_session *r, struct strait_error *err)
{
    size_t *all = r->missing;
    const size_t n_all = r->n_missing;
    size_t n_virtual = 0;
    if (r->world)
        return compute_here(r, err);
    if (r->crew)
        return compute_by_crew(r, err);
    while (n_virtual < n_all && r->plan.tasks[all[n_virtual]].backend != &strait_emu)
        n_virtual++;
    /* Points share the processors; what a point trains shares what is left of them. */
    r->plan.setup.n_threads = n_virtual > 0 ? (int)((size_t)r->n_jobs / n_virtual) : 0;
    const bool screen = isatty(STDERR_FILENO);
    /* One at a time, training shows how it goes; else there is no place for all of them. */
    r->view =
        (struct strait_live_view){.screen = screen, .what = "simulating", .n_tasks = n_virtual};
    const bool alone = n_virtual == 1 || r->n_jobs == 1;
    const bool shows = alone && (screen || r->live) && n_virtual > 0 && trains_any(r, n_virtual);
    r->plan.setup.view = shows ? &r->view : NULL;
    int status = strait_pool_run(n_virtual, (int)r->n_jobs, work, take_row, r,
                                 shows ? NULL : r->view.what, err);
    r->missing = all + n_virtual; /* the plan has emu's tasks last */
    r->view = (struct strait_live_view){
        .screen = screen, .what = "emulating", .n_tasks = n_all - n_virtual};
    r->plan.setup.view = screen || r->live ? &r->view : NULL;
    if (status == 0) /* the live view shows the progress itself */
        status = strait_pool_run(n_all - n_virtual, 1, work, take_row, r,
                                 screen ? NULL : r->view.what, err);
    r->missing = all;
    return status == 0 ? note_failures(r, err) : status;
}

/* Store what was measured about this machine, so that the next run can use it. */
static int save_measured(struct strait_session *r, struct strait_error *err)
{
    size_t i;
    json_t *record;
    int status = 0;
    if (json_array_size(r->measured) > 0 && !strait_store_written(r->store))
        status = strait_session_begin(r, NULL, err);
    json_array_foreach (r->measured, i, record) {
        if (status == 0)
            status = strait_store_add(r->store, record, err);
    }
    return status;
}

static int save_calibration(struct strait_session *r, struct strait_error *err)
{
    if (!r->calibrated_now)
        return 0;
    json_t *record = strait_own_profile_save(r, err);
    const int status = record && strait_session_begin(r, NULL, err) == 0
                           ? strait_store_add(r->store, record, err)
                           : -1;
    json_decref(record);
    return status;
}

static int make_spans_folder(struct strait_session *r, struct strait_error *err)
{
    if (!r->spans)
        return 0;
    if (asprintf(&r->spans_folder, "%s/spans", r->out) < 0) {
        r->spans_folder = NULL;
        return strait_error_memory(err, "run");
    }
    if (mkdir(r->spans_folder, 0755) != 0 && errno != EEXIST)
        return strait_error_path(err, r->spans_folder, "cannot make the folder");
    r->plan.setup.spans = r->spans_folder;
    return 0;
}

static int prepare_missing(struct strait_session *r, struct strait_error *err)
{
    if (find_missing(r, err) != 0 || save_calibration(r, err) != 0 ||
        strait_emu_estimate_find(r, err) != 0)
        return -1;
    strait_packet_estimate_say(r);
    return 0;
}

int strait_session_compute(struct strait_session *r, struct strait_error *err)
{
    if (r->save_state && mkdir(r->save_state, 0755) != 0 && errno != EEXIST)
        return strait_error_system(err, r->save_state, "cannot make the folder");
    return strait_store_open(&r->store, r->out, true, err) != 0 || make_spans_folder(r, err) != 0 ||
                   prepare_missing(r, err) != 0 || save_measured(r, err) != 0 ||
                   compute(r, err) != 0 || strait_resume_save(&r->step, err) != 0
               ? -1
               : 0;
}

json_t *strait_session_rows(const struct strait_session *r, const struct strait_backend *backend)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < r->plan.n_tasks; i++) {
        json_t *row = json_object_get(r->rows_by_key, r->plan.tasks[i].key);
        if (row && (!backend || r->plan.tasks[i].backend == backend))
            json_array_append(rows, row);
    }
    return rows;
}

int strait_session_finish(struct strait_session *r, struct strait_error *err)
{
    int status = 0;
    if (!strait_store_written(r->store) && !strait_session_is_announced(r))
        status = strait_session_begin(
            r, json_object_get(strait_store_header(r->store), "constants"), err);
    if (status == 0 && (strait_store_written(r->store) || !strait_session_is_announced(r))) {
        json_t *end = json_pack("{s:s, s:I, s:I, s:f, s:b}", "record", "end", "rows",
                                (json_int_t)json_object_size(r->rows_by_key), "computed",
                                (json_int_t)r->n_missing, "wall_s", strait_clock_s() - r->start_s,
                                "failed", r->failed);
        status = strait_store_add(r->store, end, err);
        json_decref(end);
    }
    const size_t n_rows = json_object_size(r->rows_by_key);
    if (!r->notes)
        return status;
    fflush(stdout);
    fprintf(r->notes, "%s: %zu row%s, %zu computed now, %.1f s\n", strait_store_path(r->store),
            n_rows, n_rows == 1 ? "" : "s", r->n_missing, strait_clock_s() - r->start_s);
    return status;
}

void strait_session_release(struct strait_session *r)
{
    strait_plan_release(&r->plan);
    strait_store_free(r->store);
    strait_profile_free(r->profile);
    strait_learned_release(&r->learned);
    strait_sweep_free(r->sweep);
    free(r->profile_text);
    json_decref(r->rows_by_key);
    json_decref(r->failures);
    json_decref(r->plan.setup.net_cpus);
    json_decref(r->measured);
    free(r->missing);
    free(r->settings.items);
    free(r->folder);
    free(r->spans_folder);
}
