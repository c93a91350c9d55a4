#include "net_plan.h"
#include <math.h>
#include <stdlib.h>
#include "segment.h"

unsigned strait_emu_net_packet_run_segments(double rate_bits_per_s, double overhead_bytes)
{
    const double each_bytes = STRAIT_EMU_MTU_BYTES + STRAIT_EMU_ETHERNET_BYTES + overhead_bytes;
    const double n = floor(STRAIT_EMU_PACKET_RUN_S * rate_bits_per_s / 8 / each_bytes);
    const unsigned max = 65535 / STRAIT_EMU_MTU_BYTES;
    return n < 1 ? 1 : n > max ? max : (unsigned)n;
}

static int check_link(const struct strait_link *link, const char *which, int node,
                      struct strait_error *err)
{
    const struct {
        const char *name;
        double value, max;
    } fields[] = {{"delay_s", link->delay_s, 1e6},
                  {"loss_ratio", link->loss_ratio, 1},
                  {"jitter_s", link->jitter_s, 1e6},
                  {"queue_bytes", link->queue_bytes, INFINITY}};
    if (!(link->rate_bits_per_s > 0))
        return strait_refuse(err, NULL,
                             "expected a rate above 0 for the %s link of node %d, found %g bps",
                             which, node, link->rate_bits_per_s);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (!(fields[i].value >= 0 && fields[i].value <= fields[i].max))
            return strait_refuse(err, NULL,
                                 "expected %s from 0 to %g for the %s link of node %d, found %g",
                                 fields[i].name, fields[i].max, which, node, fields[i].value);
    return 0;
}

int strait_emu_net_plan_check(const struct strait_emu_net_plan *plan, struct strait_error *err)
{
    const int max_nodes = 16384; /* two descriptors a node */
    if (plan->n_nodes < 1 || plan->n_nodes > max_nodes)
        return strait_refuse(err, NULL, "expected 1 to %d nodes in an emulated network, found %d",
                             max_nodes, plan->n_nodes);
    const struct {
        const char *name;
        double value, min, max;
    } fields[] = {{"overhead_bytes", plan->overhead_bytes, 0, 1e4},
                  {"dilation", plan->dilation ? plan->dilation : 1, 1, 1e4},
                  {"rto_min_s", plan->rto_min_s, 0, 100},
                  {"window_bytes", plan->window_bytes, 0, 1e9}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (!(fields[i].value >= fields[i].min && fields[i].value <= fields[i].max))
            return strait_refuse(err, NULL, "expected %s from %g to %g, found %g", fields[i].name,
                                 fields[i].min, fields[i].max, fields[i].value);
    if (plan->trunk && plan->sites)
        return strait_refuse(
            err, NULL,
            "expected a star on several hosts, found sites, whose links no host has for itself");
    for (int i = 0; i < plan->n_nodes; i++)
        if (check_link(&plan->out[i], "out", i, err) != 0 ||
            check_link(&plan->in[i], "in", i, err) != 0)
            return -1;
    return 0;
}

uint32_t strait_emu_net_plan_mtu_bytes(const struct strait_emu_net_plan *plan)
{
    return plan->trunk ? plan->trunk->mtu_bytes : STRAIT_EMU_MTU_BYTES;
}

double strait_emu_net_plan_dilation(const struct strait_emu_net_plan *plan)
{
    return plan->dilation ? plan->dilation : 1;
}

uint32_t strait_emu_net_plan_rto_min_ms(const struct strait_emu_net_plan *plan)
{
    const double rto_min_s = plan->rto_min_s > 0 ? plan->rto_min_s : 0.2;
    return (uint32_t)fmax(1, round(1000 * strait_emu_net_plan_dilation(plan) * rto_min_s));
}

void strait_emu_relay_report_release(struct strait_emu_relay_report *r)
{
    free(r->out);
    *r = (struct strait_emu_relay_report){0};
}

double strait_emu_net_super_packet_bits_per_s(const struct strait_emu_net_plan *plan, int index)
{
    double rate_bits_per_s = strait_link_least_bits_per_s(&plan->out[index]);
    if (isfinite(rate_bits_per_s))
        return rate_bits_per_s;
    rate_bits_per_s = 0;
    for (int i = 0; i < plan->n_nodes; i++)
        if (isfinite(plan->in[i].rate_bits_per_s))
            rate_bits_per_s = fmax(rate_bits_per_s, plan->in[i].rate_bits_per_s);
    return rate_bits_per_s > 0 ? rate_bits_per_s : INFINITY;
}
