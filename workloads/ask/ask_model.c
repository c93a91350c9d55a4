#include "experiment_parts.h"

#include <string.h>

#include "core/shipped.h"
#include "learn/task.h"
#include "traces/import/import.h"
#include "traces/models/model_object.h"

/* Without "model", that of the task; a name that is none is the reader's to refuse, later. */
static int read_name(const char **model, struct strait_object *o, struct strait_error *err)
{
    const char *task =
        json_string_value(json_object_get(json_object_get(o->json, "training"), "task"));
    const struct strait_learn_task_info *info = NULL;
    for (size_t i = 0; task && (info = strait_learn_task(i)) && strcmp(info->name, task) != 0;)
        i++;
    if (!info)
        return strait_object_string(o, model, "model", err);
    return strait_object_string_or(o, model, "model", info->model ? info->model : task, err);
}

int strait_ask_model(struct strait_model **out, struct strait_object *experiment,
                     struct strait_error *err)
{
    struct strait_object o;
    const char *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (json_is_object(strait_object_value(experiment, "model")))
        return strait_object_enter(&o, experiment, "model", false, err) != 0
                   ? -1
                   : strait_model_object_load(out, &o, err);
    if (read_name(&name, experiment, err) != 0)
        return -1;
    return strait_model_name_load(
        out, name, strait_object_where(experiment, "model", where, sizeof(where)), err);
}

int strait_ask_trace(struct strait_experiment *e, struct strait_object *o, struct strait_error *err)
{
    const char *path,
        *strategy =
            json_string_value(json_object_get(json_object_get(o->json, "strategy"), "name"));
    const bool is_replay = strategy && strcmp(strategy, "replay") == 0;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    struct strait_error why = {0};
    if (strait_object_string_or(o, &path, "trace", NULL, err) != 0)
        return -1;
    strait_object_where(o, "trace", where, sizeof(where));
    if (is_replay != (path != NULL))
        return strait_refuse(err, where,
                             path ? "expected the strategy replay beside a trace, found %s"
                                  : "expected the path of a trace for the strategy %s",
                             strategy ? strategy : "none");
    if (!path)
        return 0;
    const json_t *model = strait_object_value(o, "model"); /* null: none */
    if (model && !json_is_null(model))
        return strait_refuse(err, strait_object_where(o, "model", where, sizeof(where)),
                             "expected no model beside a trace, which is replayed as it is");
    char shipped[4096];
    const char *there = strait_shipped_path(shipped, sizeof(shipped), path);
    if (strait_import_graph(&e->graph, there, &why) != 0) {
        const bool in_file = strcmp(why.where, there) != 0;
        return strait_error_set(err, why.code, in_file ? why.where : where, "%s%s%s",
                                in_file ? "" : path, in_file ? "" : ": ", why.text);
    }
    return strait_import_stand_in(&e->model, path, err);
}
