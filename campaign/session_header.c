/* The header of a results folder: what is asked, by which program, with which constants. */
#include "session_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "analysis/fields.h"
#include "breakeven_sweep.h"
#include "host_header.h"

/* Rows that are there already may be labelled as another sweep had them. */
static json_t *runs_of(const struct strait_session *r)
{
    const struct strait_plan *plan = &r->plan;
    json_t *runs = json_array(), *keys = NULL, *labels = NULL;
    const struct strait_backend *before = NULL;
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct strait_task_plan *task = &plan->tasks[i];
        if (task->backend != before) {
            before = task->backend;
            keys = json_array();
            labels = json_object();
            json_array_append_new(runs,
                                  json_pack("{s:s, s:s?, s:o, s:o}", "backend", before->name,
                                            "control", strait_plan_control(&plan->setup, before),
                                            "keys", keys, "labels", labels));
        }
        json_array_append_new(keys, json_string(task->key));
        const json_t *row = r->store ? strait_store_find(r->store, "row", task->key) : NULL;
        if (row && !json_equal(json_object_get(row, "labels"), task->labels))
            json_object_set(labels, task->key, task->labels);
    }
    return runs;
}

/* With the commit, and how to cite it (CITATION.cff). */
static json_t *versions_of(const struct strait_session *r)
{
    json_t *versions = strait_versions_json(r->plan.setup.program);
    char citation[256];
    const char *commit = r->commit && *r->commit ? r->commit : "unknown";
    snprintf(citation, sizeof(citation),
             "The strait developers: strait: how long compressed distributed training takes over "
             "narrow networks. Version %s, commit %s",
             strait_text_of(versions, "strait"), commit);
    if (versions) {
        json_object_set_new(versions, "commit", json_string(commit));
        json_object_set_new(versions, "citation", json_string(citation));
    }
    return versions;
}

static json_t *header_of(const struct strait_session *r, const json_t *constants)
{
    char sweep[STRAIT_KEY_CHARS], date[32];
    const time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (!strait_breakeven_sweep_hash(sweep, r->sweep, &r->plan))
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:O, s:O?, s:O}, s:s, s:o, s:o, s:{s:s, s:b}, s:O?, "
                     "s:o, s:b}",
                     "record", "header", "schema", STRAIT_RESULTS_SCHEMA, "date", date,
                     "experiment", "file", r->sweep->file, "base", r->sweep->base, "vary",
                     r->sweep->vary, "set", r->sweep->set, "sweep", sweep, "versions",
                     versions_of(r), "machine", strait_host_json(), "profile", "hash",
                     r->plan.setup.profile_hash, "calibrated", r->calibrated, "constants",
                     constants, "runs", runs_of(r), "every_round", r->every_round);
}

/* Whether the folder's last header announced the same rows. */
bool strait_session_is_announced(const struct strait_session *r)
{
    json_t *runs = runs_of(r);
    const json_t *last = strait_store_header(r->store);
    const bool same =
        last && json_equal(json_object_get(last, "runs"), runs) &&
        json_equal(json_object_get(json_object_get(last, "experiment"), "set"), r->sweep->set);
    json_decref(runs);
    return same;
}

int strait_session_begin(struct strait_session *r, const json_t *constants,
                         struct strait_error *err)
{
    const char *as =
        r->profile_text ? r->profile_text : strait_profile_text(&r->profile_text, r->profile);
    json_t *header = as ? header_of(r, constants) : NULL;
    const int status =
        header ? strait_store_begin(r->store, header, err) : strait_error_memory(err, "run");
    strait_store_profile(r->store, as);
    json_decref(header);
    return status;
}
