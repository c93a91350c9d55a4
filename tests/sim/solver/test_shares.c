/* Flows with weights: who gets how much of a link, on both simulators. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "codecs/frame.h"
#include "sim/solver/fairshare.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

/* --- the solver ---------------------------------------------------------------------------- */

/* A hub of 120 B/s; private links of 1000 B/s. Weights 1, 2, 3 of 120 B
 * each: levels of 20 a unit, rates 20, 40, 60. The third ends at 2 s; the others have 80 and 40 B
 * left at 40 and 80 B/s: the second ends at 2.5 s, the first has 60 B left at 120 B/s: 3 s. */
static void weights_of_a_hub(void)
{
    const double capacities[] = {120, 1000, 1000, 1000}, ends_s[] = {3, 2.5, 2};
    struct strait_fairshare *fs = strait_fairshare_new(4, capacities);
    struct strait_flow flows[3] = {{.weight = 1}, {.weight = 2}, {.weight = 3}};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(strait_fairshare_start(fs, &flows[i], (const int[]){0, i + 1}, 2, 120, 0),
                        0);
    for (int i = 2; i >= 0; i--) {
        const double next_s = strait_fairshare_next_s(fs);
        CU_ASSERT_DOUBLE_EQUAL(next_s, ends_s[i], 1e-12);
        CU_ASSERT_PTR_EQUAL(strait_fairshare_ended(fs, next_s), &flows[i]);
        CU_ASSERT_PTR_NULL(strait_fairshare_ended(fs, next_s));
    }
    strait_fairshare_free(fs);
}

/* Two links of 120 and 60 B/s. Flow 0 (weight 1) and flow 1 (weight 3) share link 0; flow 2 (weight
 * 1) shares link 2 with flow 1. Link 2 has 60 / 4 = 15 a unit, link 0 30: flow 1 gets 45, flow 2
 * 15, flow 0 the rest of link 0, 75. With 150, 90 and 30 B all end at 2 s. */
static void weights_beyond_a_hub(void)
{
    const double capacities[] = {120, 1000, 60, 1000};
    const int paths[3][2] = {{0, 1}, {0, 2}, {3, 2}};
    const double bytes[] = {150, 90, 30};
    struct strait_fairshare *fs = strait_fairshare_new(4, capacities);
    struct strait_flow flows[3] = {{.weight = 1}, {.weight = 3}, {.weight = 1}};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(strait_fairshare_start(fs, &flows[i], paths[i], 2, bytes[i], 0), 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_fairshare_next_s(fs), 2, 1e-12);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_PTR_NOT_NULL(strait_fairshare_ended(fs, 2));
    strait_fairshare_free(fs);
}

/* --- a run --------------------------------------------------------------------------------- */

enum { N_CLIENTS = 3, ARRIVAL = 1, PAYLOAD_BYTES = 1000000 - STRAIT_FRAME_BYTES };

static void all_to_one(struct strait_rank *r)
{
    for (int i = 0; r->me == 0 && i < N_CLIENTS; i++) {
        const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 0);
        strait_note(r, ARRIVAL + m.src, m.arrived_s);
    }
    if (r->me > 0)
        strait_rig_send(r, 0, 0, 0, PAYLOAD_BYTES);
}

/* Drags 1, 1/2 and 1/3 are weights 1, 2 and 3. 1 MB each through a port of C = 100 Mbps x 1448 /
 * 1514 / 8 = 11955085 B/s and 2 x 5 ms of delay. In units of 1 MB / C, as in the hub above: the
 * third ends at 6/3 = 2, the second at 2.5, the first at 3. */
static void both_simulators(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    const double unit_s = 1e6 / (100e6 / 8 * 1448 / 1514), ends[] = {3, 2.5, 2};
    double drags[] = {0, 1, 1 / 2.0, 1 / 3.0};
    for (int b = 0; b < 2; b++) {
        struct strait_rig rig;
        strait_rig_init(&rig, N_CLIENTS + 1, strait_rig_link(100e6, 0.005), all_to_one);
        rig.network->drag = drags;
        rig.run.control = "no-ramp";
        strait_rig_run(&rig, backends[b]);
        CU_ASSERT_EQUAL(rig.rc, 0);
        for (int i = 0; i < N_CLIENTS; i++)
            CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, ARRIVAL + 1 + i, 0),
                                   ends[i] * unit_s + 0.01, b == 0 ? 1e-9 : 5e-9);
        rig.network->drag = NULL;
        strait_rig_release(&rig);
    }
}

/* Shares of 1 +- 30 %, the same for the same seed, others for another. */
static void keyed(void)
{
    struct strait_link link = strait_rig_link(1e9, 0);
    struct strait_network *n[3];
    for (int i = 0; i < 3; i++) {
        n[i] = strait_network_star(101, link, link, link, link, 0, strait_rig_tcp());
        CU_ASSERT_EQUAL(strait_path_share(n[i], 1, 0), 1);
        CU_ASSERT_EQUAL(strait_network_spread_shares(n[i], 0.3, i < 2 ? 7 : 8, true), 0);
    }
    int n_same = 0, n_low = 0;
    for (int i = 1; i <= 100; i++) {
        const double share = strait_path_share(n[0], i, 0);
        CU_ASSERT(share >= 0.7 - 1e-9 && share <= 1.3 + 1e-9);
        CU_ASSERT_EQUAL(share, strait_path_share(n[0], 0, i));
        CU_ASSERT_EQUAL(share, strait_path_share(n[1], i, 0));
        n_same += share == strait_path_share(n[2], i, 0);
        n_low += share < 1;
    }
    CU_ASSERT_EQUAL(n_same, 0);
    CU_ASSERT(n_low >= 30 && n_low <= 70); /* 50 +- 4 standard deviations of 5 */
    for (int i = 0; i < 3; i++)
        strait_network_free(n[i]);
}

static const struct strait_test tests[] = {
    {"flows on one link get it in proportion to their weights", weights_of_a_hub},
    {"so do flows that have several links in common", weights_beyond_a_hub},
    {"both simulators share a port by the drags of its clients", both_simulators},
    {"keyed shares are uniform, by rank and seed", keyed},
};
STRAIT_SUITE("sim/solver/shares", tests);
