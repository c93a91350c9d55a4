/* IPv4 packets as a TUN device delivers them, after a virtio_net_hdr: the number of TCP segments in
 * a super-packet, their bytes on the wire, and cutting some of them out. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STRAIT_EMU_VNET_BYTES = 10,     /* struct virtio_net_hdr */
    STRAIT_EMU_ETHERNET_BYTES = 14, /* addresses and type of a frame */
    STRAIT_EMU_MTU_BYTES = 1500,
    STRAIT_EMU_PACKET_CAP_BYTES = STRAIT_EMU_VNET_BYTES + 65535
};

struct strait_emu_shape {
    uint32_t src, dst;      /* addresses in network byte order */
    unsigned n_segments;    /* 1 unless it is a TCP super-packet */
    unsigned header_bytes;  /* IP and TCP headers, repeated in every segment */
    unsigned segment_bytes; /* payload of every segment but the last */
    unsigned last_bytes;    /* payload of the last one */
};

/** Read the headers of a packet.
 *  In:      bytes  virtio_net_hdr and IPv4 packet, len_bytes of them
 *  Returns: false if it is not a whole IPv4 packet */
bool strait_emu_shape_read(struct strait_emu_shape *out, const unsigned char *bytes,
                           size_t len_bytes);

/** Bytes on the wire of segment `first` and the n - 1 after it, with frame_bytes for each. */
double strait_emu_shape_wire_bytes(const struct strait_emu_shape *shape, unsigned first, unsigned n,
                                   double frame_bytes);

/** Copy segments [first, first + n) of a super-packet into a packet of their own, as the sender's
 *  segmentation would have made them: sequence number, flags, lengths and checksums.
 *  Out:     to     as many bytes as the source packet has
 *  In:      bytes  a packet that strait_emu_shape_read accepted as shape, n_segments above 1
 *  Returns: bytes written
 */
size_t strait_emu_shape_cut(unsigned char *to, const struct strait_emu_shape *shape,
                            const unsigned char *bytes, unsigned first, unsigned n);
