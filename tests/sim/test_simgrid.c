/* SimGrid under this backend against the closed forms: every completion time, not the last only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/heap.h"
#include "core/random.h"
#include "tests/kit/forms/oracle.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

#define DELAY_S 0.025                   /* one way; RTT 50 ms */
#define C       (1e9 / 8 * 1448 / 1514) /* payload bytes/s of 1 Gbps */
#define FRAME   96
enum { ARRIVED, NOW };

static void begin(struct strait_rig *rig, int n_ranks, void (*rank_main)(struct strait_rank *),
                  bool ramp)
{
    strait_rig_init(rig, n_ranks, strait_rig_link(1e9, DELAY_S / 2), rank_main);
    rig->run.control = ramp ? NULL : "no-ramp";
}

static void run(struct strait_rig *rig)
{
    strait_rig_run(rig, &strait_sim);
    CU_ASSERT_EQUAL_FATAL(rig->rc, 0);
}

/* The precision asked for: 1e-9, relative. */
static void near(double found_s, double expected_s)
{
    const bool ok = fabs(found_s - expected_s) <= 1e-9 * expected_s;
    CU_ASSERT(ok);
    if (!ok)
        printf("    expected %.15g s, found %.15g s\n", expected_s, found_s);
}

static const double sizes[] = {0, 1000, 1e6, 1e8};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void one_by_one(struct strait_rank *r)
{
    for (int i = 0; i < N_SIZES; i++) {
        strait_rig_sleep_until(r, 10 * i);
        if (r->me == 1)
            strait_rig_send(r, 0, 0, 0, (size_t)sizes[i]);
        else
            strait_note(r, ARRIVED, strait_rig_recv(r, 1, 0).arrived_s);
    }
}

static void single_flow(void)
{
    struct strait_rig rig;
    begin(&rig, 2, one_by_one, false);
    run(&rig);
    for (int i = 0; i < N_SIZES; i++)
        near(strait_noted(&rig, 0, ARRIVED, i),
             10 * i + strait_oracle_equal_s(1, sizes[i] + FRAME, C, DELAY_S));
    strait_rig_release(&rig);
}

static void upload(struct strait_rank *r)
{
    for (int i = 1; i < r->run->n_ranks; i++) {
        if (r->me == i)
            strait_rig_send(r, 0, 0, 0, 4000000);
        if (r->me == 0)
            strait_note(r, ARRIVED, strait_rig_recv(r, i, 0).arrived_s);
    }
}

static void equal_flows(void)
{
    for (int n = 2; n <= 128; n *= 8) {
        struct strait_rig rig;
        begin(&rig, n + 1, upload, false);
        run(&rig);
        for (int i = 0; i < n; i++)
            near(strait_noted(&rig, 0, ARRIVED, i),
                 strait_oracle_equal_s((size_t)n, 4e6 + FRAME, C, DELAY_S));
        strait_rig_release(&rig);
    }
}

static void cold_star(void)
{
    for (int n = 1; n <= 64; n *= 4) {
        struct strait_rig rig;
        begin(&rig, n + 1, upload, true);
        run(&rig);
        for (int i = 0; i < n; i++)
            near(strait_noted(&rig, 0, ARRIVED, i),
                 strait_oracle_ramp_s((size_t)n, 4e6 + FRAME, 14480, C, 2 * DELAY_S));
        strait_rig_release(&rig);
    }
}

/* The connections of each client follow one another through its share of the server's port. */
static void connections(void)
{
    for (unsigned n_connections = 1; n_connections <= 16; n_connections *= 2)
        for (int n = 1; n <= 64; n *= 4) {
            struct strait_rig rig;
            begin(&rig, n + 1, upload, true);
            rig.network->tcp.n_connections = n_connections;
            run(&rig);
            for (int i = 0; i < n; i++)
                near(strait_noted(&rig, 0, ARRIVED, i),
                     strait_oracle_connections_s(n_connections, 4e6 + n_connections * FRAME, 14480,
                                                 C / n, 2 * DELAY_S));
            strait_rig_release(&rig);
        }
}

enum { N_PARTS = 4 };

/* As several messages at once, a part on each channel; from both clients, before and after a
 * silence, to a server that answers meanwhile. */
static void in_parts(struct strait_rank *r)
{
    const int n_parts = r->run->network->tcp.n_connections > 1 ? 1 : N_PARTS;
    for (int round = 0; round < 3; round++) {
        const size_t n_bytes = (size_t)(2000000 + 1000000 * r->me) * (size_t)(round + 1);
        strait_rig_sleep_until(r, 2 * round + 0.01 * r->me);
        for (int part = 0; part < n_parts; part++)
            for (int i = 0; i < r->run->n_ranks; i++)
                if (i != r->me && (i == 0 || r->me == 0))
                    strait_rig_send(r, i, part, 0, n_bytes / (size_t)n_parts);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < r->run->n_ranks; i++)
            for (int part = 0; part < n_parts && i != r->me && (i == 0 || r->me == 0); part++) {
                const double arrived_s = strait_rig_recv(r, i, part).arrived_s;
                if (part == 0)
                    strait_note(r, ARRIVED, arrived_s);
            }
}

/* One flow of a stream of S connections stands for S flows: all get the same share of any link. */
static void connections_as_flows(void)
{
    struct strait_rig together, apart;
    begin(&together, 3, in_parts, false);
    together.network->tcp.n_connections = N_PARTS;
    together.network->in[2].rate_bits_per_s = 300e6;
    run(&together);
    begin(&apart, 3, in_parts, false);
    apart.network->in[2].rate_bits_per_s = 300e6;
    run(&apart);
    for (int rank = 0; rank < 3; rank++) {
        CU_ASSERT_EQUAL(strait_n_noted(&apart, rank, ARRIVED), rank == 0 ? 6 : 3);
        for (int i = 0; i < strait_n_noted(&apart, rank, ARRIVED); i++)
            near(strait_noted(&together, rank, ARRIVED, i), strait_noted(&apart, rank, ARRIVED, i));
    }
    strait_rig_release(&together);
    strait_rig_release(&apart);
}

static double jitter_s(int rank)
{
    return 1 + strait_random_unit(7, "jitter", (uint64_t)rank, 0);
}

static void jittered_upload(struct strait_rank *r)
{
    if (r->me > 0) {
        strait_rig_work(r, STRAIT_ACCEL, jitter_s(r->me));
        strait_rig_send(r, 0, 0, 0, 1000000);
        return;
    }
    for (int i = 1; i < r->run->n_ranks; i++)
        strait_note(r, ARRIVED, strait_rig_recv(r, STRAIT_ANY, 0).arrived_s);
}

static void shared_with_arrivals(void)
{
    enum { N = 256 }; /* 2.2 s of bytes within 1 s: the port is always shared */
    struct strait_rig rig;
    double begin_s[N], end_s[N];
    begin(&rig, N + 1, jittered_upload, false);
    run(&rig);
    for (int i = 0; i < N; i++)
        begin_s[i] = jitter_s(i + 1);
    strait_sort(begin_s, N);
    CU_ASSERT_EQUAL(strait_oracle_shared(end_s, begin_s, N, 1e6 + FRAME, C, DELAY_S), 0);
    for (int i = 0; i < N; i++)
        near(strait_noted(&rig, 0, ARRIVED, i), end_s[i]);
    strait_rig_release(&rig);
}

static void capped_window(void)
{
    struct strait_rig rig;
    begin(&rig, 2, upload, true);
    rig.network->tcp.window_bytes = rig.network->tcp.initial_window_bytes = 524288;
    run(&rig); /* 7 full windows of 512 KiB, one in 50 ms, and 329,984 + 96 bytes */
    near(strait_noted(&rig, 0, ARRIVED, 0),
         strait_oracle_capped_s(4e6 + FRAME, 524288, C, 2 * DELAY_S));
    near(strait_noted(&rig, 0, ARRIVED, 0), 7 * 0.05 + (4e6 + 96 - 7 * 524288) / C + 0.025);
    strait_rig_release(&rig);
}

enum { RING_BYTES = 6400000 };

static void ring(struct strait_rank *r)
{
    const int n = r->run->n_ranks;
    for (int step = 0; step < 2 * (n - 1); step++) {
        strait_rig_send(r, (r->me + 1) % n, 0, step, (size_t)(RING_BYTES / n));
        strait_note(r, ARRIVED, strait_rig_recv(r, (r->me + n - 1) % n, 0).arrived_s);
    }
    strait_note(r, NOW, r->backend->ops->now_s(r));
}

static void ring_all_reduce(void)
{
    for (int n = 2; n <= 32; n *= 4) {
        struct strait_rig rig;
        begin(&rig, n, ring, false);
        run(&rig);
        const double all_s = strait_oracle_ring_s((size_t)n, RING_BYTES, FRAME, C, DELAY_S);
        for (int rank = 0; rank < n; rank++) {
            for (int step = 0; step < 2 * (n - 1); step++)
                near(strait_noted(&rig, rank, ARRIVED, step), all_s * (step + 1) / (2 * (n - 1)));
            near(strait_noted(&rig, rank, NOW, 0), all_s);
        }
        strait_rig_release(&rig);
    }
}

static void ten_posted(struct strait_rank *r)
{
    for (int i = 0; i < 10; i++) {
        if (r->me == 0)
            strait_rig_send(r, 1, 0, i, 1250000);
        else
            strait_note(r, ARRIVED, strait_rig_recv(r, 0, 0).arrived_s);
    }
}

static void back_to_back(void)
{
    struct strait_rig rig;
    begin(&rig, 2, ten_posted, false);
    run(&rig); /* the delay once, not ten times */
    for (int i = 0; i < 10; i++)
        near(strait_noted(&rig, 1, ARRIVED, i), (i + 1) * (1250000 + FRAME) / C + DELAY_S);
    strait_rig_release(&rig);
}

static void narrow_ports(struct strait_rank *r)
{
    if (r->me > 0)
        strait_rig_send(r, 0, 0, 0, 1000000);
    else
        for (int i = 1; i < r->run->n_ranks; i++)
            strait_note(r, ARRIVED, strait_rig_recv(r, i, 0).arrived_s);
}

static void unequal_ports(void)
{
    /* Ports of 100, 200 and 1000 Mbps into one of 1000: 0.1 C and 0.2 C for the narrow ones to the
     * end; the wide one gets 0.7 C until it has ended, before both. */
    static const double share[] = {0.1, 0.2, 0.7};
    struct strait_rig rig;
    begin(&rig, 4, narrow_ports, false);
    rig.network->out[1].rate_bits_per_s = 100e6;
    rig.network->out[2].rate_bits_per_s = 200e6;
    run(&rig);
    for (int i = 0; i < 3; i++)
        near(strait_noted(&rig, 0, ARRIVED, i), (1e6 + FRAME) / (share[i] * C) + DELAY_S);
    strait_rig_release(&rig);
}

static void constants(void)
{
    struct strait_rig rig;
    const char *name;
    json_t *entry;
    begin(&rig, 2, upload, true);
    rig.network->in[1].loss_ratio = 0.01;
    rig.network->out[0].queue_bytes = 1e6;
    run(&rig);
    CU_ASSERT(json_object_size(rig.facts.constants) >= 15);
    json_object_foreach (rig.facts.constants, name, entry) {
        CU_ASSERT_PTR_NOT_NULL(json_object_get(entry, "value"));
        CU_ASSERT(json_string_length(json_object_get(entry, "source")) > 0);
    }
    const json_t *model = json_object_get(rig.facts.constants, "simgrid/network/model");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(model, "value")), "CM02");
    const json_t *unknown = json_object_get(rig.facts.report, "drawn");
    CU_ASSERT_EQUAL_FATAL(json_array_size(unknown), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(unknown, 0)),
                           "loss 1 % on 1 of 2 client downlinks");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(unknown, 1)),
                           "queues of 1 MB on 1 of 2 client uplinks");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(rig.facts.report, "messages")), 1);
    strait_rig_release(&rig);
}

static void refused(struct strait_rig *rig, const char *part)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_sim.check(&rig->run, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, part));
    strait_rig_run(rig, &strait_sim); /* run refuses too */
    CU_ASSERT_EQUAL(rig->rc, -1);
}

static void refusals(void)
{
    struct strait_rig rig;
    struct strait_error err = {0};
    begin(&rig, 2, upload, true);
    rig.run.measured_cost = true;
    refused(&rig, "cannot measure");
    rig.run.measured_cost = false;
    rig.run.control = "unshaped";
    refused(&rig, "\"unshaped\"");
    rig.run.control = "no-codec-cost";
    CU_ASSERT_EQUAL(strait_sim.check(&rig.run, &err), 0);
    rig.network->in[1].rate_bits_per_s = 0;
    refused(&rig, "rate above 0 to rank 1, found 0");
    rig.network->in[1].rate_bits_per_s = INFINITY;
    refused(&rig, "finite rate");
    rig.network->in[1].rate_bits_per_s = 1e9;
    rig.run.real_payload = true;
    rig.run.memory_bytes = 1e18;
    CU_ASSERT_EQUAL(strait_sim.check(&rig.run, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    rig.run.n_ranks = 3; /* as rig.network is not */
    rig.run.real_payload = false;
    memset(&err, 0, sizeof(err));
    CU_ASSERT_EQUAL(strait_sim.check(&rig.run, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "network of 3 ranks, found one of 2"));
    rig.run.n_ranks = 2;
    strait_rig_release(&rig);
}

static void to_everybody(struct strait_rank *r)
{
    for (int i = 0; i < r->run->n_ranks; i++)
        if (i != r->me)
            strait_rig_send(r, i, 0, 0, 1);
    for (int i = 1; i < r->run->n_ranks; i++)
        strait_rig_recv(r, STRAIT_ANY, 0);
}

/* 300 ranks have 89,700 streams among them, and Linux's default is 65,530 mappings. */
static void too_many_streams(void)
{
    struct strait_rig rig;
    long most = 0;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "r");
    if (f && fscanf(f, "%ld", &most) != 1)
        most = 0;
    if (f)
        fclose(f);
#ifdef __SANITIZE_ADDRESS__
    most = LONG_MAX; /* actors are threads */
#endif
    struct rlimit data;
    if (most > 2 * 89700) {
        strait_test_skip("there can be as many stacks here");
        return;
    }
    if (getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur != RLIM_INFINITY) {
        strait_test_skip("stacks meet the limit of data (ulimit -d) before that of mappings");
        return;
    }
    begin(&rig, 300, to_everybody, false);
    strait_rig_run(&rig, &strait_sim);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_HOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "streams and lanes have a stack each"));
    strait_rig_release(&rig);
}

static const struct strait_test tests[] = {
    {"a single flow takes its bytes over the rate and the delay", single_flow},
    {"equal flows share a port and end together", equal_flows},
    {"flows that come one after another share as processor sharing says", shared_with_arrivals},
    {"a window cap lets one window go a round trip", capped_window},
    {"every step of a ring all-reduce takes its delay and its bytes", ring_all_reduce},
    {"cold streams of a star ramp up as the closed form says", cold_star},
    {"connections of a stream ramp up together as the closed form says", connections},
    {"connections of a stream are as many flows", connections_as_flows},
    {"messages posted together follow each other without a gap", back_to_back},
    {"narrow ports leave the rest of the server's to the others", unequal_ports},
    {"every constant of a run names its source", constants},
    {"what a simulation cannot do is refused by name", refusals},
    {"more streams than there can be stacks are refused by name", too_many_streams},
};
STRAIT_SUITE("sim/simgrid", tests);
