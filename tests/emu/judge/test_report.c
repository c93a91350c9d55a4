/* The figures that an emulated run gives of itself: what is summed, what is the largest. */
#include "emu/judge/report.h"

#include <math.h>
#include <string.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

/* Two ranks whose figures are all different, so that a wrong one shows. */
struct story {
    struct world w;
    struct strait_emu_shared *shared;
    struct strait_emu_link_report out[2], in[2], between[1];
    struct strait_emu_counters counters[4];
    struct strait_emu_evidence e;
    struct strait_emu_dilation dilation;
};

static void begin(struct story *s)
{
    memset(s, 0, sizeof(*s));
    world_init(&s->w, 2, 1e9, 0.04);
    s->shared = strait_emu_shared_new(&s->w.run, 4, 1, NULL);
    CU_ASSERT_FATAL(s->shared != NULL);
    struct strait_emu_rank_shared *a = &s->shared->ranks[0], *b = &s->shared->ranks[1];
    a->bytes_sent = 1e8, b->bytes_sent = 1.5e8; /* 2 Gbit in all */
    a->bytes_received = 30, b->bytes_received = 40;
    a->n_retransmits = 3, b->n_retransmits = 4;
    a->n_measured = 10, b->n_measured = 20;
    a->n_slow = 1, b->n_slow = 2;
    a->sent_checksum = 0xab, b->sent_checksum = 0x100;
    a->cpu_s = 5, a->job_cpu_s = 3, a->run_delay_s = 0.25;
    b->cpu_s = 1, b->job_cpu_s = 2, b->run_delay_s = 0.5; /* a codec's child: not negative */
    a->slip_sum_s = 0.001, b->slip_sum_s = 0.002;
    a->slip_max_s = 0.0005, b->slip_max_s = 0.0004;
    a->state.lag_sum_s = 0.003, b->state.lag_sum_s = 0.001;
    a->state.lag_max_s = 0.0001, b->state.lag_max_s = 0.0002;
    a->write_late_max_s = 0.006, b->write_late_max_s = 0.005;
    a->read_late_max_s = 0.007, b->read_late_max_s = 0.008;
    for (int i = 0; i < 4; i++)
        s->counters[i] = (struct strait_emu_counters){.tx_bytes = 1000, .rx_bytes = 2000};
    s->counters[2].tx_bytes += (uint64_t)2e8, s->counters[2].rx_bytes += 33;
    s->counters[3].tx_bytes += (uint64_t)3e8, s->counters[3].rx_bytes += 44;
    s->out[0] = (struct strait_emu_link_report){.n_loss_drops = 1, .backlog_bytes = 10};
    s->out[1] = (struct strait_emu_link_report){.n_loss_drops = 2, .backlog_bytes = 20};
    s->in[0] = (struct strait_emu_link_report){.n_loss_drops = 4, .backlog_bytes = 40};
    s->in[1] = (struct strait_emu_link_report){.n_queue_drops = 100, .backlog_bytes = 80};
    s->between[0] = (struct strait_emu_link_report){
        .n_queue_drops = 7, .n_loss_drops = 16, .backlog_bytes = 160};
    s->w.network->in[1].queue_bytes = 1e6; /* where drops are modelled */
    s->e = (struct strait_emu_evidence){.run = &s->w.run,
                                        .shared = s->shared,
                                        .shaped = true,
                                        .run_s = 10,
                                        .wall_s = 41,
                                        .dilation = 4,
                                        .relay_cpu_s = 6,
                                        .pressure_s = 0.75,
                                        .n_probes = 1,
                                        .before = s->counters,
                                        .after = s->counters + 2};
    s->e.probes[0] = (struct strait_emu_probe){0, 1, 0.0401, 0.04};
    s->e.relay = (struct strait_emu_relay_report){.n_nodes = 2,
                                                  .out = s->out,
                                                  .in = s->in,
                                                  .late_p50_s = 0.0001,
                                                  .late_p99_s = 0.0002,
                                                  .late_p999_s = 0.0003,
                                                  .late_max_s = 0.0004,
                                                  .cpu_s = 6,
                                                  .n_delivered = 1234};
    s->dilation = (struct strait_emu_dilation){
        .k = 4, .k_cpu = 2, .k_net = 3.5, .net_cpu_s = 0.22, .n_compute = 3};
}

static void tell(struct story *s)
{
    CU_ASSERT_EQUAL(strait_emu_report(&s->w.facts, &s->e, &s->dilation, "root", NULL), 0);
}

static void end(struct story *s)
{
    strait_emu_shared_free(s->shared);
    world_release(&s->w);
}

static double at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Processor time of the network: 5 - 3 of one rank, nothing of the other, 6 of the relay: 8 s for
 * 2 Gbit. */
static void sums(void)
{
    struct story s;
    begin(&s);
    tell(&s);
    const json_t *r = s.w.facts.report;
    CU_ASSERT_EQUAL(at(r, "sent_bytes"), 2.5e8);
    CU_ASSERT_EQUAL(at(r, "tcp_retransmits"), 7);
    CU_ASSERT_EQUAL(at(r, "n_measured_jobs"), 30);
    CU_ASSERT_EQUAL(at(r, "n_slow_readings"), 3);
    CU_ASSERT_EQUAL(at(r, "job_cpu_s"), 5);
    CU_ASSERT_EQUAL(at(r, "run_delay_s"), 0.75);
    CU_ASSERT_EQUAL(at(r, "net_cpu_s"), 8);
    CU_ASSERT_DOUBLE_EQUAL(at(r, "net_cpu_s_per_gbit"), 4, 1e-12);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "sent_checksum")),
                           "00000000000001ab");
    CU_ASSERT_EQUAL(at(r, "pressure_s"), 0.75);
    end(&s);
}

static void largest(void)
{
    struct story s;
    begin(&s);
    tell(&s);
    const json_t *r = s.w.facts.report;
    CU_ASSERT_EQUAL(at(r, "slip_sum_s"), 0.002);
    CU_ASSERT_EQUAL(at(r, "slip_max_s"), 0.0005);
    CU_ASSERT_EQUAL(at(r, "lag_sum_s"), 0.003);
    CU_ASSERT_EQUAL(at(r, "lag_max_s"), 0.0002);
    CU_ASSERT_EQUAL(at(r, "write_late_max_s"), 0.006);
    CU_ASSERT_EQUAL(at(r, "read_late_max_s"), 0.008);
    end(&s);
}

static void run_itself(void)
{
    struct story s;
    begin(&s);
    tell(&s);
    const json_t *r = s.w.facts.report, *net_cpu = json_object_get(r, "net_cpu_estimate");
    CU_ASSERT_EQUAL(at(r, "dilation"), 4);
    CU_ASSERT_EQUAL(at(r, "dilation_cpu"), 2);
    CU_ASSERT_EQUAL(at(r, "dilation_net"), 3.5);
    CU_ASSERT_EQUAL(at(r, "n_compute"), 3);
    CU_ASSERT_EQUAL(at(r, "wall_s"), 41);
    CU_ASSERT_EQUAL(at(r, "run_s"), 10);
    CU_ASSERT_EQUAL(at(net_cpu, "s_per_gbit"), 0.22);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(net_cpu, "source")), "built in");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "realisation")), "relay");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "launcher")), "root");
    const json_t *probe = json_array_get(json_object_get(r, "probes"), 0);
    CU_ASSERT_EQUAL(at(probe, "from"), 0);
    CU_ASSERT_EQUAL(at(probe, "to"), 1);
    CU_ASSERT_EQUAL(at(probe, "rtt_s"), 0.0401);
    CU_ASSERT_EQUAL(at(probe, "expected_s"), 0.04);
    s.dilation.net_cpu_measured = true;
    s.e.shaped = false;
    s.e.relay_cpu_s = NAN; /* the kernel's links cost nobody's processor time that is known */
    s.e.pressure_s = NAN;
    tell(&s);
    net_cpu = json_object_get(r, "net_cpu_estimate");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(net_cpu, "source")),
                           "measured before the run");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(r, "realisation")), "none");
    CU_ASSERT_EQUAL(at(r, "net_cpu_s"), 2);
    CU_ASSERT(json_is_null(json_object_get(r, "pressure_s")));
    end(&s);
}

/* Ports either way, and what lies between sites. */
static void links(void)
{
    struct story s;
    begin(&s);
    tell(&s);
    const json_t *l = json_object_get(s.w.facts.report, "relay");
    CU_ASSERT_EQUAL(at(l, "n_loss_drops"), 1 + 2 + 4);
    CU_ASSERT_EQUAL(at(l, "n_queue_drops"), 100);
    CU_ASSERT_EQUAL(at(l, "backlog_bytes"), 10 + 20 + 40 + 80);
    CU_ASSERT_EQUAL(at(l, "late_p50_s"), 0.0001);
    CU_ASSERT_EQUAL(at(l, "late_p99_s"), 0.0002);
    CU_ASSERT_EQUAL(at(l, "late_p999_s"), 0.0003);
    CU_ASSERT_EQUAL(at(l, "late_max_s"), 0.0004);
    CU_ASSERT_EQUAL(at(l, "cpu_s"), 6);
    CU_ASSERT_EQUAL(at(l, "n_delivered"), 1234);
    struct strait_link port = {.queue_bytes = 1e6};
    int site[2] = {0, 0};
    s.w.network->n_sites = 1; /* link 4 is the site's way out */
    s.w.network->site = site;
    s.w.network->site_out = s.w.network->site_in = &port;
    s.e.relay.between = s.between;
    s.e.relay.n_between = 1;
    s.e.relay.late_p50_s = NAN;
    tell(&s);
    l = json_object_get(s.w.facts.report, "relay");
    CU_ASSERT_EQUAL(at(l, "n_loss_drops"), 7 + 16);
    CU_ASSERT_EQUAL(at(l, "n_queue_drops"), 107);
    CU_ASSERT_EQUAL(at(l, "backlog_bytes"), 150 + 160);
    CU_ASSERT(json_is_null(json_object_get(l, "late_p50_s")));
    s.w.network->n_sites = 0;
    s.w.network->site = NULL;
    s.w.network->site_out = s.w.network->site_in = NULL;
    end(&s);
}

/* What counters said before the run is taken off. */
static void interfaces(void)
{
    struct story s;
    begin(&s);
    tell(&s);
    const json_t *list = json_object_get(s.w.facts.report, "interfaces");
    CU_ASSERT_EQUAL(json_array_size(list), 2);
    const json_t *a = json_array_get(list, 0), *b = json_array_get(list, 1);
    CU_ASSERT(at(a, "tx_bytes") == 2e8 && at(a, "rx_bytes") == 33);
    CU_ASSERT(at(b, "tx_bytes") == 3e8 && at(b, "rx_bytes") == 44);
    CU_ASSERT(at(a, "sent_bytes") == 1e8 && at(a, "received_bytes") == 30);
    CU_ASSERT(at(b, "sent_bytes") == 1.5e8 && at(b, "received_bytes") == 40);
    s.e.before = NULL; /* nobody counted */
    json_object_clear(s.w.facts.report);
    tell(&s);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(s.w.facts.report, "interfaces")), 0);
    CU_ASSERT_PTR_NULL(json_object_get(s.w.facts.report, "relay"));
    end(&s);
}

static const struct strait_test tests[] = {
    {"counts and processor time are summed over the ranks", sums},
    {"lateness is that of the latest rank", largest},
    {"dilation, times and probes are those of the run", run_itself},
    {"drops are summed over all links, with those between sites", links},
    {"interfaces have what they carried during the run", interfaces},
};
STRAIT_SUITE("emu/judge/report", tests);
