#include "net.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "emu/host/dilation.h"
#include "realisation.h"
#include "segment.h"

#define NOT_SENT_BYTES "1048576"

enum {
    LO_INDEX = 1,
    /* Linux's largest automatic buffers, used if the plan needs less. */
    READ_BUFFER_BYTES = 6291456,
    WRITE_BUFFER_BYTES = 4194304
};

static const struct strait_emu_realisation_ops *const realisations[] = {
    [STRAIT_EMU_RELAY] = &strait_emu_relay_ops, [STRAIT_EMU_KERNEL] = &strait_emu_kernel_ops};

struct strait_emu_net {
    pid_t owner;
    int n_nodes;
    double dilation;
    struct strait_emu_node *nodes;
    enum strait_emu_realisation realisation;
    const struct strait_emu_realisation_ops *ops;
    void *state; /* of the realisation; NULL: not begun */
};

struct build {
    struct strait_emu_net *net;
    const struct strait_emu_net_plan *plan;
    struct strait_error err;
    int status;
};

const char *strait_emu_realisation_name(enum strait_emu_realisation realisation)
{
    return realisations[realisation]->name;
}

/* Full size from the start: autotuning from the kernel's 16 and 128 KB sometimes costs slow start a
 * round trip, which a tuned host does not pay and the plan does not contain. */
static int set_buffer(const char *name, double largest_bytes, struct strait_error *err)
{
    const double bytes = fmin(largest_bytes, 2147483647.0);
    char text[64];
    snprintf(text, sizeof(text), "4096 %.0f %.0f", bytes, bytes);
    return strait_emu_write_sysctl(name, text, err);
}

static int set_sysctls(const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    if (strait_emu_no_ipv6(err) != 0)
        return -1;
    /* The buffer limits a packet's memory, not its payload: as little as a half or a third of it is
     * window (tcp_adv_win_scale; a measured ratio since Linux 6.6). */
    const double buffer_bytes = 4 * plan->window_bytes;
    if (set_buffer("ipv4/tcp_rmem", fmax(buffer_bytes, READ_BUFFER_BYTES), err) != 0 ||
        set_buffer("ipv4/tcp_wmem", fmax(buffer_bytes, WRITE_BUFFER_BYTES), err) != 0)
        return -1;
    if (strait_emu_write_sysctl("ipv4/tcp_no_metrics_save", "1", err) != 0)
        return -1;
    /* In virtual time waking a sender costs nothing, so unsent data need not be in the kernel's
     * memory; with 64 clients and large messages that would be gigabytes. */
    if (strait_emu_in_virtual_time() &&
        strait_emu_write_sysctl("ipv4/tcp_notsent_lowat", NOT_SENT_BYTES, err) != 0)
        return -1;
    return strait_emu_write_sysctl("ipv4/tcp_slow_start_after_idle",
                                   plan->slow_start_after_idle ? "1" : "0", err);
}

/* Loss hits single segments: no super-packets then. */
static bool loses(const struct strait_emu_net_plan *plan)
{
    const int n_between = plan->sites ? strait_network_n_links(plan->sites) - 2 * plan->n_nodes : 0;
    bool any = false;
    for (int i = 0; i < plan->n_nodes; i++)
        any |= plan->out[i].loss_ratio > 0 || plan->in[i].loss_ratio > 0;
    for (int i = 0; i < n_between; i++)
        any |= plan->between[i].loss_ratio > 0;
    return any;
}

/* Set addresses and sizes, and switch the devices on. */
static int configure(const struct strait_emu_node *node, int index,
                     const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    const unsigned segments =
        plan->realisation == STRAIT_EMU_RELAY && loses(plan)
            ? 1
            : strait_emu_net_packet_run_segments(
                  strait_emu_net_super_packet_bits_per_s(plan, index), plan->overhead_bytes);
    const struct strait_emu_device loopback = {0};
    const struct strait_emu_device device = {
        .mtu_bytes = strait_emu_net_plan_mtu_bytes(plan),
        .queue_packets = STRAIT_EMU_QUEUE_PACKETS,
        .gso_max_segments = segments,
        /* The limit in segments is what counts; this one leaves room for headers. */
        .gso_max_bytes = (uint32_t)fmin(65536, (segments + 1.0) * STRAIT_EMU_MTU_BYTES),
    };
    return strait_emu_netlink_device_up(node->netlink_fd, LO_INDEX, &loopback, err) != 0 ||
                   strait_emu_netlink_device_up(node->netlink_fd, node->device_index, &device,
                                                err) != 0 ||
                   strait_emu_netlink_address(node->netlink_fd, node->device_index,
                                              strait_emu_net_address(index), err) != 0
               ? -1
               : 0;
}

static int build_node(struct build *b, int index)
{
    struct strait_emu_net *net = b->net;
    struct strait_emu_node *node = &net->nodes[index];
    node->namespace_fd = strait_emu_namespace_new(&b->err);
    if (node->namespace_fd < 0)
        return -1;
    node->netlink_fd = strait_emu_netlink_open(&b->err);
    return node->netlink_fd < 0 || set_sysctls(b->plan, &b->err) != 0 ||
                   net->ops->add_node(net->state, node, index, &b->err) != 0 ||
                   configure(node, index, b->plan, &b->err) != 0 ||
                   net->ops->connect_node(net->state, node, index, &b->err) != 0
               ? -1
               : 0;
}

/* Runs in its own thread, since each new namespace replaces the thread's. */
static void *build_all(void *arg)
{
    struct build *b = arg;
    b->status = b->net->ops->begin(&b->net->state, b->plan, &b->err);
    for (int i = 0; i < b->plan->n_nodes && b->status == 0; i++)
        if (strait_emu_trunk_has(b->plan->trunk, i))
            b->status = build_node(b, i);
    return NULL;
}

/* Two descriptors a node here and one in the relay, plus others that are open. */
static int allow_descriptors(int n_nodes, struct strait_error *err)
{
    const rlim_t wanted = 3 * (rlim_t)n_nodes + 256;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return 0;
    if (limit.rlim_max < wanted)
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "%d nodes need %llu open files, this user may have %llu", n_nodes,
                                (unsigned long long)wanted, (unsigned long long)limit.rlim_max);
    limit.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0
               ? 0
               : strait_error_system(err, NULL, "cannot raise the limit of open files");
}

static struct strait_emu_net *net_new(const struct strait_emu_net_plan *plan)
{
    struct strait_emu_net *net = calloc(1, sizeof(*net));
    struct strait_emu_node *nodes = calloc((size_t)plan->n_nodes, sizeof(*nodes));
    if (!net || !nodes) {
        free(net);
        free(nodes);
        return NULL;
    }
    *net = (struct strait_emu_net){.owner = getpid(),
                                   .n_nodes = plan->n_nodes,
                                   .dilation = strait_emu_net_plan_dilation(plan),
                                   .nodes = nodes,
                                   .realisation = plan->realisation,
                                   .ops = realisations[plan->realisation]};
    for (int i = 0; i < plan->n_nodes; i++)
        nodes[i].namespace_fd = nodes[i].netlink_fd = -1;
    return net;
}

int strait_emu_net_up(struct strait_emu_net **out, const struct strait_emu_net_plan *plan,
                      struct strait_error *err)
{
    *out = NULL;
    if (strait_emu_net_plan_check(plan, err) != 0 || allow_descriptors(plan->n_nodes, err) != 0)
        return -1;
    struct build b = {.net = net_new(plan), .plan = plan};
    if (!b.net)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %d nodes",
                                plan->n_nodes);
    pthread_t builder;
    const int refused = pthread_create(&builder, NULL, build_all, &b);
    if (refused) {
        errno = refused;
        b.status = strait_error_system(&b.err, NULL, "cannot start a thread");
    } else {
        pthread_join(builder, NULL);
    }
    if (b.status == 0)
        b.status = b.net->ops->start(b.net->state, b.net->nodes, &b.err);
    if (b.status != 0) {
        strait_emu_net_free(b.net);
        if (err && err->code == STRAIT_OK)
            *err = b.err;
        return -1;
    }
    *out = b.net;
    return 0;
}

void strait_emu_net_free(struct strait_emu_net *net)
{
    if (!net)
        return;
    if (net->state && net->owner != getpid())
        net->ops->forget(net->state);
    if (net->state)
        net->ops->close(net->state);
    for (int i = 0; i < net->n_nodes; i++) {
        strait_emu_close_fd(&net->nodes[i].namespace_fd);
        strait_emu_close_fd(&net->nodes[i].netlink_fd);
    }
    free(net->nodes);
    free(net);
}

int strait_emu_net_n_nodes(const struct strait_emu_net *net)
{
    return net->n_nodes;
}

enum strait_emu_realisation strait_emu_net_realisation(const struct strait_emu_net *net)
{
    return net->realisation;
}

double strait_emu_net_dilation(const struct strait_emu_net *net)
{
    return net->dilation;
}

int strait_emu_net_namespace_fd(const struct strait_emu_net *net, int node)
{
    assert(node >= 0 && node < net->n_nodes);
    return net->nodes[node].namespace_fd;
}

int strait_emu_net_enter(struct strait_emu_net *net, int node, struct strait_error *err)
{
    if (setns(strait_emu_net_namespace_fd(net, node), CLONE_NEWNET) != 0)
        return strait_error_system(err, NULL, "cannot enter the namespace of node %d", node);
    if (net->owner == getpid())
        return 0;
    net->ops->forget(net->state);
    for (int i = 0; i < net->n_nodes; i++)
        if (i != node) {
            strait_emu_close_fd(&net->nodes[i].namespace_fd);
            strait_emu_close_fd(&net->nodes[i].netlink_fd);
        }
    return 0;
}

int strait_emu_net_counters(struct strait_emu_counters *out, struct strait_emu_net *net, int node,
                            struct strait_error *err)
{
    assert(node >= 0 && node < net->n_nodes);
    if (net->nodes[node].netlink_fd < 0)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "node %d is on another host", node);
    return strait_emu_netlink_counters(out, net->nodes[node].netlink_fd,
                                       net->nodes[node].device_index, err);
}

int strait_emu_net_report(struct strait_emu_relay_report *out, struct strait_emu_net *net,
                          bool restart, struct strait_error *err)
{
    return net->ops->report(out, net->state, net->nodes, restart, err);
}
