/* Use a network that is up: read its description, end it, run programs in its ranks' namespaces. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "net_registry.h"

/** The network's description with the counters of every rank's device: a new reference, or NULL
 *  with *err, USAGE when no such network is up. */
json_t *strait_emu_join_state(const struct strait_emu_registry *place, struct strait_error *err);
/** End the network and wait until nothing of it is left: 0, or -1 with *err. */
int strait_emu_join_end(const struct strait_emu_registry *place, struct strait_error *err);

struct strait_emu_join { /* one rank's namespaces */
    int net_fd, mount_fd, uts_fd, pid_fd, user_fd;
};

/** Get the namespaces of a rank.
 *  Out:     out  release with strait_emu_join_release
 *  Returns: 0, or -1 with *err: USAGE when no such network is up */
int strait_emu_join_open(struct strait_emu_join *out, const struct strait_emu_registry *place,
                         int rank, struct strait_error *err);
void strait_emu_join_release(struct strait_emu_join *v);
/** Move the calling process, which must have one thread, into the network's user namespace, and its
 *  future children into its PID namespace; does nothing if they are there already. 0, or -1 with
 *  *err. */
int strait_emu_join_join(const struct strait_emu_join *v, struct strait_error *err);

struct strait_emu_command {
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
pid_t strait_emu_join_start(const struct strait_emu_join *v, const struct strait_emu_command *p,
                            struct strait_error *err);
