#include "netlink.h"
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "message.h"

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
    struct strait_emu_message r = strait_emu_message_of(RTM_NEWLINK, 0, &info, sizeof(info));
    if (device->mtu_bytes)
        strait_emu_message_add_u32(&r, IFLA_MTU, device->mtu_bytes);
    if (device->queue_packets)
        strait_emu_message_add_u32(&r, IFLA_TXQLEN, device->queue_packets);
    if (device->gso_max_segments)
        strait_emu_message_add_u32(&r, IFLA_GSO_MAX_SEGS, device->gso_max_segments);
    if (device->gso_max_bytes)
        strait_emu_message_add_u32(&r, IFLA_GSO_MAX_SIZE, device->gso_max_bytes);
    return strait_emu_message_ask(fd, &r, "switch on a network device", 0, NULL, 0, err);
}

int strait_emu_netlink_address(int fd, int index, uint32_t address, struct strait_error *err)
{
    const struct ifaddrmsg info = {.ifa_family = AF_INET,
                                   .ifa_prefixlen = 32,
                                   .ifa_scope = RT_SCOPE_UNIVERSE,
                                   .ifa_index = (uint32_t)index};
    struct strait_emu_message r =
        strait_emu_message_of(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    strait_emu_message_add_u32(&r, IFA_LOCAL, address);
    strait_emu_message_add_u32(&r, IFA_ADDRESS, address);
    return strait_emu_message_ask(fd, &r, "set an address", 0, NULL, 0, err);
}

int strait_emu_netlink_route(int fd, int index, const struct strait_emu_route *route,
                             struct strait_error *err)
{
    const struct rtmsg info = {.rtm_family = AF_INET,
                               .rtm_dst_len = (unsigned char)route->prefix_bits,
                               .rtm_table = RT_TABLE_MAIN,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = route->gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
                               .rtm_type = RTN_UNICAST,
                               .rtm_flags = route->gateway ? RTNH_F_ONLINK : 0};
    struct strait_emu_message r =
        strait_emu_message_of(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    strait_emu_message_add_u32(&r, RTA_DST, route->dst);
    strait_emu_message_add_u32(&r, RTA_OIF, (uint32_t)index);
    if (route->src)
        strait_emu_message_add_u32(&r, RTA_PREFSRC, route->src);
    if (route->gateway)
        strait_emu_message_add_u32(&r, RTA_GATEWAY, route->gateway);
    if (route->rto_min_ms) {
        const uint32_t nest = strait_emu_message_add(&r, RTA_METRICS, NULL, 0);
        /* TCP heeds rto_min only where it is locked */
        strait_emu_message_add_u32(&r, RTAX_LOCK, 1U << RTAX_RTO_MIN);
        strait_emu_message_add_u32(&r, RTAX_RTO_MIN, route->rto_min_ms);
        strait_emu_message_nest_end(&r, nest);
    }
    return strait_emu_message_ask(fd, &r, "set a route", 0, NULL, 0, err);
}

int strait_emu_netlink_veth(int fd, const struct strait_emu_veth_end *here,
                            const struct strait_emu_veth_end *there, int there_namespace_fd,
                            struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_index = here->index}, peer = {.ifi_index = there->index};
    struct strait_emu_message r =
        strait_emu_message_of(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    strait_emu_message_add(&r, IFLA_IFNAME, here->name, strlen(here->name) + 1);
    strait_emu_message_add(&r, IFLA_ADDRESS, here->mac, sizeof(here->mac));
    const uint32_t link = strait_emu_message_add(&r, IFLA_LINKINFO, NULL, 0);
    strait_emu_message_add(&r, IFLA_INFO_KIND, "veth", 4);
    const uint32_t data = strait_emu_message_add(&r, IFLA_INFO_DATA, NULL, 0);
    const uint32_t other = strait_emu_message_add(&r, VETH_INFO_PEER, &peer, sizeof(peer));
    strait_emu_message_add(&r, IFLA_IFNAME, there->name, strlen(there->name) + 1);
    strait_emu_message_add(&r, IFLA_ADDRESS, there->mac, sizeof(there->mac));
    strait_emu_message_add_u32(&r, IFLA_NET_NS_FD, (uint32_t)there_namespace_fd);
    strait_emu_message_nest_end(&r, other);
    strait_emu_message_nest_end(&r, data);
    strait_emu_message_nest_end(&r, link);
    return strait_emu_message_ask(fd, &r, "make a veth pair", 0, NULL, 0, err);
}

int strait_emu_netlink_neighbour(int fd, int index, uint32_t address,
                                 const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                                 struct strait_error *err)
{
    const struct ndmsg info = {
        .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
    struct strait_emu_message r =
        strait_emu_message_of(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    strait_emu_message_add_u32(&r, NDA_DST, address);
    strait_emu_message_add(&r, NDA_LLADDR, mac, STRAIT_EMU_MAC_BYTES);
    return strait_emu_message_ask(fd, &r, "set a neighbour", 0, NULL, 0, err);
}

int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    const struct strait_emu_message r = strait_emu_message_of(RTM_GETLINK, 0, &info, sizeof(info));
    _Alignas(struct nlmsghdr) unsigned char answer[16384];
    struct nlmsghdr *head = (void *)answer;
    const struct rtattr *found[IFLA_STATS64 + 1] = {NULL};
    struct rtnl_link_stats64 s;
    head->nlmsg_len = 0;
    if (strait_emu_message_ask(fd, &r, "read a device's counters", RTM_NEWLINK, answer,
                               sizeof(answer), err) != 0)
        return -1;
    if (head->nlmsg_len >= NLMSG_SPACE(sizeof(info)))
        strait_emu_attributes(found, IFLA_STATS64 + 1, IFLA_RTA(NLMSG_DATA(head)),
                              head->nlmsg_len - NLMSG_SPACE(sizeof(info)));
    if (!strait_emu_attribute_copy(&s, sizeof(s), found[IFLA_STATS64]))
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "the kernel sent no device counters");
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
