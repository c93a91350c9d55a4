/* A task that trains with its optimiser, opened from the text of "training": for programs that
 * measure and export what learn/ does. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "core/json.h"
#include "learn/learn.h"

struct task {
    json_t *json;
    struct strait_training training;
    struct strait_learn *learn;
    struct strait_learner *learner;
    struct strait_optimiser *optimiser;
};

/** One worker with seed 1. Returns: 0, or an exit status after printing why not. */
static inline int task_open(struct task *t, const char *text)
{
    struct strait_error err = {0};
    struct strait_object object;
    *t = (struct task){.json = json_loads(text, 0, NULL)};
    if (!t->json) {
        fprintf(stderr, "strait: training: expected JSON, found \"%s\"\n", text);
        return 2;
    }
    if (strait_object_open(&object, "training", "", t->json, &err) == 0 &&
        strait_training_read(&t->training, &object, &err) == 0 &&
        strait_learn_open(&t->learn, &t->training, 1, 1, &err) == 0 &&
        strait_learner_new(&t->learner, t->learn, 0, &err) == 0 &&
        strait_optimiser_new(&t->optimiser, &t->training, t->learn, &err) == 0)
        return 0;
    fprintf(stderr, "strait: %s: %s\n", err.where, err.text);
    return strait_error_exit_status(&err);
}

static inline void task_close(struct task *t)
{
    strait_optimiser_free(t->optimiser);
    strait_learner_free(t->learner);
    strait_learn_free(t->learn);
    json_decref(t->json);
}
