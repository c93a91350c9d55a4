/* What mpirun starts: strait rank, one process of an experiment on real machines, and strait sweep,
 * one of those that simulate its points. Rank 0 stores and shows. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "campaign/crew/crew.h"
#include "campaign/session.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "cli/show/show.h"
#include "mpi/consensus.h"
#include "core/clock.h"

/* The others wait so long for rank 0 to print why and to end all; it waits until its launcher has
 * passed that on, which the end may overtake. */
enum { WAIT_S = 20, PASS_ON_US = 200000, TEXT_CHARS = 512 };

static const char notes[] =
    "One process a rank, started by mpirun or srun on machines that all have strait\n"
    "and the files that the experiment names:\n"
    "\n"
    "  mpirun -n 9 strait rank my.json\n"
    "  mpirun --hostfile hosts -n 9 strait rank my.json --set /clients=8\n"
    "  srun -n 9 --mpi=pmix strait rank my.json\n"
    "  strait net run my.json -- mpirun ... strait rank my.json   (docs/mpi.md)\n"
    "\n"
    "Codecs are run and timed, compute takes what the model's table says, messages\n"
    "go by MPI over the links that are there: the experiment's network is not used.\n"
    "  --timing live    default\n"
    "  --timing replay  sizes and costs from the profile, nothing is encoded\n"
    "Rows go where those of strait run go, with \"backend\": \"mpi\":\n"
    "  strait run my.json --out results/my && strait compare results/my\n";

/* Show the rows, valid or not. */
static int show(struct strait_session *r, struct strait_error *err)
{
    json_t *rows = strait_session_rows(r, NULL), *row;
    size_t i;
    int status = 0;
    json_array_foreach (rows, i, row) {
        if (r->json)
            strait_command_print_json(row);
        if (!json_is_true(json_object_get(row, "valid")))
            r->failed = true;
    }
    if (!r->json && json_array_size(rows) > 0)
        status = strait_show_rows(stdout, rows, NULL, err);
    json_decref(rows);
    return status;
}

static int lead(struct strait_session *r, const char *experiment, struct strait_error *err)
{
    return strait_session_prepare(r, experiment, err) != 0 || strait_session_compute(r, err) != 0 ||
                   strait_mpi_announce(r->world, NULL, err) != 0 || show(r, err) != 0 ||
                   strait_session_finish(r, err) != 0
               ? -1
               : 0;
}

/* The experiment as this process finds it, and whether the others have the same. */
static int agree(struct strait_session *r, const char *experiment, struct strait_plan_setup *setup,
                 struct strait_sweep **sweep, struct strait_profile **profile,
                 char machines[TEXT_CHARS], struct strait_error *err)
{
    const bool found =
        strait_sweep_load(sweep, experiment, r->settings.items, r->settings.n, err) == 0 &&
        strait_profile_load(profile, r->profile_name ? r->profile_name : "default", err) == 0;
    *setup = (struct strait_plan_setup){.file = found ? (*sweep)->file : NULL,
                                        .profile = *profile,
                                        .timing = r->timing,
                                        .world = r->world};
    char experiment_hash[STRAIT_KEY_CHARS] = "";
    if (found && strait_plan_setup_hashes(setup, err) == 0) {
        json_t *asked = json_pack("{s:O, s:O, s:O, s:s?}", "base", (*sweep)->base, "vary",
                                  (*sweep)->vary, "set", (*sweep)->set, "timing", r->timing);
        if (!asked || !strait_hash_json(experiment_hash, asked))
            strait_error_memory(err, "rank");
        json_decref(asked);
    }
    const struct strait_mpi_hello hello = {.program = setup->program,
                                           .experiment = experiment_hash,
                                           .profile = setup->profile_hash,
                                           .file = experiment};
    return strait_mpi_agree(r->world, &hello, machines, TEXT_CHARS, err);
}

/* All that happens between MPI's beginning and end. */
static int take_part(struct strait_session *r, const char *experiment, struct strait_error *err)
{
    struct strait_plan_setup setup;
    struct strait_sweep *sweep = NULL;
    struct strait_profile *profile = NULL;
    char machines[TEXT_CHARS] = "";
    int failed = agree(r, experiment, &setup, &sweep, &profile, machines, err);
    if (!failed) {
        r->launcher = machines; /* part of a row's key */
        failed = r->world->me == 0 ? lead(r, experiment, err) : strait_plan_follow(&setup, err);
        r->launcher = NULL;
    }
    if (!failed) { /* else a run may still use them */
        strait_sweep_free(sweep);
        strait_profile_free(profile);
    }
    return failed;
}

/* Rank 0 prints why, and ends all. */
static void end_all(struct strait_mpi_world *world, const struct strait_error *err)
    __attribute__((noreturn));
static void end_all(struct strait_mpi_world *world, const struct strait_error *err)
{
    if (world->me != 0)
        sleep(WAIT_S);
    else if (strait_command_fail(err) != 0)
        usleep(PASS_ON_US);
    fflush(stdout);
    strait_mpi_world_abort(world, strait_error_exit_status(err)); /* lanes may still run */
}

static int check_options(const struct strait_session *r, const char *experiment,
                         struct strait_error *err)
{
    if (!experiment)
        return strait_error_set(err, STRAIT_ERR_USAGE, "rank",
                                "expected an experiment (strait list experiments), found none");
    if (r->timing && strcmp(r->timing, "live") != 0 && strcmp(r->timing, "replay") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "rank",
                                "expected live or replay after --timing, found \"%s\"", r->timing);
    return 0;
}

/* What is the same on all processes: rank 0 says it. Returns: the exit status */
static int leave_early(struct strait_session *r, const struct strait_usage *usage, bool help,
                       const struct strait_error *err)
{
    if (help)
        strait_options_print(usage, stdout);
    const int status = help                            ? 0
                       : strait_mpi_launched_as() == 0 ? strait_command_fail(err)
                                                       : strait_error_exit_status(err);
    strait_session_release(r);
    return status;
}

int strait_command_rank(int argc, char **argv)
{
    struct strait_session r = {.on = "mpi",
                               .notes = stderr,
                               .n_jobs = 1,
                               .n_repeats = 1,
                               .n_tries = 1,
                               .start_s = strait_clock_s()};
    const struct strait_option options[] = {
        {"set", 0, STRAIT_OPTION_TEXTS, &r.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"out", 'o', STRAIT_OPTION_TEXT, &r.out, "DIR", "results folder (results/<experiment>)"},
        {"profile", 0, STRAIT_OPTION_TEXT, &r.profile_name, "FILE",
         "codec costs: a name or file (the shipped one)"},
        {"repeats", 0, STRAIT_OPTION_COUNT, &r.n_repeats, "N", "measure each point N times"},
        {"timing", 0, STRAIT_OPTION_TEXT, &r.timing, "MODE", "live (default) or replay"},
        {"json", 0, STRAIT_OPTION_FLAG, &r.json, NULL, "rows as JSON Lines on standard output"},
        STRAIT_WIDE_OPTION,
        {"fresh", 0, STRAIT_OPTION_FLAG, &r.fresh, NULL, "measure every point again"}};
    const struct strait_usage usage = {
        "rank", "EXPERIMENT",
        "Run as one rank of an experiment on real machines, under mpirun or srun.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    const char *experiment = NULL;
    size_t n;
    bool help = false;
    const int failed =
        strait_options_parse(&usage, argc, argv, &experiment, 1, &n, &help, &err) != 0 ||
        (!help && check_options(&r, experiment, &err) != 0) ||
        (!help && strait_mpi_world_open(&r.world, &err) != 0);
    if (failed || help)
        return leave_early(&r, &usage, help, &err);
    if (r.timing && strcmp(r.timing, "live") == 0)
        r.timing = NULL;
    struct strait_mpi_world *world = r.world;
    if (take_part(&r, experiment, &err) == 0) {
        strait_mpi_world_free(world);
        strait_session_release(&r);
        return r.failed ? 1 : 0;
    }
    end_all(world, &err);
}

/* --- strait sweep -------------------------------------------------------------------------- */

static const char sweep_notes[] =
    "The points of an experiment, simulated by all processes that mpirun or srun\n"
    "starts; each takes the next one when it has finished one:\n"
    "\n"
    "  mpirun --hostfile hosts strait sweep my.json --out all\n"
    "  srun --mpi=pmix strait sweep my.json --out all\n"
    "  strait run my.json --out all                     (shows all, simulates none)\n"
    "\n"
    "Rows are those of strait run, to the last digit, for any number of processes.\n"
    "Rank 0 stores them as they come: the same command goes on where one ended.\n"
    "A point whose process dies is given to another, three times at most. Where\n"
    "mpirun is told --enable-recovery, whole processes may be lost, too; else it\n"
    "ends all. Without MPI: strait run --shard, and strait merge.\n";

/* Do all plan the same? Found before MPI is opened: err. */
static int agree_on_plan(struct strait_session *r, struct strait_mpi_world *w,
                         const char *experiment, struct strait_error *err)
{
    char plan[STRAIT_KEY_CHARS] = "", machines[TEXT_CHARS];
    json_t *keys = json_array();
    for (size_t i = 0; i < r->plan.n_tasks; i++)
        json_array_append_new(keys, json_string(r->plan.tasks[i].key));
    if (err->code == STRAIT_OK && !strait_hash_json(plan, keys))
        strait_error_memory(err, "sweep");
    json_decref(keys);
    const struct strait_mpi_hello hello = {.program = r->plan.setup.program,
                                           .experiment = plan,
                                           .profile = r->plan.setup.profile_hash,
                                           .file = experiment};
    return strait_mpi_agree(w, &hello, machines, sizeof(machines), err);
}

/* Rank 0 computes, too; it shows after the others have ended. */
static int sweep(struct strait_session *r, struct strait_error *err)
{
    if (r->crew->world->me != 0)
        return strait_crew_follow(r->crew, err);
    return strait_session_compute(r, err) != 0 || show(r, err) != 0 ||
                   strait_session_finish(r, err) != 0
               ? -1
               : 0;
}

static int check_sweep(const struct strait_session *r, const char *experiment,
                       struct strait_error *err)
{
    if (!experiment)
        return strait_error_set(err, STRAIT_ERR_USAGE, "sweep",
                                "expected an experiment (strait list experiments), found none");
    if (strcmp(r->on, "sim") != 0 && strcmp(r->on, "fluid") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "sweep",
                                "expected sim or fluid after --on, since what is measured needs "
                                "its machine for itself, found \"%s\"",
                                r->on);
    return 0;
}

int strait_command_sweep(int argc, char **argv)
{
    struct strait_crew crew = {.n_lost = 0};
    struct strait_session r = {.on = "sim",
                               .notes = stderr,
                               .commit = strait_commit(),
                               .crew = &crew,
                               .n_jobs = 1,
                               .n_repeats = 1,
                               .n_tries = 1,
                               .start_s = strait_clock_s()};
    const struct strait_option options[] = {
        {"on", 0, STRAIT_OPTION_TEXT, &r.on, "BACKEND", "sim (default) or fluid"},
        {"set", 0, STRAIT_OPTION_TEXTS, &r.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"out", 'o', STRAIT_OPTION_TEXT, &r.out, "DIR", "results folder (results/<experiment>)"},
        {"profile", 0, STRAIT_OPTION_TEXT, &r.profile_name, "FILE",
         "codec costs: a name or file (the shipped one)"},
        {"every-round", 0, STRAIT_OPTION_FLAG, &r.every_round, NULL, "do not extrapolate rounds"},
        {"json", 0, STRAIT_OPTION_FLAG, &r.json, NULL, "rows as JSON Lines on standard output"},
        {"fresh", 0, STRAIT_OPTION_FLAG, &r.fresh, NULL, "compute every point again"}};
    const struct strait_usage usage = {
        "sweep", "EXPERIMENT", "Be one of the processes that simulate an experiment's points.",
        STRAIT_OPTIONS(options), sweep_notes};
    struct strait_error err = {0}, none = {0};
    const char *experiment = NULL;
    size_t n;
    bool help = false;
    int failed = strait_options_parse(&usage, argc, argv, &experiment, 1, &n, &help, &err) != 0 ||
                 (!help && check_sweep(&r, experiment, &err) != 0);
    if (!failed && !help) { /* what this process cannot prepare, rank 0 says */
        if (strait_session_prepare(&r, experiment, &err) == 0)
            strait_hand_start(&crew.hand, strait_session_answer, &r, &err);
        failed = strait_mpi_world_open(&crew.world, &none) != 0;
    }
    if (failed || help)
        return leave_early(&r, &usage, help,
                           err.code == STRAIT_OK && none.code != STRAIT_OK ? &none : &err);
    if (agree_on_plan(&r, crew.world, experiment, &err) != 0 || sweep(&r, &err) != 0)
        end_all(crew.world, &err);
    strait_hand_release(&crew.hand);
    if (crew.world->me == 0)
        strait_command_print_failures(r.failures);
    fflush(stdout);
    if (crew.n_lost > 0)
        strait_mpi_world_abort(crew.world, r.failed ? 1 : 0);
    strait_mpi_world_free(crew.world);
    const int status = r.failed ? 1 : 0;
    strait_session_release(&r);
    return status;
}
