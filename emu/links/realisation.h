/* The interface of a realisation, which makes the links of a plan. Namespaces, nodes and counters
 * are common and owned by net.c. */
#pragma once
#include <stdbool.h>
#include "net.h"

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

/** The network of all addresses of a plan, host byte order. */
#define STRAIT_EMU_NETWORK     0x0a000000U
#define STRAIT_EMU_PREFIX_BITS 8

/** Smallest retransmission time-out of a plan's routes, real milliseconds. */
uint32_t strait_emu_net_plan_rto_min_ms(const struct strait_emu_net_plan *plan);
/** Make a namespace that forwards packets, move the calling thread into it, and join it to the
 *  plan's other hosts, if any.
 *  Out:     namespace_fd, netlink_fd  of it; set even on failure, or -1
 *  In:      trunk_index  of the device to other hosts
 *  Returns: 0, or -1 with *err */
int strait_emu_router_new(int *namespace_fd, int *netlink_fd,
                          const struct strait_emu_net_plan *plan, int trunk_index,
                          struct strait_error *err);
void strait_emu_close_fd(int *fd);
