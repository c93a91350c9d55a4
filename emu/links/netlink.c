#include "netlink.h"
#include <arpa/inet.h>
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
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWLINK, 0, &info, sizeof(info));
    if (device->mtu_bytes)
        mnl_attr_put_u32(&r.head, IFLA_MTU, device->mtu_bytes);
    if (device->queue_packets)
        mnl_attr_put_u32(&r.head, IFLA_TXQLEN, device->queue_packets);
    if (device->gso_max_segments)
        mnl_attr_put_u32(&r.head, IFLA_GSO_MAX_SEGS, device->gso_max_segments);
    if (device->gso_max_bytes)
        mnl_attr_put_u32(&r.head, IFLA_GSO_MAX_SIZE, device->gso_max_bytes);
    return strait_emu_message_ask(fd, &r, "switch on a network device", NULL, NULL, err);
}

int strait_emu_netlink_address(int fd, int index, uint32_t address, struct strait_error *err)
{
    const struct ifaddrmsg info = {.ifa_family = AF_INET,
                                   .ifa_prefixlen = 32,
                                   .ifa_scope = RT_SCOPE_UNIVERSE,
                                   .ifa_index = (uint32_t)index};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    mnl_attr_put_u32(&r.head, IFA_LOCAL, address);
    mnl_attr_put_u32(&r.head, IFA_ADDRESS, address);
    return strait_emu_message_ask(fd, &r, "set an address", NULL, NULL, err);
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
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    mnl_attr_put_u32(&r.head, RTA_DST, route->dst);
    mnl_attr_put_u32(&r.head, RTA_OIF, (uint32_t)index);
    if (route->src)
        mnl_attr_put_u32(&r.head, RTA_PREFSRC, route->src);
    if (route->gateway)
        mnl_attr_put_u32(&r.head, RTA_GATEWAY, route->gateway);
    if (route->rto_min_ms) {
        struct nlattr *const nest = mnl_attr_nest_start(&r.head, RTA_METRICS);
        /* TCP uses rto_min only if it is locked */
        mnl_attr_put_u32(&r.head, RTAX_LOCK, 1U << RTAX_RTO_MIN);
        mnl_attr_put_u32(&r.head, RTAX_RTO_MIN, route->rto_min_ms);
        mnl_attr_nest_end(&r.head, nest);
    }
    return strait_emu_message_ask(fd, &r, "set a route", NULL, NULL, err);
}

int strait_emu_netlink_veth(int fd, const struct strait_emu_veth_end *here,
                            const struct strait_emu_veth_end *there, int there_namespace_fd,
                            struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_index = here->index}, peer = {.ifi_index = there->index};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    mnl_attr_put_strz(&r.head, IFLA_IFNAME, here->name);
    mnl_attr_put(&r.head, IFLA_ADDRESS, sizeof(here->mac), here->mac);
    struct nlattr *const link = mnl_attr_nest_start(&r.head, IFLA_LINKINFO);
    mnl_attr_put_str(&r.head, IFLA_INFO_KIND, "veth");
    struct nlattr *const data = mnl_attr_nest_start(&r.head, IFLA_INFO_DATA);
    struct nlattr *const other = mnl_attr_nest_start(&r.head, VETH_INFO_PEER);
    strait_emu_message_put(&r, &peer, sizeof(peer));
    mnl_attr_put_strz(&r.head, IFLA_IFNAME, there->name);
    mnl_attr_put(&r.head, IFLA_ADDRESS, sizeof(there->mac), there->mac);
    mnl_attr_put_u32(&r.head, IFLA_NET_NS_FD, (uint32_t)there_namespace_fd);
    mnl_attr_nest_end(&r.head, other);
    mnl_attr_nest_end(&r.head, data);
    mnl_attr_nest_end(&r.head, link);
    return strait_emu_message_ask(fd, &r, "make a veth pair", NULL, NULL, err);
}

int strait_emu_netlink_neighbour(int fd, int index, uint32_t address,
                                 const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                                 struct strait_error *err)
{
    const struct ndmsg info = {
        .ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    mnl_attr_put_u32(&r.head, NDA_DST, address);
    mnl_attr_put(&r.head, NDA_LLADDR, STRAIT_EMU_MAC_BYTES, mac);
    return strait_emu_message_ask(fd, &r, "set a neighbour", NULL, NULL, err);
}

int strait_emu_netlink_vxlan(int fd, const struct strait_emu_vxlan *vxlan, int there_namespace_fd,
                             struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_index = vxlan->index};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
    mnl_attr_put_strz(&r.head, IFLA_IFNAME, "trunk");
    mnl_attr_put(&r.head, IFLA_ADDRESS, sizeof(vxlan->mac), vxlan->mac);
    mnl_attr_put_u32(&r.head, IFLA_NET_NS_FD, (uint32_t)there_namespace_fd);
    struct nlattr *const link = mnl_attr_nest_start(&r.head, IFLA_LINKINFO);
    mnl_attr_put_str(&r.head, IFLA_INFO_KIND, "vxlan");
    struct nlattr *const data = mnl_attr_nest_start(&r.head, IFLA_INFO_DATA);
    mnl_attr_put_u32(&r.head, IFLA_VXLAN_ID, vxlan->id);
    mnl_attr_put_u32(&r.head, IFLA_VXLAN_LOCAL, vxlan->local);
    mnl_attr_put_u16(&r.head, IFLA_VXLAN_PORT, htons(vxlan->port));
    mnl_attr_put_u8(&r.head, IFLA_VXLAN_LEARNING, 0);
    mnl_attr_nest_end(&r.head, data);
    mnl_attr_nest_end(&r.head, link);
    return strait_emu_message_ask(fd, &r, "make a VXLAN device", NULL, NULL, err);
}

int strait_emu_netlink_remote(int fd, int index, const unsigned char mac[STRAIT_EMU_MAC_BYTES],
                              uint32_t host, struct strait_error *err)
{
    const struct ndmsg info = {.ndm_family = AF_BRIDGE,
                               .ndm_ifindex = index,
                               .ndm_state = NUD_PERMANENT | NUD_NOARP,
                               .ndm_flags = NTF_SELF};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
    mnl_attr_put(&r.head, NDA_LLADDR, STRAIT_EMU_MAC_BYTES, mac);
    mnl_attr_put_u32(&r.head, NDA_DST, host);
    return strait_emu_message_ask(fd, &r, "say where a host of the VXLAN is", NULL, NULL, err);
}

struct counters {
    bool any;
    struct rtnl_link_stats64 stats;
};

static int read_counters(const struct nlmsghdr *head, void *context)
{
    const struct nlattr *found[IFLA_STATS64 + 1] = {NULL};
    if (head->nlmsg_type == RTM_NEWLINK &&
        mnl_nlmsg_get_payload_len(head) >= sizeof(struct ifinfomsg))
        strait_emu_attributes(found, IFLA_STATS64 + 1,
                              mnl_nlmsg_get_payload_offset(head, sizeof(struct ifinfomsg)),
                              mnl_nlmsg_get_payload_len(head) - sizeof(struct ifinfomsg));
    struct counters *c = context;
    c->any = strait_emu_attribute_copy(&c->stats, sizeof(c->stats), found[IFLA_STATS64]);
    return MNL_CB_OK;
}

int strait_emu_netlink_counters(struct strait_emu_counters *out, int fd, int index,
                                struct strait_error *err)
{
    const struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = index};
    struct counters c = {0};
    union strait_emu_message r;
    strait_emu_message_begin(&r, RTM_GETLINK, 0, &info, sizeof(info));
    if (strait_emu_message_ask(fd, &r, "read a device's counters", read_counters, &c, err) != 0)
        return -1;
    if (!c.any)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "the kernel sent no device counters");
    const struct rtnl_link_stats64 s = c.stats;
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
