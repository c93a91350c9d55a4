/* How late a machine is: the histogram, and the process that fills it. */
#include "emu/links/sentinel.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/kit/judged.h"
#include "tests/kit/suite.h"

static void quantiles(void)
{
    struct strait_emu_lateness l = {.max_s = 0};
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_lateness_quantile_s(&l, 0.99), 0, 0);
    for (int i = 0; i < 98; i++)
        strait_emu_lateness_note(&l, 4e-6); /* two octaves above 1 us: the step 4 .. 4 x 2^(1/8) */
    strait_emu_lateness_note(&l, 1e-3);
    strait_emu_lateness_note(&l, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_lateness_quantile_s(&l, 0.5), 4e-6 * 1.0905077, 1e-11);
    /* the 99th of 100 is 1 ms: log2(1000) x 8 = 79.7, so below 2^(80 / 8) us */
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_lateness_quantile_s(&l, 0.99), 1.024e-3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_lateness_quantile_s(&l, 1), 0.5, 0);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double number_of(const struct strait_emu_lateness *l)
{
    double n = 0;
    for (size_t i = 0; i < sizeof(l->n) / sizeof(l->n[0]); i++)
        n += (double)l->n[i];
    return n;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

/* Our child of that name; 0: none. */
static pid_t find_child(void)
{
    char text[256], name[32];
    int pid = 0, parent;
    FILE *list = popen("cat /proc/[0-9]*/stat 2>/dev/null", "r");
    CU_ASSERT_FATAL(list != NULL);
    while (fgets(text, sizeof(text), list)) {
        int found;
        if (sscanf(text, "%d (%31[^)]) %*c %d", &found, name, &parent) == 3 && parent == getpid() &&
            strcmp(name, "strait-sentinel") == 0)
            pid = found;
    }
    pclose(list);
    return pid;
}

/* On a busy machine it may begin, or go on, much later than now. */
static void wait_for_notes(struct strait_emu_sentinel *s, double n)
{
    struct strait_emu_lateness found = {.max_s = 0};
    for (int i = 0; i < 6000 && number_of(&found) < n; i++) {
        pause_ms(10);
        strait_emu_sentinel_read(&found, s, false);
    }
}

/* Stopped for 100 ms it misses 50 instants of 2 ms: half of them were due 50 ms before it went on.
 */
static void a_stopped_one_was_late(void)
{
    struct strait_emu_sentinel *s;
    struct strait_emu_lateness found;
    struct strait_error err = {0};
    const double began_s = seconds_now();
    CU_ASSERT_EQUAL_FATAL(strait_emu_sentinel_start(&s, &err), 0);
    if (!s) {
        CU_ASSERT_FALSE(strait_emu_sentinel_read(&found, NULL, false));
        strait_test_skip("no right to a real-time priority");
        return;
    }
    wait_for_notes(s, 1);
    const pid_t pid = find_child();
    CU_ASSERT_FATAL(pid > 0);
    kill(pid, SIGSTOP);
    pause_ms(100);
    kill(pid, SIGCONT);
    wait_for_notes(s, 51);
    CU_ASSERT_TRUE(strait_emu_sentinel_read(&found, s, true));
    CU_ASSERT_AT_LEAST(found.max_s, 0.09);
    CU_ASSERT(strait_emu_lateness_quantile_s(&found, 0.99) > 0.05);
    /* each instant is noted once: one in 2 ms since it began */
    CU_ASSERT_AT_MOST(number_of(&found), seconds_now() / 0.002 - began_s / 0.002 + 1);
    CU_ASSERT_AT_LEAST(number_of(&found), 50);
    pause_ms(20);
    strait_emu_sentinel_read(&found, s, false); /* begun again */
    if (time_is_judged())
        CU_ASSERT_AT_MOST(found.max_s, 0.09);
    strait_emu_sentinel_free(s);
    CU_ASSERT_EQUAL(find_child(), 0);
}

static const struct strait_test tests[] = {
    {"quantiles are upper edges of steps, at most the largest", quantiles},
    {"one that is stopped notes all that it missed, and ends when it is freed",
     a_stopped_one_was_late},
};
STRAIT_SUITE("emu/links/sentinel", tests);
