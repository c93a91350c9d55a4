/* Rates that change at their times, of links that are not there: each change is noted, and the first
 * says why it failed. */
#include "emu/links/rate_changer.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "emu/links/realisation.h"
#include "emu/links/userns.h"
#include "process/dilated_clock.h"
#include "tests/kit/suite.h"
#include "workloads/ask/network.h"

enum { NO_DEVICE = 99 };

/* A namespace without links; -1, with the test skipped, where nobody may make one. */
static int namespace(void)
{
    struct strait_error err = {0};
    const int fd =
        geteuid() != 0 && strait_emu_launch_userns(&err) != 0 ? -1 : strait_emu_namespace_new(&err);
    if (fd < 0)
        strait_test_skip(err.text);
    return fd;
}

static _Atomic(int64_t) *new_start(void)
{
    _Atomic(int64_t) *start_ns =
        mmap(NULL, sizeof(*start_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(start_ns != MAP_FAILED);
    return start_ns;
}

/* Its rates so far are these, in any order. */
static void has(const struct strait_emu_rate_changer *c, size_t link, const double *wanted,
                size_t n)
{
    double found[STRAIT_EMU_RECENT];
    CU_ASSERT_EQUAL_FATAL(strait_emu_rate_changer_recent(found, c, link), n);
    for (size_t i = 0; i < n; i++) {
        bool is_there = false;
        for (size_t k = 0; k < n; k++)
            is_there |= found[k] == wanted[i];
        strait_test_context("link %zu, rate %g", link, wanted[i]);
        CU_ASSERT(is_there);
    }
}

/* Until the link has been given the rate, a minute at most. */
static void wait_for(const struct strait_emu_rate_changer *c, size_t link, double bits_per_s)
{
    for (int tries = 0; tries < 60000; tries++) {
        double found[STRAIT_EMU_RECENT];
        const size_t n = strait_emu_rate_changer_recent(found, c, link);
        for (size_t i = 0; i < n; i++)
            if (found[i] == bits_per_s)
                return;
        strait_proc_sleep_until_ns(strait_proc_mono_ns() + 1000000);
    }
    CU_FAIL_FATAL("the rate was changed");
}

/* The second link changes first, after 5 ms, the first after 20 and five times more; a dilation of
 * 4 makes them four times as late. Of six rates the last four are kept. */
static void changes(void)
{
    static const double at_s[] = {0, 0.02, 0.03, 0.04, 0.05, 0.06}, few_s[] = {0, 0.005};
    static const double rates[] = {1e8, 2e8, 3e8, 4e8, 5e8, 6e8}, two[] = {7e8, 8e8};
    struct strait_error err = {0};
    struct strait_emu_rate_changer *c;
    char failure[STRAIT_EMU_CHANGE_CHARS] = "x";
    const int fd = namespace();
    if (fd < 0)
        return;
    _Atomic(int64_t) *start_ns = new_start();
    struct strait_schedule *many = strait_schedule_new(6, at_s, rates, INFINITY);
    struct strait_schedule *once = strait_schedule_new(2, few_s, two, INFINITY);
    CU_ASSERT_FATAL(many && once);
    const struct strait_link links[] = {
        {.rate_bits_per_s = 1e8, .schedule = many, .queue_bytes = INFINITY},
        {.rate_bits_per_s = 7e8, .schedule = once, .queue_bytes = INFINITY}};
    const struct strait_emu_changing changing[] = {{&links[0], fd, NO_DEVICE, "out", 3},
                                                   {&links[1], fd, NO_DEVICE, "in", 4}};
    const struct strait_emu_net_plan plan = {.start_ns = start_ns, .dilation = 4};
    CU_ASSERT_EQUAL_FATAL(strait_emu_rate_changer_start(&c, &plan, changing, 2, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    has(c, 0, rates, 1);
    has(c, 1, two, 1);
    CU_ASSERT_EQUAL(strait_emu_rate_changer_late_s(c, failure), 0);
    CU_ASSERT_STRING_EQUAL(failure, "");

    const int64_t begun_ns = strait_proc_mono_ns();
    atomic_store(start_ns, begun_ns);
    wait_for(c, 1, 8e8);
    CU_ASSERT_AT_LEAST(strait_proc_mono_ns() - begun_ns, 4 * 5000000);
    wait_for(c, 0, 2e8);
    CU_ASSERT_AT_LEAST(strait_proc_mono_ns() - begun_ns, 4 * 20000000);
    wait_for(c, 0, 6e8);
    CU_ASSERT_AT_LEAST(strait_proc_mono_ns() - begun_ns, 4 * 60000000);
    has(c, 0, rates + 2, 4);
    has(c, 1, two, 2);
    /* a change is said to be late by something, which is noted after it */
    while (strait_emu_rate_changer_late_s(c, failure) == 0)
        strait_proc_sleep_until_ns(strait_proc_mono_ns() + 1000000);
    const char *const begins = "the in link of node 4 did not change its rate at 0.005 s: ";
    CU_ASSERT_EQUAL(strncmp(failure, begins, strlen(begins)), 0);
    CU_ASSERT_AT_LEAST(strlen(failure), strlen(begins) + 5);
    strait_emu_rate_changer_free(c);
    strait_schedule_free(many);
    strait_schedule_free(once);
    munmap((void *)start_ns, sizeof(*start_ns));
    close(fd);
}

/* Where nothing changes, or never begins, there is no process. */
static void nothing(void)
{
    struct strait_error err = {0};
    struct strait_emu_rate_changer *c = (struct strait_emu_rate_changer *)&err;
    char failure[STRAIT_EMU_CHANGE_CHARS] = "x";
    _Atomic(int64_t) start_ns = 1;
    const struct strait_link link = {.rate_bits_per_s = 1e8};
    const struct strait_emu_changing changing = {&link, -1, NO_DEVICE, "out", 0};
    const struct strait_emu_net_plan begins = {.start_ns = &start_ns}, never = {0};
    CU_ASSERT_EQUAL(strait_emu_rate_changer_start(&c, &begins, &changing, 0, &err), 0);
    CU_ASSERT_PTR_NULL(c);
    c = (struct strait_emu_rate_changer *)&err;
    CU_ASSERT_EQUAL(strait_emu_rate_changer_start(&c, &never, &changing, 1, &err), 0);
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_EQUAL(strait_emu_rate_changer_late_s(NULL, failure), 0);
    CU_ASSERT_STRING_EQUAL(failure, "");
    strait_emu_rate_changer_free(NULL);
}

/* It says so when it cannot start: in no namespace there is no socket. */
static void fails(void)
{
    static const double at_s[] = {0, 1}, rates[] = {1e8, 2e8};
    struct strait_error err = {0};
    struct strait_emu_rate_changer *c = (struct strait_emu_rate_changer *)&err;
    _Atomic(int64_t) start_ns = 0;
    struct strait_schedule *schedule = strait_schedule_new(2, at_s, rates, INFINITY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    const struct strait_link link = {.rate_bits_per_s = 1e8, .schedule = schedule};
    const struct strait_emu_changing changing = {&link, -1, NO_DEVICE, "out", 0};
    const struct strait_emu_net_plan plan = {.start_ns = &start_ns};
    CU_ASSERT_EQUAL(strait_emu_rate_changer_start(&c, &plan, &changing, 1, &err), -1);
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "the process that changes rates did not start");
    strait_schedule_free(schedule);
}

static const struct strait_test tests[] = {
    {"where nothing changes there is nobody who changes it", nothing},
    {"who cannot change rates says so", fails},
    {"rates change in the order of their times, at them or later", changes},
};
STRAIT_SUITE("emu/links/rate_changer", tests);
