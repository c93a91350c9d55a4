/* Tasks in forked workers: each is done once, and what goes wrong in one stops all. */
#include "campaign/worker_pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { MAX_TASKS = 200 };

struct tally {
    int n_answers[MAX_TASKS];
    int pids[MAX_TASKS];
    size_t n_done, fails_at, text_bytes;
    struct strait_error wrong;
};

/* Its number squared, who did it, and a text that may be longer than a pipe. */
static json_t *square(size_t i, void *context, struct strait_error *err)
{
    const struct tally *t = context;
    char *text = calloc(t->text_bytes + 1, 1);
    if (i == t->fails_at) {
        *err = t->wrong;
        free(text);
        return NULL;
    }
    memset(text, 'x', t->text_bytes);
    json_t *out = json_pack("{s:I, s:i, s:s}", "square", (json_int_t)(i * i), "pid", (int)getpid(),
                            "text", text);
    free(text);
    return out;
}

static int count(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct tally *t = context;
    (void)err;
    CU_ASSERT_FATAL(i < MAX_TASKS);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(result, "square")), (json_int_t)(i * i));
    CU_ASSERT_EQUAL(json_string_length(json_object_get(result, "text")), t->text_bytes);
    t->pids[i] = (int)json_integer_value(json_object_get(result, "pid"));
    t->n_answers[i]++;
    t->n_done++;
    return 0;
}

static void expect_all(size_t n_tasks, int n_workers, size_t text_bytes)
{
    struct tally t = {.fails_at = MAX_TASKS, .text_bytes = text_bytes};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_pool_run(n_tasks, n_workers, square, count, &t, NULL, &err), 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    CU_ASSERT_EQUAL(t.n_done, n_tasks);
    for (size_t i = 0; i < n_tasks; i++) {
        CU_ASSERT_EQUAL(t.n_answers[i], 1);
        CU_ASSERT(t.pids[i] > 0 && t.pids[i] != (int)getpid());
        CU_ASSERT(kill(t.pids[i], 0) != 0 && errno == ESRCH); /* no worker is left */
    }
}

static void all_done(void)
{
    expect_all(0, 3, 0);
    expect_all(1, 3, 0); /* more workers than tasks */
    expect_all(MAX_TASKS, 1, 0);
    expect_all(MAX_TASKS, 4, 10);
    expect_all(5, 2, 300000); /* answers that take several reads */
}

/* The error crosses with all that it says. */
static void failed_task(void)
{
    struct tally t = {.fails_at = 3};
    struct strait_error err = {0};
    strait_error_set(&t.wrong, STRAIT_ERR_INPUT, "a.json#/x", "expected 1, found %d", 2);
    t.wrong.saved_errno = ENOENT;
    CU_ASSERT_EQUAL(strait_pool_run(100, 1, square, count, &t, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_EQUAL(err.saved_errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(err.where, "a.json#/x");
    CU_ASSERT_STRING_EQUAL(err.text, "expected 1, found 2");
    CU_ASSERT_EQUAL(t.n_done, 3); /* one worker takes tasks in their order */
}

/* What is not UTF-8 in an error arrives as ASCII. */
static void foreign_text(void)
{
    struct tally t = {.fails_at = 0};
    struct strait_error err = {0};
    strait_error_set(&t.wrong, STRAIT_ERR_SYSTEM, "a\xff", "b\xff\xfe");
    CU_ASSERT_EQUAL(strait_pool_run(1, 1, square, count, &t, NULL, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "a?");
    CU_ASSERT_STRING_EQUAL(err.text, "b??");
}

static int refuse(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct tally *t = context;
    (void)result;
    t->n_done++;
    return i == 2 ? strait_error_set(err, STRAIT_ERR_SYSTEM, "disk", "full") : 0;
}

static void nobody_takes_it(void)
{
    struct tally t = {.fails_at = MAX_TASKS};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_pool_run(100, 1, square, refuse, &t, NULL, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "full");
    CU_ASSERT_EQUAL(t.n_done, 3);
}

static json_t *die(size_t i, void *context, struct strait_error *err)
{
    if (i == 1)
        raise(*(const int *)context);
    if (i == 2)
        _exit(7);
    (void)err;
    return json_integer((json_int_t)i);
}

static int take(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    (void)i;
    (void)result;
    (void)context;
    (void)err;
    return 0;
}

/* By a signal that is none of ours, or by ending before its answer. */
static void dead_worker(void)
{
    struct strait_error err = {0};
    int how = SIGKILL;
    CU_ASSERT_EQUAL(strait_pool_run(3, 1, die, take, &how, NULL, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "a worker was ended by signal 9 (Killed)");
    how = 0; /* no signal: it comes as far as task 2 */
    memset(&err, 0, sizeof(err));
    CU_ASSERT_EQUAL(strait_pool_run(3, 1, die, take, &how, NULL, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "a worker ended before it had answered");
}

static json_t *interrupt(size_t i, void *context, struct strait_error *err)
{
    (void)i;
    (void)err;
    kill(*(const int *)context, SIGTERM);
    pause();
    return NULL;
}

static int pool_pid;

static void hang_up_the_pool(int number)
{
    (void)number;
    kill(pool_pid, SIGHUP);
    _exit(0);
}

/* Signals the pool once, and once more as it is stopped: the second comes during the cleanup. */
static json_t *interrupt_twice(size_t i, void *context, struct strait_error *err)
{
    pool_pid = *(const int *)context;
    signal(SIGTERM, hang_up_the_pool);
    return interrupt(i, context, err);
}

static void expect_interruption(strait_pool_work work, int n_workers)
{
    struct strait_error err = {0};
    sigset_t mask;
    int me = (int)getpid();
    CU_ASSERT_EQUAL(strait_pool_run(2, n_workers, work, take, &me, NULL, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "interrupted (Terminated); the same command begins again");
    strait_pool_say_kept(&err);
    CU_ASSERT_STRING_EQUAL(err.text, "interrupted (Terminated); complete rows are kept, the same "
                                     "command goes on");
    CU_ASSERT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    CU_ASSERT(!sigismember(&mask, SIGTERM) && !sigismember(&mask, SIGINT) &&
              !sigismember(&mask, SIGHUP));
}

/* The signal is reported, no worker is left to wait for, and the mask is as it was. */
static void interrupted(void)
{
    expect_interruption(interrupt, 1);
    expect_interruption(interrupt, 2);
    expect_interruption(interrupt_twice, 1);
    expect_interruption(interrupt_twice, 2);
}

static const struct strait_test tests[] = {
    {"every task is done once, by somebody else, who is gone then", all_done},
    {"a task that fails stops all, and says why", failed_task},
    {"an error that is not UTF-8 arrives as ASCII", foreign_text},
    {"who cannot take a result stops all", nobody_takes_it},
    {"a worker that dies is an error", dead_worker},
    {"a signal stops all workers", interrupted},
};
STRAIT_SUITE("campaign/worker_pool", tests);
