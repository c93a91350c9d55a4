/* The profile of a results folder. */
#include <stdio.h>
#include <string.h>
#include "analysis/measured/calibration.h"
#include "analysis/row.h"
#include "own_profile.h"

enum { PATH_CHARS = 4096 };

/* What the entries of each model were measured on: {name: [hash of its table, recordings]}. */
static json_t *models_of(const struct strait_sweep *sweep, struct strait_error *err)
{
    json_t *models = json_object();
    for (size_t i = 0; i < sweep->n_points && models; i++) {
        struct strait_experiment *e = NULL;
        char key[STRAIT_KEY_CHARS];
        json_t *point = strait_sweep_point(sweep, i, NULL, err);
        const bool read = point && strait_experiment_read(&e, sweep->file, point, err) == 0;
        if (read)
            json_object_set_new(models, e->model->name,
                                json_pack("[s?, s]", strait_row_model_hash(key, e->model),
                                          e->tensors ? e->tensors : ""));
        strait_experiment_free(e);
        json_decref(point);
        if (!read) {
            json_decref(models);
            return NULL;
        }
    }
    return models ? models : (strait_error_memory(err, "run"), NULL);
}

/* Without the entries of models that are not now what they were. */
static void forget_changed(struct strait_profile *p, const json_t *before, const json_t *now)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_entries; i++) {
        const json_t *is = json_object_get(now, p->entries[i].model);
        if (!is || json_equal(is, json_object_get(before, p->entries[i].model)))
            p->entries[n++] = p->entries[i];
    }
    p->n_entries = n;
}

/* The calibration of an earlier run in this folder, if this machine and program made it. */
static struct strait_profile *earlier(const struct strait_session *r, const json_t *models)
{
    char path[PATH_CHARS], hash[STRAIT_KEY_CHARS];
    struct strait_error ignored = {0};
    struct strait_store *store;
    struct strait_profile *profile = NULL;
    snprintf(path, sizeof(path), "%s/profile.json", r->out);
    if ((r->fresh && !r->step.began) || strait_store_open(&store, r->out, false, &ignored) != 0)
        return NULL;
    const json_t *record = strait_store_find(store, "calibration", r->plan.setup.machine);
    const char *known = json_string_value(json_object_get(record, "profile"));
    const char *program = json_string_value(json_object_get(record, "program"));
    if (known && program && strcmp(program, r->plan.setup.program) == 0 &&
        strait_profile_load(&profile, path, &ignored) == 0) {
        if (strait_profile_hash(hash, profile) && strcmp(hash, known) == 0) {
            forget_changed(profile, json_object_get(record, "models"), models);
        } else {
            strait_profile_free(profile);
            profile = NULL;
        }
    }
    strait_store_free(store);
    return profile;
}

static int extend(struct strait_session *r, struct strait_error *err)
{
    size_t n;
    if (strait_calibrate_missing(r->profile, &n, r->sweep, NULL, err) != 0)
        return -1;
    if (n == 0)
        return 0;
    if (r->notes)
        fprintf(r->notes, "calibrating what %s/profile.json lacks on this machine ...\n", r->out);
    r->calibrated_now = true;
    return strait_calibrate_missing(r->profile, &n, r->sweep, &strait_calibration_full, err);
}

int strait_own_profile_choose(struct strait_session *r, struct strait_error *err)
{
    json_t *models = models_of(r->sweep, err);
    if (!models)
        return -1;
    r->profile = earlier(r, models);
    json_decref(models);
    if (r->profile)
        return extend(r, err);
    if (r->notes)
        fputs("calibrating the codecs on this machine ...\n", r->notes);
    r->calibrated_now = true;
    return strait_calibrate_for(&r->profile, r->sweep, &strait_calibration_full, err);
}

/* Of models that this sweep does not use, the last record tells. */
static json_t *all_models(const struct strait_session *r, struct strait_error *err)
{
    json_t *models = models_of(r->sweep, err);
    const json_t *record = strait_store_find(r->store, "calibration", r->plan.setup.machine);
    if (models && json_object_get(record, "models"))
        json_object_update_missing(models, json_object_get(record, "models"));
    return models;
}

json_t *strait_own_profile_save(const struct strait_session *r, struct strait_error *err)
{
    char path[PATH_CHARS];
    json_t *models = all_models(r, err);
    snprintf(path, sizeof(path), "%s/profile.json", r->out);
    if (!models || strait_profile_save(r->profile, path, err) != 0) {
        json_decref(models);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "record", "calibration", "key",
                     r->plan.setup.machine, "profile", r->plan.setup.profile_hash, "program",
                     r->plan.setup.program, "models", models);
}
