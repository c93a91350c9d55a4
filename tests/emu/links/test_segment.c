/* Super-packets: what they weigh and what a cut makes of them. */
#include "tests/kit/suite.h"
#include "tests/emu/relay/tcp_packet.h"

static uint16_t ones_sum(const unsigned char *bytes, size_t n, uint32_t sum)
{
    for (size_t i = 0; i < n; i++)
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static void cuts(void)
{
    static unsigned char bytes[STRAIT_EMU_PACKET_CAP_BYTES], piece[STRAIT_EMU_PACKET_CAP_BYTES];
    const uint32_t seq = 0xfffff000; /* wraps inside */
    const size_t n = tcp_packet(bytes, 0, 1, seq, 9 * MSS + 17, TH_ACK | TH_PUSH | TH_FIN | 0x80);
    struct strait_emu_shape shape;
    struct virtio_net_hdr vnet;
    memcpy(&vnet, bytes, sizeof(vnet));
    vnet.hdr_len = 2 * MSS; /* as of one that came from another host */
    memcpy(bytes, &vnet, sizeof(vnet));
    CU_ASSERT_FATAL(strait_emu_shape_read(&shape, bytes, n));
    CU_ASSERT_EQUAL(shape.n_segments, 10);
    CU_ASSERT_EQUAL(shape.last_bytes, 17);
    /* 10 headers of 52 + 14, 9 x 1448 + 17 of payload */
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_shape_wire_bytes(&shape, 0, 10, 14), 10 * 66 + 13049, 0);
    for (unsigned first = 0; first < 10; first++)
        for (unsigned count = 1; first + count <= 10; count++) {
            const bool whole_end = first + count == 10;
            const size_t payload_bytes = whole_end ? (count - 1) * MSS + 17 : count * MSS;
            const size_t len = strait_emu_shape_cut(piece, &shape, bytes, first, count);
            CU_ASSERT_EQUAL(len, 10 + HEADERS + payload_bytes);
            struct strait_emu_shape cut;
            CU_ASSERT_FATAL(strait_emu_shape_read(&cut, piece, len));
            CU_ASSERT_EQUAL(cut.n_segments, count);
            memcpy(&vnet, piece, sizeof(vnet));
            CU_ASSERT_EQUAL(vnet.hdr_len, HEADERS);
            /* RFC 1071: a header with its checksum sums to ffff. */
            CU_ASSERT_EQUAL(ones_sum(piece + 10, 20, 0), 0xffff);
            /* The checksum field holds the pseudo-header: addresses, 6, TCP length. */
            const uint16_t pseudo =
                ones_sum(piece + 22, 8, (uint32_t)(IPPROTO_TCP + 32 + payload_bytes));
            struct tcphdr tcp;
            memcpy(&tcp, piece + 30, sizeof(tcp));
            CU_ASSERT_EQUAL(ntohs(tcp.check), pseudo);
            CU_ASSERT_EQUAL(ntohl(tcp.seq), (uint32_t)(seq + first * MSS));
            CU_ASSERT_EQUAL((int)tcp.fin, whole_end);
            CU_ASSERT_EQUAL((int)tcp.psh, whole_end);
            CU_ASSERT_EQUAL(tcp.th_flags >> 7, first == 0);
            CU_ASSERT_EQUAL((int)tcp.ack, 1);
            struct iphdr ip;
            memcpy(&ip, piece + 10, sizeof(ip));
            CU_ASSERT_EQUAL(ntohs(ip.id), 7 + first);
            CU_ASSERT_EQUAL(
                memcmp(piece + 10 + HEADERS, bytes + 10 + HEADERS + first * MSS, payload_bytes), 0);
        }
}

static const struct strait_test tests[] = {
    {"a cut packet is what the sender would have sent", cuts},
};
STRAIT_SUITE("emu/links/segment", tests);
