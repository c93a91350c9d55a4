/* One network on two hosts, which two namespaces of this machine play, joined by a pair of devices:
 * nodes 0 and 1 are on the first, 2 and 3 on the second. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include "emu/links/realisation.h"
#include "tests/kit/links/net_world.h"

enum { N_HOSTS = 2, N = 4, HOST_INDEX = 9, MTU = 1450, N_PINGS = 3 };
struct hosts {
    int fds[N_HOSTS]; /* of their namespaces */
    uint32_t addresses[N_HOSTS];
    int host_of[N];
    struct strait_emu_trunk trunks[N_HOSTS];
    struct world worlds[N_HOSTS];
};

static void enter(int fd)
{
    CU_ASSERT_EQUAL_FATAL(setns(fd, CLONE_NEWNET), 0);
}

/* Two namespaces with a device each, of 1500 bytes a packet. */
static void join_hosts(struct hosts *h)
{
    struct strait_error err = {0};
    for (int i = 0; i < N_HOSTS; i++) {
        h->fds[i] = strait_emu_namespace_new(&err);
        CU_ASSERT_FATAL(h->fds[i] >= 0);
        h->addresses[i] = htonl(0xc0000201U + (uint32_t)i); /* 192.0.2.1 and .2 */
    }
    for (int i = 0; i < N_HOSTS; i++) {
        const struct strait_emu_device device = {.mtu_bytes = 1500};
        const struct strait_emu_route there = {.dst = h->addresses[1 - i], .prefix_bits = 32};
        enter(h->fds[i]);
        const int fd = strait_emu_netlink_open(&err);
        const struct strait_emu_veth_end ends[2] = {
            {.index = HOST_INDEX, .name = "eth1", .mac = {2, 7, 0, 0, 0, 1}},
            {.index = HOST_INDEX, .name = "eth1", .mac = {2, 7, 0, 0, 0, 2}}};
        CU_ASSERT_FATAL(
            (i > 0 || strait_emu_netlink_veth(fd, &ends[0], &ends[1], h->fds[1], &err) == 0) &&
            strait_emu_netlink_device_up(fd, HOST_INDEX, &device, &err) == 0 &&
            strait_emu_netlink_address(fd, HOST_INDEX, h->addresses[i], &err) == 0 &&
            strait_emu_netlink_route(fd, HOST_INDEX, &there, &err) == 0);
        close(fd);
    }
    enter(h->fds[0]);
    CU_ASSERT_EQUAL(strait_emu_trunk_path_mtu(h->addresses[1], &err), 1500);
    CU_ASSERT_EQUAL(strait_emu_trunk_path_mtu(htonl(0xc6336401U), &err), -1); /* no way there */
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_SYSTEM);
    CU_ASSERT_STRING_EQUAL(err.where, "198.51.100.1");
    CU_ASSERT_CONTAINS(err.text, "cannot find the way to this host");
}

static void hosts_down(struct hosts *h)
{
    for (int i = 0; i < N_HOSTS; i++) {
        strait_emu_net_free(h->worlds[i].net);
        close(h->fds[i]);
    }
}

static bool hosts_up(struct hosts *h, enum strait_emu_realisation realisation, double delay_s)
{
    memset(h, 0, sizeof(*h));
    join_hosts(h);
    for (int i = 0; i < N_HOSTS; i++) {
        struct world *w = &h->worlds[i];
        for (int k = 0; k < N; k++)
            h->host_of[k] = k / 2;
        h->trunks[i] = (struct strait_emu_trunk){.n_hosts = N_HOSTS,
                                                 .here = i,
                                                 .addresses = h->addresses,
                                                 .host_of = h->host_of,
                                                 .id = 77,
                                                 .mtu_bytes = MTU};
        world_init(w, N, 1e9, 0);
        for (int k = 0; k < N; k++)
            w->out[k].delay_s = w->in[k].delay_s = delay_s;
        w->plan.realisation = realisation;
        w->plan.realtime = false;
        w->plan.trunk = &h->trunks[i];
        enter(h->fds[i]);
        if (!world_up(w)) {
            hosts_down(h);
            return false;
        }
    }
    return true;
}

static int mtu_of(struct strait_emu_net *net, int node)
{
    struct ifreq r = {.ifr_name = STRAIT_EMU_DEVICE};
    enter(strait_emu_net_namespace_fd(net, node));
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(ioctl(fd, SIOCGIFMTU, &r), 0);
    close(fd);
    return r.ifr_mtu;
}

/* Each node reaches each other one, through four links there and back, two of them on its own
 * host. What is elsewhere has no namespace here. */
static void reach(enum strait_emu_realisation realisation, double delay_s)
{
    static struct hosts h;
    if (!hosts_up(&h, realisation, delay_s))
        return;
    for (int from = 0; from < N; from++) {
        struct strait_emu_net *net = h.worlds[from / 2].net, *other = h.worlds[1 - from / 2].net;
        struct strait_emu_counters counters;
        struct strait_error err = {0};
        strait_test_context("node %d", from);
        CU_ASSERT_EQUAL(mtu_of(net, from), MTU);
        CU_ASSERT_EQUAL(strait_emu_net_namespace_fd(other, from), -1);
        CU_ASSERT_EQUAL(strait_emu_net_counters(&counters, net, from, &err), 0);
        CU_ASSERT_EQUAL(strait_emu_net_counters(&counters, other, from, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_CONTAINS(err.text, "is on another host");
        for (int to = 0; to < N; to++) {
            double rtt_s = 0;
            struct strait_error why = {0};
            if (to == from)
                continue;
            strait_test_context("node %d to %d", from, to);
            CU_ASSERT_EQUAL(strait_emu_net_ping(&rtt_s, NULL, net, from, to, N_PINGS, &why), 0);
            CU_ASSERT_STRING_EQUAL(why.text, "");
            CU_ASSERT_AT_LEAST(rtt_s, 3.5 * delay_s); /* a link less would be 3 */
        }
    }
    for (int i = 0; i < N_HOSTS; i++) {
        struct strait_emu_relay_report r;
        struct strait_error err = {0};
        strait_test_context("host %d", i);
        CU_ASSERT_EQUAL_FATAL(strait_emu_net_report(&r, h.worlds[i].net, false, &err), 0);
        for (int k = 0; k < N; k++) { /* pings to three others, and answers to theirs */
            const uint64_t least = h.host_of[k] == i ? 2 * 3 * N_PINGS : 0;
            CU_ASSERT_AT_LEAST(r.out[k].n_packets, least);
            CU_ASSERT_AT_LEAST(r.in[k].n_packets, least);
            CU_ASSERT(least > 0 || r.out[k].n_packets + r.in[k].n_packets == 0);
        }
        CU_ASSERT_EQUAL(r.n_unroutable + r.n_write_failures + (uint64_t)r.n_changed, 0);
        strait_emu_relay_report_release(&r);
    }
    hosts_down(&h);
}

/* Whether root may make the device that joins hosts. */
static bool can(void)
{
    struct strait_error err = {0};
    const struct strait_emu_vxlan vxlan = {.index = HOST_INDEX + 1,
                                           .id = 1,
                                           .port = STRAIT_EMU_VXLAN_PORT,
                                           .local = htonl(INADDR_LOOPBACK),
                                           .mac = {2, 7}};
    if (geteuid() != 0) {
        strait_test_skip("only root joins hosts by a VXLAN");
        return false;
    }
    const int there = strait_emu_namespace_new(&err);
    const int here = there < 0 ? -1 : strait_emu_namespace_new(&err);
    const int fd = here < 0 ? -1 : strait_emu_netlink_open(&err);
    const bool works = fd >= 0 && strait_emu_netlink_vxlan(fd, &vxlan, there, &err) == 0;
    const int fds[] = {there, here, fd};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (!works)
        strait_test_skip(err.text);
    return works;
}

/* Each in the suite's own process, which ends in a namespace of its own. */
static void relay(void)
{
    if (can())
        reach(STRAIT_EMU_RELAY, 0.002);
}

static void kernel(void)
{
    if (can())
        reach(STRAIT_EMU_KERNEL, 0); /* a delay needs netem, which not every kernel has */
}

static const struct strait_test tests[] = {
    {"the relay's nodes reach each other over two hosts", relay},
    {"the kernel's nodes reach each other over two hosts", kernel},
};
STRAIT_SUITE_WITH("emu/links/trunk", tests, .release = true);
