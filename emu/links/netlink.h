/* The few rtnetlink(7) requests that set up a node's namespace. */
#pragma once
#include <stdint.h>
#include "core/error.h"

#define STRAIT_EMU_DEVICE "eth0" /* the interface of every node */

enum {
    /* Holds a sender's burst until the relay has read it; a full ring would drop silently. */
    STRAIT_EMU_QUEUE_PACKETS = 32767 /* the most that Linux accepts; some kernels accepted more */
};

struct strait_emu_device {
    uint32_t mtu_bytes;
    uint32_t queue_packets;    /* 0: unchanged */
    uint32_t gso_max_segments; /* 0: unchanged */
    uint32_t gso_max_bytes;    /* 0: unchanged */
};

/** A socket in the calling thread's current namespace, or -1 with *err. */
int strait_emu_netlink_open(struct strait_error *err);

/** Set a device's sizes and switch it on. */
int strait_emu_netlink_device_up(int fd, int index, const struct strait_emu_device *device,
                                 struct strait_error *err);
/** Give a device an address (network byte order), without a route. */
int strait_emu_netlink_address(int fd, int index, uint32_t address, struct strait_error *err);
struct strait_emu_route { /* addresses in network byte order */
    uint32_t dst;
    unsigned prefix_bits;
    uint32_t src;        /* preferred source address; 0: none */
    uint32_t gateway;    /* 0: dst is on the link */
    uint32_t rto_min_ms; /* smallest TCP retransmission time-out, real time; 0: the kernel's */
};
int strait_emu_netlink_route(int fd, int index, const struct strait_emu_route *route,
                             struct strait_error *err);

enum { STRAIT_EMU_MAC_BYTES = 6 };
struct strait_emu_veth_end {
    int index; /* must be free in its namespace */
    const char *name;
    unsigned char mac[STRAIT_EMU_MAC_BYTES];
};
/** Make a pair of devices: `here` in the socket's namespace, `there` in another one. */
int strait_emu_netlink_veth(int fd, const struct strait_emu_veth_end *here,
                            const struct strait_emu_veth_end *there, int there_namespace_fd,
                            struct strait_error *err);
/** Set a neighbour's hardware address permanently, so that no ARP is sent. */
int strait_emu_netlink_neighbour(int fd, int index, uint32_t address,
                                 const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                                 struct strait_error *err);
struct strait_emu_vxlan {
    int index;
    uint32_t id, local; /* the host's own address, network byte order */
    uint16_t port;
    unsigned char mac[STRAIT_EMU_MAC_BYTES];
};
/** Make a VXLAN device in another namespace, without address, down. Its packets leave by the
 *  socket's namespace, and go where strait_emu_netlink_remote says and nowhere else. */
int strait_emu_netlink_vxlan(int fd, const struct strait_emu_vxlan *vxlan, int there_namespace_fd,
                             struct strait_error *err);
/** Say at which host a hardware address of a VXLAN device is. */
int strait_emu_netlink_remote(int fd, int index, const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                              uint32_t host, struct strait_error *err);

/* The kernel's counters of an interface. Bytes of IP packets; a super-packet of many TCP segments
 * is one packet and its headers count once. */
struct strait_emu_counters {
    uint64_t tx_bytes, rx_bytes;
    uint64_t tx_packets, rx_packets;
    uint64_t tx_dropped, rx_dropped; /* above 0: packets were lost that should not have been */
    uint64_t tx_errors, rx_errors;
};
int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err);
