/* How long rank 0 waits for one that is silent before a run begins. */
#include "mpi/session.h"
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

static const struct strait_test tests[] = {
    {"a rank that has come to the run is silent for 30 s at most", who_came},
    {"one that has not come may take ten times as long as rank 0", who_did_not_come},
};
STRAIT_SUITE("mpi/conduct", tests);
