/* The TCP connections that a relay sees, so that what it draws for a packet is keyed by the packet
 * (core/random.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/random.h"
#include "emu/links/segment.h"

struct strait_emu_flows { /* begins zeroed, but for the seed */
    uint64_t seed;
    struct strait_emu_flow *slots; /* a hash table; cap is a power of two */
    size_t n, cap;
};

void strait_emu_flows_release(struct strait_emu_flows *flows);

/** The key and the number of a packet that comes from its sender, of one segment. A stream begins
 *  at the end of its first packet with data: with the ranks of a run this is the greeting, before
 *  time 0. Its messages begin with their frames; a stream without frames is one message.
 *  In:      src, dst  nodes
 *           bytes     virtio_net_hdr and IPv4 packet, that strait_emu_shape_read accepted
 *  Returns: false when memory runs out */
bool strait_emu_flows_packet(uint64_t *key, uint64_t *number, struct strait_emu_flows *flows,
                             int src, int dst, const unsigned char *bytes, size_t len_bytes);
