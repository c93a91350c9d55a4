/* Where the nodes of a network are: their addresses, and the parts of one network on several hosts,
 * joined by a VXLAN between the hosts, and on each host routes to the nodes of the others. A node's
 * links are shaped on its own host. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"

enum {
    STRAIT_EMU_VXLAN_BYTES = 50, /* Ethernet, IPv4, UDP and VXLAN headers around a packet */
    STRAIT_EMU_VXLAN_PORT = 4789 /* IANA's, UDP */
};

struct strait_emu_trunk {
    int n_hosts, here;
    const uint32_t *addresses; /* n_hosts: of the hosts on their own network, network byte order */
    const int *host_of;        /* one a node of the network: the host that has it */
    uint32_t id;               /* 24 bits: equal on all hosts, another one for each network */
    uint32_t mtu_bytes;        /* of every node: what fits between the hosts with the headers */
};

/** The network of all addresses of a plan, host byte order. */
#define STRAIT_EMU_NETWORK     0x0a000000U
#define STRAIT_EMU_PREFIX_BITS 8
/** A node's IPv4 address in network byte order: 10.0.0.1 for node 0, then upwards. */
uint32_t strait_emu_net_address(int node);

/** Whether a node is on this host; without a trunk (NULL) all are. */
bool strait_emu_trunk_has(const struct strait_emu_trunk *trunk, int node);

/** Make the VXLAN device in a namespace that forwards packets, and its routes to the nodes of the
 *  other hosts.
 *  In:      host_fd       a routing socket of the namespace that has the hosts' network
 *           namespace_fd  the namespace of the device
 *           netlink_fd    a routing socket of that namespace
 *           index         of the device there, free
 *           n_nodes       of the network
 *  Returns: 0, or -1 with *err: SYSTEM when the kernel refuses (no VXLAN, no rights)
 */
int strait_emu_trunk_make(const struct strait_emu_trunk *trunk, int host_fd, int namespace_fd,
                          int netlink_fd, int index, int n_nodes, struct strait_error *err);

/** The largest packet that is sent unfragmented from this host to an address, according to this
 *  host's own devices and routes.
 *  Returns: bytes, or -1 with *err SYSTEM when there is no route */
int strait_emu_trunk_path_mtu(uint32_t address, struct strait_error *err);
