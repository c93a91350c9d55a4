/* The interface of a realisation, which makes the links of a plan. Namespaces, nodes and counters
 * are common and owned by net.c. */
#pragma once
#include <stdbool.h>
#include "net_plan.h"

struct strait_emu_node { /* made by net.c, in its namespace */
    int namespace_fd, netlink_fd;
    int device_index; /* of STRAIT_EMU_DEVICE, set by add_node */
};

/** A realisation. begin and add_node are called in a thread that may change namespaces, the others
 *  in the thread that calls strait_emu_net_up. */
struct strait_emu_realisation_ops {
    const char *name;
    /** Before the nodes. *state must be closed even on failure. */
    int (*begin)(void **state, const struct strait_emu_net_plan *plan, struct strait_error *err);
    /** Make a node's device, without address, down. The thread is in the node's namespace. */
    int (*add_node)(void *state, struct strait_emu_node *node, int index, struct strait_error *err);
    /** Add the node's routes; its device is up and has its address. */
    int (*connect_node)(void *state, const struct strait_emu_node *node, int index,
                        struct strait_error *err);
    /** After all nodes. */
    int (*start)(void *state, const struct strait_emu_node *nodes, struct strait_error *err);
    /** As strait_emu_net_report. */
    int (*report)(struct strait_emu_relay_report *out, void *state,
                  const struct strait_emu_node *nodes, bool restart, struct strait_error *err);
    /** In a forked child: close every descriptor. */
    void (*forget)(void *state);
    /** End everything, unless forgotten, and free the state. */
    void (*close)(void *state);
};

extern const struct strait_emu_realisation_ops strait_emu_relay_ops, strait_emu_kernel_ops;

/* What realisations have in common. */

/** Write a sysctl of the calling thread's namespace.
 *  In:      name  below /proc/sys/net */
int strait_emu_write_sysctl(const char *name, const char *value, struct strait_error *err);
/** Switch IPv6 off in the calling thread's namespace: it would send packets of its own. */
int strait_emu_no_ipv6(struct strait_error *err);
/** Make a new namespace and move the calling thread into it.
 *  Returns: its descriptor, or -1 with *err HOST if not allowed */
int strait_emu_namespace_new(struct strait_error *err);
/** Make a namespace that forwards packets, move the calling thread into it, and join it to the
 *  plan's other hosts, if any.
 *  Out:     namespace_fd, netlink_fd  of it; set even on failure, or -1
 *  In:      trunk_index  of the device to other hosts
 *  Returns: 0, or -1 with *err */
int strait_emu_router_new(int *namespace_fd, int *netlink_fd,
                          const struct strait_emu_net_plan *plan, int trunk_index,
                          struct strait_error *err);
void strait_emu_close_fd(int *fd);
