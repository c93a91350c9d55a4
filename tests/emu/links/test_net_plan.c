/* What a plan of an emulated network may say. */
#include <math.h>
#include "emu/links/net_plan.h"
#include "emu/links/trunk.h"
#include "tests/kit/suite.h"

static void trains(void)
{
    /* 0.25 ms are 31250 bytes at 1 Gbps, 3125 at 100 Mbps, 1156 at 37 Mbps; 1514 a segment */
    CU_ASSERT_EQUAL(strait_emu_net_packet_run_segments(1e9, 0), 20);
    CU_ASSERT_EQUAL(strait_emu_net_packet_run_segments(1e8, 0), 2);
    CU_ASSERT_EQUAL(strait_emu_net_packet_run_segments(37e6, 0), 1);
    CU_ASSERT_EQUAL(strait_emu_net_packet_run_segments(1e11, 0), 43); /* 64 KiB */
    CU_ASSERT_EQUAL(strait_emu_net_packet_run_segments(INFINITY, 24), 43);
}

static void bad_plans(void)
{
    const struct {
        double rate, delay, loss, overhead, dilation;
        int n_nodes;
        const char *text;
    } cases[] = {
        {0, 0, 0, 0, 1, 2, "expected a rate above 0 for the out link of node 0, found 0 bps"},
        {NAN, 0, 0, 0, 1, 2, "expected a rate above 0 for the out link of node 0, found nan bps"},
        {1e9, -1, 0, 0, 1, 2,
         "expected delay_s from 0 to 1e+06 for the out link of node 0, found -1"},
        {1e9, 0, 1.5, 0, 1, 2,
         "expected loss_ratio from 0 to 1 for the out link of node 0, found 1.5"},
        {1e9, 0, 0, -1, 1, 2, "expected overhead_bytes from 0 to 10000, found -1"},
        {1e9, 0, 0, 0, 0.5, 2, "expected dilation from 1 to 10000, found 0.5"},
        {1e9, 0, 0, 0, 1, 0, "expected 1 to 16384 nodes in an emulated network, found 0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        const struct strait_link link = {.rate_bits_per_s = cases[i].rate,
                                         .delay_s = cases[i].delay,
                                         .loss_ratio = cases[i].loss};
        struct strait_link links[2] = {link, link};
        const struct strait_emu_net_plan plan = {.n_nodes = cases[i].n_nodes,
                                                 .out = links,
                                                 .in = links,
                                                 .overhead_bytes = cases[i].overhead,
                                                 .dilation = cases[i].dilation};
        CU_ASSERT_EQUAL(strait_emu_net_plan_check(&plan, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
    }
}

/* 50 Mbps of its own; without a limit of its own the fastest of the others', and no limit. */
static void limits(void)
{
    struct strait_link out[3] = {{.rate_bits_per_s = 5e7},
                                 {.rate_bits_per_s = INFINITY},
                                 {.rate_bits_per_s = 9e8}},
                       in[3] = {{.rate_bits_per_s = 2e7},
                                {.rate_bits_per_s = 7e7},
                                {.rate_bits_per_s = INFINITY}};
    const struct strait_emu_net_plan plan = {.n_nodes = 3, .out = out, .in = in};
    CU_ASSERT_EQUAL(strait_emu_net_super_packet_bits_per_s(&plan, 0), 5e7);
    CU_ASSERT_EQUAL(strait_emu_net_super_packet_bits_per_s(&plan, 1), 7e7);
    in[0].rate_bits_per_s = in[1].rate_bits_per_s = INFINITY;
    CU_ASSERT_EQUAL(strait_emu_net_super_packet_bits_per_s(&plan, 1), INFINITY);
}

/* Every number of a plan, at its limits and beyond. */
static void each_limit(void)
{
    static const double inf = INFINITY;
    struct strait_link out[2], in[2];
    struct strait_emu_net_plan plan;
    const struct {
        double *field, good[2], bad[2];
        const char *text; /* of both that are refused, with their values */
    } cases[] = {
        {&plan.overhead_bytes, {0, 1e4}, {-1e-9, 10001}, "expected overhead_bytes from 0 to 10000"},
        {&plan.dilation, {1, 1e4}, {0.999, 10001}, "expected dilation from 1 to 10000"},
        {&plan.rto_min_s, {0, 100}, {-0.001, 100.1}, "expected rto_min_s from 0 to 100"},
        {&plan.window_bytes, {0, 1e9}, {-1, 1e9 + 1}, "expected window_bytes from 0 to 1e+09"},
        {&out[1].delay_s,
         {0, 1e6},
         {-1, 1000001},
         "expected delay_s from 0 to 1e+06 for the out link of node 1"},
        {&in[0].loss_ratio,
         {0, 1},
         {-0.1, 1.01},
         "expected loss_ratio from 0 to 1 for the in link of node 0"},
        {&in[1].jitter_s,
         {0, 1e6},
         {-1, 1000001},
         "expected jitter_s from 0 to 1e+06 for the in link of node 1"},
        {&out[0].queue_bytes,
         {0, inf},
         {-1, NAN},
         "expected queue_bytes from 0 to inf for the out link of node 0"},
        {&in[1].rate_bits_per_s,
         {1e-3, inf},
         {0, -1},
         "expected a rate above 0 for the in link of node 1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int k = 0; k < 4; k++) {
            const double value = k < 2 ? cases[i].good[k] : cases[i].bad[k - 2];
            struct strait_error err = {0};
            for (int n = 0; n < 2; n++)
                out[n] = in[n] = (struct strait_link){.rate_bits_per_s = 1e9};
            plan = (struct strait_emu_net_plan){.n_nodes = 2, .out = out, .in = in};
            *cases[i].field = value;
            strait_test_context("%s: %g", cases[i].text, value);
            CU_ASSERT_EQUAL(strait_emu_net_plan_check(&plan, &err), k < 2 ? 0 : -1);
            CU_ASSERT_EQUAL(err.code, k < 2 ? STRAIT_OK : STRAIT_ERR_INPUT);
            if (k >= 2)
                CU_ASSERT_CONTAINS(err.text, cases[i].text);
        }
}

static void numbers_of_nodes(void)
{
    static struct strait_link links[16385];
    for (int i = 0; i < 16385; i++)
        links[i].rate_bits_per_s = 1;
    for (int n = 16384; n <= 16385; n++) {
        const struct strait_emu_net_plan plan = {.n_nodes = n, .out = links, .in = links};
        struct strait_error err = {0};
        CU_ASSERT_EQUAL(strait_emu_net_plan_check(&plan, &err), n == 16384 ? 0 : -1);
        CU_ASSERT_STRING_EQUAL(
            err.text,
            n == 16384 ? "" : "expected 1 to 16384 nodes in an emulated network, found 16385");
    }
    const struct strait_emu_trunk trunk = {.mtu_bytes = 1450};
    const struct strait_network *sites = (const struct strait_network *)links;
    const struct strait_emu_net_plan both = {
        .n_nodes = 1, .out = links, .in = links, .trunk = &trunk, .sites = sites};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_emu_net_plan_check(&both, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected a star on several hosts, found sites, whose links no "
                           "host has for itself");
    CU_ASSERT_EQUAL(strait_emu_net_plan_mtu_bytes(&both), 1450);
}

/* 200 ms of TCP are as many dilated, and at least one. */
static void defaults(void)
{
    struct strait_emu_net_plan plan = {0};
    CU_ASSERT_EQUAL(strait_emu_net_plan_mtu_bytes(&plan), 1500);
    CU_ASSERT_EQUAL(strait_emu_net_plan_dilation(&plan), 1);
    CU_ASSERT_EQUAL(strait_emu_net_plan_rto_min_ms(&plan), 200);
    plan.dilation = 3;
    CU_ASSERT_EQUAL(strait_emu_net_plan_dilation(&plan), 3);
    CU_ASSERT_EQUAL(strait_emu_net_plan_rto_min_ms(&plan), 600);
    plan.rto_min_s = 0.0051;
    CU_ASSERT_EQUAL(strait_emu_net_plan_rto_min_ms(&plan), 15);
    plan.rto_min_s = 1e-6;
    CU_ASSERT_EQUAL(strait_emu_net_plan_rto_min_ms(&plan), 1);
}

static const struct strait_test tests[] = {
    {"a train lasts a quarter of a millisecond", trains},
    {"super-packets are limited by their link, or by those that they meet", limits},
    {"impossible plans are refused by name", bad_plans},
    {"each number of a plan has its limits", each_limit},
    {"16384 nodes at most, and no sites on several hosts", numbers_of_nodes},
    {"what a plan does not say is as usual", defaults},
};
STRAIT_SUITE("emu/links/net_plan", tests);
