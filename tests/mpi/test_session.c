/* Rank 0 conducts a run: when it begins, how often it looks around, and when it gives up. */
#include "conducted.h"

#define NEAR_NS(found, wanted) CU_ASSERT_DOUBLE_EQUAL((double)(found), (double)(wanted), 100)

/* --- time 0 ----------------------------------------------------------------------------------- */

/* Of 24 round trips the shortest says how far a clock is; time 0 is 30 ms, 2 ms a rank and two
 * trips to the farthest later, by each rank's clock. */
static void start_of(double rtt1_s, double rtt2_s, unsigned n_runs, bool far, double rest_s)
{
    struct strait_error err = {0};
    begin(0, 1);
    at.rtt_s[1] = rtt1_s;
    at.rtt_s[2] = rtt2_s;
    at.more_s = 3e-6;
    at.ready_s[2] = 0.01;
    at.world.n_runs = n_runs;
    come();
    CU_ASSERT_EQUAL(strait_mpi_conduct_start(&at.s, &err), 0);
    const double now_s = strait_test_clock_now_s();
    for (int i = 1; i < N; i++) {
        strait_test_context("rank %d, %g s", i, at.rtt_s[i]);
        NEAR_NS(at.peers[i].rtt_ns[0], 1e9 * at.rtt_s[i]);
        NEAR_NS(at.peers[i].away_ns, 1e9 * at.rtt_s[i]);
        NEAR_NS(at.peers[i].offset_ns[0], 1e9 * AHEAD_S[i]);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_PING], 24);
        CU_ASSERT_EQUAL(at.last[i].word, STRAIT_MPI_START);
        CU_ASSERT_EQUAL(at.last[i].time_ns, at.s.start_ns + at.peers[i].offset_ns[0]);
        CU_ASSERT_EQUAL(at.last[i].unasked, far);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_START], 1);
    }
    CU_ASSERT_EQUAL(at.s.far, far);
    CU_ASSERT_EQUAL(at.s.link->part_bytes, far ? at.world.part_bytes : (size_t)1 << 30);
    NEAR_NS(at.s.start_ns, 1e9 * (now_s + 0.036 + 2 * fmax(rtt1_s, rtt2_s) + rest_s));
    CU_ASSERT_EQUAL(at.n_heard[0][STRAIT_MPI_START], 0);
    end();
}

static void starts(void)
{
    start_of(0.98e-3, 0.3e-3, 0, false, 0);
    start_of(0.98e-3, 0.3e-3, 3, false, 0);
    start_of(0.3e-3, 1.02e-3, 0, true, 0);
    /* windows of the run before close: eight time-outs of 200 ms and a trip */
    start_of(0.3e-3, 4e-3, 1, true, 8 * 0.204);
}

/* On the same machine the clock is rank 0's, and is not measured again; how far a rank is, is. */
static void one_machine(void)
{
    struct strait_error err = {0};
    begin(0, 1);
    at.clock_ids[1] = strait_mpi_session_clock_id();
    at.rtt_s[1] = 2e-3;
    at.rtt_s[2] = 1e-3;
    come();
    CU_ASSERT_EQUAL(strait_mpi_conduct_start(&at.s, &err), 0);
    CU_ASSERT_EQUAL(at.peers[1].rtt_ns[0], 0);
    CU_ASSERT_EQUAL(at.peers[1].offset_ns[0], 0);
    NEAR_NS(at.peers[1].away_ns, 2 * MS);
    NEAR_NS(at.peers[2].offset_ns[0], -2e9);
    CU_ASSERT_EQUAL(at.n_heard[1][STRAIT_MPI_PING], 24);
    CU_ASSERT_EQUAL(at.last[1].time_ns, at.s.start_ns);
    CU_ASSERT(at.s.far);
    end();
}

static struct strait_mpi_note done(int rank, int n_looks)
{
    (void)n_looks;
    return (struct strait_mpi_note){.n_sent = (uint64_t)rank, .n_landed = 1, .is_done = 1};
}

/* Rank 0 has sent nothing, 1 and 2 three messages, of which one came to each. After the run the
 * other clocks are measured again, but for that of this machine. */
static void ends_when_all_have(void)
{
    struct strait_error err = {0};
    begin(0, 1);
    at.clock_ids[1] = at.peers[1].clock_id = strait_mpi_session_clock_id();
    at.peers[2].clock_id = 77;
    at.rtt_s[1] = at.rtt_s[2] = 1e-3;
    at.status = done;
    at.s.closed = true;
    at.s.state.n_landed = 1;
    at.s.start_ns = strait_proc_mono_ns();
    CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), 0);
    CU_ASSERT_EQUAL(at.n_heard[1][STRAIT_MPI_PING], 0);
    CU_ASSERT_EQUAL(at.n_heard[2][STRAIT_MPI_PING], 24);
    NEAR_NS(at.peers[2].rtt_ns[1], MS);
    NEAR_NS(at.peers[2].offset_ns[1], -2e9);
    CU_ASSERT_EQUAL(at.peers[2].rtt_ns[0], 0);
    CU_ASSERT_EQUAL(at.peers[2].away_ns, 0); /* as it was before */
    for (int i = 1; i < N; i++) {
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_LOOK], 1);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_END], 1);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_STOP], 0);
    }
    CU_ASSERT(strait_mpi_link_is_calm(at.s.link));
    end();
}

/* --- looks ------------------------------------------------------------------------------------ */

static int n_looks_busy;

/* Something is under way, until rank 1 has been asked so often. */
static struct strait_mpi_note busy(int rank, int n_looks)
{
    const bool over = n_looks >= n_looks_busy;
    return (struct strait_mpi_note){.n_sent = rank == 1,
                                    .n_landed = over && rank == 2,
                                    .n_lanes = !over,
                                    .progress = (uint64_t)n_looks,
                                    .is_done = over};
}

/* 100 ms between looks at near ranks, 5 s at far ones, while rank 0's own program runs; 5 ms when
 * it has ended. Each wait is one of 5 ms longer. */
static void looks_of(bool far, bool closed, int64_t apart_ms)
{
    struct strait_error err = {0};
    n_looks_busy = 4;
    begin(0, far && !closed ? 5e-3 : 1e-3);
    at.s.far = far;
    at.s.closed = closed;
    at.status = busy;
    at.run.deadline_s = 60;
    at.s.start_ns = strait_proc_mono_ns();
    if (!closed) { /* rank 0 itself is not over, so the deadline ends it */
        at.run.deadline_s = 2.5 * 1e-3 * (double)apart_ms;
        CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), -1);
    } else {
        CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), 0);
        CU_ASSERT_EQUAL(at.n_heard[1][STRAIT_MPI_LOOK], 5);
    }
    for (int i = 1; i < (closed ? 5 : 4); i++) {
        strait_test_context("far %d, closed %d, look %d", far, closed, i);
        const double s = at.looked_s[i] - at.looked_s[i - 1];
        CU_ASSERT_AT_LEAST(s, 1e-3 * (double)apart_ms);
        CU_ASSERT_AT_MOST(s, 1e-3 * (double)apart_ms * 1.03 + 3e-3);
    }
    end();
}

static void looks(void)
{
    looks_of(false, false, 105);
    looks_of(true, false, 5005);
    looks_of(false, true, 5);
    looks_of(true, true, 5);
}

static void deadline_of(double deadline_s, double expected_s, double limit_s, const char *text)
{
    struct strait_error err = {0};
    n_looks_busy = 1 << 20;
    begin(0, 1);
    at.s.far = true;
    at.status = busy;
    at.run.deadline_s = deadline_s;
    at.run.expected_s = expected_s;
    at.s.start_ns = strait_proc_mono_ns();
    CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    const double took_s = strait_test_clock_now_s() - BEGAN_S;
    CU_ASSERT_AT_LEAST(took_s, limit_s);
    CU_ASSERT_AT_MOST(took_s, limit_s + 1100); /* a look lasts a thousand steps */
    end();
}

static void deadlines(void)
{
    deadline_of(0, 0, 3600, "the run did not end within its deadline of 3.6e+03 s");
    deadline_of(0, 7, 370, "the run did not end within its deadline of 370 s");
    deadline_of(50, 7, 50, "the run did not end within its deadline of 50 s");
}

/* Nothing under way and all lanes waiting, twice with nothing between: for ever. */
static int stuck_rank, stuck_src, n_looks_moving;

static struct strait_mpi_note still(int rank, int n_looks)
{
    const bool waits = rank == stuck_rank;
    return (struct strait_mpi_note){
        .n_sent = 2,
        .n_landed = 2,
        .n_lanes = waits ? 3 : 0,
        .n_stuck = waits ? 3 : 0,
        .stuck_src = stuck_src,
        .stuck_channel = 6,
        .is_done = !waits,
        .progress = (uint64_t)(n_looks < n_looks_moving ? n_looks : n_looks_moving)};
}

static void stuck_of(int rank, int src, int n_moving, const char *text)
{
    struct strait_error err = {0};
    begin(0, 5e-3);
    stuck_rank = rank;
    stuck_src = src;
    n_looks_moving = n_moving;
    at.status = still;
    at.s.start_ns = strait_proc_mono_ns();
    at.s.closed = rank != 0;
    if (rank == 0) {
        at.s.state.n_lanes = at.s.state.n_stuck = 1;
        at.s.state.stuck_src = src;
        at.s.state.stuck_channel = 1;
    }
    CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    /* the first has none before it to be held against, and what moves is not stuck */
    CU_ASSERT_EQUAL(at.n_heard[1][STRAIT_MPI_LOOK], n_moving + 2);
    end();
}

static void stuck(void)
{
    stuck_of(2, 1, 0, "rank 2 waits for ever for a message from rank 1 on channel 6");
    stuck_of(1, STRAIT_ANY, 5, "rank 1 waits for ever for a message from any rank on channel 6");
    stuck_of(0, 2, 1, "rank 0 waits for ever for a message from rank 2 on channel 1");
}

/* Rank 0's end is everybody's, told once. */
static void ends_with_rank_0(void)
{
    struct strait_error err = {0};
    begin(0, 5e-3);
    n_looks_busy = 3;
    at.status = busy;
    at.run.ends_with_rank_0 = at.s.closed = true;
    at.s.start_ns = strait_proc_mono_ns();
    CU_ASSERT_EQUAL(strait_mpi_conduct_run(&at.s, &err), 0);
    CU_ASSERT(at.s.stop);
    for (int i = 1; i < N; i++) {
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_STOP], 1);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_END], 1);
        CU_ASSERT_EQUAL(at.n_heard[i][STRAIT_MPI_LOOK], 4);
    }
    end();
}

/* --- who is silent ---------------------------------------------------------------------------- */

static void silence(void)
{
    begin(0, 0.25);
    at.ready_s[1] = at.here_s[1] = INFINITY; /* never comes, while rank 2 is there at once */
    at.s.came_after_s = 1;
    come();
    silent(strait_mpi_conduct_start, 40, 42,
           "rank 1 has not come to the run that rank 0 announced");

    begin(0, 0.25);
    at.ready_s[2] = INFINITY;
    at.is_dumb[2] = true; /* answers no ping */
    come();
    silent(strait_mpi_conduct_start, 30, 32, "rank 2 has not answered while it prepared the run");

    begin(0, 0.25);
    at.is_dumb[1] = true;
    come();
    silent(strait_mpi_conduct_start, 30, 32, "rank 1 has not answered for 30 s");

    begin(0, 0.25);
    at.is_dumb[2] = true;
    at.status = done;
    silent(strait_mpi_conduct_run, 30, 32, "rank 2 has not answered for 30 s");
}

/* Who prepares for minutes is asked once a second, and answers. */
static void long_preparation(void)
{
    struct strait_error err = {0};
    begin(0, 0.25);
    at.ready_s[1] = 200;
    at.rtt_s[1] = at.rtt_s[2] = 0.1;
    come();
    CU_ASSERT_EQUAL(strait_mpi_conduct_start(&at.s, &err), 0);
    CU_ASSERT_AT_LEAST(at.n_heard[1][STRAIT_MPI_PING], 100 + 24);
    CU_ASSERT_AT_MOST(at.n_heard[1][STRAIT_MPI_PING], 201 + 24);
    CU_ASSERT_AT_MOST(at.n_heard[2][STRAIT_MPI_PING], 1 + 24);
    CU_ASSERT_EQUAL(at.peers[1].n_pongs, at.peers[1].n_pings);
    end();
}

static const struct strait_test tests[] = {
    {"time 0 is told by each rank's clock, later where ranks are far", starts},
    {"ranks of one machine share its clock", one_machine},
    {"a run ends when all have ended and all has landed", ends_when_all_have},
    {"rank 0 looks around ten times a second, at far ranks every 5 s", looks},
    {"a run has ten times what is expected and 5 minutes, or an hour", deadlines},
    {"who waits for what nobody will send is named", stuck},
    {"where rank 0's end is the run's, all are told to stop, once", ends_with_rank_0},
    {"who does not answer for 30 s is lost", silence},
    {"who prepares for long is asked whether it is there", long_preparation},
};
STRAIT_SUITE("mpi/session", tests);
