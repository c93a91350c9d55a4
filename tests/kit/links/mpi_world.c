#include "mpi_world.h"

#include <stdio.h>
#include <string.h>
#include "core/process.h"
#include "mpi/world.h"

size_t mpirun_argv(const char *argv[MPIRUN_MAX_ARGS], const char *n_text)
{
    static const char *const first[] = {"mpirun",
                                        "--allow-run-as-root",
                                        "--oversubscribe",
                                        "--mca",
                                        "btl",
                                        "tcp,self",
                                        "--mca",
                                        "btl_tcp_if_include",
                                        "lo",
                                        "--mca",
                                        "orte_base_help_aggregate",
                                        "1"};
    const size_t n = sizeof(first) / sizeof(*first);
    memcpy(argv, first, sizeof(first));
    argv[n] = "-n";
    argv[n + 1] = n_text;
    return n + 2;
}

bool mpirun_works(char *why, size_t cap)
{
    const char *argv[MPIRUN_MAX_ARGS + 2];
    struct strait_error err = {0};
    const size_t n = mpirun_argv(argv, "2");
    argv[n] = "true";
    argv[n + 1] = NULL;
    if (strait_mpi_module_check(&err) == 0 &&
        strait_process_run(NULL, 0, argv, NULL, 60, &err) == 0)
        return true;
    snprintf(why, cap, "%.200s", err.text);
    return false;
}
