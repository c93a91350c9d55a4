/* Processes of a run are stopped for a while at drawn moments: its result is INVALID or as it would
 * have been. DISTURBED=200 in the environment asks for more than a handful (make disturbed). */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/random.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

enum { N_RANKS = 4, N_ROUNDS = 3, A_FEW = 2, UPLOAD_BYTES = 300000 };
/* At dilation 4 a stop of twice a beat, 2 x 5 ms x 4, goes unnoticed at most; it can move a round
 * of 150 ms by 10 ms. */
static const double DILATION = 4, WORK_S = 0.05, UNNOTICED_S = 0.010;

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return (src == 0 || dst == 0) && channel == 0;
}

static void post(struct strait_rank *r, int dst, size_t n_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    if (!p)
        abort(); /* a test without memory proves nothing */
    p->payload_bytes = n_bytes;
    r->backend->ops->send(r, dst, 0, 0, p, false);
}

static void take(struct strait_rank *r)
{
    struct strait_message m;
    r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
    strait_packet_drop(m.packet);
}

/* Rounds of a broadcast, work and uploads; rank 0 notes when each has ended. */
static void rounds(struct strait_rank *r)
{
    const struct strait_job work = {
        .resource = STRAIT_ACCEL, .n_slots = 1, .cost_s = WORK_S, .fn = NULL};
    for (int round = 0; round < N_ROUNDS; round++) {
        if (r->me == 0) {
            for (int i = 1; i < r->run->n_ranks; i++)
                post(r, i, 1000);
            for (int i = 1; i < r->run->n_ranks; i++)
                take(r);
            board_of(r)->numbers[0][round] = r->backend->ops->now_s(r);
        } else {
            take(r);
            r->backend->ops->wait(r, r->backend->ops->start(r, &work), NULL);
            post(r, 0, UPLOAD_BYTES);
        }
        atomic_fetch_add(&board_of(r)->pids[r->me], 1);
    }
}

/* What a child of the test leaves for it. */
struct outcome {
    double ends_s[N_ROUNDS];
    bool ran, valid;
    char why[512];
};

static void run_world(struct outcome *o)
{
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, N_RANKS, 100e6, 0.02);
    w.run.rank_main = rounds;
    w.run.uses_stream = is_star;
    w.run.realisation = "relay";
    w.run.dilation = DILATION;
    o->ran = strait_emu.run(&w.run, &err) == 0;
    o->valid = o->ran && json_array_size(w.facts.invalid) == 0;
    const char *why = json_string_value(json_array_get(w.facts.invalid, 0));
    snprintf(o->why, sizeof(o->why), "%s", o->ran ? why ? why : "valid" : err.text);
    memcpy(o->ends_s, w.board->numbers[0], sizeof(o->ends_s));
    world_release(&w);
}

/* The process to stop: a rank, the relay, the supervisor, or all of them, as when the machine is
 * halted: the launcher's group. 0: it is not there (any more). */
static int victim(int caller, uint64_t draw, char *name, size_t cap)
{
    static const char *const others[] = {"strait-relay", "strait-relay", "strait-super",
                                         "strait-launch"};
    const uint64_t which = draw % (N_RANKS + 4);
    if (which < N_RANKS)
        snprintf(name, cap, "strait-rank-%d", (int)which);
    else
        snprintf(name, cap, "%s", others[which - N_RANKS]);
    const int pid = descendant_named(caller, name);
    return which == N_RANKS + 3 ? -pid : pid;
}

static void sleep_s(double s)
{
    usleep((useconds_t)(1e6 * s));
}

/* Run in a child, and stop one of its processes once, for 20 ms to 1 s. */
static void disturb(struct outcome *o, uint64_t i, char *name, size_t cap)
{
    const uint64_t seed = strait_test_seed();
    memset(o, 0, sizeof(*o));
    const pid_t caller = fork();
    CU_ASSERT_FATAL(caller >= 0);
    if (caller == 0) {
        run_world(o);
        _exit(EXIT_SUCCESS);
    }
    for (int wait = 0; wait < 2000 && descendant_named(caller, "strait-rank-3") == 0; wait++)
        usleep(2000);
    sleep_s(N_ROUNDS * 0.5 * strait_random_unit(seed, "moment", i, 0)); /* a round takes 0.6 s */
    const double stop_s = 0.02 * pow(50, strait_random_unit(seed, "length", i, 0));
    const int pid = victim(caller, strait_random_bits(seed, "victim", i, 0), name, cap);
    if (pid != 0 && kill(pid, SIGSTOP) == 0) {
        sleep_s(stop_s);
        kill(pid, SIGCONT);
    }
    int status = 0;
    waitpid(caller, &status, 0);
    CU_ASSERT(WIFEXITED(status));
    snprintf(name + strlen(name), cap - strlen(name), " for %.0f ms%s", 1e3 * stop_s,
             pid != 0 ? "" : ", which was not there");
}

static bool is_possible(void)
{
    struct world w;
    struct strait_error err = {.code = STRAIT_OK};
    world_init(&w, N_RANKS, 100e6, 0.02);
    w.run.uses_stream = is_star;
    w.run.realisation = "relay";
    w.run.dilation = DILATION;
    const bool can = strait_emu.check(&w.run, &err) == 0;
    world_release(&w);
    if (!can)
        strait_test_skip(err.text);
    return can;
}

/* A round of 1000 bytes out, 50 ms of work, 3 x 300 kB in at 100 Mbps: 4 x 5 ms of delay each way,
 * 9.4 Mbit of frames: 75 ms, and slow start. The longest that no disturbance lengthens is the
 * reference: what a run without one gave, on this machine. */
static double quiet_round_s(struct outcome *o)
{
    double longest_s = 0;
    run_world(o);
    for (int round = 1; round < N_ROUNDS; round++)
        longest_s = fmax(longest_s, o->ends_s[round] - o->ends_s[round - 1]);
    return longest_s;
}

static void a_stopped_process_makes_the_result_invalid_or_changes_nothing(void)
{
    const char *wanted = getenv("DISTURBED");
    const uint64_t n = wanted ? strtoull(wanted, NULL, 10) : A_FEW;
    int n_invalid = 0, n_wrong = 0;
    if (!is_possible())
        return;
    struct outcome *o =
        mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(o != MAP_FAILED);
    const double quiet_s = quiet_round_s(o);
    CU_ASSERT_FATAL(o->ran);
    for (uint64_t i = 0; i < n; i++) {
        char name[96] = "";
        double longest_s = 0;
        disturb(o, i, name, sizeof(name));
        for (int round = 1; round < N_ROUNDS; round++)
            longest_s = fmax(longest_s, o->ends_s[round] - o->ends_s[round - 1]);
        const bool wrong = o->valid && longest_s > quiet_s + UNNOTICED_S;
        strait_test_context("disturbance %d of seed %llu: %s; longest round %.1f ms, quiet %.1f",
                            (int)i, (unsigned long long)strait_test_seed(), name, 1e3 * longest_s,
                            1e3 * quiet_s);
        CU_ASSERT(!wrong);
        n_invalid += !o->valid;
        n_wrong += wrong;
        if (wanted)
            fprintf(stderr, "%3d %-45s %s, longest round %.1f ms: %s\n", (int)i, name,
                    wrong ? "WRONG" : "as it should be", 1e3 * longest_s, o->why);
    }
    if (wanted)
        fprintf(stderr, "%d of %d disturbed runs are INVALID or failed, %d are wrong\n", n_invalid,
                (int)n, n_wrong);
    munmap(o, sizeof(*o));
}

static const struct strait_test tests[] = {
    {"a stopped process makes the result INVALID or changes nothing",
     a_stopped_process_makes_the_result_invalid_or_changes_nothing},
};
STRAIT_SUITE_WITH("emu/judge/disturbed", tests, .alone = true, .release = true);
