/* What work costs, by which clock. */
#include <pthread.h>
#include <time.h>
#include "core/clock.h"
#include "tests/kit/suite.h"

static void spin(double seconds)
{
    const struct strait_instant begin = strait_instant_now();
    while (strait_instant_now().thread_s - begin.thread_s < seconds) {
    }
}

static void *spin_beside(void *arg)
{
    spin(*(double *)arg);
    return NULL;
}

/* 50 ms of one thread's own work: at least that, by its own clock. */
static void alone(void)
{
    const struct strait_instant begin = strait_instant_now();
    spin(0.05);
    CU_ASSERT(strait_instant_cost_s(&begin) >= 0.05);
    CU_ASSERT(begin.wall_s > 0 && strait_instant_cost_s(&begin) > 0);
}

/* A sleep is a wait: its 50 ms count although no processor worked. */
static void waiting(void)
{
    const struct timespec t = {.tv_nsec = 50000000};
    const struct strait_instant begin = strait_instant_now();
    nanosleep(&t, NULL);
    CU_ASSERT(strait_instant_cost_s(&begin) >= 0.05);
}

/* Another thread's 50 ms while this one waits for it. */
static void others(void)
{
    double seconds = 0.05;
    pthread_t thread;
    const struct strait_instant begin = strait_instant_now();
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, spin_beside, &seconds), 0);
    pthread_join(thread, NULL);
    CU_ASSERT(strait_instant_cost_s(&begin) >= 0.05);
}

static const struct strait_test tests[] = {
    {"work of this thread alone costs its CPU time", alone},
    {"a wait costs the time that passes", waiting},
    {"work of further threads costs the time that passes", others},
};
STRAIT_SUITE("core/instant", tests);
