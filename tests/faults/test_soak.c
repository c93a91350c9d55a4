/* Runs are killed, stopped and given full disks at drawn moments, for SOAK_S seconds (make soak) or
 * a few times: what a results folder holds is right at every moment, the same command goes on from
 * it, and no process is left. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include "commands.h"
#include "tests/kit/emu_world.h"

enum { A_FEW = 6, HANG_S = 200 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum deed { KILL_ALL, KILL_ONE, STOP_ONE, FULL_DISK, N_DEEDS };
static const char *const deeds[N_DEEDS] = {"killed", "one process killed", "one process stopped",
                                           "a full disk"};

/* Start the command; with a full disk its files take that many bytes at most. */
static pid_t begin(const struct program *p, const struct command *c, long most_bytes)
{
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small = {(rlim_t)most_bytes, before.rlim_max};
    if (most_bytes > 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
    }
    const pid_t pid = program_start(p, "said", c->args);
    setrlimit(RLIMIT_FSIZE, &before);
    return pid;
}

/* Exit status, 128 + signal; -1: it hung. */
static int await(pid_t pid)
{
    int status = 0;
    for (int waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += 5) {
        if (waited_ms >= 1000 * HANG_S) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        usleep(5000);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* One of the command's processes, or itself. */
static pid_t drawn_process(pid_t command, uint64_t draw)
{
    int pids[MAX_PROCESSES];
    const int n = descendants(command, pids);
    return n > 0 ? pids[draw % (uint64_t)n] : command;
}

static void disturb(struct program *p, const struct command *c, const struct reference *r,
                    uint64_t i, double long_s, bool verbose)
{
    const uint64_t seed = strait_test_seed();
    const enum deed deed = (enum deed)(strait_random_bits(seed, "deed", i, 0) % N_DEEDS);
    const double moment_s = long_s * strait_random_unit(seed, "moment", i, 0);
    clean(p, c);
    const long most_bytes = 1 + (long)(16384 * strait_random_unit(seed, "room", i, 0));
    const pid_t pid = begin(p, c, deed == FULL_DISK ? most_bytes : 0);
    if (deed != FULL_DISK) {
        usleep((useconds_t)(1e6 * moment_s));
        const pid_t one = drawn_process(pid, strait_random_bits(seed, "process", i, 0));
        kill(deed == KILL_ALL ? pid : one, deed == STOP_ONE ? SIGSTOP : SIGKILL);
        if (deed == STOP_ONE) {
            usleep((useconds_t)(1e6 * strait_random_unit(seed, "length", i, 0)));
            kill(one, SIGCONT);
        }
    }
    const int status = await(pid);
    const int n_left = program_n_left_soon(p);
    strait_test_context("disturbance %llu of seed %llu: %s, %s after %.2f s: status %d",
                        (unsigned long long)i, (unsigned long long)seed, c->name, deeds[deed],
                        moment_s, status);
    CU_ASSERT(status >= 0);
    CU_ASSERT_EQUAL(n_left, 0);
    const bool right = holds_only(p, c, r), whole = status != 0 || equals(p, c, r);
    CU_ASSERT(right && whole);
    const int again = await(begin(p, c, 0));
    /* On a busy machine an emulated row may be INVALID without any doing of ours: status 1. */
    CU_ASSERT(again == 0 || (c->timed && again == 1));
    const bool goes_on = again == 1 || equals(p, c, r);
    CU_ASSERT(goes_on);
    if (verbose && (status < 0 || n_left > 0 || !right || !whole || again != 0 || !goes_on))
        fprintf(stderr, "%llu: %s, %s after %.2f s: status %d, %d left, then %d%s\n",
                (unsigned long long)i, c->name, deeds[deed], moment_s, status, n_left, again,
                right && whole && goes_on ? "" : ", another result");
}

static void whatever_ends_a_run_leaves_nothing_wrong(void)
{
    struct program p;
    const char *wanted = getenv("SOAK_S");
    const double end_s = now_s() + (wanted ? strtod(wanted, NULL) : 0);
    prepare(&p);
    static const int disturbed[] = {1, 2, 3}; /* fluid, sim, emu */
    const uint64_t n_commands = wanted ? 3 : 2;
    struct reference refs[3];
    double long_s[3];
    for (uint64_t c = 0; c < n_commands; c++) {
        const struct command *command = &commands[disturbed[c]];
        clean(&p, command);
        const double began_s = now_s();
        strait_test_context("%s undisturbed", command->name);
        CU_ASSERT_EQUAL_FATAL(await(begin(&p, command, 0)), 0);
        long_s[c] = now_s() - began_s;
        refs[c].rows = rows_of(&p, command);
        refs[c].bytes = result_of(&p, command, &refs[c].len_bytes);
    }
    uint64_t n = 0;
    for (; wanted ? now_s() < end_s : n < A_FEW; n++) {
        const uint64_t c = n % n_commands;
        disturb(&p, &commands[disturbed[c]], &refs[c], n, long_s[c], wanted != NULL);
    }
    for (uint64_t c = 0; c < n_commands; c++)
        forget(&refs[c]);
    program_tear_down(&p);
    if (wanted)
        fprintf(stderr, "%llu disturbances\n", (unsigned long long)n);
}

static const struct strait_test tests[] = {
    {"whatever ends a run leaves nothing wrong", whatever_ends_a_run_leaves_nothing_wrong},
};
STRAIT_SUITE_WITH("faults/soak", tests, .release = true, .slow_s = 1, .deadline_s = 36000);
