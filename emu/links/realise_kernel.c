/* Links by the kernel: a veth pair for each node, whose other end is a port of a router in its own
 * namespace, with a shaper at either end. The router has one route and one neighbour for each node,
 * so set-up is linear, nothing is flooded, and the number of ports is unlimited. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <math.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/random.h"
#include "process/dilated_clock.h"
#include "net_plan.h"
#include "netlink.h"
#include "rate_changer.h"
#include "realisation.h"
#include "segment.h"
#include "sentinel.h"
#include "qdisc.h"

enum { NODE_INDEX = 2, FIRST_PORT = 2 };
static const uint32_t ROUTER = 0x0afffffeU; /* 10.255.255.254, host byte order */

struct kernel {
    struct strait_emu_net_plan plan; /* its links are read during set-up only */
    struct strait_link *links;       /* 2 n, out and in, whose schedules are the run's */
    int *changing;                   /* 2 n: the changer's number of a link */
    int namespace_fd, netlink_fd;    /* of the router */
    bool in_loses;                   /* some in link loses packets */
    struct strait_emu_qdisc *out, *in;
    struct strait_emu_qdisc_reading *before; /* 2 n: counters at the start of the report */
    uint64_t *settings, *bytes;              /* 2 n: at set-up; at the last report */
    struct strait_emu_sentinel *sentinel;    /* NULL: the machine's lateness is unknown */
    struct strait_emu_rate_changer *changer; /* NULL: no rate changes */
    int n_changed;
    char change[STRAIT_EMU_CHANGE_CHARS];
};

static void make_mac(unsigned char mac[STRAIT_EMU_MAC_BYTES], int kind, int node)
{
    const uint32_t address = strait_emu_net_address(node);
    mac[0] = 2; /* locally administered */
    mac[1] = (unsigned char)kind;
    memcpy(mac + 2, &address, sizeof(address));
}

static int begin(void **state, const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    const size_t n = (size_t)plan->n_nodes;
    struct kernel *k = calloc(1, sizeof(*k));
    if (!k)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a network");
    *k = (struct kernel){.plan = *plan,
                         .namespace_fd = -1,
                         .netlink_fd = -1,
                         .links = calloc(2 * n, sizeof(*k->links)),
                         .changing = calloc(2 * n, sizeof(*k->changing)),
                         .out = calloc(2 * n, sizeof(*k->out)),
                         .before = calloc(2 * n, sizeof(*k->before)),
                         .settings = calloc(4 * n, sizeof(*k->settings))};
    *state = k;
    if (!k->links || !k->changing || !k->out || !k->before || !k->settings)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %d nodes",
                                plan->n_nodes);
    k->in = k->out + n;
    k->bytes = k->settings + 2 * n;
    memcpy(k->links, plan->out, n * sizeof(*k->links));
    memcpy(k->links + n, plan->in, n * sizeof(*k->links));
    const double dilation = strait_emu_net_plan_dilation(plan);
    const double late_s = strait_emu_qdisc_late_s();
    for (size_t i = 0; i < n; i++) {
        k->in_loses |= plan->in[i].loss_ratio > 0;
        if (plan->unshaped || !strait_emu_trunk_has(plan->trunk, (int)i))
            continue;
        strait_emu_qdisc_of(&k->out[i], &plan->out[i], plan->overhead_bytes, dilation, late_s);
        strait_emu_qdisc_of(&k->in[i], &plan->in[i], plan->overhead_bytes, dilation, late_s);
        k->out[i].seed = strait_random_bits(plan->seed, "netem", 2 * i, 0);
        k->in[i].seed = strait_random_bits(plan->seed, "netem", 2 * i + 1, 0);
    }
    return strait_emu_router_new(&k->namespace_fd, &k->netlink_fd, plan, FIRST_PORT + plan->n_nodes,
                                 err);
}

static int add_node(void *state, struct strait_emu_node *node, int index, struct strait_error *err)
{
    const struct kernel *k = state;
    char name[IFNAMSIZ];
    snprintf(name, sizeof(name), "port%d", index);
    struct strait_emu_veth_end here = {.index = NODE_INDEX, .name = STRAIT_EMU_DEVICE},
                               port = {.index = FIRST_PORT + index, .name = name};
    make_mac(here.mac, 0, index);
    make_mac(port.mac, 1, index);
    node->device_index = NODE_INDEX;
    return strait_emu_netlink_veth(node->netlink_fd, &here, &port, k->namespace_fd, err);
}

/* Switch off one setting of a device in the calling thread's namespace, and read it back. */
static int switch_off(int fd, uint32_t set, uint32_t get, const char *what,
                      struct strait_error *err)
{
    struct ethtool_value value = {.cmd = set, .data = 0};
    struct ifreq req = {.ifr_name = STRAIT_EMU_DEVICE, .ifr_data = (void *)&value};
    if (ioctl(fd, SIOCETHTOOL, &req) != 0)
        return strait_error_system(err, NULL, "cannot switch off %s of a veth device", what);
    value = (struct ethtool_value){.cmd = get, .data = 1};
    if (ioctl(fd, SIOCETHTOOL, &req) != 0 || value.data != 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "asked for a veth device without %s, found it on", what);
    return 0;
}

/* netem draws once for a super-packet, so with loss there must be none. TCP builds them whatever
 * offload the device offers, and they would be cut only behind the queue: so limit them to one
 * segment. Offload is switched off too, for other senders. */
static int no_super_packets(const struct strait_emu_node *node, struct strait_error *err)
{
    const struct strait_emu_device single = {.gso_max_segments = 1};
    if (strait_emu_netlink_device_up(node->netlink_fd, NODE_INDEX, &single, err) != 0)
        return -1;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return strait_error_system(err, NULL, "cannot make a socket");
    const int failed =
        switch_off(fd, ETHTOOL_STSO, ETHTOOL_GTSO, "TCP segmentation offload", err) != 0 ||
        switch_off(fd, ETHTOOL_SGSO, ETHTOOL_GGSO, "segmentation offload", err) != 0;
    close(fd);
    return failed ? -1 : 0;
}

static int connect_node(void *state, const struct strait_emu_node *node, int index,
                        struct strait_error *err)
{
    const struct kernel *k = state;
    const int port = FIRST_PORT + index, fd = node->netlink_fd;
    const uint32_t address = strait_emu_net_address(index), router = htonl(ROUTER);
    const struct strait_emu_device device = {.mtu_bytes = strait_emu_net_plan_mtu_bytes(&k->plan)};
    const struct strait_emu_route all = {.dst = htonl(STRAIT_EMU_NETWORK),
                                         .prefix_bits = STRAIT_EMU_PREFIX_BITS,
                                         .src = address,
                                         .gateway = router,
                                         .rto_min_ms = strait_emu_net_plan_rto_min_ms(&k->plan)};
    const struct strait_emu_route one = {.dst = address, .prefix_bits = 32};
    unsigned char here_mac[STRAIT_EMU_MAC_BYTES], port_mac[STRAIT_EMU_MAC_BYTES];
    make_mac(here_mac, 0, index);
    make_mac(port_mac, 1, index);
    if ((k->in_loses || k->plan.out[index].loss_ratio > 0) && no_super_packets(node, err) != 0)
        return -1;
    if (strait_emu_netlink_neighbour(fd, NODE_INDEX, router, port_mac, err) != 0 ||
        strait_emu_netlink_route(fd, NODE_INDEX, &all, err) != 0 ||
        strait_emu_netlink_device_up(k->netlink_fd, port, &device, err) != 0 ||
        strait_emu_netlink_neighbour(k->netlink_fd, port, address, here_mac, err) != 0 ||
        strait_emu_netlink_route(k->netlink_fd, port, &one, err) != 0)
        return -1;
    return strait_emu_qdisc_add(fd, NODE_INDEX, &k->out[index], err) != 0 ||
                   strait_emu_qdisc_add(k->netlink_fd, port, &k->in[index], err) != 0
               ? -1
               : 0;
}

/* Read the out links, then the in links. */
static int read_all(struct strait_emu_qdisc_reading *to, const struct kernel *k,
                    const struct strait_emu_node *nodes, struct strait_error *err)
{
    for (int i = 0; i < k->plan.n_nodes; i++)
        if (strait_emu_trunk_has(k->plan.trunk, i) &&
            strait_emu_qdisc_read(&to[i], 1, NODE_INDEX, nodes[i].netlink_fd, err) != 0)
            return -1;
    return strait_emu_qdisc_read(to + k->plan.n_nodes, k->plan.n_nodes, FIRST_PORT, k->netlink_fd,
                                 err);
}

/* Start what changes the rates of links. */
static int start_changes(struct kernel *k, const struct strait_emu_node *nodes,
                         struct strait_error *err)
{
    const int n = k->plan.n_nodes;
    struct strait_emu_changing *all = calloc(2 * (size_t)n, sizeof(*all));
    size_t n_changing = 0;
    if (!all)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %d nodes", n);
    for (int i = 0; i < 2 * n && !k->plan.unshaped; i++) {
        if (!k->links[i].schedule)
            continue;
        k->changing[i] = (int)n_changing;
        all[n_changing++] = (struct strait_emu_changing){
            .link = &k->links[i],
            .namespace_fd = i < n ? nodes[i].namespace_fd : k->namespace_fd,
            .device = i < n ? NODE_INDEX : FIRST_PORT + i - n,
            .way = i < n ? "out" : "in",
            .node = i % n};
    }
    const int status = strait_emu_rate_changer_start(&k->changer, &k->plan, all, n_changing, err);
    free(all);
    return status;
}

/* Read the shapers back: a silent difference from the plan would make all results wrong. */
static int start(void *state, const struct strait_emu_node *nodes, struct strait_error *err)
{
    struct kernel *k = state;
    const int n = k->plan.n_nodes;
    if (read_all(k->before, k, nodes, err) != 0)
        return -1;
    for (int i = 0; i < 2 * n; i++) {
        char text[STRAIT_EMU_CHANGE_CHARS / 2];
        k->settings[i] = k->before[i].settings;
        if (!strait_emu_qdisc_same(text, sizeof(text), &k->out[i], &k->before[i].shaper))
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "the %s link of node %d is not shaped as asked for: %s",
                                    i < n ? "out" : "in", i % n, text);
    }
    if (start_changes(k, nodes, err) != 0)
        return -1;
    return k->plan.realtime ? strait_emu_sentinel_start(&k->sentinel, err) : 0;
}

/* Whether a link whose rate changes has one that it was given. Which it should have by now is not
 * judged here: who changes it notes how late he was. */
static bool is_as_given(char *text, size_t cap, const struct kernel *k, int i,
                        const struct strait_emu_qdisc *found)
{
    double bits_per_s[STRAIT_EMU_RECENT];
    const size_t n = strait_emu_rate_changer_recent(bits_per_s, k->changer, (size_t)k->changing[i]);
    for (size_t r = 0; r < n; r++) {
        struct strait_emu_qdisc wanted;
        strait_emu_qdisc_of_step(&wanted, &k->links[i], bits_per_s[r], k->plan.overhead_bytes,
                                 strait_emu_net_plan_dilation(&k->plan), strait_emu_qdisc_late_s());
        if (strait_emu_qdisc_same(text, cap, &wanted, found))
            return true;
    }
    return false;
}

/* Someone with rights may have changed a link since set-up, or removed and restored it, which
 * resets its counters. Once found, a change stays in the report. */
static void look_for_changes(struct kernel *k, const struct strait_emu_qdisc_reading *now)
{
    const int n = k->plan.n_nodes;
    int n_changed = 0;
    for (int i = 0; i < 2 * n; i++) {
        const bool again = now[i].bytes < k->bytes[i];
        char text[STRAIT_EMU_CHANGE_CHARS / 2] = "its queues are others than at set-up";
        k->bytes[i] = now[i].bytes;
        if (!again && (now[i].settings == k->settings[i] ||
                       (k->changer && k->links[i].schedule &&
                        is_as_given(text, sizeof(text), k, i, &now[i].shaper))))
            continue;
        if (strait_emu_qdisc_same(text, sizeof(text), &k->out[i], &now[i].shaper) && again)
            snprintf(text, sizeof(text), "its counters began again");
        if (!k->change[0])
            snprintf(k->change, sizeof(k->change), "the %s link of node %d: %s",
                     i < n ? "out" : "in", i % n, text);
        n_changed++;
    }
    char failure[STRAIT_EMU_CHANGE_CHARS];
    strait_emu_rate_changer_late_s(k->changer, failure);
    if (*failure && !k->change[0])
        memcpy(k->change, failure, sizeof(k->change));
    n_changed += *failure != '\0';
    k->n_changed = n_changed > k->n_changed ? n_changed : k->n_changed;
}

static const struct strait_emu_qdisc_reading none = {.bytes = 0};

static struct strait_emu_link_report link_report(const struct strait_emu_qdisc *shaper,
                                                 const struct strait_emu_qdisc_reading *before,
                                                 const struct strait_emu_qdisc_reading *after,
                                                 double overhead_bytes)
{
    if (after->bytes < before->bytes) /* counters were reset */
        before = &none;
    const uint64_t n = after->n_segments - before->n_segments;
    const uint64_t tbf_drops = after->tbf_drops - before->tbf_drops;
    const uint64_t netem_drops = after->netem_drops - before->netem_drops;
    const uint64_t wire_bytes =
        after->bytes - before->bytes + (uint64_t)round((double)n * overhead_bytes);
    return (struct strait_emu_link_report){
        .n_packets = n,
        .n_segments = n,
        .wire_bytes = wire_bytes,
        .n_queue_drops = tbf_drops,
        .n_loss_drops = netem_drops > tbf_drops ? netem_drops - tbf_drops : 0,
        .queue_peak_bytes = STRAIT_EMU_UNKNOWN,
        .backlog_bytes = after->backlog_bytes,
        .carried_bytes = shaper->has_netem || shaper->has_tbf ? wire_bytes : STRAIT_EMU_UNKNOWN};
}

static int report(struct strait_emu_relay_report *out, void *state,
                  const struct strait_emu_node *nodes, bool restart, struct strait_error *err)
{
    struct kernel *k = state;
    const size_t n = (size_t)k->plan.n_nodes;
    struct strait_emu_qdisc_reading *now = calloc(2 * n, sizeof(*now));
    *out = (struct strait_emu_relay_report){.realisation = STRAIT_EMU_KERNEL,
                                            .at_s = 1e-9 * (double)strait_proc_mono_ns(),
                                            .n_nodes = k->plan.n_nodes,
                                            .out = calloc(2 * n, sizeof(*out->out)),
                                            .late_p50_s = NAN,
                                            .late_p99_s = NAN,
                                            .late_p999_s = NAN,
                                            .late_max_s = NAN,
                                            .gap_max_s = NAN,
                                            .cpu_s = NAN,
                                            .wall_s = NAN};
    int failed = 0;
    if (!now || !out->out)
        failed = strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a report");
    else
        failed = read_all(now, k, nodes, err);
    if (failed) {
        free(now);
        strait_emu_relay_report_release(out);
        return -1;
    }
    out->in = out->out + n;
    look_for_changes(k, now);
    out->n_changed = k->n_changed;
    memcpy(out->change, k->change, sizeof(out->change));
    for (size_t i = 0; i < 2 * n; i++)
        out->out[i] = link_report(&k->out[i], &k->before[i], &now[i], k->plan.overhead_bytes);
    for (size_t i = 0; i < n; i++)
        out->n_delivered += out->in[i].n_packets;
    struct strait_emu_lateness late;
    if (strait_emu_sentinel_read(&late, k->sentinel, restart)) {
        out->late_p50_s = strait_emu_lateness_quantile_s(&late, 0.5);
        out->late_p99_s = strait_emu_lateness_quantile_s(&late, 0.99);
        out->late_p999_s = strait_emu_lateness_quantile_s(&late, 0.999);
        out->late_max_s = late.max_s;
        out->realtime = true;
    }
    char failure[STRAIT_EMU_CHANGE_CHARS];
    if (k->changer)
        out->late_max_s =
            fmax(out->late_max_s, strait_emu_rate_changer_late_s(k->changer, failure));
    if (restart)
        memcpy(k->before, now, 2 * n * sizeof(*now));
    free(now);
    return 0;
}

static void forget(void *state)
{
    struct kernel *k = state;
    strait_emu_close_fd(&k->namespace_fd);
    strait_emu_close_fd(&k->netlink_fd);
}

static void close_kernel(void *state)
{
    struct kernel *k = state;
    forget(k); /* devices disappear with their namespaces */
    strait_emu_sentinel_free(k->sentinel);
    strait_emu_rate_changer_free(k->changer);
    free(k->links);
    free(k->changing);
    free(k->out);
    free(k->before);
    free(k->settings);
    free(k);
}

const struct strait_emu_realisation_ops strait_emu_kernel_ops = {.name = "kernel",
                                                                 .begin = begin,
                                                                 .add_node = add_node,
                                                                 .connect_node = connect_node,
                                                                 .start = start,
                                                                 .report = report,
                                                                 .forget = forget,
                                                                 .close = close_kernel};
