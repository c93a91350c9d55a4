/* Copies of one program in the ranks of a network, their output and their end. */
#pragma once
#include <sys/types.h>
#include "emu/programs/program.h"
#include "net_command.h"

struct strait_copies_plan {
    const struct strait_emu_place *place;
    const json_t *state;
    const char *const *argv;
    const char *log; /* folder for a file a copy; NULL: lines with the host's name before them */
    int first, n;    /* ranks */
    bool keep_going; /* when one fails the others go on */
};

/** Run them until all have ended; the first that fails, SIGINT, SIGTERM and SIGHUP (which the
 *  caller has blocked, with SIGCHLD) end the others. Ends the network, too.
 *  Returns: 0, or -1 with *err: which failed how, BACKEND */
int strait_copies_run(const struct strait_copies_plan *plan, struct strait_emu_foreign *net,
                      struct strait_error *err);
