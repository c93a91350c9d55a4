/* How long rank 0 waits for one that is silent before a run begins. */
#include "mpi/mpi_session.h"
#include "tests/kit/suite.h"

static const int64_t SECOND = 1000000000;

/* Who prepares answers, so 30 s without a word are too many, whatever the preparing takes. */
static void who_came(void)
{
    struct strait_mpi_peer peers[2] = {{0}, {.heard_ns = 1000 * SECOND}};
    const struct strait_mpi_session s = {
        .peers = peers, .began_ns = 10 * SECOND, .came_after_s = 50};
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_conduct_silence_s(&s, 1, 1001 * SECOND), 29, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_conduct_silence_s(&s, 1, 1031 * SECOND), -1, 1e-9);
}

/* Rank 0 took 2 s from the announcement to the run: another may take 30 + 10 x 2 s. */
static void who_did_not_come(void)
{
    struct strait_mpi_peer peers[2] = {{0}};
    const struct strait_mpi_session s = {
        .peers = peers, .began_ns = 10 * SECOND, .came_after_s = 2};
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_conduct_silence_s(&s, 1, 59 * SECOND), 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_mpi_conduct_silence_s(&s, 1, 61 * SECOND), -1, 1e-9);
}

/* Each word changes its own part of what rank 0 knows of a rank, and nothing of another's. */
static void what_notes_say(void)
{
    struct strait_mpi_peer peers[3] = {{0}};
    struct strait_mpi_session s = {.peers = peers};
    const struct strait_mpi_note ready = {.word = STRAIT_MPI_READY, .from = 1, .clock_id = 77},
                                 pong = {.word = STRAIT_MPI_PONG, .from = 2, .time_ns = 55},
                                 status = {.word = STRAIT_MPI_STATUS, .from = 2, .n_sent = 9};
    strait_mpi_conduct_note(&s, &ready);
    CU_ASSERT(peers[1].is_ready && !peers[2].is_ready);
    CU_ASSERT_EQUAL(peers[1].clock_id, 77);
    CU_ASSERT(peers[1].heard_ns > 0 && peers[2].heard_ns == 0);
    CU_ASSERT_EQUAL(peers[1].n_pongs + peers[1].n_statuses, 0);
    strait_mpi_conduct_note(&s, &pong);
    CU_ASSERT_EQUAL(peers[2].pong_there_ns, 55);
    CU_ASSERT_EQUAL(peers[2].pong_here_ns, peers[2].heard_ns);
    CU_ASSERT_EQUAL(peers[2].n_pongs, 1);
    strait_mpi_conduct_note(&s, &status);
    strait_mpi_conduct_note(&s, &status);
    CU_ASSERT_EQUAL(peers[2].n_statuses, 2);
    CU_ASSERT_EQUAL(peers[2].n_pongs, 1);
    CU_ASSERT_EQUAL(peers[2].status.n_sent, 9);
    CU_ASSERT_FALSE(peers[2].is_ready);
    CU_ASSERT_EQUAL(peers[0].heard_ns, 0);
}

static const struct strait_test tests[] = {
    {"a note changes what rank 0 knows of its sender", what_notes_say},
    {"a rank that has come to the run is silent for 30 s at most", who_came},
    {"one that has not come may take ten times as long as rank 0", who_did_not_come},
};
STRAIT_SUITE("mpi/conduct", tests);
