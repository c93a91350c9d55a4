#include "facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codecs/frame.h"
#include "core/host.h"
#include "loss_formula.h"
#include "workloads/ask/packet_effects.h"

static int check_link(const struct strait_link *l, const char *way, const char *what, int index,
                      struct strait_error *err)
{
    if (!(l->rate_bits_per_s > 0) || isinf(l->rate_bits_per_s))
        return strait_refuse(err, NULL, "expected a finite rate above 0 %s %s %d, found %g bits/s",
                             way, what, index, l->rate_bits_per_s);
    if (!(l->delay_s >= 0) || isinf(l->delay_s))
        return strait_refuse(err, NULL, "expected a delay of at least 0 %s %s %d, found %g s", way,
                             what, index, l->delay_s);
    return 0;
}

static int check_network(const struct strait_run *run, struct strait_error *err)
{
    const struct strait_network *n = run->network;
    if (!n || n->n_ranks != run->n_ranks)
        return strait_refuse(err, NULL, "expected a network of %d ranks, found one of %d",
                             run->n_ranks, n ? n->n_ranks : 0);
    const int n_ports = 2 * (n->n_ranks + n->n_sites);
    for (int i = 0; i < n_ports; i++)
        if (check_link(strait_network_link(n, i), i % 2 == 0 ? "from" : "to",
                       i / 2 < n->n_ranks ? "rank" : "site",
                       i / 2 < n->n_ranks ? i / 2 : i / 2 - n->n_ranks, err) != 0)
            return -1;
    if (!(n->tcp.initial_window_bytes >= 1) || !(n->tcp.window_bytes >= 1) ||
        !(n->tcp.segment_bytes >= 1))
        return strait_refuse(
            err, NULL, "expected TCP windows and segments of at least 1 B, found %g, %g and %g",
            n->tcp.initial_window_bytes, n->tcp.window_bytes, n->tcp.segment_bytes);
    return 0;
}

int strait_sim_check(const struct strait_run *run, const char *backend, int max_ranks,
                     struct strait_error *err)
{
    if (run->n_ranks < 1 || run->n_ranks > max_ranks)
        return strait_refuse(err, backend, "expected 1 to %d ranks, found %d", max_ranks,
                             run->n_ranks);
    if (run->measured_cost)
        return strait_refuse(
            err, backend,
            "cannot measure what a job costs: expected costs from a profile or a trace");
    if (run->control && strcmp(run->control, "no-ramp") != 0 &&
        strcmp(run->control, "no-codec-cost") != 0) /* the latter is in the jobs' costs */
        return strait_refuse(err, backend,
                             "expected the control \"no-ramp\" or \"no-codec-cost\", found \"%s\"",
                             run->control);
    if (check_network(run, err) != 0)
        return -1;
    const double free_bytes = strait_host_memory_bytes("MemAvailable");
    if (run->real_payload && run->memory_bytes > free_bytes)
        return strait_error_set(err, STRAIT_ERR_HOST, backend,
                                "the ranks would hold %.3g GB, this machine has %.3g GB free",
                                run->memory_bytes / 1e9, free_bytes / 1e9);
    return 0;
}

int strait_sim_run(struct strait_run *run, bool here, void (*simulate)(struct strait_child *child),
                   struct strait_error *err)
{
    const struct strait_network *const asked = run->network;
    struct strait_network *slowed = NULL;
    if (asked->detail == STRAIT_DETAIL_FORMULA) {
        if (!(slowed = strait_network_at_rate(asked, 1)))
            return strait_error_memory(err, "simulation");
        strait_network_slow_by_losses(slowed);
        run->network = slowed;
    }
    const int failed = (here ? strait_child_run_here : strait_child_run)(run, simulate, err);
    run->network = asked;
    strait_network_free(slowed);
    return failed;
}

int strait_sim_constant(struct strait_run *run, const char *name, json_t *value, const char *source,
                        struct strait_error *err)
{
    json_t *entry = json_pack("{s:o, s:s}", "value", value, "source", source);
    if (!entry || json_object_set_new(run->facts->constants, name, entry) != 0)
        return strait_error_memory(err, NULL);
    return 0;
}

static json_t *number(double value) /* null for infinity, which JSON lacks */
{
    return isinf(value) ? json_string("unlimited") : json_real(value);
}

int strait_sim_facts(struct strait_run *run, struct strait_error *err)
{
    if (!run->facts)
        return 0;
    const struct strait_network *n = run->network;
    const bool packets = strait_network_by_packets(n);
    const bool ramp = !run->control || strcmp(run->control, "no-ramp") != 0;
    const struct {
        const char *name;
        json_t *value;
        const char *source;
    } all[] = {
        {"segment_bytes", number(n->tcp.segment_bytes),
         "1500 B MTU - 20 B IP - 20 B TCP - 12 B time stamps (RFC 7323)"},
        {"header_bytes", number(14 + 20 + 32), "Ethernet 14, IP 20, TCP 20 with time stamps 12"},
        {"overhead_bytes", number(n->overhead_bytes),
         "the experiment; 24 on a wire: IEEE 802.3 preamble 8, check sum 4, gap 12"},
        {"frame_bytes", number(STRAIT_FRAME_BYTES), "own: codecs/frame.h"},
        {"connections", json_integer(strait_tcp_n_connections(&n->tcp)),
         "the experiment: each carries an equal part of every message, behind a frame of its own"},
        {"goodput_ratio",
         number(8 * strait_goodput_bytes_per_s(n, &n->out[0]) / n->out[0].rate_bits_per_s),
         "segment_bytes / (segment_bytes + header_bytes + overhead_bytes)"},
        {"initial_window_bytes", number(ramp ? n->tcp.initial_window_bytes : INFINITY),
         ramp ? "RFC 6928: 10 segments, of each connection" : "negative control: no ramp"},
        {"window_bytes",
         number(packets ? strait_network_packet_window_bytes(n) : n->tcp.window_bytes),
         "the experiment: largest receive window, of each connection"},
        {"rto_min_s", number(n->tcp.rto_min_s), "Linux include/net/tcp.h TCP_RTO_MIN"},
        {"slow_start_after_idle",
         json_boolean(n->tcp.slow_start_after_idle && n->tcp.congestion != STRAIT_BBR),
         "RFC 5681 section 4.1, Linux tcp_cwnd_restart; BBR keeps its window"},
        {"congestion", json_string(strait_congestion_name(n->tcp.congestion)), "the experiment"},
        {"sharing",
         json_string(packets   ? "packets"
                     : n->drag ? "weighted max-min"
                               : "max-min"),
         packets ? "each link carries packets as they come, TCP as Linux 6.1 has it (sim/packets)"
         : n->drag
             ? "links are shared by keyed weights of the ranks: long TCP flows of unequal luck"
             : "links are shared equally by the flows that want more: long TCP flows of equal "
               "RTT"},
        {"share_spread_ratio", number(n->share_spread),
         "the experiment: weights are uniform in 1 +- this, keyed by rank and seed"},
        {"message_latency", json_string("one path delay after the last byte has left"),
         "own: a stream pays the delay once, its messages follow each other without a gap"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strait_sim_constant(run, all[i].name, all[i].value, all[i].source, err) != 0)
            return -1;
    if (n->tcp.hystart && strait_sim_constant(run, "hystart", json_true(),
                                              "the experiment; Linux 6.1 tcp_cubic.c", err) != 0)
        return -1;
    json_t *effects = strait_packet_effects(n);
    json_object_update(run->facts->report, effects);
    json_decref(effects);
    return 0;
}
