#include "ask_model.h"

#include <string.h>

#include "learn/task.h"
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
