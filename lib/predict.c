#include <stdlib.h>
#include <string.h>
#include "campaign/plan.h"
#include "core/shipped.h"
#include "forget.h"
#include "strait.h"

static const struct strait_backend *backend_of(const char *name, struct strait_error *err)
{
    if (!name || strcmp(name, strait_sim.name) == 0)
        return &strait_sim;
    if (strcmp(name, strait_fluid.name) == 0)
        return &strait_fluid;
    strait_error_set(err, STRAIT_ERR_USAGE, "strait_predict", "expected sim or fluid, found \"%s\"",
                     name);
    return NULL;
}

/* All rows of a plan, one after another: a new reference, or NULL with *err. */
static json_t *run_all(const struct strait_plan *plan, json_t *set, struct strait_error *err)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < plan->n_tasks; i++) {
        json_t *row = strait_plan_run_task(plan, i, err);
        if (!row) {
            json_decref(rows);
            return NULL;
        }
        json_object_del(row, "facts_constants"); /* for a results folder, which keeps them once */
        if (json_object_size(set) > 0)
            json_object_set(row, "set", set);
        json_array_append_new(rows, row);
    }
    return rows;
}

static int predict(char **text, const struct strait_sweep *sweep,
                   const struct strait_profile *profile, const struct strait_backend *backend,
                   struct strait_error *err)
{
    struct strait_learned learned = {.n = 0}; /* of intervals, as strait run has it */
    struct strait_plan plan = {
        .setup = {.file = sweep->file, .profile = profile, .learned = &learned}};
    json_t *rows = NULL;
    char path[4096];
    strait_share_path(path, sizeof(path), STRAIT_LEARNED_FILE);
    if (strait_learned_load(&learned, path, err) == 0 &&
        strait_plan_setup_hashes(&plan.setup, err) == 0 &&
        strait_plan_add(&plan, sweep, backend, 1, true, err) == 0)
        rows = run_all(&plan, sweep->set, err);
    strait_plan_release(&plan);
    strait_learned_release(&learned);
    if (!rows)
        return -1;
    *text = json_dumps(rows, JSON_COMPACT);
    json_decref(rows);
    return *text ? 0 : strait_error_memory(err, "strait_predict");
}

int strait_predict(char **rows, const char *experiment, const char *backend, const char *profile,
                   const char *const *settings, struct strait_error *err)
{
    struct strait_sweep *sweep = NULL;
    struct strait_profile *p = NULL;
    size_t n_settings = 0;
    forget(err);
    *rows = NULL;
    while (settings && settings[n_settings])
        n_settings++;
    const struct strait_backend *on = backend_of(backend, err);
    const int failed = !on ||
                       strait_sweep_load(&sweep, experiment, settings, n_settings, err) != 0 ||
                       strait_profile_load(&p, profile ? profile : "default", err) != 0 ||
                       predict(rows, sweep, p, on, err) != 0;
    strait_profile_free(p);
    strait_sweep_free(sweep);
    return failed ? -1 : 0;
}

void strait_rows_free(char *rows)
{
    free(rows);
}
