/* What trains of packets say of a path: trains made by arithmetic. */
#include "emu/path/path_fit.h"
#include <math.h>
#include "tests/kit/suite.h"

enum { N = 1000 };

/* 1000 packets of 1250 B on the wire, 10 Mbps: 1 ms each. */
static struct strait_path_train at_once(struct strait_path_packet *p)
{
    for (uint32_t i = 0; i < N; i++)
        p[i] = (struct strait_path_packet){i, 5, 105 + 0.001 * (i + 1)};
    return (struct strait_path_train){p, N, N, 1250, false};
}

static void rate(void)
{
    struct strait_path_packet p[N];
    struct strait_path_train t = at_once(p);
    struct strait_path_figure f = strait_path_fit_rate(&t);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 1e7, 1); /* 100 s of offset leave 1e-14 of a second */
    CU_ASSERT_AT_MOST(f.error, 1);
    CU_ASSERT_EQUAL(f.n, N - N / 8);
    /* the first eighth, 125 packets, came as credit: at once */
    for (uint32_t i = 0; i < N / 8; i++)
        p[i].arrived_s = 105;
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_rate(&t).value, 1e7, 1);
    t.n_arrived = 15;
    CU_ASSERT(isnan(strait_path_fit_rate(&t).value));
}

/* Every tenth packet is lost. Behind the link its millisecond has passed, before it not. */
static void rate_with_loss(void)
{
    struct strait_path_packet p[N];
    struct strait_path_train t = at_once(p);
    t.n_arrived = 0;
    for (uint32_t i = 0; i < N; i++)
        if (i % 10 != 9)
            p[t.n_arrived++] = p[i];
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_rate(&t).value, 1e7, 1);
    for (uint32_t i = 0; i < t.n_arrived; i++)
        p[i].arrived_s = 105 + 0.001 * (i + 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_rate(&t).value, 1e7, 1);
}

/* Arrivals alternate by +-d around the line. Slope's error: d / sqrt(sum of (i - mean)^2), and
 * that sum is m (m^2 - 1) / 12 for m = 875 numbers in a row; residuals count m - 2 degrees of
 * freedom. */
static void rate_error(void)
{
    struct strait_path_packet p[N];
    struct strait_path_train t = at_once(p);
    const double d = 1e-4, m = 875;
    for (uint32_t i = 0; i < N; i++)
        p[i].arrived_s += i % 2 ? d : -d;
    const struct strait_path_figure f = strait_path_fit_rate(&t);
    const double error = sqrt(d * d * m / (m - 2) / (m * (m * m - 1) / 12)) / 0.001 * 1e7;
    CU_ASSERT_DOUBLE_EQUAL(f.value, 1e7, 3 * error);
    CU_ASSERT_DOUBLE_EQUAL(f.error / error, 1, 1e-3);
}

/* 20 of 1000: 2 %, its error sqrt(0.02 0.98 / 1000) = 0.4427 %. None of 1000: that of one,
 * sqrt(0.001 0.999 / 1000) = 0.09995 %. */
static void loss(void)
{
    struct strait_path_train t = {NULL, 980, 1000, 100, false};
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_loss(&t).value, 0.02, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_loss(&t).error, 0.004427, 1e-6);
    t.n_arrived = 1000;
    CU_ASSERT_EQUAL(strait_path_fit_loss(&t).value, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_loss(&t).error, 0.0009995, 1e-7);
    t.n_sent = 0;
    CU_ASSERT(isnan(strait_path_fit_loss(&t).value));
}

/* Delays 10 ms - 2 ms ... 10 ms + 2 ms, evenly: of 1001, those at places 50 and 950 lie 900 steps
 * of 4 us apart, 3.6 ms; over 1.8 that is 2 ms. */
static void jitter(void)
{
    struct strait_path_packet p[1001];
    for (uint32_t i = 0; i < 1001; i++)
        p[i] = (struct strait_path_packet){i, i, i + 0.008 + 4e-6 * ((i * 8) % 1001)};
    const struct strait_path_train t = {p, 1001, 1001, 100, false};
    const struct strait_path_figure f = strait_path_fit_jitter(&t);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 0.002, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 0.002 * sqrt(2 * 0.0475 / 1001), 1e-12);
    CU_ASSERT_EQUAL(f.n, 1001);
}

/* Sixteen packets say something, fifteen nothing; nor do those that all came at once, or a rate
 * that is not known. */
static void too_few(void)
{
    struct strait_path_packet p[N];
    struct strait_path_train t = at_once(p);
    t.n_arrived = 16;
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_rate(&t).value, 1e7, 1);
    CU_ASSERT_EQUAL(strait_path_fit_rate(&t).n, 14);
    /* delays of 101, 102, ... 116 ms: all 15 ms of it, over 1.8 */
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_jitter(&t).value, 0.015 / 1.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_fit_queue(&t, 1e7, 0).value, 16 * 1250, 1);
    CU_ASSERT_EQUAL(strait_path_fit_queue(&t, 1e7, 0).n, 16);
    CU_ASSERT(isnan(strait_path_fit_queue(&t, 0, 0).value));
    CU_ASSERT(isnan(strait_path_fit_queue(&t, NAN, 0).value));
    t.n_arrived = 15;
    CU_ASSERT(isnan(strait_path_fit_rate(&t).value) && strait_path_fit_rate(&t).n == 0);
    CU_ASSERT(isnan(strait_path_fit_jitter(&t).value) && isnan(strait_path_fit_jitter(&t).error));
    CU_ASSERT(isnan(strait_path_fit_queue(&t, 1e7, 0).value));
    t.n_arrived = N;
    for (uint32_t i = 0; i < N; i++)
        p[i].arrived_s = 105;
    CU_ASSERT(isnan(strait_path_fit_rate(&t).value));
}

/* 1000 packets at once into a queue of 100: 100 pass, the last has waited 99 ms more than the
 * first; the others are lost. */
static void queue(void)
{
    struct strait_path_packet p[N];
    struct strait_path_train t = at_once(p);
    struct strait_path_figure f = strait_path_fit_queue(&t, 1e7, 0);
    CU_ASSERT(isnan(f.error)); /* all of them came: it holds 999 ms and more */
    CU_ASSERT_DOUBLE_EQUAL(f.value, 1250 * N, 1);
    t.n_arrived = 100;
    f = strait_path_fit_queue(&t, 1e7, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.value, 125000, 1);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 1250 / sqrt(12), 1e-9);
    /* 1 % is lost by chance: 10, and four times its root, and 4 are no sign of a full queue */
    t.n_arrived = N - 10 - 12 - 4;
    CU_ASSERT(isnan(strait_path_fit_queue(&t, 1e7, 0.01).error));
    t.n_arrived -= 2;
    CU_ASSERT(isfinite(strait_path_fit_queue(&t, 1e7, 0.01).error));
}

/* Of 1 2 3 4 100 the middle one is 3 and the deviations' 1: 1.2533 1.4826 / sqrt(5) = 0.83098. */
static void median(void)
{
    double odd[5] = {100, 3, 1, 4, 2}, even[2] = {1, 2};
    struct strait_path_figure f = strait_path_fit_median(odd, 5);
    CU_ASSERT_EQUAL(f.value, 3);
    CU_ASSERT_DOUBLE_EQUAL(f.error, 0.83098, 1e-5);
    CU_ASSERT_EQUAL(strait_path_fit_median(even, 2).value, 1.5);
    CU_ASSERT(isnan(strait_path_fit_median(even, 0).value));
}

/* 10 of one reading and 16 of two: 14. They lie 4 and 2 from it: variance (16 + 2 4) / 3 = 8 over
 * one degree of freedom, more than their own 1 / 3 and 2 / 3. */
static void mean(void)
{
    const struct strait_path_figure f[3] = {{10, 1, 1}, {NAN, NAN, 0}, {16, 1, 2}};
    const struct strait_path_figure m = strait_path_mean(f, 3);
    CU_ASSERT_DOUBLE_EQUAL(m.value, 14, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m.error, sqrt(8), 1e-12);
    CU_ASSERT_EQUAL(m.n, 3);
    CU_ASSERT_EQUAL(strait_path_mean(f, 1).error, 1);
    CU_ASSERT(isnan(strait_path_mean(f + 1, 1).value));
}

static const struct strait_test tests[] = {
    {"arrivals one after the other tell the rate, but not the first eighth", rate},
    {"lost packets do not change the rate, wherever they were lost", rate_with_loss},
    {"the rate's error is that of a line's slope", rate_error},
    {"loss is a share, with a binomial error", loss},
    {"jitter is what spreads uniform delays", jitter},
    {"fewer than sixteen packets say nothing", too_few},
    {"a full queue is as long as its last packet waited", queue},
    {"a median and its error", median},
    {"figures are averaged by their readings, without those that were not found", mean},
};
STRAIT_SUITE("emu/path/path_fit", tests);
