/* The fluid backend against SimGrid: the same programs, every completion time of every rank. */
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N_RANKS = 12, N_SENDS = 15, KEY = 100 };

struct shape { /* what a network and its streams are */
    uint64_t seed;
    bool ramp, unequal, imperfect;
    double window_bytes;
    unsigned n_connections;
};

static void shape_network(struct strait_rig *rig, const struct shape *shape)
{
    struct strait_network *n = rig->network;
    n->tcp.window_bytes = shape->window_bytes;
    n->tcp.n_connections = shape->n_connections;
    rig->run.control = shape->ramp ? NULL : "no-ramp";
    rig->run.seed = shape->seed;
    for (int i = 0; i < n->n_ranks && shape->imperfect; i++) {
        n->out[i].loss_ratio = 0.002;
        n->out[i].jitter_s = 0.002;
        n->in[i].queue_bytes = 2e6;
    }
    for (uint64_t i = 0; i < (uint64_t)n->n_ranks && shape->unequal; i++) {
        n->out[i].rate_bits_per_s *= 0.1 + 3 * strait_random_unit(shape->seed, "out", i, 0);
        n->in[i].rate_bits_per_s *= 0.1 + 3 * strait_random_unit(shape->seed, "in", i, 0);
        n->out[i].delay_s *= 2 * strait_random_unit(shape->seed, "out delay", i, 0);
        n->in[i].delay_s *= 2 * strait_random_unit(shape->seed, "in delay", i, 0);
    }
}

/* All notes of all ranks, in the order of their making, on one backend. */
static struct strait_rig run_on(const struct strait_backend *backend, int n_ranks,
                                void (*rank_main)(struct strait_rank *), const struct shape *shape)
{
    struct strait_rig rig;
    strait_rig_init(&rig, n_ranks, strait_rig_link(1e9, 0.0125), rank_main);
    shape_network(&rig, shape);
    strait_rig_run(&rig, backend);
    CU_ASSERT_EQUAL(rig.rc, 0);
    if (rig.rc != 0)
        printf("    %s: %s: %s\n", backend->name, rig.err.where, rig.err.text);
    return rig;
}

/* Both backends must note the same keys in the same order, and times equal to 1e-9. */
static void compare(int n_ranks, void (*rank_main)(struct strait_rank *), struct shape shape)
{
    struct strait_rig sim = run_on(&strait_sim, n_ranks, rank_main, &shape);
    struct strait_rig fluid = run_on(&strait_fluid, n_ranks, rank_main, &shape);
    double worst = 0;
    size_t n_compared = 0, n_different = 0;
    for (int rank = 0; rank < n_ranks; rank++) {
        const struct strait_log *a = &sim.run.logs[rank], *b = &fluid.run.logs[rank];
        CU_ASSERT_EQUAL_FATAL(a->n_spans, b->n_spans);
        for (size_t i = 0; i < a->n_spans; i++, n_compared++) {
            const struct strait_span x = strait_spans_at(&a->spans, i),
                                     y = strait_spans_at(&b->spans, i);
            n_different += x.tag != y.tag;
            worst = fmax(worst, fabs(x.start_s - y.start_s) / fmax(x.start_s, 1e-3));
        }
    }
    CU_ASSERT(n_compared > 0);
    CU_ASSERT_EQUAL(n_different, 0);
    CU_ASSERT(worst < 1e-9);
    if (!(worst < 1e-9))
        printf("    %zu times, worst relative difference %.3g\n", n_compared, worst);
    strait_rig_release(&sim);
    strait_rig_release(&fluid);
}

static void compare_all(int n_ranks, void (*rank_main)(struct strait_rank *))
{
    for (uint64_t i = 0; i < 8; i++)
        compare(n_ranks, rank_main,
                (struct shape){.seed = 40 + i,
                               .ramp = i % 2 == 0,
                               .unequal = i / 2 % 2 == 0,
                               .window_bytes = i < 4 ? 32e6 : 1e6,
                               .n_connections = i % 3 == 2 ? 4 : 1});
}

/* Send i of a rank: to whom, on which channel, how long after the last one. */
static int dst_of(const struct strait_run *run, int rank, int i)
{
    return (rank + 1 +
            (int)(strait_random_unit(run->seed, "dst", (uint64_t)rank, (uint64_t)i) *
                  (run->n_ranks - 1))) %
           run->n_ranks;
}

static void random_traffic(struct strait_rank *r)
{
    const uint64_t me = (uint64_t)r->me;
    int n_due = 0;
    for (int rank = 0; rank < r->run->n_ranks; rank++)
        for (int i = 0; i < N_SENDS; i++)
            n_due += rank != r->me && dst_of(r->run, rank, i) == r->me;
    for (uint64_t i = 0; i < N_SENDS; i++) {
        const double draw = strait_random_unit(r->run->seed, "bytes", me, i);
        if (strait_random_unit(r->run->seed, "pause", me, i) < 0.6)
            strait_rig_work(r, STRAIT_CPU, 0.4 * draw * draw);
        strait_rig_send(r, dst_of(r->run, r->me, (int)i), (int)(i % 2), (int)i,
                        (size_t)(5e6 * draw * draw * draw));
    }
    for (int channel = 0; channel < 2; channel++) /* in the order of arrival */
        for (struct strait_message m = {0};
             n_due > 0 && r->backend->ops->recv(r, &m, STRAIT_ANY, channel, 1000 + channel);
             n_due--) {
            strait_note(r, m.src * KEY + m.tag, m.arrived_s);
            strait_packet_drop(m.packet);
        }
}

static void random_pairs(void)
{
    compare_all(N_RANKS, random_traffic);
}

/* Packets are the same ones on both; SimGrid's clock alone differs, by roundings. */
static void packets(void)
{
    for (uint64_t i = 0; i < 4; i++)
        compare(N_RANKS, random_traffic,
                (struct shape){.seed = 60 + i,
                               .ramp = i != 3,
                               .unequal = i % 2 == 0,
                               .imperfect = true,
                               .window_bytes = 32e6,
                               .n_connections = i == 2 ? 4 : 1});
}

static void rounds(struct strait_rank *r)
{
    const int n = r->run->n_ranks;
    for (int round = 0; round < 4; round++) {
        for (int i = 1; i < n && r->me == 0; i++)
            strait_rig_send(r, i, 0, round, 1000000);
        for (int i = 1; i < n && r->me == 0; i++) {
            const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 1);
            strait_note(r, m.src * KEY + m.tag, m.arrived_s);
        }
        if (r->me == 0)
            continue;
        strait_note(r, round, strait_rig_recv(r, 0, 0).arrived_s);
        strait_rig_work(
            r, STRAIT_ACCEL,
            1 + strait_random_unit(r->run->seed, "jitter", (uint64_t)r->me, (uint64_t)round));
        strait_rig_send(r, 0, 1, round, 1000000);
    }
}

static void jittered_star(void)
{
    compare_all(33, rounds);
}

static void ring(struct strait_rank *r)
{
    const int n = r->run->n_ranks;
    for (int step = 0; step < 3 * n; step++) {
        strait_rig_send(r, (r->me + 1) % n, 0, step, 300000);
        strait_note(r, step, strait_rig_recv(r, (r->me + n - 1) % n, 0).arrived_s);
        if (step % 5 == 0)
            strait_rig_work(
                r, STRAIT_CPU,
                0.01 * strait_random_unit(r->run->seed, "add", (uint64_t)r->me, (uint64_t)step));
    }
}

static void ring_steps(void)
{
    compare_all(N_RANKS, ring);
}

static void all_to_all(struct strait_rank *r)
{
    const int n = r->run->n_ranks;
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < n; i++)
            strait_rig_send(r, (r->me + i) % n, 0, round, (size_t)(100000 * (1 + r->me % 3)));
        for (int i = 1; i < n; i++)
            strait_note(r, i, strait_rig_recv(r, (r->me + i) % n, 0).arrived_s);
    }
}

static void all_pairs(void)
{
    compare_all(N_RANKS, all_to_all);
}

static void deadlines(struct strait_rank *r)
{
    const int n = r->run->n_ranks;
    for (int round = 0; round < 4; round++) {
        if (r->me > 0) {
            strait_rig_sleep_until(r, round);
            strait_rig_work(
                r, STRAIT_CPU,
                0.8 * strait_random_unit(r->run->seed, "work", (uint64_t)r->me, (uint64_t)round));
            strait_rig_send(r, 0, 0, round, 800000);
            continue;
        }
        struct strait_message m = {0};
        for (int i = 1; i < n && r->backend->ops->recv(r, &m, STRAIT_ANY, 0, round + 0.6); i++) {
            strait_note(r, m.src * KEY + m.tag, m.arrived_s);
            strait_packet_drop(m.packet);
        }
        strait_note(r, -1, r->backend->ops->now_s(r));
        strait_rig_sleep_until(r, round + 1);
    }
}

static void cut_rounds(void)
{
    compare_all(33, deadlines);
}

static void many_lanes(struct strait_rank *lane, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        strait_rig_work(lane, STRAIT_TIMER, 0.001);
}

static void spawns(struct strait_rank *r)
{
    for (int i = 0; i < 200; i++)
        r->backend->ops->join(r, r->backend->ops->spawn(r, many_lanes, NULL));
    strait_note(r, 0, r->backend->ops->now_s(r));
}

static void ended_lanes(void)
{
    struct shape shape = {.window_bytes = 1e6};
    struct strait_rig rig = run_on(&strait_fluid, 2, spawns, &shape);
    CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 1, 0, 0), 0.6, 1e-9); /* 200 x 3 ms */
    strait_rig_release(&rig);
}

static const struct strait_test tests[] = {
    {"random traffic ends as in SimGrid", random_pairs},
    {"packets on imperfect links arrive as with SimGrid's clock", packets},
    {"rounds of a star with jitter end as in SimGrid", jittered_star},
    {"a ring steps as in SimGrid", ring_steps},
    {"everybody to everybody ends as in SimGrid", all_pairs},
    {"deadlines cut the same messages as in SimGrid", cut_rounds},
    {"lanes that have ended leave their stacks to the next ones", ended_lanes},
};
STRAIT_SUITE("sim/fluid", tests);
