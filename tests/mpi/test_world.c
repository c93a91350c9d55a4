/* What a launcher leaves in the environment, and what is asked of a process without one. */
#include "mpi/world.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/kit/suite.h"

static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
enum { N_NAMES = sizeof(names) / sizeof(*names) };

/* Before every test, which has the environment for itself. */
static void forget(void)
{
    for (int i = 0; i < N_NAMES; i++)
        unsetenv(names[i]);
}

/* Each launcher's own, and of several the first. */
static void ranks(void)
{
    char text[16];
    forget();
    CU_ASSERT_EQUAL(strait_mpi_launched_as(), 0);
    for (int i = N_NAMES - 1; i >= 0; i--) {
        snprintf(text, sizeof(text), "%d", i + 5);
        setenv(names[i], text, 1);
        strait_test_context("%s", names[i]);
        CU_ASSERT_EQUAL(strait_mpi_launched_as(), i + 5);
    }
    for (int i = 0; i < N_NAMES; i++) {
        forget();
        setenv(names[i], "3", 1);
        strait_test_context("%s alone", names[i]);
        CU_ASSERT_EQUAL(strait_mpi_launched_as(), 3);
    }
    forget();
}

static void host(void)
{
    char name[STRAIT_MPI_HOST_CHARS], own[64] = "", text[STRAIT_MPI_HOST_CHARS];
    gethostname(own, sizeof(own) - 1);
    unsetenv("STRAIT_NET_ON");
    CU_ASSERT_STRING_EQUAL(strait_mpi_world_host(name), own);
    setenv("STRAIT_NET_ON", "a-name-of-more-than-24-characters", 1);
    snprintf(text, sizeof(text), "%s on a-name-of-more-than-24-c", own);
    CU_ASSERT_STRING_EQUAL(strait_mpi_world_host(name), text);
    CU_ASSERT_PTR_EQUAL(strait_mpi_world_host(name), name);
    unsetenv("STRAIT_NET_ON");
}

/* The first of its places where it lies, else beside the program, whose error names it. */
static void module(void)
{
    char self[PATH_MAX], path[PATH_MAX + 32], wanted[PATH_MAX + 32];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    CU_ASSERT_FATAL(n > 0);
    self[n] = '\0';
    strrchr(self, '/')[1] = '\0';
    snprintf(wanted, sizeof(wanted), "%s../strait-mpi.so", self);
    const bool there = access(wanted, R_OK) == 0;
    if (!there)
        snprintf(wanted, sizeof(wanted), "%sstrait-mpi.so", self);
    CU_ASSERT_STRING_EQUAL(strait_mpi_module_path(path, sizeof(path)), wanted);
    CU_ASSERT_PTR_EQUAL(strait_mpi_module_path(path, sizeof(path)), path);
}

/* In a process of its own: a module stays loaded. */
static void alone(void)
{
    struct strait_mpi_world *w = (struct strait_mpi_world *)&w;
    struct strait_error err = {0};
    forget();
    CU_ASSERT_EQUAL(strait_mpi_world_open(&w, &err), -1);
    CU_ASSERT_PTR_NULL(w);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    if (strait_mpi_module_check(NULL) == 0)
        CU_ASSERT_STRING_EQUAL(err.text, "expected to be started by mpirun or srun, one process a "
                                         "rank: mpirun -n 9 strait rank ...");
    else
        CU_ASSERT(strstr(err.text, "strait-mpi.so") || strstr(err.text, "cannot load MPI"));
    strait_mpi_world_free(NULL);
}

static const struct strait_test tests[] = {
    {"a rank is known from what a launcher leaves", ranks},
    {"a host has its name, and in an emulated network the rank's", host},
    {"the module lies beside the program or in its build", module},
    {"without a launcher there is no world", alone},
};
STRAIT_SUITE("mpi/world", tests);
