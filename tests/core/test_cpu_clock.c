/* What work costs, by this machine's clock or, in virtual time, by a file of the guest's kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "tests/kit/suite.h"

static void clocks_of_this_machine(void)
{
    unsetenv(STRAIT_HOST_CPU);
    CU_ASSERT_FALSE(strait_cpu_is_of_host());
    const int64_t process_ns = strait_cpu_process_ns(), thread_ns = strait_cpu_thread_ns();
    while (strait_cpu_thread_ns() < thread_ns + 2000000)
        ;
    /* the process has worked at least as long as its only thread, and sleep costs next to nothing
     */
    CU_ASSERT(strait_cpu_process_ns() - process_ns >= 2000000);
    const int64_t before_ns = strait_cpu_thread_ns();
    const struct timespec pause = {.tv_nsec = 30000000};
    nanosleep(&pause, NULL);
    CU_ASSERT(strait_cpu_thread_ns() - before_ns < 15000000);
}

static void put(const char *path, long long ns)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "%lld\n", ns);
    fclose(f);
}

static void a_file_tells(void)
{
    char path[] = "/tmp/strait-test-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    setenv(STRAIT_HOST_CPU, path, 1);
    put(path, 5000000000);
    CU_ASSERT_TRUE(strait_cpu_is_of_host());
    CU_ASSERT_EQUAL(strait_cpu_thread_ns(), 5000000000);
    const struct strait_instant begin = strait_instant_now();
    put(path, 5250000000);
    CU_ASSERT_EQUAL(strait_cpu_process_ns(), 5250000000);
    CU_ASSERT_DOUBLE_EQUAL(strait_instant_cost_s(&begin), 0.25, 1e-9); /* whatever the clocks say */
    FILE *f = fopen(path, "w"); /* nothing behind its last digit, and fewer than before */
    CU_ASSERT_FATAL(f && fputs("42", f) >= 0 && fclose(f) == 0);
    CU_ASSERT_EQUAL(strait_cpu_thread_ns(), 42);
    unlink(path);
    CU_ASSERT_EQUAL(strait_cpu_thread_ns(), 0);
    setenv(STRAIT_HOST_CPU, "", 1); /* no file */
    CU_ASSERT_FALSE(strait_cpu_is_of_host());
    unsetenv(STRAIT_HOST_CPU);
}

static const struct strait_test tests[] = {
    {"work counts, sleep does not", clocks_of_this_machine},
    {"where a file tells what the host charged, it alone counts", a_file_tells},
};
STRAIT_SUITE("core/cpu_clock", tests);
