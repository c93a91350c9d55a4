/* Copies of one program on the ranks of a network: their output and their end. */
#pragma once
#include <sys/types.h>
#include "emu/programs/program_network.h"
#include "net_command.h"

struct strait_tensor_copy_plan {
    const struct strait_emu_registry *place;
    const json_t *state;
    const char *const *argv;
    const char *log; /* folder, one file a copy; NULL: print lines prefixed with the host's name */
    int first, n;    /* ranks */
    int world_first, world_n; /* those of all hosts: RANK counts from the first of them */
    /* Where several hosts share the network: its end ends the copies; when they have ended a line
     * on standard output says how, and the network stays until then. -1: there is one host. */
    int leash;
    bool keep_going; /* if one fails the others continue */
};

/** Run them until all have ended. The first that fails, SIGINT, SIGTERM and SIGHUP (which the
 *  caller has blocked, with SIGCHLD) end the others. Also ends the network.
 *  Returns: 0, or -1 with *err BACKEND: which one failed and how */
int strait_tensor_copy_run(const struct strait_tensor_copy_plan *plan,
                           struct strait_emu_program *net, struct strait_error *err);
