/* Virtual time from real time, and what a thread that must not be late asks of the kernel. */
#include "process/dilated_clock.h"
#include <grp.h>
#include <math.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/kit/failing/set_clock.h"
#include "tests/kit/suite.h"

/* Three times as slow, from 5 s on: 11 s are 2 virtual seconds. */
static void conversions(void)
{
    const struct strait_proc_clock c = {5000000000, 3};
    CU_ASSERT_DOUBLE_EQUAL(strait_proc_clock_virtual_s(&c, 11000000000), 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_proc_clock_virtual_s(&c, 2000000000), -1, 1e-12);
    CU_ASSERT_EQUAL(strait_proc_clock_mono_ns(&c, 2), 11000000000);
    CU_ASSERT_EQUAL(strait_proc_clock_real_ns(&c, 2), 6000000000);
    CU_ASSERT_EQUAL(strait_proc_clock_real_ns(&c, -2), -6000000000);
    /* no wait is longer than 30 years, there and back */
    CU_ASSERT_EQUAL(strait_proc_clock_real_ns(&c, INFINITY), 1000000000000000000);
    CU_ASSERT_EQUAL(strait_proc_clock_real_ns(&c, -INFINITY), -1000000000000000000);
    CU_ASSERT_EQUAL(strait_proc_clock_real_ns(&c, NAN), -1000000000000000000);
}

static void moments(void)
{
    strait_test_clock_set(12.5);
    CU_ASSERT_EQUAL(strait_proc_mono_ns(), 12500000000);
    const struct timespec t = strait_proc_timespec(12500000003), none = strait_proc_timespec(-1);
    CU_ASSERT(t.tv_sec == 12 && t.tv_nsec == 500000003);
    CU_ASSERT(none.tv_sec == 0 && none.tv_nsec == 0);
}

/* The policy, its priority and the niceness of this thread. */
static void expect_place(int policy, int priority, int niceness)
{
    struct sched_param found;
    CU_ASSERT_EQUAL(sched_getscheduler(0), policy | SCHED_RESET_ON_FORK);
    CU_ASSERT_EQUAL(sched_getparam(0, &found), 0);
    CU_ASSERT_EQUAL(found.sched_priority, priority);
    CU_ASSERT_EQUAL(getpriority(PRIO_PROCESS, 0), niceness);
}

static void in_a_child(void (*what)(void))
{
    int status = 0;
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        what();
        _exit(0);
    }
    CU_ASSERT(waitpid(pid, &status, 0) == pid && status == 0);
}

static void as_who_may(void)
{
    const struct sched_param lowest = {.sched_priority = 1}, none = {.sched_priority = 0};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0 ||
        sched_setscheduler(0, SCHED_OTHER, &none) != 0)
        return;                                          /* this user may not */
    CU_ASSERT_EQUAL(setpriority(PRIO_PROCESS, 0, 0), 0); /* the suite may run under nice */
    strait_proc_be_prompt();
    CU_ASSERT_AT_MOST(prctl(PR_GET_TIMERSLACK), 1); /* newer kernels: 0 for real-time priority */
    expect_place(SCHED_FIFO, 1, 0);
    strait_proc_be_ordinary();
    expect_place(SCHED_OTHER, 0, 0);
}

/* Who may be nice to himself alone. */
static void as_who_may_less(void)
{
    const struct rlimit some = {40, 40}, no = {0, 0};
    if (geteuid() != 0 || setrlimit(RLIMIT_NICE, &some) != 0 ||
        setrlimit(RLIMIT_RTPRIO, &no) != 0 || setgroups(0, NULL) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        return;
    strait_proc_be_prompt();
    CU_ASSERT_EQUAL(prctl(PR_GET_TIMERSLACK), 1);
    CU_ASSERT_EQUAL(sched_getscheduler(0), SCHED_OTHER);
    CU_ASSERT_EQUAL(getpriority(PRIO_PROCESS, 0), -15);
    strait_proc_be_ordinary();
    CU_ASSERT_EQUAL(getpriority(PRIO_PROCESS, 0), 0);
}

static void prompt(void)
{
    in_a_child(as_who_may);
    in_a_child(as_who_may_less);
}

static const struct strait_test tests[] = {
    {"virtual seconds are dilated real ones from a start", conversions},
    {"moments have seconds and nanoseconds, none of them below 0", moments},
    {"a prompt thread has real-time priority, or is less nice, and exact timers", prompt},
};
STRAIT_SUITE("process/dilated_clock", tests);
