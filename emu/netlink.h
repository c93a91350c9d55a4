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
/** Reach dst/prefix_bits directly through a device.
 *  In:      rto_min_ms  smallest TCP retransmission time-out on the route, in real time
 */
int strait_emu_netlink_route(int fd, int index, uint32_t dst, unsigned prefix_bits, uint32_t src,
                             uint32_t rto_min_ms, struct strait_error *err);
int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err);
