/* A separate run without shapers and codecs, to measure the network's CPU cost. */
#include "net_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "emu/host/dilation.h"
#include "emu/links/net_plan.h"
#include "emu/links/segment.h"

enum { MESSAGE_BYTES = 262144, N_UNDER_WAY = 2 };
/* Start and end take about as long again. */
static const double POUR_S = 0.3, DEADLINE_S = 20;

/* Linux: a super-packet lasts 1 / 1024 s (sk_pacing_shift 10) at 1.2 times the rate of its flow
 * (tcp_pacing_ca_ratio), and has two segments at least (tcp_min_tso_segs). */
static const double AUTOSIZE_S = 1.2 / 1024;
enum { MIN_SEGMENTS = 2 };

static unsigned one_slot(const struct strait_run *run, int rank, enum strait_resource resource)
{
    (void)run;
    (void)rank;
    (void)resource;
    return 1;
}

static bool is_upload(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src != dst && dst == 0 && channel == 0;
}

static struct strait_op *send_again(struct strait_rank *r, struct strait_packet *p)
{
    return r->backend->ops->send(r, 0, 0, 0, strait_packet_keep(p), true);
}

/* Acknowledged messages tell a sender when it may send more. */
void strait_emu_net_cpu_pour(struct strait_rank *r)
{
    struct strait_op *ops[N_UNDER_WAY];
    if (r->me == 0) /* what nobody receives is read all the same */
        return;
    struct strait_packet *p = strait_packet_new(r->run->real_payload ? MESSAGE_BYTES : 0);
    if (!p) {
        struct strait_error err = {.code = STRAIT_OK};
        strait_error_memory(&err, NULL);
        r->backend->ops->fail(r, &err);
    }
    if (p->data)
        memset(p->data, 0, MESSAGE_BYTES);
    p->payload_bytes = MESSAGE_BYTES;
    for (int i = 0; i < N_UNDER_WAY; i++)
        ops[i] = send_again(r, p);
    for (int i = 0; r->backend->ops->now_s(r) < POUR_S; i = (i + 1) % N_UNDER_WAY) {
        r->backend->ops->wait(r, ops[i], NULL);
        ops[i] = send_again(r, p);
    }
    for (int i = 0; i < N_UNDER_WAY; i++)
        r->backend->ops->wait(r, ops[i], NULL);
    strait_packet_drop(p);
}

/* The cost of a gigabit depends on the number of packets, and Linux makes super-packets of a
 * thousandth of a second at the flow's rate (tcp_tso_autosize). These flows are unshaped, so their
 * trains are cut to what equal shares of the first rank's port would give, by ports of that
 * rate. */
struct strait_network *strait_emu_net_cpu_network(const struct strait_run *like)
{
    const struct strait_network *n = like->network;
    const double share = n->in[0].rate_bits_per_s / (like->n_ranks - 1);
    const double segment_bytes =
        STRAIT_EMU_MTU_BYTES + STRAIT_EMU_ETHERNET_BYTES + n->overhead_bytes;
    const double train_bits = fmax(share * AUTOSIZE_S, 8 * MIN_SEGMENTS * segment_bytes);
    struct strait_link port = {
        .rate_bits_per_s = fmin(n->out[1].rate_bits_per_s, train_bits / STRAIT_EMU_PACKET_RUN_S),
        .queue_bytes = INFINITY};
    for (int i = 0; i < like->n_ranks; i++)
        port.loss_ratio = fmax(port.loss_ratio, fmax(n->out[i].loss_ratio, n->in[i].loss_ratio));
    return strait_network_star(like->n_ranks, port, port, port, port, n->overhead_bytes, n->tcp);
}

int strait_emu_net_cpu_measure(double *s_per_gbit, const struct strait_run *like,
                               struct strait_error *err)
{
    if (strait_emu_in_uml() || strait_emu_in_qemu()) /* where processor time is not as elsewhere */
        return strait_error_set(err, STRAIT_ERR_HOST, NULL,
                                "a guest counts what the host runs beside it as its own");
    struct strait_facts facts = {.report = NULL};
    struct strait_log *logs = calloc((size_t)like->n_ranks, sizeof(*logs));
    struct strait_network *network = strait_emu_net_cpu_network(like);
    if (!logs || !network) {
        free(logs);
        strait_network_free(network);
        return strait_error_memory(err, NULL);
    }
    struct strait_run run = {.n_ranks = like->n_ranks,
                             .network = network,
                             .n_slots = one_slot,
                             .rank_main = strait_emu_net_cpu_pour,
                             .real_payload = like->real_payload,
                             .seed = like->seed,
                             .logs = logs,
                             .facts = &facts,
                             .control = "unshaped",
                             .dilation = 1,
                             .realisation = like->realisation,
                             .launcher = like->launcher,
                             .deadline_s = DEADLINE_S,
                             .uses_stream = is_upload};
    int failed = strait_facts_init(&facts, err) != 0 || strait_emu.run(&run, err) != 0;
    *s_per_gbit = json_number_value(json_object_get(facts.report, "net_cpu_s_per_gbit"));
    if (!failed && !(*s_per_gbit > 0))
        failed = strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                  "expected the ranks to send something in %g s", POUR_S) != 0;
    for (int i = 0; i < like->n_ranks; i++)
        strait_log_release(&logs[i]);
    free(logs);
    strait_network_free(network);
    strait_facts_release(&facts);
    return failed ? -1 : 0;
}
