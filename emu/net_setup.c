#include "net_setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "emu/links/qdisc.h"

enum { N_PINGS = 10, PING_TRIES = 3 };
/* A path's window is at least this multiple of its bandwidth-delay product, and at least this
 * size. */
static const double WINDOW_BDPS = 2.5, MIN_WINDOW_BYTES = 4194304;

double strait_emu_net_setup_window_bytes(const struct strait_network *n,
                                         const struct strait_emu_shared *s)
{
    double most = MIN_WINDOW_BYTES;
    if (isfinite(n->tcp.window_bytes))
        return n->tcp.window_bytes;
    for (int i = 0; i < s->n_streams; i++) {
        const int src = s->streams[i].src, dst = s->streams[i].dst;
        const double bits_per_s = strait_path_bits_per_s(n, src, dst);
        if (isfinite(bits_per_s))
            most = fmax(most, WINDOW_BDPS * bits_per_s / 8 * strait_path_rtt_s(n, src, dst));
    }
    return most;
}

int strait_emu_net_setup_build(struct strait_emu_net **out, const struct strait_run *run,
                               const struct strait_emu_shared *shared, double dilation,
                               const char *tun_path, enum strait_emu_realisation realisation,
                               const struct strait_emu_trunk *trunk, struct strait_error *err)
{
    const struct strait_network *n = run->network;
    const size_t n_nodes = (size_t)run->n_ranks;
    const size_t n_more = (size_t)strait_network_n_links(n) - 2 * n_nodes;
    struct strait_link *links = calloc(2 * n_nodes + n_more, sizeof(*links));
    if (!links)
        return strait_error_memory(err, NULL);
    memcpy(links, n->out, n_nodes * sizeof(*links));
    memcpy(links + n_nodes, n->in, n_nodes * sizeof(*links));
    for (size_t i = 2 * n_nodes; i < 2 * n_nodes + n_more; i++)
        links[i] = *strait_network_link(n, (int)i);
    const struct strait_emu_net_plan plan = {.n_nodes = run->n_ranks,
                                             .out = links,
                                             .in = links + n_nodes,
                                             .sites = n->n_sites > 0 ? n : NULL,
                                             .between = links + 2 * n_nodes,
                                             .overhead_bytes = n->overhead_bytes,
                                             .dilation = dilation,
                                             .rto_min_s = n->tcp.rto_min_s,
                                             .window_bytes =
                                                 strait_emu_net_setup_window_bytes(n, shared),
                                             .slow_start_after_idle = n->tcp.slow_start_after_idle,
                                             .realtime = true,
                                             .unshaped = run->control != NULL,
                                             .seed = run->seed,
                                             .tun_path = tun_path,
                                             .start_ns = &shared->start_ns,
                                             .realisation = realisation,
                                             .trunk = trunk};
    const int failed = strait_emu_net_up(out, &plan, err);
    free(links);
    return failed;
}

double strait_emu_net_setup_credit_s(const struct strait_run *run, double dilation,
                                     enum strait_emu_realisation realisation)
{
    const struct strait_network *n = run->network;
    const double late_s = strait_emu_qdisc_late_s();
    double max_s = 0;
    for (int i = 0; i < 2 * run->n_ranks && realisation == STRAIT_EMU_KERNEL; i++) {
        const struct strait_link *link = i < run->n_ranks ? &n->out[i] : &n->in[i - run->n_ranks];
        struct strait_emu_qdisc s; /* its frames take longest at the least rate */
        strait_emu_qdisc_of_step(&s, link, strait_link_least_bits_per_s(link), n->overhead_bytes,
                                 dilation, late_s);
        max_s = fmax(max_s, strait_emu_qdisc_credit_s(&s) / dilation);
    }
    return max_s;
}

static bool same_class(const struct strait_network *n, int a, int b)
{
    return strait_network_site(n, a) == strait_network_site(n, b) &&
           memcmp(&n->out[a], &n->out[b], sizeof(n->out[a])) == 0 &&
           memcmp(&n->in[a], &n->in[b], sizeof(n->in[a])) == 0;
}

/* The delays that the shapers of a path are told: an idle tbf adds no transmission time, netem
 * does. */
static double delay_s(const struct strait_network *n, int from, int to, double dilation)
{
    int links[STRAIT_MAX_HOPS];
    double sum_s = 0;
    for (int i = 0, n_hops = strait_network_path(n, from, to, links); i < n_hops; i++) {
        struct strait_emu_qdisc s;
        strait_emu_qdisc_of(&s, strait_network_link(n, links[i]), n->overhead_bytes, dilation,
                            strait_emu_qdisc_late_s());
        sum_s += 1e-9 * (double)s.delay_ns / dilation;
        if (s.netem_bytes_per_s > 0)
            sum_s += STRAIT_EMU_PING_FRAME_BYTES / (s.netem_bytes_per_s * dilation);
    }
    return sum_s;
}

static int probe(struct strait_emu_probe *p, struct strait_emu_net *net, int to,
                 const struct strait_network *n, double dilation, struct strait_error *err)
{
    p->from = 0;
    p->to = to;
    p->expected_s = strait_emu_net_realisation(net) == STRAIT_EMU_KERNEL
                        ? delay_s(n, 0, to, dilation) + delay_s(n, to, 0, dilation)
                        : strait_emu_expected_ping_s(n, 0, to);
    for (int i = 0; i < PING_TRIES; i++) { /* a wrong probe may be due to a busy machine */
        struct strait_error why = {0};     /* which may also lose a single answer */
        if (strait_emu_net_ping(&p->rtt_s, NULL, net, 0, to, N_PINGS, &why) != 0) {
            if (why.code == STRAIT_ERR_BACKEND && i + 1 < PING_TRIES)
                continue;
            *err = why;
            return -1;
        }
        if (!strait_emu_probe_is_off(n, p, dilation))
            break;
    }
    return 0;
}

int strait_emu_net_setup_probe(struct strait_emu_probe *probes, int *n, struct strait_emu_net *net,
                               const struct strait_run *run, double dilation,
                               struct strait_error *err)
{
    const struct strait_network *network = run->network;
    *n = 0;
    for (int i = 1; i < run->n_ranks && *n < STRAIT_EMU_MAX_PROBES; i++) {
        bool skip =
            strait_path_loss_ratio(network, 0, i) > 0 || strait_path_loss_ratio(network, i, 0) > 0;
        for (int j = 1; j < i && !skip; j++)
            skip = same_class(network, i, j);
        if (!skip && probe(&probes[(*n)++], net, i, network, dilation, err) != 0)
            return -1;
    }
    return 0;
}
