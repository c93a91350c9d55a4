/* The run that measures what the network costs: what its ranks send, on the fluid backend, and how
 * fast its ports are. */
#include "emu/judge/net_cpu.h"
#include <math.h>
#include "emu/links/net_plan.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N = 3, MESSAGE_BYTES = 262144, BYTES, MESSAGES, LAST_S, ENDED_S, ODD };

static void listen_or_pour(struct strait_rank *r)
{
    struct strait_message m;
    double n_bytes = 0, n_messages = 0, n_odd = 0, last_s = 0;
    if (r->me > 0) {
        strait_emu_net_cpu_pour(r);
        strait_note(r, ENDED_S, r->backend->ops->now_s(r));
        return;
    }
    strait_emu_net_cpu_pour(r); /* does nothing */
    strait_note(r, ENDED_S, r->backend->ops->now_s(r));
    while (r->backend->ops->recv(r, &m, STRAIT_ANY, 0, 1)) {
        n_bytes += (double)m.packet->payload_bytes;
        n_messages++;
        last_s = m.arrived_s;
        n_odd += (m.packet->data != NULL) != r->run->real_payload || m.tag != 0;
        for (size_t i = 0; m.packet->data && i < m.packet->payload_bytes; i++)
            n_odd += m.packet->data[i] != 0;
        strait_packet_drop(m.packet);
    }
    strait_note(r, BYTES, n_bytes);
    strait_note(r, MESSAGES, n_messages);
    strait_note(r, LAST_S, last_s);
    strait_note(r, ODD, n_odd);
}

/* Two clients fill the first rank's port for 0.3 s and what was under way then: all that comes,
 * comes at its rate but for the first round trips. A message is acknowledged before another one
 * follows it, two of each client under way. */
static void pours(void)
{
    for (int real = 0; real < 2; real++) {
        struct strait_rig rig;
        strait_rig_init(&rig, N, strait_rig_link(4e8, 1e-5), listen_or_pour);
        rig.run.real_payload = real;
        strait_rig_run(&rig, &strait_fluid);
        strait_test_context("real %d: %s", real, rig.err.text);
        CU_ASSERT_EQUAL(rig.rc, 0);
        const double n = strait_noted(&rig, 0, MESSAGES, 0);
        const double wire_s = 8. * MESSAGE_BYTES * 1514 / 1448 / 4e8; /* of one message */
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, BYTES, 0), n * MESSAGE_BYTES);
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, ODD, 0), 0);
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, ENDED_S, 0), 0);
        for (int i = 1; i < N; i++) { /* ends when the two that began last have come, of each */
            CU_ASSERT_AT_LEAST(strait_noted(&rig, i, ENDED_S, 0), 0.3);
            CU_ASSERT_AT_MOST(strait_noted(&rig, i, ENDED_S, 0), 0.3 + 6 * wire_s);
        }
        const double last_s = strait_noted(&rig, 0, LAST_S, 0);
        CU_ASSERT_AT_LEAST(last_s, 0.3 + wire_s);
        CU_ASSERT_DOUBLE_EQUAL(n * wire_s, last_s, 2 * wire_s);
        strait_rig_release(&rig);
    }
}

/* A train lasts 1.2 / 1024 s at the share of the first rank's port, two segments at least; a port
 * passes one in a run of the relay. */
static void short_trains(void)
{
    static const struct {
        int n;
        double in0, out1, overhead_bytes, rate;
    } cases[] = {
        {3, 1e9, INFINITY, 24, 5e8 * (1.2 / 1024) / STRAIT_EMU_PACKET_RUN_S},
        {3, 1e9, 1e8, 24, 1e8},
        {11, 1e9, INFINITY, 24, 1e8 * (1.2 / 1024) / STRAIT_EMU_PACKET_RUN_S},
        {11, 1e8, INFINITY, 24, 16 * (1500 + 14 + 24) / STRAIT_EMU_PACKET_RUN_S},
        {11, 1e8, INFINITY, 0, 16 * (1500 + 14) / STRAIT_EMU_PACKET_RUN_S},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct strait_link wide = {
            .rate_bits_per_s = INFINITY, .delay_s = 0.1, .jitter_s = 0.01, .queue_bytes = 1000};
        struct strait_network *n = strait_network_star(cases[i].n, wide, wide, wide, wide,
                                                       cases[i].overhead_bytes, strait_rig_tcp());
        CU_ASSERT_PTR_NOT_NULL_FATAL(n);
        n->in[0].rate_bits_per_s = cases[i].in0;
        n->out[1].rate_bits_per_s = cases[i].out1;
        n->in[cases[i].n - 1].loss_ratio = i == 1 ? 0.25 : 0;
        n->out[0].loss_ratio = i == 2 ? 0.125 : 0.0625;
        const struct strait_run like = {.n_ranks = cases[i].n, .network = n};
        struct strait_network *found = strait_emu_net_cpu_network(&like);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        CU_ASSERT_EQUAL(found->n_ranks, cases[i].n);
        CU_ASSERT_EQUAL(found->overhead_bytes, cases[i].overhead_bytes);
        CU_ASSERT_EQUAL(found->tcp.window_bytes, n->tcp.window_bytes);
        for (int k = 0; k < 2 * cases[i].n; k++) {
            const struct strait_link *l =
                k < cases[i].n ? &found->out[k] : &found->in[k - cases[i].n];
            strait_test_context("case %zu, link %d", i, k);
            CU_ASSERT_DOUBLE_EQUAL(l->rate_bits_per_s, cases[i].rate, 1e-6 * cases[i].rate);
            CU_ASSERT_EQUAL(l->loss_ratio, i == 1 ? 0.25 : i == 2 ? 0.125 : 0.0625);
            CU_ASSERT(l->delay_s == 0 && l->jitter_s == 0 && isinf(l->queue_bytes));
        }
        strait_network_free(found);
        strait_network_free(n);
    }
}

static const struct strait_test tests[] = {
    {"the clients fill the first rank's port, two messages each under way", pours},
    {"its ports have the rate that makes trains as short", short_trains},
};
STRAIT_SUITE("emu/judge/net_cpu", tests);
