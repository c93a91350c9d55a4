#include "net.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "net_plan.h"
#include "netlink.h"
#include "relay_process.h"
#include "segment.h"
#include "tun.h"

enum {
    LO_INDEX = 1,
    /* A sender's burst waits here until the relay has read it; a full ring would drop silently. */
    QUEUE_PACKETS = 200000,
    /* The largest automatic buffers of Linux, kept where the plan needs less. */
    READ_BUFFER_BYTES = 6291456,
    WRITE_BUFFER_BYTES = 4194304
};
static const uint32_t NETWORK = 0x0a000000U; /* 10.0.0.0/8, host byte order */

struct node {
    int namespace_fd, netlink_fd, device_index;
};

struct strait_emu_net {
    pid_t owner;
    int n_nodes;
    double dilation;
    struct node *nodes;
    struct strait_emu_relay_process relay;
};

struct build {
    struct strait_emu_net *net;
    const struct strait_emu_net_plan *plan;
    int *tun_fds;
    struct strait_error err;
    int status;
};

uint32_t strait_emu_net_address(int node)
{
    return htonl(NETWORK + (uint32_t)node + 1);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Write a sysctl of the calling thread's namespace. */
static int set_sysctl(const char *name, const char *value, struct strait_error *err)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return strait_error_system(err, path, "cannot set it to \"%s\"", value);
    const ssize_t n = write(fd, value, strlen(value));
    const int saved = errno;
    close(fd);
    errno = saved;
    return n < 0 ? strait_error_system(err, path, "cannot set it to \"%s\"", value) : 0;
}

/* Full size from the first byte: autotuning from the kernel's 16 and 128 KB costs slow start a
 * round trip here and there, which a tuned host does not pay and the plan does not say. */
static int set_buffer(const char *name, double largest_bytes, struct strait_error *err)
{
    const double bytes = fmin(largest_bytes, 2147483647.0);
    char text[64];
    snprintf(text, sizeof(text), "4096 %.0f %.0f", bytes, bytes);
    return set_sysctl(name, text, err);
}

static int set_sysctls(const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    /* A kernel without IPv6 has nothing to switch off. */
    if (access("/proc/sys/net/ipv6", F_OK) == 0 &&
        (set_sysctl("ipv6/conf/all/disable_ipv6", "1", err) != 0 ||
         set_sysctl("ipv6/conf/default/disable_ipv6", "1", err) != 0))
        return -1;
    /* The buffer counts what memory a packet takes, not its payload: down to a half or a third of
     * it is window (tcp_adv_win_scale, since Linux 6.6 a measured ratio). */
    const double buffer_bytes = 4 * plan->window_bytes;
    if (set_buffer("ipv4/tcp_rmem", fmax(buffer_bytes, READ_BUFFER_BYTES), err) != 0 ||
        set_buffer("ipv4/tcp_wmem", fmax(buffer_bytes, WRITE_BUFFER_BYTES), err) != 0)
        return -1;
    if (set_sysctl("ipv4/tcp_no_metrics_save", "1", err) != 0)
        return -1;
    return set_sysctl("ipv4/tcp_slow_start_after_idle", plan->slow_start_after_idle ? "1" : "0",
                      err);
}

static int configure(struct node *node, int index, const struct strait_emu_net_plan *plan,
                     struct strait_error *err)
{
    const double rto_min_s = plan->rto_min_s > 0 ? plan->rto_min_s : 0.2;
    const double k = strait_emu_net_plan_dilation(plan);
    const double rate_bits_per_s = plan->out[index].rate_bits_per_s;
    const unsigned train =
        plan->unshaped ? 0 : strait_emu_net_train_segments(rate_bits_per_s, plan->overhead_bytes);
    const struct strait_emu_device loopback = {0};
    const struct strait_emu_device device = {
        .mtu_bytes = STRAIT_EMU_MTU_BYTES,
        .queue_packets = QUEUE_PACKETS,
        .gso_max_segments = train,
        /* The limit in segments is the one meant; this one leaves room for headers. */
        .gso_max_bytes = train ? (uint32_t)fmin(65536, (train + 1.0) * STRAIT_EMU_MTU_BYTES) : 0,
    };
    const uint32_t address = strait_emu_net_address(index);
    if (strait_emu_netlink_device_up(node->netlink_fd, LO_INDEX, &loopback, err) != 0 ||
        strait_emu_netlink_device_up(node->netlink_fd, node->device_index, &device, err) != 0 ||
        strait_emu_netlink_address(node->netlink_fd, node->device_index, address, err) != 0)
        return -1;
    return strait_emu_netlink_route(node->netlink_fd, node->device_index, htonl(NETWORK), 8,
                                    address, (uint32_t)fmax(1, round(1000 * k * rto_min_s)), err);
}

static int build_node(struct build *b, int index)
{
    struct node *node = &b->net->nodes[index];
    const char *tun_path = b->plan->tun_path ? b->plan->tun_path : "/dev/net/tun";
    if (unshare(CLONE_NEWNET) != 0) {
        const int saved = errno;
        b->err.saved_errno = saved;
        return strait_error_set(&b->err, STRAIT_ERR_HOST, NULL,
                                "cannot make a network namespace: %s", strerror(saved));
    }
    node->namespace_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (node->namespace_fd < 0)
        return strait_error_system(&b->err, "/proc/thread-self/ns/net", "cannot open it");
    node->netlink_fd = strait_emu_netlink_open(&b->err);
    if (node->netlink_fd < 0 || set_sysctls(b->plan, &b->err) != 0)
        return -1;
    b->tun_fds[index] =
        strait_emu_tun_open(&node->device_index, tun_path, STRAIT_EMU_DEVICE, &b->err);
    return b->tun_fds[index] < 0 ? -1 : configure(node, index, b->plan, &b->err);
}

/* In a thread of its own, because each new namespace replaces the thread's. */
static void *build_all(void *arg)
{
    struct build *b = arg;
    for (int i = 0; i < b->plan->n_nodes && b->status == 0; i++)
        b->status = build_node(b, i);
    return NULL;
}

/* Two descriptors a node here and one in the relay, beside what else is open. */
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
    struct node *nodes = calloc((size_t)plan->n_nodes, sizeof(*nodes));
    if (!net || !nodes) {
        free(net);
        free(nodes);
        return NULL;
    }
    *net = (struct strait_emu_net){.owner = getpid(),
                                   .n_nodes = plan->n_nodes,
                                   .dilation = strait_emu_net_plan_dilation(plan),
                                   .nodes = nodes,
                                   .relay = {.pidfd = -1, .control_fd = -1}};
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
    struct build b = {.net = net_new(plan),
                      .plan = plan,
                      .tun_fds = calloc((unsigned)plan->n_nodes, sizeof(int))};
    if (!b.net || !b.tun_fds) {
        strait_emu_net_free(b.net);
        free(b.tun_fds);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for %d nodes",
                                plan->n_nodes);
    }
    for (int i = 0; i < plan->n_nodes; i++)
        b.tun_fds[i] = -1;
    pthread_t builder;
    const int refused = pthread_create(&builder, NULL, build_all, &b);
    if (refused) {
        errno = refused;
        b.status = strait_error_system(&b.err, NULL, "cannot start a thread");
    } else {
        pthread_join(builder, NULL);
    }
    if (b.status == 0)
        b.status = strait_emu_relay_start(&b.net->relay, plan, b.tun_fds, &b.err);
    for (int i = 0; i < plan->n_nodes; i++)
        close_fd(&b.tun_fds[i]);
    free(b.tun_fds);
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
    if (net->owner == getpid())
        strait_emu_relay_stop(&net->relay);
    else
        strait_emu_relay_forget(&net->relay);
    for (int i = 0; i < net->n_nodes; i++) {
        close_fd(&net->nodes[i].namespace_fd);
        close_fd(&net->nodes[i].netlink_fd);
    }
    free(net->nodes);
    free(net);
}

int strait_emu_net_n_nodes(const struct strait_emu_net *net)
{
    return net->n_nodes;
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
    strait_emu_relay_forget(&net->relay);
    for (int i = 0; i < net->n_nodes; i++)
        if (i != node) {
            close_fd(&net->nodes[i].namespace_fd);
            close_fd(&net->nodes[i].netlink_fd);
        }
    return 0;
}

int strait_emu_net_counters(struct strait_emu_counters *out, struct strait_emu_net *net, int node,
                            struct strait_error *err)
{
    assert(node >= 0 && node < net->n_nodes);
    return strait_emu_netlink_counters(out, net->nodes[node].netlink_fd,
                                       net->nodes[node].device_index, err);
}

int strait_emu_net_report(struct strait_emu_relay_report *out, struct strait_emu_net *net,
                          bool restart, struct strait_error *err)
{
    return strait_emu_relay_ask(out, &net->relay, restart, err);
}
