/* What each rank of a conducted run does in a turn, what it says of itself, and its last words. */
#include "conducted.h"

static int turn(struct strait_mpi_session *s, struct strait_error *err)
{
    int failed = 0;
    while (!failed && strait_test_clock_now_s() < BEGAN_S + 50)
        failed = strait_mpi_session_turn(s, err);
    return failed;
}

static void turn_fails(enum strait_error_code code, const char *text)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_mpi_session_turn(&at.s, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
    CU_ASSERT_STRING_EQUAL(err.text, text);
}

static void turns(void)
{
    struct strait_error err = {0};
    begin(1, 0.25);
    silent(turn, 40, 40.5, "rank 1 has not heard rank 0 for 40 s");

    begin(0, 0.25);
    CU_ASSERT_EQUAL(turn(&at.s, &err), 0); /* rank 0 need not hear itself */
    CU_ASSERT_EQUAL(at.s.n_rests, 200);
    const struct strait_mpi_note here = {.word = STRAIT_MPI_HERE};
    fake_mpi_say(1, 0, &here, 0);
    CU_ASSERT_EQUAL(strait_mpi_session_turn(&at.s, &err), 0);
    CU_ASSERT_EQUAL(at.s.n_rests, 0);
    CU_ASSERT_EQUAL(strait_mpi_session_turn(&at.s, &err), 0);
    CU_ASSERT_EQUAL(at.s.n_rests, 1);
    CU_ASSERT_FALSE(at.s.closed); /* it has not begun */

    strait_error_set(&at.s.state.error, STRAIT_ERR_NOMEM, NULL, "of a lane");
    at.s.state.has_error = 1; /* being written */
    CU_ASSERT_EQUAL(strait_mpi_session_turn(&at.s, &err), 0);
    at.s.state.has_error = 2;
    turn_fails(STRAIT_ERR_NOMEM, "of a lane");
    at.s.failed = true; /* somewhere else, without a word */
    turn_fails(STRAIT_OK, "");
    at.s.failed = false;
    strait_error_set(&at.s.error, STRAIT_ERR_INPUT, NULL, "told");
    turn_fails(STRAIT_ERR_INPUT, "told");
    end();
}

static void status(void)
{
    begin(2, 0);
    at.s.state.n_sent = 1;
    at.s.state.n_landed = 2;
    at.s.state.progress = 3;
    at.s.state.n_lanes = 4;
    at.s.state.n_stuck = 5;
    at.s.state.stuck_src = 6;
    at.s.state.stuck_channel = 7;
    struct strait_mpi_note n = strait_mpi_session_status(&at.s);
    CU_ASSERT(n.word == STRAIT_MPI_STATUS && n.from == 2 && n.n_sent == 1 && n.n_landed == 2);
    CU_ASSERT(n.progress == 3 && n.n_lanes == 4 && n.n_stuck == 5);
    CU_ASSERT(n.stuck_src == 6 && n.stuck_channel == 7 && !n.is_done);
    at.s.closed = true;
    CU_ASSERT(strait_mpi_session_status(&at.s).is_done);
    end();
}

/* Rank 0 tells all, another one rank 0; they wait a second at most for it to leave. */
static void last_words(int me, bool held, int n_told, double took_s)
{
    struct strait_error why = {0};
    strait_error_set(&why, STRAIT_ERR_HOST, "there", "it broke");
    begin(me, 0.125);
    fake_mpi.held = held;
    CU_ASSERT_EQUAL(strait_mpi_session_give_up(&at.s, &why), -1);
    int n = 0;
    for (int i = 0; i < N; i++) {
        n += at.n_heard[i][STRAIT_MPI_FAILED];
        if (at.n_heard[i][STRAIT_MPI_FAILED] == 0)
            continue;
        CU_ASSERT(me == 0 ? i != 0 : i == 0);
        CU_ASSERT_EQUAL(at.last[i].error.code, STRAIT_ERR_HOST);
        CU_ASSERT_STRING_EQUAL(at.last[i].error.where, "there");
        CU_ASSERT_STRING_EQUAL(at.last[i].error.text, "it broke");
    }
    CU_ASSERT_EQUAL(n, n_told);
    CU_ASSERT_DOUBLE_EQUAL(strait_test_clock_now_s() - BEGAN_S, took_s, 1e-9);
    end();
}

static void gives_up(void)
{
    last_words(0, false, 2, 0.125);
    last_words(0, true, 2, 1);
    last_words(2, false, 1, 0.125);
    last_words(1, true, 1, 1);
}

/* The kernel's boot and the process's offsets from it, whose checksum names the clock. */
static void clock_id(void)
{
    char text[512];
    size_t n = 0;
    static const char *const files[] = {"/proc/sys/kernel/random/boot_id",
                                        "/proc/self/timens_offsets"};
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(files[i], "r");
        n += f ? fread(text + n, 1, sizeof(text) - n, f) : 0;
        if (f)
            fclose(f);
    }
    CU_ASSERT_FATAL(n > 30);
    CU_ASSERT_EQUAL(strait_mpi_session_clock_id(), strait_checksum(text, n));
}

static const struct strait_test tests[] = {
    {"a turn says what failed here or elsewhere, and that rank 0 is silent", turns},
    {"a status says how the rank is", status},
    {"the last word has a second to leave", gives_up},
    {"a clock is named by the boot and the namespace", clock_id},
};
STRAIT_SUITE("mpi/session_turns", tests);
