/* Use a network that is up: read its description, end it, run programs in its ranks' namespaces. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "net_registry.h"

/** The network's description with the counters of every rank's device: a new reference, or NULL
 *  with *err, USAGE when no such network is up. */
json_t *strait_emu_visit_state(const struct strait_emu_place *place, struct strait_error *err);
/** End the network and wait until nothing of it is left: 0, or -1 with *err. */
int strait_emu_visit_end(const struct strait_emu_place *place, struct strait_error *err);

struct strait_emu_visit { /* one rank's namespaces */
    int net_fd, mount_fd, uts_fd, pid_fd, user_fd;
};

/** Get the namespaces of a rank.
 *  Out:     out  release with strait_emu_visit_release
 *  Returns: 0, or -1 with *err: USAGE when no such network is up */
int strait_emu_visit_open(struct strait_emu_visit *out, const struct strait_emu_place *place,
                          int rank, struct strait_error *err);
void strait_emu_visit_release(struct strait_emu_visit *v);
/** Move the calling process, which must have one thread, into the network's user namespace, and its
 *  future children into its PID namespace; does nothing if they are there already. 0, or -1 with
 *  *err. */
int strait_emu_visit_join(const struct strait_emu_visit *v, struct strait_error *err);

struct strait_emu_program {
    const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated */
    const char *const *env;  /* "NAME=value" in addition to the caller's own, NULL-terminated */
    const char *cwd;
    int stdio[3];   /* its input, output and errors */
    bool own_group; /* a process group of its own, to signal it as a whole */
};

/** Start a program in a rank's namespaces, after _join. It has default signals and no further
 *  descriptor, and is killed when the calling thread ends.
 *  Returns: its process id, for waitpid; or -1 with *err: USAGE with the errno if it cannot be
 *           started */
pid_t strait_emu_visit_start(const struct strait_emu_visit *v, const struct strait_emu_program *p,
                             struct strait_error *err);
