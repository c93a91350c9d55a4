/* When bytes arrived, from what the kernel and two clocks say. */
#include "emu/process/arrival.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/kit/suite.h"

enum { MS = 1000000 };
static const int64_t NOW = 5000 * (int64_t)MS, REAL = 1700000000000 * (int64_t)MS;

/* The thread is 3 ms late: the stamp says so. */
static void a_late_reader_does_not_make_bytes_late(void)
{
    int64_t clock = 0;
    CU_ASSERT_EQUAL(strait_emu_arrival_stamp_ns(&clock, NOW, REAL, REAL - 3 * MS), NOW - 3 * MS);
    CU_ASSERT_EQUAL(clock, REAL - NOW);
    CU_ASSERT_EQUAL(strait_emu_arrival_stamp_ns(&clock, NOW + MS, REAL + MS, REAL), NOW);
}

/* Set forward by 1 s between stamp and read, what came just now seems to be 1 s old. */
static void a_clock_that_is_set_moves_no_arrival(void)
{
    int64_t clock = REAL - NOW;
    const int64_t set = REAL + 1000 * (int64_t)MS;
    CU_ASSERT_EQUAL(strait_emu_arrival_stamp_ns(&clock, NOW, set, REAL), NOW);
    CU_ASSERT_EQUAL(clock, set - NOW);
    /* the next one is of the new clock */
    CU_ASSERT_EQUAL(strait_emu_arrival_stamp_ns(&clock, NOW + MS, set + MS, set), NOW);
    /* back by 1 s: the stamp is of the future */
    CU_ASSERT_EQUAL(strait_emu_arrival_stamp_ns(&clock, NOW + 2 * MS, REAL + 2 * MS, set + MS),
                    NOW + 2 * MS);
}

/* At 20 ms there was nothing to read although these bytes had come at 10: an earlier one was
 * missing, until 30. */
static void bytes_behind_a_gap_arrive_with_the_missing_one(void)
{
    struct strait_emu_arrival a = {.empty_ns = 20 * MS};
    CU_ASSERT_EQUAL(strait_emu_arrival_complete_ns(&a, -1, 10 * MS, 30 * MS), 30 * MS);
    CU_ASSERT_EQUAL(strait_emu_arrival_complete_ns(&a, -1, 25 * MS, 30 * MS), 25 * MS);
}

static void nothing_to_read_is_remembered(void)
{
    struct strait_emu_arrival a = {.empty_ns = 0};
    int pair[2];
    int64_t at = 0, clock = 0;
    char byte = 'x';
    CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CU_ASSERT_EQUAL(strait_emu_arrival_read(&a, &at, &clock, pair[0], &byte, 1, false), -1);
    CU_ASSERT_EQUAL(errno, EAGAIN);
    CU_ASSERT(a.empty_ns > 0);
    const int64_t empty = a.empty_ns;
    CU_ASSERT_EQUAL(write(pair[1], "y", 1), 1);
    CU_ASSERT_EQUAL(strait_emu_arrival_read(&a, &at, &clock, pair[0], &byte, 1, false), 1);
    CU_ASSERT_EQUAL(byte, 'y');
    CU_ASSERT_EQUAL(a.empty_ns, empty);
    CU_ASSERT(at >= empty);
    close(pair[0]);
    close(pair[1]);
}

static const struct strait_test tests[] = {
    {"a late reader does not make bytes late", a_late_reader_does_not_make_bytes_late},
    {"a clock that is set moves no arrival", a_clock_that_is_set_moves_no_arrival},
    {"bytes behind a gap arrive with the missing one",
     bytes_behind_a_gap_arrive_with_the_missing_one},
    {"that there was nothing to read is remembered", nothing_to_read_is_remembered},
};
STRAIT_SUITE("emu/process/arrival", tests);
