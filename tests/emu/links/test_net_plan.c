/* What a plan of an emulated network may say. */
#include <math.h>
#include "emu/links/net_plan.h"
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

static const struct strait_test tests[] = {
    {"a train lasts a quarter of a millisecond", trains},
    {"super-packets are limited by their link, or by those that they meet", limits},
    {"impossible plans are refused by name", bad_plans},
};
STRAIT_SUITE("emu/links/net_plan", tests);
