/* Questions under way: how many at a time, how long, and how they end. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/clock.h"
#include "serve/jobs.h"
#include "tests/kit/suite.h"

static void add(struct strait_jobs *j, enum strait_http_kind kind, const char *body)
{
    CU_ASSERT_EQUAL(strait_jobs_add(j, kind, strdup(body), strlen(body), NULL), 0);
}

/* All that a job says, however long it takes. */
static char *answer_of(struct strait_asked_job *job, unsigned *status)
{
    fcntl(job->fd, F_SETFL, 0);
    while (!strait_asked_job_read(job))
        continue;
    return strait_asked_job_take_answer(job, status);
}

/* Of two runs more than go at a time and two checks, of which one does, in the order of asking. */
static void some_at_a_time(void)
{
    struct strait_jobs j = {.folder = "/tmp/strait-jobs-no-such-folder"};
    struct strait_error err = {0};
    unsigned status;
    for (int i = 0; i < STRAIT_JOBS_AT_A_TIME + 2; i++)
        add(&j, STRAIT_HTTP_RUN, "nonsense");
    add(&j, STRAIT_HTTP_CHECK, "nonsense");
    add(&j, STRAIT_HTTP_CHECK, "nonsense");
    CU_ASSERT_EQUAL(strait_jobs_step(&j, &err), 0);
    for (size_t i = 0; i < j.n; i++)
        CU_ASSERT_EQUAL(j.jobs[i].pid != 0, i < 2 || i == 4);
    char *text = answer_of(&j.jobs[0], &status);
    CU_ASSERT_EQUAL(status, 400);
    CU_ASSERT_CONTAINS(text, "{\"error\":\"body:1:8: expected an object or a list");
    free(text);
    strait_jobs_remove(&j, 0); /* the next one takes its place */
    CU_ASSERT_EQUAL(strait_jobs_step(&j, &err), 0);
    CU_ASSERT_EQUAL(j.n, STRAIT_JOBS_AT_A_TIME + 3);
    for (size_t i = 0; i < j.n; i++)
        CU_ASSERT_EQUAL(j.jobs[i].pid != 0, i < 2 || i == 3);
    while (j.n > 0)
        strait_jobs_remove(&j, j.n - 1);
}

static void full(void)
{
    struct strait_jobs j = {.n = 0};
    for (int i = 0; i < STRAIT_MAX_JOBS; i++)
        add(&j, STRAIT_HTTP_RUN, "{}");
    CU_ASSERT_EQUAL(strait_jobs_add(&j, STRAIT_HTTP_RUN, strdup("{}"), 2, NULL), -1);
    CU_ASSERT_EQUAL(j.n, STRAIT_MAX_JOBS);
    while (j.n > 0)
        strait_jobs_remove(&j, 0);
}

/* 20 s for times, 120 for training and plans, 300 for an emulation, from the moment of starting. */
static void limits(void)
{
    static const struct {
        enum strait_http_kind kind;
        const char *body;
        double limit_s;
    } cases[] = {{STRAIT_HTTP_RUN, "{}", 20},
                 {STRAIT_HTTP_RUN, "[\"training\"]", 120},
                 {STRAIT_HTTP_PLAN, "{}", 120},
                 {STRAIT_HTTP_CHECK, "{}", 300}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_jobs j = {.folder = "/tmp/strait-jobs-no-such-folder"};
        add(&j, cases[i].kind, cases[i].body);
        const double before_s = strait_clock_s();
        CU_ASSERT_EQUAL(strait_jobs_step(&j, NULL), 0);
        const double after_s = strait_clock_s(), deadline_s = j.jobs[0].deadline_s;
        CU_ASSERT(deadline_s >= before_s + cases[i].limit_s);
        CU_ASSERT(deadline_s <= after_s + cases[i].limit_s);
        CU_ASSERT_FALSE(j.jobs[0].late);
        strait_jobs_remove(&j, 0);
    }
}

/* A job that hears SIGTERM, or not; its group is itself and it holds the end of a pipe. */
static struct strait_asked_job sleeper(enum strait_http_kind kind, bool hears)
{
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_CLOEXEC), 0);
    signal(SIGTERM, hears ? SIG_DFL : SIG_IGN); /* before it could be asked to end */
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        close(fds[0]);
        for (;;)
            pause();
    }
    signal(SIGTERM, SIG_DFL);
    setpgid(pid, pid);
    close(fds[1]);
    return (struct strait_asked_job){.kind = kind, .pid = pid, .fd = fds[0]};
}

/* By which signal a child ended that is left to be waited for; it stays so. */
static int signal_of(pid_t pid)
{
    siginfo_t info = {0};
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return info.si_status;
}

/* What takes too long is asked to end, 5 s later it is ended. */
static void late(void)
{
    struct strait_jobs j = {.jobs = {sleeper(STRAIT_HTTP_RUN, true)}, .n = 1};
    unsigned status;
    const double before_s = strait_clock_s(); /* its deadline is 0: long ago */
    CU_ASSERT_EQUAL(strait_jobs_step(&j, NULL), 0);
    CU_ASSERT_TRUE(j.jobs[0].late);
    CU_ASSERT_TRUE(j.jobs[0].stopped);
    CU_ASSERT(j.jobs[0].deadline_s >= before_s + 5);
    CU_ASSERT(j.jobs[0].deadline_s <= strait_clock_s() + 5);
    CU_ASSERT_EQUAL(signal_of(j.jobs[0].pid), SIGTERM);
    char *text = answer_of(&j.jobs[0], &status);
    CU_ASSERT_EQUAL(status, 504);
    CU_ASSERT_CONTAINS(text, "expected a question that is answered in time");
    free(text);
    strait_jobs_remove(&j, 0);
    CU_ASSERT_EQUAL(j.n, 0);
    j = (struct strait_jobs){.jobs = {sleeper(STRAIT_HTTP_RUN, false)}, .n = 1};
    CU_ASSERT_EQUAL(strait_jobs_step(&j, NULL), 0);
    CU_ASSERT_EQUAL(strait_jobs_step(&j, NULL), 0); /* not yet */
    CU_ASSERT_EQUAL(kill(j.jobs[0].pid, 0), 0);
    j.jobs[0].deadline_s = 0;
    CU_ASSERT_EQUAL(strait_jobs_step(&j, NULL), 0);
    CU_ASSERT_EQUAL(signal_of(j.jobs[0].pid), SIGKILL);
    strait_jobs_remove(&j, 0);
}

/* A check that nobody waits for takes its network down by itself; its folder goes in any case. */
static void forgotten(void)
{
    char folder[] = "/tmp/strait-jobs-XXXXXX", file[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/inner", folder);
    CU_ASSERT_EQUAL(mkdir(file, 0700), 0);
    struct strait_jobs j = {.folder = folder, .n = 2};
    j.jobs[0] = sleeper(STRAIT_HTTP_RUN, true);
    j.jobs[1] = sleeper(STRAIT_HTTP_CHECK, true);
    const pid_t run = j.jobs[0].pid, check = j.jobs[1].pid;
    strait_jobs_remove(&j, 0);
    CU_ASSERT_EQUAL(j.n, 1);
    CU_ASSERT_EQUAL(j.jobs[0].pid, check);
    CU_ASSERT_EQUAL(access(file, F_OK), 0); /* another's */
    strait_jobs_remove(&j, 0);
    CU_ASSERT_EQUAL(access(folder, F_OK), -1);
    CU_ASSERT_EQUAL(waitpid(run, NULL, WNOHANG), -1); /* nothing of them is left */
    CU_ASSERT_EQUAL(waitpid(check, NULL, WNOHANG), -1);
}

/* A status of three digits, a line end and JSON; less than that says that the process died. */
static void answers(void)
{
    static const struct {
        const char *said;
        unsigned status;
        const char *text;
    } cases[] = {{"200\n{}", 200, "{}"},
                 {"400\n{\"error\":1}", 400, "{\"error\":1}"},
                 {"501\n1", 501, "1"},
                 {"200\n", 500, "the process that computed the answer ended"},
                 {"", 500, "the process that computed the answer ended"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_asked_job job = {.kind = STRAIT_HTTP_RUN};
        int fds[2];
        unsigned status;
        CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        job.fd = fds[0];
        const size_t n = strlen(cases[i].said);
        CU_ASSERT_FALSE(strait_asked_job_read(&job)); /* nothing yet */
        CU_ASSERT_EQUAL(write(fds[1], cases[i].said, n), (ssize_t)n);
        close(fds[1]);
        CU_ASSERT_EQUAL(strait_asked_job_read(&job), n == 0);
        CU_ASSERT_TRUE(strait_asked_job_read(&job));
        char *text = strait_asked_job_take_answer(&job, &status);
        CU_ASSERT_EQUAL(status, cases[i].status);
        CU_ASSERT_CONTAINS(text, cases[i].text);
        if (status != 500)
            CU_ASSERT_STRING_EQUAL(text, cases[i].text);
        free(text);
        free(job.answer);
        close(fds[0]);
    }
}

/* A pipe that is empty, then has some, then ends: not over, not over, over. More than one piece of
 * 128 KiB is kept whole. */
static void piece_by_piece(void)
{
    enum { N_PIECES = 80, PIECE = 4000 }; /* a pipe has room for a page at least */
    static char piece[PIECE];
    struct strait_asked_job job = {0};
    int fds[2];
    unsigned status;
    CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    job.fd = fds[0];
    CU_ASSERT_FALSE(strait_asked_job_read(&job));
    CU_ASSERT_EQUAL(write(fds[1], "207\n", 4), 4);
    for (int i = 0; i < N_PIECES; i++) {
        memset(piece, 'a' + i % 26, PIECE);
        CU_ASSERT_EQUAL(write(fds[1], piece, PIECE), PIECE);
        CU_ASSERT_FALSE(strait_asked_job_read(&job));
    }
    CU_ASSERT_FALSE(strait_asked_job_read(&job));
    close(fds[1]);
    CU_ASSERT(strait_asked_job_read(&job));
    CU_ASSERT_EQUAL(job.n_answer, 4 + N_PIECES * PIECE);
    char *text = strait_asked_job_take_answer(&job, &status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(status, 207);
    CU_ASSERT_EQUAL(strlen(text), N_PIECES * PIECE);
    for (int i = 0; i < N_PIECES; i++)
        CU_ASSERT(text[i * PIECE] == 'a' + i % 26 && text[i * PIECE + PIECE - 1] == 'a' + i % 26);
    free(text);
    free(job.answer);
    close(fds[0]);
}

static const struct strait_test tests[] = {
    {"an answer is read piece by piece until its pipe ends", piece_by_piece},
    {"so many run at a time, in the order of asking", some_at_a_time},
    {"the queue has an end", full},
    {"each kind has its time", limits},
    {"what is late is asked to end, then ended", late},
    {"what nobody waits for leaves nothing", forgotten},
    {"an answer has its status, and a process that died has one", answers},
};
STRAIT_SUITE("serve/jobs", tests);
