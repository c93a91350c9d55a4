/* Run tasks: attempts and retries, flags. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "analysis/measured/codec_slowdown.h"
#include "analysis/row.h"
#include "analysis/timeline/spans_file.h"
#include "analysis/training/spread.h"
#include "core/clock.h"
#include "live_view.h"
#include "host_header.h"
#include "invariance.h"
#include "mpi/consensus.h"
#include "plan.h"

/* --- what codecs took --------------------------------------------------------------------- */

/* A flag where a machine that calibrated them gives them less of itself now. */
static int flag_inflation(struct strait_trial *p, const struct strait_plan_setup *setup,
                          const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_trial_options sized = {.every_round = true, .in_process = true};
    struct strait_trial *calibrated = NULL;
    char text[256];
    const int failed = strait_trial_new(&calibrated, e, setup->profile, &sized, err) != 0 ||
                       strait_trial_run(calibrated, &strait_fluid, err) != 0;
    if (!failed &&
        strait_codec_slowdown_text(text, sizeof(text), p->logs, calibrated->logs, e->n_ranks))
        json_array_append_new(p->facts.flags, json_string(text));
    strait_trial_free(calibrated);
    return failed ? -1 : 0;
}

enum { STATE_CHARS = 4096 };

/* --- running ------------------------------------------------------------------------------ */

/* Where the state of a task with this seed is saved; NULL: nowhere. */
static const char *state_of(char buf[STATE_CHARS], const struct strait_plan *plan,
                            const struct strait_task_plan *task, int later)
{
    if (!plan->setup.save_state || task->backend->is_measured)
        return NULL;
    snprintf(buf, STATE_CHARS, "%s/%s-%d.state", plan->setup.save_state, task->key, later);
    return buf;
}

static int keep_spans(const struct strait_plan *plan, const struct strait_task_plan *task,
                      const struct strait_trial *p, struct strait_error *err)
{
    char path[STATE_CHARS];
    snprintf(path, sizeof(path), "%.4000s/%s.jsonl", plan->setup.spans, task->key);
    return strait_spans_write(path, p->logs, p->experiment->n_ranks, err);
}

/* Sizes of what the point would send; where they cannot be found out, the profile has them and the
 * row says why. */
static struct strait_sent_sizes *sizes_of(char why[STATE_CHARS], const struct strait_plan *plan,
                                          const struct strait_task_plan *task,
                                          const struct strait_experiment *e)
{
    struct strait_sent_sizes *sizes = NULL;
    struct strait_error err = {0};
    *why = '\0';
    if (strait_plan_sends_sizes(&plan->setup, task->backend, e) &&
        strait_trial_find_sizes(&sizes, e, plan->setup.profile, &err) != 0)
        snprintf(why, STATE_CHARS, "%s", err.text);
    return sizes;
}

/* One attempt at a task, with the seed that comes so many after the experiment's. */
static json_t *attempt_seed(const struct strait_plan *plan, const struct strait_task_plan *task,
                            double dilation, int later, struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    json_t *row = NULL;
    const double start_s = strait_clock_s();
    json_t *resolved = json_copy(task->resolved);
    if (later > 0) {
        const json_t *seed = json_object_get(task->resolved, "seed");
        json_object_set_new(resolved, "seed",
                            json_integer((seed ? json_integer_value(seed) : 1) + later));
    }
    const int unread =
        strait_experiment_read(&e, plan->setup.file, resolved, err) != 0 ||
        (plan->setup.world && strait_mpi_announce(plan->setup.world, resolved, err) != 0);
    if (!unread && plan->setup.afar && task->backend == &strait_emu)
        row = plan->setup.afar->row(plan->setup.afar, task, resolved, e, err);
    json_decref(resolved);
    if (unread || (plan->setup.afar && task->backend == &strait_emu)) {
        strait_experiment_free(e);
        return row;
    }
    struct strait_trial_options options = strait_plan_trial_options(&plan->setup, task->backend, e);
    struct strait_plan_setup setup = plan->setup;
    char state[STATE_CHARS], why[STATE_CHARS];
    struct strait_sent_sizes *sizes = sizes_of(why, plan, task, e);
    options.sizes = setup.sizes = sizes;
    options.state = state_of(state, plan, task, later);
    options.dilation = dilation;
    options.watch = plan->setup.view ? strait_live_watch : NULL;
    options.watcher = plan->setup.view;
    int failed = strait_trial_new(&p, e, plan->setup.profile, &options, err);
    if (!failed)
        p->run.net_cpu_s_per_gbit = strait_plan_net_cpu_s(&plan->setup, task->resolved, e->n_ranks);
    if (!failed && strait_trial_run(p, task->backend, err) == 0) {
        json_t *machine = task->backend->is_measured ? strait_host_json() : NULL;
        struct strait_row_context context = {.backend = task->backend->name,
                                             .key = task->key,
                                             .profile = plan->setup.profile_hash,
                                             .labels = task->labels,
                                             .control = options.control,
                                             .repeat = task->repeat,
                                             .no_sizes = *why ? why : NULL,
                                             .machine = machine,
                                             .wall_s = strait_clock_s() - start_s};
        if (options.measured_cost && plan->setup.calibrated)
            failed = flag_inflation(p, &plan->setup, e, err);
        row = failed ? NULL : strait_row_new(p, &context, err);
        if (row && plan->setup.spans && later == 0 && keep_spans(plan, task, p, err) != 0) {
            json_decref(row);
            row = NULL;
        }
        if (row && !plan->setup.no_intervals &&
            strait_plan_put_interval(row, &setup, task->backend, e, err) != 0) {
            json_decref(row);
            row = NULL;
        }
        if (row)
            strait_trial_forget_state(p);
        json_decref(machine);
        if (row && task->reference)
            json_object_set_new(row, "reference", json_true());
        if (row) /* for the store, which keeps constants once: the parent takes them out */
            json_object_set_new(row, "facts_constants", json_deep_copy(p->facts.constants));
    }
    strait_trial_free(p);
    strait_sent_sizes_free(sizes);
    strait_experiment_free(e);
    return row;
}

/* One attempt at a task; with "seeds" as many runs, whose spread the first one's row has. */
static json_t *attempt(const struct strait_plan *plan, const struct strait_task_plan *task,
                       double dilation, struct strait_error *err)
{
    const json_t *seeds = json_object_get(task->resolved, "seeds");
    const int n_seeds = seeds ? (int)json_integer_value(seeds) : 1;
    json_t *rows = json_array();
    for (int i = 0; i < n_seeds; i++) {
        json_t *row = attempt_seed(plan, task, dilation, i, err);
        if (!row || json_array_append_new(rows, row) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    json_t *row = json_incref(json_array_get(rows, 0));
    if (json_object_get(row, "training") && !strait_training_spread(row, rows)) {
        strait_error_memory(err, "run");
        json_decref(row);
        row = NULL;
    }
    json_decref(rows);
    return row;
}

/* Run the point again at twice the dilation; if its time differs, the row becomes INVALID. */
static int check_invariance(json_t *row, const struct strait_plan *plan,
                            const struct strait_task_plan *task, struct strait_error *err)
{
    json_t *again = attempt(plan, task, 2 * strait_invariance_dilation(row), err);
    if (!again)
        return -1;
    strait_invariance_note(row, again);
    json_decref(again);
    return 0;
}

/* A try that failed takes as long as the next one, which would look like a run that hangs. On a
 * terminal the line takes the place of the progress line, which comes again below it. */
static void note_retry(const struct strait_plan_setup *setup, const json_t *row, int next)
{
    const json_t *why = json_array_get(json_object_get(row, "invalid"), 0);
    if (!setup->notes || setup->view)
        return;
    fprintf(setup->notes, "%sstrait: emu, %.0f clients: INVALID: %s; try %d of %d\n",
            isatty(fileno(setup->notes)) ? "\r\033[K" : "", strait_row_number(row, "clients"),
            json_string_value(why) ? json_string_value(why) : "", next, setup->n_retries + 1);
    fflush(setup->notes);
}

/* Retry an emulated task that came back INVALID, which a busy host sometimes causes, each time with
 * twice the dilation; the row keeps the earlier reasons. */
json_t *strait_plan_run_task(const struct strait_plan *plan, size_t i, struct strait_error *err)
{
    const struct strait_task_plan *task = &plan->tasks[i];
    double dilation = plan->setup.dilation;
    json_t *row = attempt(plan, task, dilation, err), *before = json_array();
    const bool again = task->backend == &strait_emu && !plan->setup.control && !plan->setup.afar;
    for (int n = 0;
         again && n < plan->setup.n_retries && row && !json_is_true(json_object_get(row, "valid"));
         n++) {
        json_array_extend(before, json_object_get(row, "invalid"));
        if (!(plan->setup.dilation > 0))
            dilation = 2 * strait_invariance_dilation(row);
        note_retry(&plan->setup, row, n + 2);
        struct strait_error why = {0};
        json_t *next = attempt(plan, task, dilation, &why);
        if (!next && why.code == STRAIT_ERR_INPUT)
            break; /* impossible at that dilation: the row stays INVALID */
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
                        const json_t *resolved, const struct strait_backend *backend, bool guess,
                        struct strait_error *err)
{
    const struct strait_trial_options sized = {
        .control = strait_plan_control(setup, backend), .guess = guess, .in_process = true};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    int status = -1;
    if (strait_experiment_read(&e, setup->file, resolved, err) == 0 &&
        strait_trial_new(&p, e, setup->profile, &sized, err) == 0 &&
        strait_trial_run(p, backend, err) == 0) {
        *round_s = strait_plan_mean_round_s(p);
        status = 0;
    }
    strait_trial_free(p);
    strait_experiment_free(e);
    return status;
}

/* One point, as another rank than 0. What stops it before its run fails the run. */
static int follow_point(const struct strait_plan_setup *setup, const json_t *resolved,
                        struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    int failed = strait_experiment_read(&e, setup->file, resolved, err);
    if (!failed) {
        const struct strait_trial_options options =
            strait_plan_trial_options(setup, &strait_mpi, e);
        failed = strait_trial_new(&p, e, setup->profile, &options, err) != 0 ||
                 strait_trial_run(p, &strait_mpi, err) != 0;
    }
    if (failed) { /* lanes may still run on them */
        strait_mpi_world_refuse(setup->world, err);
        return -1;
    }
    strait_trial_free(p);
    strait_experiment_free(e);
    return 0;
}

int strait_plan_follow(const struct strait_plan_setup *setup, struct strait_error *err)
{
    for (json_t *point; strait_mpi_next(setup->world, &point, err) == 0;) {
        const int failed = point ? follow_point(setup, point, err) : 0;
        const bool over = !point;
        json_decref(point);
        if (failed || over)
            return failed;
    }
    return -1;
}
