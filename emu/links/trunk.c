#include "trunk.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "netlink.h"

uint32_t strait_emu_net_address(int node)
{
    return htonl(STRAIT_EMU_NETWORK + (uint32_t)node + 1);
}

/* 10.254.0.1 for the first host, inside the VXLAN: nodes have at most 10.0.64.0. */
static uint32_t gateway(int host)
{
    return htonl(0x0afe0001U + (uint32_t)host);
}

static void make_mac(unsigned char mac[STRAIT_EMU_MAC_BYTES], int host)
{
    const uint32_t address = gateway(host);
    mac[0] = mac[1] = 2; /* locally administered; realise_kernel.c has 0 and 1 in the second */
    memcpy(mac + 2, &address, sizeof(address));
}

bool strait_emu_trunk_has(const struct strait_emu_trunk *trunk, int node)
{
    return !trunk || trunk->host_of[node] == trunk->here;
}

int strait_emu_trunk_make(const struct strait_emu_trunk *trunk, int host_fd, int namespace_fd,
                          int netlink_fd, int index, int n_nodes, struct strait_error *err)
{
    struct strait_emu_vxlan vxlan = {.index = index,
                                     .id = trunk->id,
                                     .port = STRAIT_EMU_VXLAN_PORT,
                                     .local = trunk->addresses[trunk->here]};
    const struct strait_emu_device device = {.mtu_bytes = trunk->mtu_bytes};
    make_mac(vxlan.mac, trunk->here);
    if (strait_emu_netlink_vxlan(host_fd, &vxlan, namespace_fd, err) != 0 ||
        strait_emu_netlink_device_up(netlink_fd, index, &device, err) != 0 ||
        strait_emu_netlink_address(netlink_fd, index, gateway(trunk->here), err) != 0)
        return -1; /* without any address of its own a namespace takes no gateway */
    for (int h = 0; h < trunk->n_hosts; h++) {
        unsigned char mac[STRAIT_EMU_MAC_BYTES];
        make_mac(mac, h);
        if (h != trunk->here &&
            (strait_emu_netlink_neighbour(netlink_fd, index, gateway(h), mac, err) != 0 ||
             strait_emu_netlink_remote(netlink_fd, index, mac, trunk->addresses[h], err) != 0))
            return -1;
    }
    for (int i = 0; i < n_nodes; i++) {
        const struct strait_emu_route there = {.dst = strait_emu_net_address(i),
                                               .prefix_bits = 32,
                                               .gateway = gateway(trunk->host_of[i])};
        if (!strait_emu_trunk_has(trunk, i) &&
            strait_emu_netlink_route(netlink_fd, index, &there, err) != 0)
            return -1;
    }
    return 0;
}

int strait_emu_trunk_path_mtu(uint32_t address, struct strait_error *err)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(STRAIT_EMU_VXLAN_PORT),
                                   .sin_addr.s_addr = address};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int mtu_bytes = -1;
    socklen_t n = sizeof(mtu_bytes);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
        getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu_bytes, &n) != 0) {
        char text[INET_ADDRSTRLEN];
        mtu_bytes = strait_error_system(err, inet_ntop(AF_INET, &address, text, sizeof(text)),
                                        "cannot find the way to this host");
    }
    if (fd >= 0)
        close(fd);
    return mtu_bytes;
}
