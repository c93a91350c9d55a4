/* TCP packets for tests, as a TUN device gives them. */
#pragma once
#include <arpa/inet.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>
#include "emu/links/net.h"
#include "emu/links/segment.h"

/* Headers: 20 bytes IP, 32 bytes TCP (with timestamps), so 1448 bytes of payload fill 1500. */
enum { HEADERS = 52, MSS = 1448 };

/* A TCP packet as a TUN device gives it, super when there is more than one segment in it. */
static inline size_t tcp_packet(unsigned char *to, int src, int dst, uint32_t seq,
                                size_t payload_bytes, uint8_t flags)
{
    const struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                        .gso_type = payload_bytes > MSS ? VIRTIO_NET_HDR_GSO_TCPV4
                                                                        : VIRTIO_NET_HDR_GSO_NONE,
                                        .gso_size = payload_bytes > MSS ? MSS : 0,
                                        .hdr_len = HEADERS,
                                        .csum_start = 20,
                                        .csum_offset = 16};
    const struct iphdr ip = {.version = 4,
                             .ihl = 5,
                             .tot_len = htons((uint16_t)(HEADERS + payload_bytes)),
                             .id = htons(7),
                             .ttl = 64,
                             .protocol = IPPROTO_TCP,
                             .saddr = strait_emu_net_address(src),
                             .daddr = strait_emu_net_address(dst)};
    struct tcphdr tcp = {.seq = htonl(seq), .doff = 8};
    tcp.th_flags = flags;
    memset(to, 0, STRAIT_EMU_VNET_BYTES + HEADERS);
    memcpy(to, &vnet, sizeof(vnet));
    memcpy(to + 10, &ip, sizeof(ip));
    memcpy(to + 30, &tcp, sizeof(tcp));
    for (size_t i = 0; i < payload_bytes; i++)
        to[10 + HEADERS + i] = (unsigned char)((seq + i) % 251);
    return STRAIT_EMU_VNET_BYTES + HEADERS + payload_bytes;
}
