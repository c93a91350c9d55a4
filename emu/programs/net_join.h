/* Into a network that is up: its description, its end, and programs in its rooms. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "net_registry.h"

/** Its description with the counters of every rank's device: a new reference, or NULL with *err,
 *  USAGE when no such network is up. */
json_t *strait_emu_visit_state(const struct strait_emu_place *place, struct strait_error *err);
/** End it, and wait until nothing of it is left: 0, or -1 with *err. */
int strait_emu_visit_end(const struct strait_emu_place *place, struct strait_error *err);

struct strait_emu_visit { /* one rank's namespaces */
    int net_fd, mount_fd, uts_fd, pid_fd, user_fd;
};

/** Get the keys to a rank's room.
 *  Out:     out  release with strait_emu_visit_release
 *  Returns: 0, or -1 with *err: USAGE when no such network is up
 */
int strait_emu_visit_open(struct strait_emu_visit *out, const struct strait_emu_place *place,
                          int rank, struct strait_error *err);
void strait_emu_visit_release(struct strait_emu_visit *v);
/** Bring the calling process, of one thread, into the network's user namespace, and its later
 *  children into its PID namespace; where it is there already, nothing changes. 0, or -1 with *err.
 */
int strait_emu_visit_join(const struct strait_emu_visit *v, struct strait_error *err);

struct strait_emu_program {
    const char *const *argv; /* looked up in PATH, NULL at the end */
    const char *const *env;  /* "NAME=value" over the caller's own, NULL at the end */
    const char *cwd;
    int stdio[3];   /* what it gets as input, output, errors */
    bool own_group; /* a process group of its own, which signals can be sent to as one */
};

/** Start a program in a room, after _join. It has the default signals, no further descriptor, and
 *  is killed when the calling thread ends.
 *  Returns: its number, for waitpid; or -1 with *err: USAGE with the errno of a program that cannot
 *           be started
 */
pid_t strait_emu_visit_start(const struct strait_emu_visit *v, const struct strait_emu_program *p,
                             struct strait_error *err);
