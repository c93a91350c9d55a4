#include "netlink.h"
#include <assert.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
    struct nlmsghdr head;
    unsigned char body[504];
};

static struct request request_of(uint16_t type, uint16_t flags, const void *fixed, size_t n_bytes)
{
    struct request r = {.head = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n_bytes),
                                 .nlmsg_type = type,
                                 .nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST | NLM_F_ACK)}};
    memcpy(r.body, fixed, n_bytes);
    return r;
}

/* Append an attribute; returns where it begins, to be ended by nest_end if it is a nest. */
static uint32_t add(struct request *r, unsigned short type, const void *value, size_t n_bytes)
{
    const uint32_t at = NLMSG_ALIGN(r->head.nlmsg_len);
    assert(at + RTA_SPACE(n_bytes) <= sizeof(*r));
    const struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(n_bytes),
                                     .rta_type = type};
    unsigned char *const to = (unsigned char *)r + at;
    memcpy(to, &attribute, sizeof(attribute));
    if (n_bytes > 0)
        memcpy(to + RTA_LENGTH(0), value, n_bytes);
    r->head.nlmsg_len = at + (uint32_t)RTA_LENGTH(n_bytes);
    return at;
}

static void add_u32(struct request *r, unsigned short type, uint32_t value)
{
    add(r, type, &value, sizeof(value));
}

static void nest_end(struct request *r, uint32_t at)
{
    const unsigned short len = (unsigned short)(r->head.nlmsg_len - at);
    memcpy((unsigned char *)r + at, &len, sizeof(len)); /* rta_len comes first */
}

/* Send and wait for the kernel's answer. Returns 0 after its acknowledgement; when answer is given,
 * the first message of answer_type is copied there. */
static int ask(int fd, const struct request *r, const char *what, uint16_t answer_type,
               unsigned char *answer, size_t cap_bytes, struct strait_error *err)
{
    if (send(fd, r, r->head.nlmsg_len, 0) != (ssize_t)r->head.nlmsg_len)
        return strait_error_system(err, NULL, "cannot %s", what);
    for (;;) {
        _Alignas(struct nlmsghdr) unsigned char buffer[16384];
        const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strait_error_system(err, NULL, "cannot %s", what);
        size_t left = (size_t)got;
        const struct nlmsghdr *head = (const void *)buffer;
        for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
            if (head->nlmsg_type == NLMSG_ERROR) {
                struct nlmsgerr status;
                memcpy(&status, NLMSG_DATA(head), sizeof(status));
                errno = -status.error;
                return status.error ? strait_error_system(err, NULL, "cannot %s", what) : 0;
            }
            if (answer && head->nlmsg_type == answer_type && head->nlmsg_len <= cap_bytes)
                memcpy(answer, head, head->nlmsg_len);
        }
    }
}

int strait_emu_netlink_open(struct strait_error *err)
{
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return strait_error_system(err, NULL, "cannot open a routing socket");
    return fd;
}

int strait_emu_netlink_device_up(int fd, int index, const struct strait_emu_device *device,
                                 struct strait_error *err)
{
    const struct ifinfomsg info = {
        .ifi_family = AF_UNSPEC, .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct request r = request_of(RTM_NEWLINK, 0, &info, sizeof(info));
    if (device->mtu_bytes)
        add_u32(&r, IFLA_MTU, device->mtu_bytes);
    if (device->queue_packets)
        add_u32(&r, IFLA_TXQLEN, device->queue_packets);
    if (device->gso_max_segments)
        add_u32(&r, IFLA_GSO_MAX_SEGS, device->gso_max_segments);
    if (device->gso_max_bytes)
        add_u32(&r, IFLA_GSO_MAX_SIZE, device->gso_max_bytes);
    return ask(fd, &r, "switch on a network device", 0, NULL, 0, err);
}

int strait_emu_netlink_address(int fd, int index, uint32_t address, struct strait_error *err)
{
    const struct ifaddrmsg info = {.ifa_family = AF_INET,
                                   .ifa_prefixlen = 32,
                                   .ifa_scope = RT_SCOPE_UNIVERSE,
                                   .ifa_index = (uint32_t)index};
    struct request r = request_of(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    add_u32(&r, IFA_LOCAL, address);
    add_u32(&r, IFA_ADDRESS, address);
    return ask(fd, &r, "set an address", 0, NULL, 0, err);
}

int strait_emu_netlink_route(int fd, int index, uint32_t dst, unsigned prefix_bits, uint32_t src,
                             uint32_t rto_min_ms, struct strait_error *err)
{
    const struct rtmsg info = {.rtm_family = AF_INET,
                               .rtm_dst_len = (unsigned char)prefix_bits,
                               .rtm_table = RT_TABLE_MAIN,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = RT_SCOPE_LINK,
                               .rtm_type = RTN_UNICAST};
    struct request r = request_of(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    add_u32(&r, RTA_DST, dst);
    add_u32(&r, RTA_OIF, (uint32_t)index);
    add_u32(&r, RTA_PREFSRC, src);
    const uint32_t nest = add(&r, RTA_METRICS, NULL, 0);
    add_u32(&r, RTAX_LOCK, 1U << RTAX_RTO_MIN); /* TCP heeds rto_min only where it is locked */
    add_u32(&r, RTAX_RTO_MIN, rto_min_ms);
    nest_end(&r, nest);
    return ask(fd, &r, "set a route", 0, NULL, 0, err);
}

int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    const struct request r = request_of(RTM_GETLINK, 0, &info, sizeof(info));
    _Alignas(struct nlmsghdr) unsigned char answer[16384];
    struct nlmsghdr *head = (void *)answer;
    head->nlmsg_len = 0;
    if (ask(fd, &r, "read a device's counters", RTM_NEWLINK, answer, sizeof(answer), err) != 0)
        return -1;
    if (head->nlmsg_len >= NLMSG_LENGTH(sizeof(info))) {
        size_t left = head->nlmsg_len - NLMSG_SPACE(sizeof(info));
        const struct rtattr *a = IFLA_RTA(NLMSG_DATA(head));
        for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
            if ((a->rta_type & NLA_TYPE_MASK) == IFLA_STATS64) {
                struct rtnl_link_stats64 s = {0};
                memcpy(&s, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof(s) ? RTA_PAYLOAD(a) : sizeof(s));
                *out = (struct strait_emu_counters){
                    .tx_bytes = s.tx_bytes,
                    .rx_bytes = s.rx_bytes,
                    .tx_packets = s.tx_packets,
                    .rx_packets = s.rx_packets,
                    .tx_dropped = s.tx_dropped,
                    .rx_dropped = s.rx_dropped,
                    .tx_errors = s.tx_errors,
                    .rx_errors = s.rx_errors,
                };
                return 0;
            }
    }
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "the kernel sent no device counters");
}
