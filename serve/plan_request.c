#include "plan_request.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/planner/answer.h"
#include "core/json.h"

static int check_size(const json_t *plan, struct strait_error *err)
{
    const char *pointer;
    json_t *values;
    size_t n = 1;
    json_object_foreach (json_object_get(plan, "vary"), pointer, values)
        if (json_array_size(values) > 0 && n <= STRAIT_ASKED_MAX_CANDIDATES)
            n *= json_array_size(values) <= STRAIT_ASKED_MAX_CANDIDATES
                     ? json_array_size(values)
                     : STRAIT_ASKED_MAX_CANDIDATES + 1;
    return n <= STRAIT_ASKED_MAX_CANDIDATES
               ? 0
               : strait_refuse(err, "plan#/vary", "expected at most %d candidates on this page",
                               STRAIT_ASKED_MAX_CANDIDATES);
}

/* A results folder may be named without a slash. */
static int refuse_folders(const json_t *plan, struct strait_error *err)
{
    size_t i;
    json_t *entry;
    json_array_foreach (json_object_get(plan, "accuracy"), i, entry)
        if (json_object_get(entry, "results"))
            return strait_refuse(err, "plan#/accuracy",
                                 "expected accuracies, found the name of a folder");
    return 0;
}

/* The reader of plans reads files: this one has no name and ends with the process. */
static json_t *answer(const struct strait_answers *a, const json_t *plan, bool any_accuracy,
                      struct strait_error *err)
{
    struct strait_asked_table file = {.fd = -1};
    struct strait_plan_question q = {.json = NULL};
    char *text = json_dumps(plan, JSON_COMPACT);
    json_t *found = NULL;
    if (text && strait_asked_file(&file, "plan", text, err) == 0 &&
        strait_plan_question_load(&q, file.path, err) == 0) {
        struct strait_plan_setup setup = a->setup;
        setup.file = "plan";
        const struct strait_plan_answer_options options = {.any_accuracy = any_accuracy,
                                                           .n_jobs = 2};
        found = strait_plan_answer(&q, &setup, &options, err);
    }
    if (!found)
        strait_asked_name(err, &file, "plan");
    strait_plan_question_release(&q);
    free(text);
    if (file.fd >= 0)
        close(file.fd);
    json_object_del(found, "file");
    return found;
}

json_t *strait_asked_plan(const struct strait_answers *a, const char *body, size_t len_bytes,
                          struct strait_error *err)
{
    struct strait_object o;
    bool any_accuracy = false;
    json_t *json = strait_asked_json(body, len_bytes, err), *found = NULL;
    if (json && strait_object_open(&o, "body", "", json, err) == 0) {
        const json_t *plan = strait_object_value(&o, "plan");
        if (strait_object_bool_or(&o, &any_accuracy, "any_accuracy", false, err) == 0 &&
            strait_object_close(&o, err) == 0) {
            if (!json_is_object(plan))
                strait_refuse_value(err, "body#/plan", "an object", plan);
            else if (strait_asked_refuse_paths(plan, "plan#", err) == 0 &&
                     refuse_folders(plan, err) == 0 && check_size(plan, err) == 0)
                found = answer(a, plan, any_accuracy, err);
        }
    }
    json_decref(json);
    return found;
}
