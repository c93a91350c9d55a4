#include "segment.h"
#include <arpa/inet.h>
#include <assert.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>

static_assert(sizeof(struct virtio_net_hdr) == STRAIT_EMU_VNET_BYTES, "TUN header");

bool strait_emu_shape_read(struct strait_emu_shape *out, const unsigned char *bytes,
                           size_t len_bytes)
{
    struct virtio_net_hdr vnet;
    struct iphdr ip;
    if (len_bytes < sizeof(vnet) + sizeof(ip))
        return false;
    memcpy(&vnet, bytes, sizeof(vnet));
    memcpy(&ip, bytes + sizeof(vnet), sizeof(ip));
    const size_t packet_bytes = len_bytes - sizeof(vnet);
    const unsigned ip_bytes = ip.ihl * 4U;
    if (ip.version != 4 || ip_bytes < sizeof(ip) || ntohs(ip.tot_len) != packet_bytes ||
        packet_bytes < ip_bytes)
        return false;
    *out = (struct strait_emu_shape){.src = ip.saddr,
                                     .dst = ip.daddr,
                                     .n_segments = 1,
                                     .header_bytes = ip_bytes,
                                     .last_bytes = (unsigned)packet_bytes - ip_bytes};
    out->segment_bytes = out->last_bytes;
    const bool super = (vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_TCPV4;
    if (!super || ip.protocol != IPPROTO_TCP || vnet.gso_size == 0)
        return true;
    struct tcphdr tcp;
    if (out->last_bytes < sizeof(tcp))
        return false;
    memcpy(&tcp, bytes + sizeof(vnet) + ip_bytes, sizeof(tcp));
    const unsigned tcp_bytes = tcp.doff * 4U;
    if (tcp_bytes < sizeof(tcp) || tcp_bytes > out->last_bytes)
        return false;
    const unsigned payload_bytes = out->last_bytes - tcp_bytes;
    if (payload_bytes <= vnet.gso_size)
        return true;
    out->header_bytes += tcp_bytes;
    out->segment_bytes = vnet.gso_size;
    out->n_segments = (payload_bytes + vnet.gso_size - 1) / vnet.gso_size;
    out->last_bytes = payload_bytes - (out->n_segments - 1) * vnet.gso_size;
    return true;
}

double strait_emu_shape_wire_bytes(const struct strait_emu_shape *shape, unsigned first, unsigned n,
                                   double frame_bytes)
{
    const double each_bytes = shape->header_bytes + shape->segment_bytes + frame_bytes;
    const double missing_bytes = (double)shape->segment_bytes - shape->last_bytes;
    return n * each_bytes - (n > 0 && first + n == shape->n_segments ? missing_bytes : 0);
}

/* One's complement sum of big-endian words, not folded (RFC 1071). */
static uint32_t add_words(uint32_t sum, const unsigned char *bytes, size_t n_bytes)
{
    for (size_t i = 0; i + 1 < n_bytes; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return sum;
}

static uint16_t fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

size_t strait_emu_shape_cut(unsigned char *to, const struct strait_emu_shape *shape,
                            const unsigned char *bytes, unsigned first, unsigned n)
{
    assert(shape->n_segments > 1 && n > 0 && first + n <= shape->n_segments);
    const bool with_last = first + n == shape->n_segments;
    const size_t payload_bytes = (size_t)(n - 1) * shape->segment_bytes +
                                 (with_last ? shape->last_bytes : shape->segment_bytes);
    const size_t skipped_bytes = (size_t)first * shape->segment_bytes;
    const size_t headers_bytes = STRAIT_EMU_VNET_BYTES + shape->header_bytes;
    memcpy(to, bytes, headers_bytes);
    memcpy(to + headers_bytes, bytes + headers_bytes + skipped_bytes, payload_bytes);

    struct virtio_net_hdr vnet;
    memcpy(&vnet, to, sizeof(vnet));
    if (n == 1) {
        vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
        vnet.gso_size = 0;
    }
    /* That of a super-packet from another host may be longer than a segment, which TUN refuses. */
    vnet.hdr_len = (uint16_t)shape->header_bytes;
    memcpy(to, &vnet, sizeof(vnet));

    unsigned char *ip_at = to + STRAIT_EMU_VNET_BYTES;
    struct iphdr ip;
    memcpy(&ip, ip_at, sizeof(ip));
    const unsigned ip_bytes = ip.ihl * 4U;
    ip.tot_len = htons((uint16_t)(shape->header_bytes + payload_bytes));
    ip.id = htons((uint16_t)(ntohs(ip.id) + first));
    ip.check = 0;
    memcpy(ip_at, &ip, sizeof(ip));
    ip.check = htons((uint16_t)~fold(add_words(0, ip_at, ip_bytes)));
    memcpy(ip_at, &ip, sizeof(ip));

    struct tcphdr tcp;
    memcpy(&tcp, ip_at + ip_bytes, sizeof(tcp));
    tcp.seq = htonl(ntohl(tcp.seq) + (uint32_t)skipped_bytes);
    if (!with_last)
        tcp.th_flags &= (uint8_t) ~(TH_FIN | TH_PUSH);
    if (first > 0) /* congestion window reduced (RFC 3168): only in the first segment */
        tcp.th_flags &= 0x7f;
    /* Only the pseudo-header's part (RFC 9293); the kernel completes the checksum. */
    const size_t tcp_len_bytes = shape->header_bytes - ip_bytes + payload_bytes;
    tcp.check = htons(fold(add_words(IPPROTO_TCP + (uint32_t)tcp_len_bytes, ip_at + 12, 8)));
    memcpy(ip_at + ip_bytes, &tcp, sizeof(tcp));
    return headers_bytes + payload_bytes;
}
