/* The folder of work files between a guest and the host, whatever the guest is, and what a guest is
 * to run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Work files: they stay there to be read. */
#define STRAIT_EMU_UML_OUT     "stdout"
#define STRAIT_EMU_UML_ERR     "stderr"
#define STRAIT_EMU_UML_CONSOLE "console"

struct strait_emu_uml_plan {
    bool virtual_time;
    const char *const *argv;   /* argv[0] a path */
    const char *folder;        /* where it is run */
    const char *job;           /* work files; must exist, absolute */
    const char *const *read;   /* more folders that it must see, NULL at the end: needed for
                                  those below /tmp, /var/tmp, /run and /dev/shm, which are new
                                  and empty */
    const char *const *write;  /* folders that it may write beside job, NULL at the end */
    const char *const *setenv; /* "NAME=value" for it, NULL at the end */
    double memory_bytes;       /* of the guest */
    double limit_s;            /* wall-clock time; then it is killed */
};

/** Remove what an earlier guest left in plan->job, and write there what this one is to run (argv)
 *  and which folders it sees (read, write).
 *  Returns: 0, or -1 with *err: INPUT for folders with blanks, quotes or commas in their names,
 *           SYSTEM where the folder cannot be written */
int strait_emu_guest_dir_write_plan(const struct strait_emu_uml_plan *plan,
                                    struct strait_error *err);
int strait_emu_guest_dir_write(const char *job, const char *name, const char *bytes, size_t n_bytes,
                               struct strait_error *err);
/** The exit status of what ran in the guest, or -1 with *err where it left none: NOMEM if its
 *  console says that memory ran out, else BACKEND.
 *  In:      guest  what it is, and its memory_bytes, for the error */
int strait_emu_guest_dir_status(const struct strait_emu_uml_plan *plan, double memory_bytes,
                                const char *guest, struct strait_error *err);
/** Is the name of a folder one that every guest can be told? 0, or -1 with *err INPUT. */
int strait_emu_guest_dir_check_folder(const char *folder, struct strait_error *err);
/** Is there a program of that name in PATH? Then path gets where. */
bool strait_emu_guest_dir_program(char *path, size_t cap, const char *name);
