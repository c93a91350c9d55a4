#include "report.h"

#include <math.h>
#include "prepare.h"
#include "emu/process/transport.h"

enum { KERNEL_SEGMENT_BYTES = 1448, KERNEL_WINDOW_SEGMENTS = 10 };

static json_t *number(double value) /* JSON has no infinity */
{
    return isinf(value) ? json_string("unlimited") : json_real(value);
}

static int constants_of(json_t *to, const struct strait_network *n)
{
    const struct {
        const char *name;
        json_t *value;
        const char *source;
    } all[] = {
        {"segment_bytes", number(KERNEL_SEGMENT_BYTES), "this kernel: MTU 1500, time stamps"},
        {"overhead_bytes", number(n->overhead_bytes), "the experiment"},
        {"frame_bytes", number(STRAIT_PROC_FRAME_BYTES), "own: codecs/frame.h"},
        {"connections", json_integer(strait_tcp_n_connections(&n->tcp)),
         "the experiment: each carries an equal part of every message, behind a frame of its own"},
        {"initial_window_bytes", number(KERNEL_WINDOW_SEGMENTS * KERNEL_SEGMENT_BYTES),
         "this kernel: RFC 6928, 10 segments"},
        {"window_bytes", number(n->tcp.window_bytes), "the experiment: TCP_WINDOW_CLAMP"},
        {"pacing_ratio", number(STRAIT_EMU_PACING_RATIO),
         "own: messages are handed to TCP at this times the rate of a stream's narrowest link"},
        {"rto_min_s", number(n->tcp.rto_min_s), "the experiment: rto_min of the routes"},
        {"slow_start_after_idle",
         json_boolean(n->tcp.slow_start_after_idle && n->tcp.congestion != STRAIT_BBR),
         "the experiment: net.ipv4.tcp_slow_start_after_idle; BBR keeps its window"},
        {"congestion", json_string(strait_congestion_name(n->tcp.congestion)),
         "the experiment: TCP_CONGESTION of each socket"},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        failed |= json_object_set_new(
            to, all[i].name,
            json_pack("{s:o, s:s}", "value", all[i].value, "source", all[i].source));
    if (n->tcp.congestion == STRAIT_CUBIC)
        failed |= json_object_set_new(to, "hystart",
                                      json_pack("{s:b, s:s}", "value", strait_emu_hystart_is_on(),
                                                "source", "this kernel: tcp_cubic's parameter"));
    return failed;
}

static json_t *probes_of(const struct strait_emu_evidence *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->n_probes; i++)
        json_array_append_new(list, json_pack("{s:i, s:i, s:f, s:f}", "from", e->probes[i].from,
                                              "to", e->probes[i].to, "rtt_s", e->probes[i].rtt_s,
                                              "expected_s", e->probes[i].expected_s));
    return list;
}

/* null if the kernel does not tell. */
static json_t *known(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *links_of(const struct strait_emu_relay_report *r)
{
    uint64_t queue_drops = 0, loss_drops = 0, backlog_bytes = 0;
    for (int i = 0; i < r->n_nodes; i++) {
        queue_drops += r->out[i].n_queue_drops + r->in[i].n_queue_drops;
        loss_drops += r->out[i].n_loss_drops + r->in[i].n_loss_drops;
        backlog_bytes += r->out[i].backlog_bytes + r->in[i].backlog_bytes;
    }
    for (int i = 0; i < r->n_between; i++) {
        queue_drops += r->between[i].n_queue_drops;
        loss_drops += r->between[i].n_loss_drops;
        backlog_bytes += r->between[i].backlog_bytes;
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:I, s:I}", "late_p50_s",
                     known(r->late_p50_s), "late_p99_s", known(r->late_p99_s), "late_p999_s",
                     known(r->late_p999_s), "late_max_s", known(r->late_max_s), "gap_max_s",
                     known(r->gap_max_s), "cpu_s", known(r->cpu_s), "realtime", r->realtime,
                     "n_delivered", (json_int_t)r->n_delivered, "n_queue_drops",
                     (json_int_t)queue_drops, "n_loss_drops", (json_int_t)loss_drops,
                     "backlog_bytes", (json_int_t)backlog_bytes);
}

/* Sums over the ranks, and each rank's own interface counters. */
static int ranks_of(json_t *to, const struct strait_emu_evidence *e)
{
    uint64_t retransmits = 0, sent = 0, measured = 0, slow = 0, checksum = 0;
    char checksum_text[17];
    double slip_sum = 0, slip_max = 0, lag_sum = 0, lag_max = 0, write_late_max = 0,
           read_late_max = 0, stall_max = 0, job_cpu = 0, net_cpu = 0, run_delay = 0;
    json_t *interfaces = json_array();
    for (int i = 0; i < e->run->n_ranks; i++) {
        const struct strait_emu_rank_shared *r = &e->shared->ranks[i];
        retransmits += r->n_retransmits;
        sent += r->bytes_sent;
        checksum += r->sent_checksum;
        measured += r->n_measured;
        slow += r->n_slow;
        job_cpu += r->job_cpu_s;
        run_delay += r->run_delay_s;
        net_cpu += fmax(0, r->cpu_s - r->job_cpu_s); /* codecs may run in a child */
        slip_sum = fmax(slip_sum, r->slip_sum_s);
        slip_max = fmax(slip_max, r->slip_max_s);
        lag_sum = fmax(lag_sum, r->state.lag_sum_s);
        lag_max = fmax(lag_max, r->state.lag_max_s);
        write_late_max = fmax(write_late_max, r->write_late_max_s);
        read_late_max = fmax(read_late_max, r->read_late_max_s);
        stall_max = fmax(stall_max, r->stall_max_s);
        if (e->before)
            json_array_append_new(
                interfaces,
                json_pack("{s:I, s:I, s:I, s:I}", "tx_bytes",
                          (json_int_t)(e->after[i].tx_bytes - e->before[i].tx_bytes), "rx_bytes",
                          (json_int_t)(e->after[i].rx_bytes - e->before[i].rx_bytes), "sent_bytes",
                          (json_int_t)r->bytes_sent, "received_bytes",
                          (json_int_t)r->bytes_received));
    }
    snprintf(checksum_text, sizeof(checksum_text), "%016llx", (unsigned long long)checksum);
    json_t *all = json_pack(
        "{s:I, s:I, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "tcp_retransmits",
        (json_int_t)retransmits, "sent_bytes", (json_int_t)sent, "sent_checksum", checksum_text,
        "n_measured_jobs", (json_int_t)measured, "n_slow_readings", (json_int_t)slow, "job_cpu_s",
        job_cpu, "slip_sum_s", slip_sum, "slip_max_s", slip_max, "lag_sum_s", lag_sum, "lag_max_s",
        lag_max, "write_late_max_s", write_late_max, "read_late_max_s", read_late_max,
        "stall_max_s", stall_max, "interfaces", interfaces);
    if (!isnan(e->relay_cpu_s))
        net_cpu += e->relay_cpu_s;
    const int failed =
        !all || json_object_update(to, all) != 0 ||
        json_object_set_new(to, "pressure_s", known(e->pressure_s)) != 0 ||
        json_object_set_new(to, "run_delay_s", json_real(run_delay)) != 0 ||
        json_object_set_new(to, "net_cpu_s", json_real(net_cpu)) != 0 ||
        json_object_set_new(to, "net_cpu_s_per_gbit",
                            known(sent > 0 ? net_cpu / (8e-9 * (double)sent) : NAN)) != 0;
    json_decref(all);
    return failed;
}

static const char *net_cpu_source(const struct strait_emu_dilation *dilation)
{
    if (strait_emu_in_virtual_time())
        return "not needed in virtual time";
    return dilation->net_cpu_measured ? "measured before the run" : "built in";
}

int strait_emu_report(struct strait_facts *facts, const struct strait_emu_evidence *e,
                      const struct strait_emu_dilation *dilation, const char *launcher,
                      struct strait_error *err)
{
    const char *realisation = strait_emu_realisation_name(e->realisation);
    json_t *head = json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:{s:f, s:s}, s:i, s:f, s:f, s:s, s:o}", "realisation",
        e->shaped ? realisation : "none", "launcher", launcher, "dilation", dilation->k,
        "dilation_cpu", dilation->k_cpu, "dilation_net", dilation->k_net, "net_cpu_estimate",
        "s_per_gbit", dilation->net_cpu_s, "source", net_cpu_source(dilation), "n_compute",
        (int)dilation->n_compute, "wall_s", e->wall_s, "run_s", e->run_s, "congestion",
        strait_congestion_name(e->run->network->tcp.congestion), "probes", probes_of(e));
    int failed = !head || json_object_update(facts->report, head) != 0;
    json_decref(head);
    failed = failed || ranks_of(facts->report, e) != 0 ||
             constants_of(facts->constants, e->run->network) != 0;
    if (e->before)
        failed =
            failed || json_object_set_new(facts->report, realisation, links_of(&e->relay)) != 0 ||
            json_object_set_new(facts->report, "credit_s", json_real(e->shared->credit_s)) != 0;
    if (failed)
        return strait_error_memory(err, NULL);
    return strait_emu_validity(facts->invalid, facts->flags, e, err);
}
