/* What a rank's programs see of the machine beside its network: a host name, a hosts file, the
 * network devices in /sys, only the network's processes in /proc. */
#pragma once
#include <stdbool.h>
#include "emu/links/net.h"

struct strait_emu_sandbox {
    int mount_fd, uts_fd; /* the namespaces, for setns */
};

/** Give the calling process, the first of its PID namespace, a mount namespace with that
 *  namespace's /proc; all sandboxes are made from it.
 *  Returns: 0, or -1 with *err */
int strait_emu_sandbox_prepare(struct strait_error *err);

/** Make the sandbox of a node of net.
 *  Out:     congestion_set  whether new sockets of the node use this congestion control by default
 *  In:      host        its host name
 *           hosts       text of /etc/hosts, for all nodes
 *           congestion  "reno", "bbr", "cubic"
 *  Returns: 0, or -1 with *err */
int strait_emu_sandbox_make(struct strait_emu_sandbox *out, bool *congestion_set,
                            const struct strait_emu_net *net, int node, const char *host,
                            const char *hosts, const char *congestion, struct strait_error *err);
