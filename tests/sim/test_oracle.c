#include "tests/kit/forms/oracle.h"

#include <math.h>

#include "tests/kit/suite.h"

static void equal_messages(void)
{
    /* 8 x 1.25 MB at 12.5 MB/s and 25 ms: 0.8 s + 0.025 s */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_equal_s(8, 1.25e6, 12.5e6, 0.025), 0.825, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_equal_s(1, 1.25e6, 12.5e6, 0.025), 0.125, 1e-12);
}

static void three_arrivals(void)
{
    /* 1 MB each at 1 MB/s, posted at 0, 0.5 and 4: the first has half when the second comes, both
     * go at half speed, the first ends at 1.5, the second has half then and ends at 2; the third is
     * alone. */
    const double begin_s[] = {0, 0.5, 4};
    double end_s[3];
    CU_ASSERT_EQUAL(strait_oracle_shared(end_s, begin_s, 3, 1e6, 1e6, 0.25), 0);
    CU_ASSERT_DOUBLE_EQUAL(end_s[0], 1.75, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(end_s[1], 2.25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(end_s[2], 5.25, 1e-12);
}

static void capped(void)
{
    /* 4 MiB windows at 100 ms: 10 MiB are two full round trips, then 2 MiB at 125 MB/s, then half
     * a round trip. Long messages go at window / RTT. */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_capped_s(10485760, 4194304, 125e6, 0.1),
                           0.2 + 2097152 / 125e6 + 0.05, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_capped_s(4e9, 4e6, 125e6, 0.1), 100, 0.1);
}

static void ring(void)
{
    /* 64 ranks, 100 MB, 125 MB/s, 25 ms: 126 x (25 ms + 12.5 ms) */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ring_s(64, 1e8, 0, 125e6, 0.025), 4.725, 1e-12);
    CU_ASSERT_EQUAL(strait_oracle_ring_s(1, 1e8, 96, 125e6, 0.025), 0);
}

/* Send to one-byte reply on Linux, cubic, first message of a connection at 1 Gbps: half a round
 * trip later than the last byte's arrival. Measured; the form is to be within 3 %. */
static void cold_streams_measured(void)
{
    static const struct {
        double bytes, rtt_s, measured_s;
    } all[] = {{100e3, 0.01, 0.030}, {100e3, 0.05, 0.150}, {100e3, 0.1, 0.300}, {1e6, 0.01, 0.071},
               {1e6, 0.05, 0.351},   {1e6, 0.1, 0.701},    {4e6, 0.01, 0.100},  {4e6, 0.05, 0.457},
               {4e6, 0.1, 0.902},    {16e6, 0.05, 0.581},  {16e6, 0.1, 1.109},  {64e6, 0.05, 0.984},
               {64e6, 0.1, 1.532},   {256e6, 0.05, 2.59},  {256e6, 0.1, 3.12}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const double form_s =
            strait_oracle_ramp_s(1, all[i].bytes, 14480, 1e9 / 8 * 1448 / 1514, all[i].rtt_s) +
            all[i].rtt_s / 2;
        CU_ASSERT_DOUBLE_EQUAL(form_s / all[i].measured_s, 1, 0.03);
    }
}

/* Windows of 10, 20, 40 B at 1000 B/s and 0.2 s: what one window holds needs no acknowledgement,
 * one byte more waits for one; and of two streams each has half the rate. */
static void windows_that_fit(void)
{
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1, 10, 10, 1000, 0.2), 0.01 + 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1, 11, 10, 1000, 0.2), 0.2 + 0.001 + 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1, 30, 10, 1000, 0.2), 0.2 + 0.02 + 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1, 31, 10, 1000, 0.2), 0.4 + 0.001 + 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(2, 31, 10, 1000, 0.2), 0.4 + 0.002 + 0.1, 1e-12);
    /* a window of 640 B passes in 0.64 s, before which the first acknowledgement is there */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1, 5000, 640, 1000, 0.2), 5 + 0.1, 1e-12);
}

static void cold_connections(void)
{
    /* 4 connections, 100 B each, windows of 10 B, 1000 B/s, 0.2 s: passing the link takes the
     * windows 10, 20, 40 and the 30 B that are left 0.01, 0.02, 0.04, 0.03 s. The last connection's
     * pass from 0.03, 0.2 + 3 x 0.02, 0.4 + 3 x 0.04 and, 0.2 s later, 0.72 s on. */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_connections_s(4, 400, 10, 1000, 0.2), 0.72 + 0.03 + 0.1,
                           1e-12);
    /* one connection is one stream */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_connections_s(1, 4e6, 14480, 120e6, 0.05),
                           strait_oracle_ramp_s(1, 4e6, 14480, 120e6, 0.05), 1e-12);
    /* as the streams above: send to one-byte reply, 4 MB, 50 ms, 1 to 16 connections */
    static const double measured_s[] = {0.457, 0.408, 0.358, 0.312, 0.263};
    for (size_t i = 0; i < sizeof(measured_s) / sizeof(measured_s[0]); i++) {
        const double form_s =
            strait_oracle_connections_s((size_t)1 << i, 4e6, 14480, 1e9 / 8 * 1448 / 1514, 0.05) +
            0.025;
        CU_ASSERT_DOUBLE_EQUAL(form_s / measured_s[i], 1, 0.015);
    }
}

static void cold_star(void)
{
    /* 8 x 4 MB at 120 MB/s and 50 ms: a share of 15 MB/s holds 750 kB a round trip, more than
     * 14480 x 2^5 = 463 kB, less than 2^6; so 6 windows of 14480 x (1 .. 32), 6 round trips, then
     * all the rest: 8 (4 MB - 63 x 14480) / C, and half a round trip. */
    const double expected_s = 6 * 0.05 + 8 * (4e6 - 63 * 14480) / 120e6 + 0.025;
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(8, 4e6, 14480, 120e6, 0.05), expected_s, 1e-12);
    /* so many streams that the first window fills the link: no ramp is to be seen */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(1000, 1e5, 14480, 120e6, 0.05),
                           1000 * 1e5 / 120e6 + 0.025, 1e-12);
    /* without a window to grow it is the plain sum */
    CU_ASSERT_DOUBLE_EQUAL(strait_oracle_ramp_s(3, 4e6, INFINITY, 120e6, 0.05),
                           strait_oracle_equal_s(3, 4e6, 120e6, 0.025), 1e-12);
}

static const struct strait_test tests[] = {
    {"equal messages share a link", equal_messages},
    {"three arrivals share a link while they are there", three_arrivals},
    {"a window that cannot grow goes once a round trip", capped},
    {"a ring all-reduce takes 2 (n - 1) steps", ring},
    {"what fits into the window needs no acknowledgement", windows_that_fit},
    {"cold streams take what was measured on Linux within 3 %", cold_streams_measured},
    {"cold connections of a stream take what was measured on Linux within 1.5 %", cold_connections},
    {"cold streams of a star ramp up until their shares are full", cold_star},
};
STRAIT_SUITE("sim/oracle", tests);
