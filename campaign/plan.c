/* Tasks and their keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/label.h"
#include "analysis/row.h"
#include "host_header.h"
#include "plan.h"

int strait_plan_setup_hashes(struct strait_plan_setup *s, struct strait_error *err)
{
    if (s->profile && !strait_profile_hash(s->profile_hash, s->profile))
        return strait_error_memory(err, "profile");
    if (*s->program && *s->machine) /* asked for again with another profile */
        return 0;
    return strait_program_hash(s->program, err) != 0 ? -1 : strait_host_hash(s->machine, err);
}

const char *strait_plan_control(const struct strait_plan_setup *setup,
                                const struct strait_backend *backend)
{
    if (!setup->control)
        return NULL;
    const bool breaks_sim =
        strcmp(setup->control, "no-ramp") == 0 || strcmp(setup->control, "no-codec-cost") == 0;
    return breaks_sim == !backend->is_measured ? setup->control : NULL;
}

struct strait_trial_options strait_plan_point_options(const struct strait_plan_setup *setup,
                                                      const struct strait_backend *backend)
{
    const bool real =
        backend->is_measured && !(setup->timing && strcmp(setup->timing, "replay") == 0);
    return (struct strait_trial_options){.real_payload = real,
                                         .measured_cost = real,
                                         .control = strait_plan_control(setup, backend),
                                         .dilation = setup->dilation,
                                         .realisation = setup->realisation,
                                         .launcher = setup->launcher,
                                         .every_round = setup->every_round,
                                         .in_process = true,
                                         .world = setup->world,
                                         .one_at_a_time = backend->is_measured && setup->timing &&
                                                          strcmp(setup->timing, "serial") == 0};
}

struct strait_trial_options strait_plan_trial_options(const struct strait_plan_setup *setup,
                                                      const struct strait_backend *backend,
                                                      const struct strait_experiment *e)
{
    struct strait_trial_options options = strait_plan_point_options(setup, backend);
    if (e->trains && !backend->is_measured)
        options.real_payload = true; /* values are real, time is simulated */
    options.n_threads = setup->n_threads;
    return options;
}

const char *strait_plan_net_cpu_key(char key[STRAIT_KEY_CHARS],
                                    const struct strait_plan_setup *setup, const json_t *resolved,
                                    int n_ranks)
{
    json_t *all = json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:i, s:O?}", "machine", setup->machine,
                            "program", setup->program, "realisation", setup->realisation,
                            "launcher", setup->launcher, "timing", setup->timing, "ranks", n_ranks,
                            "network", json_object_get(resolved, "network"));
    const char *hashed = all ? strait_hash_json(key, all) : NULL;
    json_decref(all);
    return hashed;
}

double strait_plan_net_cpu_s(const struct strait_plan_setup *setup, const json_t *resolved,
                             int n_ranks)
{
    char key[STRAIT_KEY_CHARS];
    return setup->net_cpus && strait_plan_net_cpu_key(key, setup, resolved, n_ranks)
               ? json_number_value(json_object_get(setup->net_cpus, key))
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
    json_object_foreach ((json_t *)labels, pointer, value)
        if (!strait_label_is_codec(pointer))
            json_object_set(plain, pointer, value);
    return plain;
}

bool strait_plan_is_plain(const struct strait_experiment *e)
{
    return strcmp(e->up.spec.ops->name, "none") == 0 && strcmp(e->down.spec.ops->name, "none") == 0;
}

bool strait_plan_sends_sizes(const struct strait_plan_setup *setup,
                             const struct strait_backend *backend,
                             const struct strait_experiment *e)
{
    return setup->sends_sizes && !backend->is_measured && !e->trains && !strait_plan_is_plain(e);
}

static struct strait_task_plan *grow(struct strait_plan *plan, struct strait_error *err)
{
    if (plan->n_tasks == plan->cap_tasks) {
        const size_t cap = plan->cap_tasks ? 2 * plan->cap_tasks : 64;
        struct strait_task_plan *more = realloc(plan->tasks, cap * sizeof(*more));
        if (!more) {
            strait_error_memory(err, "run");
            return NULL;
        }
        plan->tasks = more;
        plan->cap_tasks = cap;
    }
    struct strait_task_plan *task = &plan->tasks[plan->n_tasks++];
    *task = (struct strait_task_plan){0};
    return task;
}

/* A missing profile entry is an error of the experiment, unless the profile itself is wrong. */
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

/* Whether the row depends on recorded values. */
static bool reads_tensors(const struct strait_plan_setup *setup, const struct strait_experiment *e,
                          const struct strait_backend *backend)
{
    return backend->is_measured || e->strategy->quality ||
           strait_plan_sends_sizes(setup, backend, e);
}

/* Add a point, of which e was read, with all its repeats. */
static int add_point(struct strait_plan *plan, const struct strait_experiment *e,
                     const json_t *resolved, const json_t *labels,
                     const struct strait_backend *backend, int n_repeats, bool reference,
                     const char *tensors, struct strait_error *err)
{
    struct strait_trial *p = NULL;
    const struct strait_trial_options sized = {
        .control = strait_plan_control(&plan->setup, backend),
        .guess = strait_plan_point_options(&plan->setup, backend).measured_cost};
    char taken[STRAIT_KEY_CHARS];
    int status = -1;
    struct strait_error why = {0};
    if (strait_trial_new(&p, e, plan->setup.profile, &sized, &why) != 0) {
        blame_codec(err, plan->setup.file, &why);
        goto out;
    }
    if (!reference) {
        char files[STRAIT_KEY_CHARS];
        plan->files = plan->files ? plan->files : json_object();
        if (!strait_row_files_hash(files, p) ||
            json_object_set_new(plan->files, files, json_true()) != 0) {
            strait_error_memory(err, "run");
            goto out;
        }
    }
    /* An emulation that measures is the same with a profile that knows more codecs. */
    const char *profile =
        sized.guess ? strait_trial_profile_hash(taken, p) : plan->setup.profile_hash;
    if (!profile) {
        strait_error_memory(err, "profile");
        goto out;
    }
    for (int repeat = 0; repeat < n_repeats; repeat++) {
        struct strait_task_plan *task = grow(plan, err);
        if (!task)
            goto out;
        task->resolved = json_deep_copy(resolved);
        task->labels = json_deep_copy(labels);
        if (!task->resolved || (labels && !task->labels)) {
            strait_error_memory(err, "run");
            goto out;
        }
        task->backend = backend;
        task->repeat = repeat;
        task->reference = reference;
        const bool emu = backend->is_measured;
        task->n_segments =
            !emu && strait_network_by_packets(e->network) ? strait_experiment_n_segments(e) : 0;
        const struct strait_row_inputs inputs = {
            .resolved = resolved,
            .backend = backend->name,
            .control = strait_plan_control(&plan->setup, backend),
            .profile = profile,
            .program = plan->setup.program,
            .machine = emu ? plan->setup.machine : NULL,
            .tensors = reads_tensors(&plan->setup, e, backend) ? tensors : NULL,
            .sizes = strait_plan_sends_sizes(&plan->setup, backend, e) ? "sent" : NULL,
            .trial = p,
            .dilation = plan->setup.dilation,
            .realisation = emu ? plan->setup.realisation : NULL,
            .launcher = emu ? plan->setup.launcher : NULL,
            .timing = emu ? plan->setup.timing : NULL,
            .check = emu && plan->setup.check,
            .every_round = !emu && plan->setup.every_round,
            .learned = !emu && plan->setup.learned ? plan->setup.learned->hash : NULL,
            .repeat = repeat};
        if (strait_row_key(task->key, &inputs, err) != 0)
            goto out;
    }
    status = 0;
out:
    strait_trial_free(p);
    return status;
}

/* A point without its codecs, which the sweep lacks. */
static int add_reference(struct strait_plan *plan, const json_t *resolved, const json_t *labels,
                         const struct strait_backend *backend, const char *tensors,
                         struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    const int failed = strait_experiment_read(&e, plan->setup.file, resolved, err) != 0 ||
                       add_point(plan, e, resolved, labels, backend, 1, true, tensors, err) != 0;
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

/* Note of a point where it stands but for its codecs: that it is there without any, or that it has
 * to be. */
static int note_reference(json_t *plain_places, json_t *wanted, const json_t *resolved,
                          const json_t *labels, bool is_plain, struct strait_error *err)
{
    char place[STRAIT_KEY_CHARS];
    json_t *plain = strait_plan_without_codec(resolved);
    if (!strait_hash_json(place, plain)) {
        json_decref(plain);
        return strait_error_memory(err, "run");
    }
    if (is_plain)
        json_object_set_new(plain_places, place, json_true());
    else
        json_array_append_new(wanted, json_pack("{s:s, s:O, s:o}", "place", place, "plain", plain,
                                                "labels", labels_without_codec(labels)));
    json_decref(plain);
    return 0;
}

int strait_plan_add(struct strait_plan *plan, const struct strait_sweep *sweep,
                    const struct strait_backend *backend, int n_repeats, bool with_references,
                    struct strait_error *err)
{
    json_t *plain_places = json_object(), *wanted = json_array();
    char tensors[STRAIT_KEY_CHARS] = "", folder[4096] = "";
    int status = -1;
    size_t w;
    json_t *reference;
    for (size_t i = 0; i < sweep->n_points; i++) {
        json_t *labels = NULL, *resolved = strait_sweep_point(sweep, i, &labels, err);
        struct strait_experiment *e = NULL;
        int failed = !resolved || strait_experiment_read(&e, sweep->file, resolved, err) != 0;
        const char *here = json_string_value(json_object_get(resolved, "tensors"));
        if (!failed && reads_tensors(&plan->setup, e, backend) &&
            (!*tensors || strcmp(folder, here ? here : "") != 0)) {
            failed = strait_row_tensors_hash(tensors, here, err);
            snprintf(folder, sizeof(folder), "%s", here ? here : "");
        }
        if (!failed)
            failed = add_point(plan, e, resolved, labels, backend, n_repeats, false, tensors, err);
        if (!failed && with_references)
            failed = note_reference(plain_places, wanted, resolved, labels, strait_plan_is_plain(e),
                                    err);
        json_decref(labels);
        json_decref(resolved);
        strait_experiment_free(e);
        if (failed)
            goto out;
    }
    json_array_foreach (wanted, w, reference) {
        const char *at = json_string_value(json_object_get(reference, "place"));
        if (json_object_get(plain_places, at))
            continue;
        json_object_set_new(plain_places, at, json_true());
        if (add_reference(plan, json_object_get(reference, "plain"),
                          json_object_get(reference, "labels"), backend, tensors, err) != 0)
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
    json_decref(plan->files);
    plan->tasks = NULL;
    plan->files = NULL;
    plan->n_tasks = plan->cap_tasks = 0;
}
