/* A rank that follows rank 0's notes, which are the test's: what it says when, what it makes of a
 * failure elsewhere and of its own, and memory that runs out. Each run has a process of its own, as
 * lanes of one that failed go on. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mpi/link.h"
#include "tests/kit/failing/scarce.h"
#include "tests/kit/links/fake_mpi.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N = 3, N_WORDS = STRAIT_MPI_FAILED + 1, HANG_S = 60, MAX_ALLOCATIONS = 200 };

enum script { ENDS, STOPS, FAILS_EARLY, FAILS_LATE, FAILS_ITSELF, PEER_FAILS };

static struct {
    enum script script;
    int me;
    int n_said[N][N_WORDS]; /* to each */
    struct strait_mpi_note last[N];
    int64_t asked_ns, ponged_ns;
    char order[64]; /* a letter for each different word to rank 0 */
} at;

static struct strait_mpi_note failure(const char *text)
{
    struct strait_mpi_note n = {.word = STRAIT_MPI_FAILED};
    strait_error_set(&n.error, STRAIT_ERR_INPUT, "there", "%s", text);
    return n;
}

/* Rank 0 of the script: begins when all are ready, asks how it is until the program has ended, and
 * ends the run then. */
static void heard(int src, int dst, const struct strait_mpi_note *note)
{
    struct strait_mpi_note reply = {.word = STRAIT_MPI_LOOK};
    if (src != at.me)
        return;
    at.n_said[dst][note->word]++;
    at.last[dst] = *note;
    const size_t n = strlen(at.order);
    const char letter = (char)('a' + note->word);
    if (dst == 0 && n + 1 < sizeof(at.order) && (n == 0 || at.order[n - 1] != letter))
        at.order[n] = letter;
    if (note->word == STRAIT_MPI_READY && at.script == FAILS_EARLY) {
        const struct strait_mpi_note first = failure("the first"), second = failure("the second");
        fake_mpi_say(0, at.me, &first, 0);
        fake_mpi_say(0, at.me, &second, 0);
    } else if (note->word == STRAIT_MPI_READY) {
        at.asked_ns = strait_proc_mono_ns();
        reply.word = STRAIT_MPI_PING;
        fake_mpi_say(0, at.me, &reply, 0);
    } else if (note->word == STRAIT_MPI_PONG) {
        at.ponged_ns = note->time_ns;
        reply.word = STRAIT_MPI_START;
        reply.time_ns = strait_proc_mono_ns() + 1000000;
        fake_mpi_say(0, at.me, &reply, 0);
        reply.word = at.script == FAILS_LATE ? STRAIT_MPI_FAILED
                     : at.script == STOPS    ? STRAIT_MPI_STOP
                                             : STRAIT_MPI_LOOK;
        strait_error_set(&reply.error, STRAIT_ERR_HOST, NULL, "while it ran");
        fake_mpi_say(0, at.me, &reply, 0.01);
        reply.word = STRAIT_MPI_LOOK;
        if (at.script == STOPS)
            fake_mpi_say(0, at.me, &reply, 0.01);
    } else if (note->word == STRAIT_MPI_STATUS) {
        reply.word = note->is_done ? STRAIT_MPI_END : STRAIT_MPI_LOOK;
        fake_mpi_say(0, at.me, &reply, 0.001);
    }
}

/* Ends at once, waits for what never comes, or fails. */
static void program(struct strait_rank *r)
{
    struct strait_message m;
    struct strait_error err = {0};
    if (at.script == FAILS_ITSELF) {
        strait_error_set(&err, STRAIT_ERR_SYSTEM, "here", "it has had enough");
        r->backend->ops->fail(r, &err);
    }
    if (at.script != ENDS)
        r->backend->ops->recv(r, &m, STRAIT_ANY, 2, INFINITY);
}

/* After at.script, from_allocation on memory lacks once; -1: it does not. */
static int run(struct strait_rig *rig, enum script script, int me, long from_allocation)
{
    static struct strait_mpi_world world;
    memset(&at, 0, sizeof(at));
    at.script = script;
    at.me = me;
    alarm(HANG_S);
    fake_mpi_empty();
    fake_mpi.heard = heard;
    world = fake_mpi_world(me, N);
    strait_rig_init(rig, N, strait_rig_link(1e9, 0), program);
    rig->run.world = &world;
    rig->run.ends_with_rank_0 = script == STOPS;
    if (script == PEER_FAILS) {
        const struct strait_mpi_note said = failure("of rank 2");
        fake_mpi_say(2, 0, &said, 0);
    }
    if (from_allocation >= 0)
        strait_scarce_begin(from_allocation);
    strait_rig_run(rig, &strait_mpi);
    if (from_allocation >= 0 && !strait_scarce_end())
        return 1;
    return 0;
}

static bool is(const struct strait_error *err, enum strait_error_code code, const char *where,
               const char *text)
{
    return err->code == code && strcmp(err->where, where) == 0 && strcmp(err->text, text) == 0;
}

/* 0: as it is to be; else the first that is not. */
static int outcome(enum script script)
{
    static struct strait_rig rig;
    run(&rig, script, script == PEER_FAILS ? 0 : 1, -1);
    const struct strait_error *said = &at.last[0].error;
    const int n_failed = at.n_said[0][STRAIT_MPI_FAILED];
    switch (script) {
    case ENDS:
    case STOPS:
        /* here, ready, a pong, and how it is */
        if (rig.rc != 0 || n_failed != 0)
            return 1;
        if (strcmp(at.order, "aceh") != 0 || at.n_said[0][STRAIT_MPI_PONG] != 1)
            return 2;
        if (at.ponged_ns < at.asked_ns || at.ponged_ns > strait_proc_mono_ns())
            return 3;
        /* its log, at last */
        return fake_mpi.items[fake_mpi.n - 1].tag == STRAIT_MPI_TAG_TALK ? 0 : 4;
    case FAILS_EARLY:
        if (rig.rc != -1 || !is(&rig.err, STRAIT_ERR_INPUT, "there", "the first"))
            return 5;
        return n_failed == 1 && is(said, STRAIT_ERR_INPUT, "there", "the first") ? 0 : 6;
    case FAILS_LATE:
        return rig.rc == -1 && is(&rig.err, STRAIT_ERR_HOST, "", "while it ran") ? 0 : 7;
    case FAILS_ITSELF:
        if (rig.rc != -1 || !is(&rig.err, STRAIT_ERR_SYSTEM, "here", "it has had enough"))
            return 8;
        return n_failed == 1 && is(said, STRAIT_ERR_SYSTEM, "here", "it has had enough") ? 0 : 9;
    case PEER_FAILS:
        if (rig.rc != -1 || !is(&rig.err, STRAIT_ERR_INPUT, "there", "of rank 2"))
            return 10;
        for (int i = 1; i < N; i++)
            if (at.n_said[i][STRAIT_MPI_FAILED] != 1 ||
                !is(&at.last[i].error, STRAIT_ERR_INPUT, "there", "of rank 2"))
                return 11;
        return n_failed;
    }
    return 12;
}

static int status_of(pid_t pid)
{
    int status = -1;
    CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void follows(void)
{
    for (enum script s = ENDS; s <= PEER_FAILS; s++) {
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(outcome(s));
        strait_test_context("script %d", (int)s);
        CU_ASSERT_EQUAL(status_of(pid), 0);
    }
}

/* Of each allocation of the thread that talks to MPI: a rank that lacks it says so. */
static void scarce(void)
{
    int n = 0, status = 0;
    for (; status == 0 && n < MAX_ALLOCATIONS; n++) {
        fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            static struct strait_rig rig;
            const int over = run(&rig, ENDS, 1, n);
            _exit(over ? (rig.rc == 0 ? 1 : 3)
                       : (rig.rc == -1 && rig.err.code == STRAIT_ERR_NOMEM &&
                                  strstr(rig.err.text, "memory")
                              ? 0
                              : 2));
        }
        strait_test_context("allocation %d", n);
        status = status_of(pid);
        CU_ASSERT_AT_MOST(status, 1);
    }
    CU_ASSERT_EQUAL(status, 1);
    CU_ASSERT_AT_LEAST(n, 8);
}

static const struct strait_test tests[] = {
    {"a rank begins, stops, ends and fails as rank 0 says, and says so itself", follows},
    {"a rank without memory for its part says so", scarce},
};
STRAIT_SUITE("mpi/followed", tests);
