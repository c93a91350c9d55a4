/* A program run in stock User-Mode Linux (Debian: user-mode-linux): a kernel with netem as an
 * ordinary process, the host's files as its own, the processor's full speed, one processor. */
#pragma once
#include <stddef.h>
#include "../core/error.h"

/* The folder that holds the work files of a guest: they stay there to be read. */
#define STRAIT_EMU_UML_OUT     "stdout"
#define STRAIT_EMU_UML_ERR     "stderr"
#define STRAIT_EMU_UML_CONSOLE "console"

struct strait_emu_uml_plan {
    const char *const *argv;   /* argv[0] a path */
    const char *folder;        /* where it is run */
    const char *job;           /* work files; must exist, absolute */
    const char *const *read;   /* more folders that it must see, NULL at the end: needed for those
                                  below /tmp, /var/tmp, /run and /dev/shm, which are new and empty */
    const char *const *write;  /* folders that it may write beside job, NULL at the end */
    const char *const *setenv; /* "NAME=value" for it, NULL at the end */
    double memory_bytes;       /* of the guest */
    double limit_s;            /* wall-clock time; then it is killed */
};

/** Is what it needs installed, and allowed?
 *  Returns: 0, or -1 with *err HOST, which names the Debian package that is missing
 */
int strait_emu_uml_check(struct strait_error *err);

/** Boot, run, halt. The guest and all that runs in it end with the calling thread, by any signal.
 *  Returns: the program's exit status, its output in files of job; or -1 with *err: HOST as above
 * or where memory or its backing file does not suffice, INPUT for folders whose names have blanks
 * or commas, BACKEND where the guest ended without a status, SYSTEM at the limit Cost:    2 to 4
 * seconds more than the program
 */
int strait_emu_uml_run(const struct strait_emu_uml_plan *plan, struct strait_error *err);

/** Memory for a guest, rounded up to 512 MiB times a power of two, so that runs of about the same
 *  size find the same machine. */
double strait_emu_uml_memory_bytes(int n_ranks, double ranks_bytes);
