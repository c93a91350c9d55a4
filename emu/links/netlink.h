/* The few requests to the kernel's routing socket that a node's namespace needs (rtnetlink(7)). */
#pragma once
#include <stdint.h>
#include "net.h"

struct strait_emu_device {
    uint32_t mtu_bytes;
    uint32_t queue_packets;    /* 0: as it is */
    uint32_t gso_max_segments; /* 0: as it is */
    uint32_t gso_max_bytes;    /* 0: as it is */
};

/** A socket for the namespace in which the calling thread is now, or -1 with *err. */
int strait_emu_netlink_open(struct strait_error *err);

/** Set a device's sizes and switch it on. */
int strait_emu_netlink_device_up(int fd, int index, const struct strait_emu_device *device,
                                 struct strait_error *err);
/** Give a device an address, network byte order, without any route of its own. */
int strait_emu_netlink_address(int fd, int index, uint32_t address, struct strait_error *err);
struct strait_emu_route { /* addresses in network byte order */
    uint32_t dst;
    unsigned prefix_bits;
    uint32_t src;        /* 0: none preferred */
    uint32_t gateway;    /* 0: dst is reached directly */
    uint32_t rto_min_ms; /* smallest TCP retransmission time-out, in real time; 0: the kernel's */
};
int strait_emu_netlink_route(int fd, int index, const struct strait_emu_route *route,
                             struct strait_error *err);

enum { STRAIT_EMU_MAC_BYTES = 6 };
struct strait_emu_veth_end {
    int index; /* free in its namespace */
    const char *name;
    unsigned char mac[STRAIT_EMU_MAC_BYTES];
};
/** Make a pair of devices: `here` in the socket's namespace, `there` in another one. */
int strait_emu_netlink_veth(int fd, const struct strait_emu_veth_end *here,
                            const struct strait_emu_veth_end *there, int there_namespace_fd,
                            struct strait_error *err);
/** Say for good which hardware address a neighbour has, so that nobody asks. */
int strait_emu_netlink_neighbour(int fd, int index, uint32_t address,
                                 const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                                 struct strait_error *err);
int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err);
