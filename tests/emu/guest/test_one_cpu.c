/* A processor for a guest: one of those that the thread has, each for one at a time. */
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "emu/guest/one_cpu.h"
#include "tests/kit/suite.h"

/* Nobody else's: suites run at once. */
static const char *what(void)
{
    static char name[32];
    snprintf(name, sizeof(name), "test %d", (int)getpid());
    return name;
}

static cpu_set_t allowed(void)
{
    cpu_set_t set;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(set), &set), 0);
    return set;
}

/* As many takers as processors have each one of their own; one more has none, and runs on all. */
static void each_once(void)
{
    static struct strait_one_cpu ones[CPU_SETSIZE + 1];
    const cpu_set_t all = allowed();
    cpu_set_t taken;
    const int n = CPU_COUNT(&all);
    CPU_ZERO(&taken);
    for (int i = 0; i < n; i++) {
        const size_t cpu = (size_t)strait_one_cpu_take(&ones[i], what());
        CU_ASSERT_FATAL(cpu < CPU_SETSIZE);
        CU_ASSERT_TRUE(CPU_ISSET(cpu, &all));
        CU_ASSERT_FALSE(CPU_ISSET(cpu, &taken));
        CPU_SET(cpu, &taken);
        const cpu_set_t now = allowed();
        CU_ASSERT_EQUAL(CPU_COUNT(&now), 1);
        CU_ASSERT_TRUE(CPU_ISSET(cpu, &now));
        CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(all), &all), 0);
    }
    CU_ASSERT_TRUE(CPU_EQUAL(&taken, &all));
    CU_ASSERT_EQUAL(strait_one_cpu_take(&ones[n], what()), -1);
    cpu_set_t after = allowed();
    CU_ASSERT_TRUE(CPU_EQUAL(&after, &all));
    strait_one_cpu_give_back(&ones[n]);
    for (int i = 0; i < n; i++)
        strait_one_cpu_give_back(&ones[i]);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(all), &all), 0);
    const int again = strait_one_cpu_take(&ones[0], what());
    CU_ASSERT_TRUE(again >= 0); /* free again */
    strait_one_cpu_give_back(&ones[0]);
    after = allowed();
    CU_ASSERT_TRUE(CPU_EQUAL(&after, &all));
}

/* A taker that ends without giving back leaves nothing behind; a child of one stays where it is. */
static void ended(void)
{
    const cpu_set_t all = allowed();
    struct strait_one_cpu one;
    cpu_set_t only;
    CPU_ZERO(&only);
    for (size_t cpu = 0; CPU_COUNT(&only) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &only);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(only), &only), 0);
    const char *name = what();
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        _exit(strait_one_cpu_take(&one, name) < 0 ? 1 : 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_TRUE(strait_one_cpu_take(&one, name) >= 0);
    const pid_t pinned = fork();
    if (pinned == 0) {
        struct strait_one_cpu other;
        _exit(strait_one_cpu_take(&other, name) == -1 ? 0 : 1); /* its only one is taken */
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(pinned, &status, 0), pinned);
    CU_ASSERT_EQUAL(status, 0);
    strait_one_cpu_give_back(&one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(all), &all), 0);
}

static const struct strait_test tests[] = {
    {"each processor once, then none, and all again when given back", each_once},
    {"a taker that ends leaves none taken", ended},
};
STRAIT_SUITE("emu/guest/one_cpu", tests);
