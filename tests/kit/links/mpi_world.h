/* Processes of Open MPI on this machine, over the loopback device. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { MPIRUN_MAX_ARGS = 24 };

/** mpirun with what a test needs of it (root, more ranks than processors, loopback alone), before
 *  the program's own argv, in argv.
 *  In:      n_text  "3"; lives as long as argv
 *  Returns: how many arguments */
size_t mpirun_argv(const char *argv[MPIRUN_MAX_ARGS], const char *n_text);
/** Can this machine start processes by mpirun and load the module of this build? Else why not. */
bool mpirun_works(char *why, size_t cap);
