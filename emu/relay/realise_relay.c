/* Links by the relay: a TUN device in each node, all read and written by one process. */
#include <arpa/inet.h>
#include <stdlib.h>
#include "emu/links/netlink.h"
#include "emu/links/realisation.h"
#include "relay_process.h"
#include "emu/links/tun.h"

struct relay {
    struct strait_emu_net_plan plan; /* its links are read by start only */
    int *tun_fds;                    /* one a node; that of a node on another host is the trunk's */
    struct strait_emu_relay_process process;
    int trunk_fd, router_fd, netlink_fd; /* to other hosts; -1: there are none */
};

static const char *tun_path(const struct relay *r)
{
    return r->plan.tun_path ? r->plan.tun_path : "/dev/net/tun";
}

/* Packets for other hosts leave by a TUN device in a namespace that forwards them, and those from
 * there arrive by it. */
static int make_trunk(struct relay *r, struct strait_error *err)
{
    enum { TRUNK_INDEX = 1024 };
    const struct strait_emu_net_plan *plan = &r->plan;
    const struct strait_emu_device device = {.mtu_bytes = plan->trunk->mtu_bytes,
                                             .queue_packets = STRAIT_EMU_QUEUE_PACKETS};
    int index;
    if (strait_emu_router_new(&r->router_fd, &r->netlink_fd, plan, TRUNK_INDEX, err) != 0)
        return -1;
    r->trunk_fd = strait_emu_tun_open(&index, tun_path(r), "nodes", err);
    if (r->trunk_fd < 0 || strait_emu_netlink_device_up(r->netlink_fd, index, &device, err) != 0)
        return -1;
    for (int i = 0; i < plan->n_nodes; i++) {
        const struct strait_emu_route one = {.dst = strait_emu_net_address(i), .prefix_bits = 32};
        if (!strait_emu_trunk_has(plan->trunk, i))
            r->tun_fds[i] = r->trunk_fd;
        else if (strait_emu_netlink_route(r->netlink_fd, index, &one, err) != 0)
            return -1;
    }
    return 0;
}

static int begin(void **state, const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    struct relay *r = calloc(1, sizeof(*r));
    int *fds = calloc((size_t)plan->n_nodes, sizeof(*fds));
    if (!r || !fds) {
        free(r);
        free(fds);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %d nodes",
                                plan->n_nodes);
    }
    *r = (struct relay){.plan = *plan,
                        .tun_fds = fds,
                        .process = {.pidfd = -1, .control_fd = -1},
                        .trunk_fd = -1,
                        .router_fd = -1,
                        .netlink_fd = -1};
    for (int i = 0; i < plan->n_nodes; i++)
        fds[i] = -1;
    *state = r;
    return plan->trunk ? make_trunk(r, err) : 0;
}

static int add_node(void *state, struct strait_emu_node *node, int index, struct strait_error *err)
{
    struct relay *r = state;
    r->tun_fds[index] =
        strait_emu_tun_open(&node->device_index, tun_path(r), STRAIT_EMU_DEVICE, err);
    return r->tun_fds[index] < 0 ? -1 : 0;
}

static int connect_node(void *state, const struct strait_emu_node *node, int index,
                        struct strait_error *err)
{
    const struct relay *r = state;
    const struct strait_emu_route all = {.dst = htonl(STRAIT_EMU_NETWORK),
                                         .prefix_bits = STRAIT_EMU_PREFIX_BITS,
                                         .src = strait_emu_net_address(index),
                                         .rto_min_ms = strait_emu_net_plan_rto_min_ms(&r->plan)};
    return strait_emu_netlink_route(node->netlink_fd, node->device_index, &all, err);
}

/* Called when the process has its own copies. */
static void close_devices(struct relay *r)
{
    for (int i = 0; i < r->plan.n_nodes; i++) {
        if (r->tun_fds[i] == r->trunk_fd)
            r->tun_fds[i] = -1;
        strait_emu_close_fd(&r->tun_fds[i]);
    }
    strait_emu_close_fd(&r->trunk_fd);
}

static int start(void *state, const struct strait_emu_node *nodes, struct strait_error *err)
{
    struct relay *r = state;
    (void)nodes;
    const int failed = strait_emu_relay_start(&r->process, &r->plan, r->tun_fds, r->trunk_fd, err);
    close_devices(r);
    return failed;
}

static int report(struct strait_emu_relay_report *out, void *state,
                  const struct strait_emu_node *nodes, bool restart, struct strait_error *err)
{
    struct relay *r = state;
    (void)nodes;
    return strait_emu_relay_ask(out, &r->process, restart, err);
}

static void forget(void *state)
{
    struct relay *r = state;
    strait_emu_relay_forget(&r->process);
    strait_emu_close_fd(&r->router_fd);
    strait_emu_close_fd(&r->netlink_fd);
}

static void close_relay(void *state)
{
    struct relay *r = state;
    strait_emu_relay_stop(&r->process); /* no effect after forget */
    close_devices(r);
    strait_emu_close_fd(&r->router_fd);
    strait_emu_close_fd(&r->netlink_fd);
    free(r->tun_fds);
    free(r);
}

const struct strait_emu_realisation_ops strait_emu_relay_ops = {.name = "relay",
                                                                .begin = begin,
                                                                .add_node = add_node,
                                                                .connect_node = connect_node,
                                                                .start = start,
                                                                .report = report,
                                                                .forget = forget,
                                                                .close = close_relay};
