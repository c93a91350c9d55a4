/* Points given out over MPI: every one is computed, whoever is lost. Every test starts mpirun,
 * which starts the same test once a process; there it becomes one of the crew. Rank 0 leaves what
 * came of it in a file. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "campaign/crew/crew.h"
#include "core/process.h"
#include "tests/kit/folder.h"
#include "tests/kit/links/mpi_world.h"
#include "tests/kit/suite.h"

#define FOLDER "STRAIT_TEST_CREW" /* set: this process is one of the crew */

enum { N_TASKS = 40, FIRST = 100, N_CHARS = 20000 };

/* Who dies of what. */
struct fate {
    size_t task;
    bool always;  /* else only the first process that has it */
    bool hands;   /* every task's process ends its hand */
    int signal;   /* to the process of MPI that has it, never rank 0; 0: the task's own dies */
    size_t longs; /* this task has a long answer */
};

struct member {
    const struct fate *fate;
    const char *folder;
    bool leads;
    pid_t pid; /* of MPI's process */
};

static bool is_first(const struct member *m, const char *what)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", m->folder, what);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Returns when the other end is open, too. */
static void meet(const struct member *m, int flags)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/meet", m->folder);
    close(open(path, flags | O_CLOEXEC));
}

/* Rank 0's first task waits until another process is about to be lost. */
static void suffer(const struct member *m, size_t i)
{
    const struct fate *f = m->fate;
    if (f->hands) {
        kill(getppid(), SIGKILL);
    } else if (f->signal == 0) {
        if (i == f->task && (f->always || is_first(m, "dead")))
            raise(SIGKILL);
    } else if (m->leads) {
        if (is_first(m, "led"))
            meet(m, O_RDONLY);
    } else if (is_first(m, "dead")) {
        meet(m, O_WRONLY);
        kill(m->pid, f->signal);
    }
}

/* The answer of a task is its number's square; of one, after many blanks. */
static char *work(size_t task, void *context)
{
    const struct member *m = context;
    const size_t i = task - FIRST;
    char *text = NULL;
    suffer(m, i);
    const int n = asprintf(&text, "{\"square\": %*zu}", i == m->fate->longs ? N_CHARS : 1, i * i);
    return n > 0 ? text : NULL;
}

/* --- rank 0 ------------------------------------------------------------------------------- */

static int take(size_t i, const json_t *answer, void *context, struct strait_error *err)
{
    json_t *taken = json_object_get(context, "taken");
    const json_int_t square = json_integer_value(json_object_get(answer, "square"));
    (void)err;
    return json_array_append_new(taken, json_pack("[I, I]", (json_int_t)i, square));
}

static int lose(size_t i, const char *why, void *context, struct strait_error *err)
{
    json_t *lost = json_object_get(context, "lost");
    (void)err;
    return json_array_append_new(lost, json_pack("[I, s]", (json_int_t)i, why));
}

static int lead(struct strait_crew *c, const char *folder)
{
    char path[256];
    size_t tasks[N_TASKS];
    struct strait_error err = {0};
    json_t *result = json_pack("{s:[], s:[]}", "taken", "lost");
    const struct strait_crew_use use = {take, lose, result};
    for (size_t i = 0; i < N_TASKS; i++)
        tasks[i] = FIRST + i;
    const int status = strait_crew_lead(c, tasks, N_TASKS, &use, NULL, &err);
    snprintf(path, sizeof(path), "%s/result.json", folder);
    json_object_set_new(result, "n_lost", json_integer(c->n_lost));
    json_object_set_new(result, "error", json_string(err.text));
    json_dump_file(result, path, 0);
    json_decref(result);
    return status;
}

/* Does not return. */
static void be_member(const struct fate *fate, const char *folder)
{
    struct strait_error err = {0};
    struct strait_crew c = {.lost_s = fate->signal ? 3 : 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* stopped, it would outlive mpirun */
    struct member m = {fate, folder, strait_mpi_launched_as() == 0, getpid()};
    if (strait_hand_start(&c.hand, work, &m, &err) != 0 ||
        strait_mpi_world_open(&c.world, &err) != 0)
        _exit(EXIT_FAILURE);
    const int status = m.leads ? lead(&c, folder) : strait_crew_follow(&c, &err);
    strait_hand_release(&c.hand);
    if (c.n_lost > 0 || status != 0)
        strait_mpi_world_abort(c.world, status == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    strait_mpi_world_free(c.world);
    _exit(EXIT_SUCCESS);
}

/* --- the test ----------------------------------------------------------------------------- */

/* Start this test again under mpirun. Returns: what rank 0 left, with mpirun's "status"; NULL: the
 * test is skipped. */
static json_t *run(const struct fate *fate, const char *n_text)
{
    char why[256], self[4096], path[256], folder[] = "/tmp/strait-crew-XXXXXX";
    const char *argv[MPIRUN_MAX_ARGS + 8], *sentence = CU_get_current_test()->pName;
    if (getenv(FOLDER))
        be_member(fate, getenv(FOLDER));
    if (!mpirun_works(why, sizeof(why))) {
        strait_test_skip(why);
        return NULL;
    }
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/meet", folder);
    CU_ASSERT_FATAL(mkfifo(path, 0600) == 0);
    size_t n = mpirun_argv(argv, n_text);
    if (fate->signal == SIGKILL) { /* go on without a process that is lost */
        memmove(argv + 2, argv + 1, (n++ - 1) * sizeof(*argv));
        argv[1] = "--enable-recovery";
    }
    strait_suite_argv(argv + n, self, "campaign/crew/crew", &sentence, 1);
    setenv(FOLDER, folder, 1);
    /* Open MPI 4.1 itself may crash, or wait for ever, where it ends after losses. */
    const int status = strait_process_run(NULL, 0, argv, NULL, 120, NULL);
    unsetenv(FOLDER);
    snprintf(path, sizeof(path), "%s/result.json", folder);
    json_t *result = json_load_file(path, 0, NULL);
    CU_ASSERT_FATAL(result != NULL);
    CU_ASSERT(fate->signal != 0 || (status == 0) == !fate->hands);
    folder_remove(folder);
    return result;
}

/* All but one task (N_TASKS: all) have been taken once, with their squares; the one was lost. */
static void expect_all(const json_t *result, size_t but)
{
    int n_taken[N_TASKS] = {0};
    size_t i;
    const json_t *pair;
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(result, "error")), "");
    json_array_foreach (json_object_get(result, "taken"), i, pair) {
        const json_int_t task = json_integer_value(json_array_get(pair, 0));
        CU_ASSERT_FATAL(task >= 0 && task < N_TASKS);
        CU_ASSERT_EQUAL(json_integer_value(json_array_get(pair, 1)), task * task);
        n_taken[task]++;
    }
    for (size_t k = 0; k < N_TASKS; k++)
        CU_ASSERT_EQUAL(n_taken[k], k != but);
    const json_t *lost = json_object_get(result, "lost");
    CU_ASSERT_EQUAL(json_array_size(lost), but < N_TASKS);
    if (but < N_TASKS) {
        CU_ASSERT_EQUAL(json_integer_value(json_array_get(json_array_get(lost, 0), 0)), but);
        CU_ASSERT_CONTAINS(json_string_value(json_array_get(json_array_get(lost, 0), 1)),
                           "was ended by signal 9");
    }
}

static json_int_t n_lost_of(const json_t *result)
{
    return json_integer_value(json_object_get(result, "n_lost"));
}

static void any_number(void)
{
    static const char *const numbers[] = {"1", "4"};
    static const struct fate fate = {.task = N_TASKS, .longs = 11};
    for (size_t i = 0; i < 2; i++) {
        json_t *result = run(&fate, numbers[i]);
        if (!result)
            return;
        expect_all(result, N_TASKS);
        CU_ASSERT_EQUAL(n_lost_of(result), 0);
        json_decref(result);
    }
}

static void dies_once(void)
{
    json_t *result = run(&(const struct fate){.task = 3}, "3");
    if (!result)
        return;
    expect_all(result, N_TASKS);
    CU_ASSERT_EQUAL(n_lost_of(result), 0);
    json_decref(result);
}

static void dies_always(void)
{
    json_t *result = run(&(const struct fate){.task = 5, .always = true}, "3");
    if (!result)
        return;
    expect_all(result, 5);
    CU_ASSERT_EQUAL(n_lost_of(result), 0);
    json_decref(result);
}

static void process_killed(void)
{
    json_t *result = run(&(const struct fate){.signal = SIGKILL}, "3");
    if (!result)
        return;
    expect_all(result, N_TASKS);
    CU_ASSERT(n_lost_of(result) >= 1);
    json_decref(result);
}

static void process_stopped(void)
{
    json_t *result = run(&(const struct fate){.signal = SIGSTOP}, "3");
    if (!result)
        return;
    expect_all(result, N_TASKS);
    CU_ASSERT(n_lost_of(result) >= 1);
    json_decref(result);
}

/* Their processes of MPI live on, but nobody computes. */
static void hands_killed(void)
{
    json_t *result = run(&(const struct fate){.hands = true}, "2");
    if (!result)
        return;
    CU_ASSERT_EQUAL(json_array_size(json_object_get(result, "taken")), 0);
    CU_ASSERT_CONTAINS(json_string_value(json_object_get(result, "error")), "all workers are lost");
    json_decref(result);
}

static const struct strait_test tests[] = {
    {"one process and four compute every task once, a long answer too", any_number},
    {"a task whose process is killed is computed by another", dies_once},
    {"a task that kills all its processes is lost alone", dies_always},
    {"what a killed process of MPI had is computed by another", process_killed},
    {"what a stopped process of MPI has is computed by another", process_stopped},
    {"a sweep whose workers are all killed says so", hands_killed},
};
STRAIT_SUITE_WITH("campaign/crew/crew", tests, .slow_s = 30, .release = true);
