/* Links whose rates change: both simulators against closed forms. Rates below are Mbps on the wire,
 * of which 1448 of 1514 bytes are payload; a message has a frame of 96 bytes. */
#include <math.h>
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
enum { N_BACKENDS = 2, N_RANKS = 5 };
static const double DELAY_S = 0.01;

/* Payload that takes so many megabits of the wire. */
static size_t payload_of(double mbit)
{
    return (size_t)(mbit * 1e6 / 8 * 1448 / 1514) - 96;
}

/* Megabits of the wire that this message takes exactly. */
static double mbit_of(size_t payload_bytes)
{
    return ((double)payload_bytes + 96) * 8 * 1514 / 1448 / 1e6;
}

static void init(struct strait_rig *rig, void (*rank_main)(struct strait_rank *))
{
    strait_rig_init(rig, N_RANKS, strait_rig_link(1e9, DELAY_S / 2), rank_main);
    rig->network->tcp.initial_window_bytes = INFINITY;
}

static void set(struct strait_rig *rig, struct strait_link *link, size_t n, const double *at_s,
                const double *mbps, double period_s)
{
    double rates[8];
    for (size_t i = 0; i < n; i++)
        rates[i] = 1e6 * mbps[i];
    struct strait_schedule *s = strait_schedule_new(n, at_s, rates, period_s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    s->next = rig->network->schedules;
    rig->network->schedules = s;
    link->schedule = s;
    link->rate_bits_per_s = s->max_bits_per_s;
}

/* Runs on both; what rank r noted under key 0 is checked by the caller in between. */
static void run(struct strait_rig *rig, const struct strait_backend *backend)
{
    strait_test_context("%s", backend->name);
    strait_rig_run(rig, backend);
    CU_ASSERT_STRING_EQUAL(rig->err.text, "");
    CU_ASSERT_EQUAL_FATAL(rig->rc, 0);
}

static void one(struct strait_rank *r)
{
    if (r->me == 1)
        strait_rig_send(r, 0, 0, 0, payload_of(22));
    if (r->me == 0) {
        strait_note(r, 0, strait_rig_recv(r, 1, 0).arrived_s);
    }
}

/* 8 Mbps for 1 s, 2 Mbps for 3 s, then 16 Mbps: 22 Mbit take 4.5 s. Repeated after 4 s: the first
 * 14 Mbit take a period, 8 Mbit the first second of the next. */
static void steps(void)
{
    static const double at_s[] = {0, 1, 4}, mbps[] = {8, 2, 16};
    for (int b = 0; b < N_BACKENDS; b++)
        for (int repeats = 0; repeats < 2; repeats++) {
            struct strait_rig rig;
            init(&rig, one);
            set(&rig, &rig.network->out[1], repeats ? 2 : 3, at_s, mbps, repeats ? 4 : INFINITY);
            run(&rig, backends[b]);
            const double left_mbit = mbit_of(payload_of(22)) - 14;
            CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, 0, 0),
                                   4 + left_mbit / (repeats ? 8 : 16) + DELAY_S, 1e-7);
            strait_rig_release(&rig);
        }
}

/* Single packets: TCP keeps the link full but for its start, the last of them cross the second
 * link. */
static void by_packets(void)
{
    static const double at_s[] = {0, 1, 4}, mbps[] = {8, 2, 16};
    struct strait_rig rig;
    init(&rig, one);
    rig.network->tcp = strait_rig_tcp();
    rig.network->tcp.window_bytes = 200e3;
    rig.network->detail = STRAIT_DETAIL_PACKETS;
    set(&rig, &rig.network->out[1], 3, at_s, mbps, INFINITY);
    run(&rig, &strait_fluid);
    CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, 0, 0), 4.5 + DELAY_S, 0.05);
    strait_rig_release(&rig);
}

static void two(struct strait_rank *r)
{
    if (r->me == 1 || r->me == 2)
        strait_rig_send(r, 0, 0, 0, payload_of(r->me == 1 ? 30 : 12));
    if (r->me == 0)
        for (int i = 1; i <= 2; i++) {
            const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 0);
            strait_note(r, m.src, m.arrived_s);
        }
}

/* Into rank 0: 10 Mbps, from 1 s on 4, from 3 s on 12. Out of rank 2: 3 Mbps, from 2 s on 1. So
 * ranks 1 and 2 get 7 and 3 for 1 s, 2 and 2 for 1 s, 3 and 1 for 1 s, then 11 and 1: rank 1 has
 * sent 12 Mbit by 3 s and its last 18 take 18/11 s; rank 2 has sent 6 and its last 6 take 6 s. */
static void shared(void)
{
    static const double in_s[] = {0, 1, 3}, in_mbps[] = {10, 4, 12}, out_s[] = {0, 2},
                        out_mbps[] = {3, 1};
    for (int b = 0; b < N_BACKENDS; b++) {
        struct strait_rig rig;
        init(&rig, two);
        set(&rig, &rig.network->in[0], 3, in_s, in_mbps, INFINITY);
        set(&rig, &rig.network->out[2], 2, out_s, out_mbps, INFINITY);
        run(&rig, backends[b]);
        const double left_1 = mbit_of(payload_of(30)) - 12, left_2 = mbit_of(payload_of(12)) - 6;
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, 1, 0), 3 + left_1 / 11 + DELAY_S, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, 2, 0), 3 + left_2 + DELAY_S, 1e-7);
        strait_rig_release(&rig);
    }
}

static void chain(struct strait_rank *r)
{
    if (r->me == 1) {
        strait_rig_send(r, 2, 0, 0, payload_of(20));
        strait_rig_send(r, 3, 0, 0, payload_of(16));
    }
    if (r->me == 4)
        strait_rig_send(r, 3, 0, 0, payload_of(34));
    for (int i = 0; i < (r->me == 2 ? 1 : r->me == 3 ? 2 : 0); i++) {
        const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 0);
        strait_note(r, m.src, m.arrived_s);
    }
}

/* Flows 1 to 2, 1 to 3 and 4 to 3; out of rank 1 go 12 Mbps, into rank 3 8, from 1 s on 16. Max-min
 * shares are 8, 4 and 4, then 6, 6 and 10: the first two end at 1 + 12/6 = 3 s, and the third has
 * sent 4 + 20 Mbit and gets all 16 for its last 10. */
static void chained(void)
{
    static const double in_s[] = {0, 1}, in_mbps[] = {8, 16}, one_s[] = {0}, one_mbps[] = {12};
    for (int b = 0; b < N_BACKENDS; b++) {
        struct strait_rig rig;
        init(&rig, chain);
        set(&rig, &rig.network->in[3], 2, in_s, in_mbps, INFINITY);
        set(&rig, &rig.network->out[1], 1, one_s, one_mbps, INFINITY); /* never changes */
        run(&rig, backends[b]);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 2, 1, 0), 3 + DELAY_S, 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 3, 1, 0), 3 + DELAY_S, 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 3, 4, 0), 3 + 10.0 / 16 + DELAY_S, 1e-5);
        strait_rig_release(&rig);
    }
}

static const struct strait_test tests[] = {
    {"a message takes what the steps of its link allow", steps},
    {"single packets take it too", by_packets},
    {"flows share what a common link has at each time", shared},
    {"flows of several common links are shared anew at each change", chained},
};
STRAIT_SUITE("sim/rate_changes", tests);
