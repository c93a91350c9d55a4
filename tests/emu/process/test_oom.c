/* How many processes the kernel has killed for lack of memory, by what it counts. */
#include "emu/process/oom.h"
#include "tests/kit/links/host_files.h"
#include "tests/kit/suite.h"

static void see(void *arg)
{
    CU_ASSERT_EQUAL(strait_emu_oom_kills(), *(const uint64_t *)arg);
}

static void kills(void)
{
    static const struct {
        const char *vmstat;
        uint64_t n;
    } cases[] = {{"nr_free_pages 5\noom_kill 12345678901\nthp_fault_alloc 9\n", 12345678901},
                 {"oom_kill 0\n", 0},
                 {"nr_free_pages 5\n", 0},
                 {"oom_kill 3\noom_kill 4\n", 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct host_file files[] = {{"/proc/vmstat", cases[i].vmstat}, {NULL, NULL}};
        uint64_t n = cases[i].n;
        strait_test_context("case %zu", i);
        if (!with_host_files(files, see, &n))
            return;
    }
}

static const struct strait_test tests[] = {
    {"kills are the kernel's count", kills},
};
STRAIT_SUITE("emu/process/oom", tests);
