/* strait plan: what to take, from a plan file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "campaign/planner/answer.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "cli/show/show_plan.h"
#include "core/host.h"
#include "core/shipped.h"

struct asked {
    const char *profile_name;
    struct strait_plan_answer_options options;
    bool json, all;
    bool kept; /* the recommendation keeps the target */
};

static int answer(struct asked *a, const char *path, struct strait_error *err)
{
    struct strait_plan_question q;
    struct strait_plan_setup setup = {0};
    struct strait_profile *profile = NULL;
    struct strait_learned learned = {0};
    char file[4096];
    json_t *found = NULL;
    int status = -1;
    strait_share_path(file, sizeof(file), STRAIT_LEARNED_FILE);
    if (strait_plan_question_load(&q, path, err) == 0 &&
        strait_profile_load(&profile, a->profile_name, err) == 0 &&
        strait_learned_load(&learned, file, err) == 0) {
        setup.file = q.file;
        setup.profile = profile;
        setup.learned = &learned;
        if (strait_plan_setup_hashes(&setup, err) == 0)
            found = strait_plan_answer(&q, &setup, &a->options, err);
    }
    if (found) {
        a->kept = strcmp(json_string_value(json_object_get(found, "holds")), "no") != 0 &&
                  json_is_true(json_object_get(found, "eligible"));
        status = 0;
        if (a->json)
            strait_command_print_json(found);
        else
            status = strait_show_plan(stdout, found, q.prices.currency,
                                      a->all              ? STRAIT_PLAN_ALL
                                      : strait_table_wide ? STRAIT_PLAN_FRONT
                                                          : STRAIT_PLAN_BRIEF,
                                      err);
    }
    if (status != 0)
        strait_plan_question_place(&q, err);
    json_decref(found);
    strait_profile_free(profile);
    strait_learned_release(&learned);
    strait_plan_question_release(&q);
    return status;
}

static const char notes[] =
    "FILE asks a question (docs/planning.md): an experiment, what may vary, a target\n"
    "(a round, an accuracy or a budget) and, if known, prices and accuracies. Every\n"
    "combination is simulated by fluid, the best five again by SimGrid. The answer\n"
    "fits a screen; --wide and --all show the rest. Exit status 1 where nothing keeps\n"
    "the target. Money appears where the file has prices.\n"
    "\n"
    "  strait plan wan\n"
    "  strait plan my.json --any-accuracy --all\n"
    "  strait plan my.json --check\n";

int strait_command_plan(int argc, char **argv)
{
    struct asked a = {.profile_name = "default"};
    const char *file = NULL;
    long n_jobs = strait_host_processors();
    const struct strait_option options[] = {
        {"any-accuracy", 0, STRAIT_OPTION_FLAG, &a.options.any_accuracy, NULL,
         "recommend codecs of unknown accuracy too"},
        {"check", 0, STRAIT_OPTION_FLAG, &a.options.check, NULL,
         "emulate the recommended one and the next"},
        {"all", 0, STRAIT_OPTION_FLAG, &a.all, NULL, "the answer in full, every candidate listed"},
        {"profile", 0, STRAIT_OPTION_TEXT, &a.profile_name, "FILE",
         "codec costs: a name or file (the shipped one)"},
        {"jobs", 'j', STRAIT_OPTION_COUNT, &n_jobs, "N", "simulations at a time"},
        {"json", 0, STRAIT_OPTION_FLAG, &a.json, NULL, "one JSON object on standard output"},
        {"wide", 0, STRAIT_OPTION_FLAG, &strait_table_wide, NULL,
         "the answer in full, with the front"}};
    const struct strait_usage usage = {
        "plan", "FILE", "Find the codec, bound, strategy and machines that keep a target.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0}, unchecked = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &file, 1, NULL))
        return status;
    a.options.n_jobs = (int)n_jobs;
    a.options.unchecked = &unchecked;
    if (answer(&a, file, &err) != 0)
        return strait_command_fail(&err);
    if (unchecked.code != STRAIT_OK) /* after the answer, which stands without it */
        return strait_command_fail(&unchecked);
    return a.kept ? 0 : 1;
}
