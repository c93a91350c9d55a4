#include "validity.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include "process/padded_slots.h"

static const double RTT_RATIO = 0.02, RTT_REAL_S = 0.0003;
/* Limits for padded jobs that end late: total a rank as a share of the run, and single. */
static const double SLIP_RATIO = 0.01, SLIP_ONCE_S = 0.005;
/* Limit for work outside jobs, which simulations do not charge. */
static const double LAG_RATIO = 0.05;
static const double LATE_S = 0.0005, LATE_RATIO = 0.01;

struct verdict {
    json_t *texts;
    const struct strait_emu_evidence *e;
    int failed;
};

static void say(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct verdict *v, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (json_array_append_new(v->texts, json_string(text)) != 0)
        v->failed = -1;
}

double strait_emu_largest_rtt_s(const struct strait_run *run,
                                const struct strait_emu_shared *shared)
{
    double rtt_s = 0;
    for (int i = 0; i < shared->n_streams; i++)
        rtt_s = fmax(
            rtt_s, strait_path_rtt_s(run->network, shared->streams[i].src, shared->streams[i].dst));
    return rtt_s;
}

double strait_emu_expected_ping_s(const struct strait_network *n, int from, int to)
{
    const double bits = 8 * (STRAIT_EMU_PING_FRAME_BYTES + n->overhead_bytes);
    double expected_s = strait_path_rtt_s(n, from, to);
    for (int way = 0; way < 2; way++) {
        int links[STRAIT_MAX_HOPS];
        const int n_hops = way == 0 ? strait_network_path(n, from, to, links)
                                    : strait_network_path(n, to, from, links);
        for (int i = 0; i < n_hops; i++)
            expected_s += bits / strait_link_bits_per_s(strait_network_link(n, links[i]),
                                                        0); /* before the run */
    }
    return expected_s;
}

bool strait_emu_probe_is_off(const struct strait_network *n, const struct strait_emu_probe *p,
                             double dilation)
{
    const double jitter_s =
        strait_path_jitter_s(n, p->from, p->to) + strait_path_jitter_s(n, p->to, p->from);
    return !(fabs(p->rtt_s - p->expected_s) <=
             RTT_RATIO * p->expected_s + RTT_REAL_S / dilation + jitter_s);
}

uint64_t strait_emu_softnet_drops(void)
{
    uint64_t sum = 0, dropped;
    char line[512];
    FILE *f = fopen("/proc/net/softnet_stat", "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof(line), f)) /* one line a processor, hexadecimal */
        if (sscanf(line, "%*x %" SCNx64, &dropped) == 1)
            sum += dropped;
    fclose(f);
    return sum;
}

double strait_emu_pressure_s(void)
{
    unsigned long long total_us;
    FILE *f = fopen("/proc/pressure/cpu", "re");
    if (!f)
        return NAN;
    const bool found = fscanf(f, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total_us) == 1;
    fclose(f);
    return found ? 1e-6 * (double)total_us : NAN;
}

static void check_shaping(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    if (!e->shaped)
        say(v, "the links were not shaped: control \"%s\"",
            e->run->control ? e->run->control : "?");
    for (int i = 0; i < e->n_probes; i++) {
        const struct strait_emu_probe *p = &e->probes[i];
        if (strait_emu_probe_is_off(e->run->network, p, e->dilation))
            say(v, "ping from rank %d to %d took %.3f ms, expected %.3f ms within 2 %% and %.3f ms",
                p->from, p->to, 1e3 * p->rtt_s, 1e3 * p->expected_s,
                1e3 * RTT_REAL_S / e->dilation);
    }
    if (e->relay.n_changed > 0)
        say(v, "the shaping of %d links was changed during the run, expected none: %s",
            e->relay.n_changed, e->relay.change);
    uint64_t n_too_fast = 0;
    const struct strait_emu_rank_shared *worst = NULL;
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        n_too_fast += r->n_too_fast;
        if (r->n_too_fast && !worst)
            worst = r;
    }
    if (worst)
        say(v,
            "%" PRIu64 " messages were faster than their links: %" PRIu64 " bytes in %.3f ms, "
            "at least %.3f ms expected",
            n_too_fast, worst->too_fast_bytes, 1e3 * worst->too_fast_took_s,
            1e3 * worst->too_fast_least_s);
}

static void check_slip(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    const double run_real_s = e->run_s * e->dilation;
    const double sum_limit_s = fmax(SLIP_RATIO * run_real_s, SLIP_ONCE_S);
    const double once_limit_s = SLIP_ONCE_S * e->dilation;
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        if (r->slip_sum_s > sum_limit_s || r->slip_max_s > once_limit_s) {
            say(v,
                "padded jobs of rank %d ended late: %.1f ms in all, %.1f ms at most once, "
                "limits %.1f and %.1f ms of real time (dilation %g)",
                i, 1e3 * r->slip_sum_s, 1e3 * r->slip_max_s, 1e3 * sum_limit_s, 1e3 * once_limit_s,
                e->dilation);
            break; /* the others have the same cause */
        }
    }
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        if (r->write_late_max_s > once_limit_s) {
            say(v,
                "rank %d began to send a message %.1f ms late, limit %.1f ms of real time "
                "(dilation %g)",
                i, 1e3 * r->write_late_max_s, 1e3 * once_limit_s, e->dilation);
            break;
        }
    }
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        const double limit_s = LAG_RATIO * run_real_s + 4 * once_limit_s;
        if (r->state.lag_sum_s > limit_s) {
            say(v, "rank %d spent %.1f ms outside of jobs, limit %.1f ms of real time", i,
                1e3 * r->state.lag_sum_s, 1e3 * limit_s);
            break;
        }
    }
}

/* What stands still for longer than a job may be late: the relay once, which the share of its late
 * packets does not show; a rank; a process that a signal stopped, however shortly. */
static void check_stalls(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    const struct strait_emu_relay_report *r = &e->relay;
    const double limit_s = SLIP_ONCE_S * e->dilation;
    const double still_s = fmax(r->late_max_s, r->gap_max_s); /* of NAN and a number: the number */
    if (e->before && still_s > limit_s)
        say(v, "%s stood still for %.1f ms, limit %.1f ms of real time (dilation %g)",
            e->realisation == STRAIT_EMU_RELAY ? "the relay" : "this machine", 1e3 * still_s,
            1e3 * limit_s, e->dilation);
    for (int i = 0; i < e->run->n_ranks; i++)
        if (e->shared->ranks[i].stall_max_s > limit_s) {
            say(v, "rank %d stood still for %.1f ms, limit %.1f ms of real time (dilation %g)", i,
                1e3 * e->shared->ranks[i].stall_max_s, 1e3 * limit_s, e->dilation);
            break;
        }
    if (e->n_stops > 0 && e->stopped_rank >= 0)
        say(v, "rank %d was stopped by a signal", e->stopped_rank);
    else if (e->n_stops > 0)
        say(v, "a process of the network was stopped by a signal");
}

/* The relay measures its own lateness, the sentinel the kernel's. */
static void check_relay(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    const struct strait_emu_relay_report *r = &e->relay;
    const bool is_relay = e->realisation == STRAIT_EMU_RELAY;
    const double limit_s =
        fmax(LATE_S, LATE_RATIO * e->dilation * strait_emu_largest_rtt_s(e->run, e->shared));
    if (r->late_p99_s > limit_s) /* NAN: unknown */
        say(v, "%s was late: p99 %.3f ms, limit %.3f ms of real time (dilation %g)",
            is_relay ? "the relay" : "this machine", 1e3 * r->late_p99_s, 1e3 * limit_s,
            e->dilation);
    if (!is_relay)
        return;
    if (r->n_write_failures + r->n_memory_drops > 0)
        say(v,
            "the relay lost packets on its own: %" PRIu64 " refused by devices, %" PRIu64
            " for lack of memory",
            r->n_write_failures, r->n_memory_drops);
}

static void check_queues(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    const struct strait_emu_relay_report *r = &e->relay;
    for (int i = 0; i < r->n_nodes; i++) {
        const struct strait_network *n = e->run->network;
        const bool out = r->out[i].n_queue_drops > 0 && isinf(n->out[i].queue_bytes);
        const bool in = r->in[i].n_queue_drops > 0 && isinf(n->in[i].queue_bytes);
        if (out || in)
            say(v, "%" PRIu64 " segments were dropped at a queue of rank %d that is not modelled",
                (out ? r->out : r->in)[i].n_queue_drops, i);
    }
    for (int i = 0; i < r->n_between; i++) {
        const struct strait_link *link = strait_network_link(e->run->network, 2 * r->n_nodes + i);
        if (r->between[i].n_queue_drops > 0 && isinf(link->queue_bytes))
            say(v,
                "%" PRIu64 " segments were dropped at a queue between sites that is not modelled",
                r->between[i].n_queue_drops);
    }
    if (e->softnet_drops > 0)
        say(v, "the kernel's backlog dropped %" PRIu64 " packets, expected none", e->softnet_drops);
}

static void check_counters(struct verdict *v)
{
    const struct strait_emu_evidence *e = v->e;
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_counters *b = &e->before[i], *a = &e->after[i];
        const uint64_t dropped = a->tx_dropped - b->tx_dropped + a->rx_dropped - b->rx_dropped;
        const uint64_t sent = a->tx_bytes - b->tx_bytes, received = a->rx_bytes - b->rx_bytes;
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        if (dropped > 0)
            say(v, "the interface of rank %d dropped %" PRIu64 " packets, expected none", i,
                dropped);
        /* a run that ends with rank 0 leaves bytes that kernels took but did not send; received
         * bytes prove enough */
        const bool cut_off = e->run->ends_with_rank_0;
        if ((sent < r->bytes_sent && !cut_off) || received < r->bytes_received)
            say(v,
                "the interface of rank %d carried %" PRIu64 " and %" PRIu64
                " bytes, expected at least %" PRIu64 " out and %" PRIu64 " in",
                i, sent, received, r->bytes_sent, r->bytes_received);
    }
}

/* A short reading of the same work is charged, so slow ones do not lengthen the result; but if all
 * are slow, that one may be too. */
static void flag_readings(struct verdict *v)
{
    uint64_t n = 0, n_slow = 0;
    for (int i = 0; i < v->e->run->n_ranks; i++) {
        n += v->e->shared->ranks[i].n_measured;
        n_slow += v->e->shared->ranks[i].n_slow;
    }
    if (n_slow > 0)
        say(v,
            "%" PRIu64 " of %" PRIu64 " readings of work were more than %.0f %% above what "
            "is charged for the same work",
            n_slow, n, 100 * (STRAIT_PROC_SLOW_RATIO - 1));
}

int strait_emu_validity(json_t *invalid, json_t *flags, const struct strait_emu_evidence *e,
                        struct strait_error *err)
{
    struct verdict v = {.texts = invalid, .e = e};
    check_shaping(&v);
    check_slip(&v);
    check_stalls(&v);
    if (e->before) {
        check_relay(&v);
        check_queues(&v);
        check_counters(&v);
    }
    v.texts = flags;
    flag_readings(&v);
    return v.failed ? strait_error_memory(err, NULL) : 0;
}
