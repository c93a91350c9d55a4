/* Links that delay packets by a distribution: a packet a second, so that none waits for another. */
#include <math.h>
#include "sim/packets/packet_wire.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N = 20000 };

/* Delays of N packets over a link of 1 s and that jitter: their mean, least and largest. */
static void delays(double *mean, double *least, double *most, const char *name, double jitter_s)
{
    struct strait_link link = strait_rig_link(1e12, 1);
    struct strait_error err = {0};
    struct strait_wire w;
    struct strait_jitter *j;
    CU_ASSERT_EQUAL_FATAL(strait_jitter_load(&j, name, "", &err), 0);
    link.jitter_s = jitter_s;
    link.jitter = j;
    struct strait_network *n = strait_network_star(2, link, link, link, link, 0, strait_rig_tcp());
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL_FATAL(strait_wire_init(&w, n), 0);
    *mean = 0, *least = INFINITY, *most = 0;
    for (int i = 0; i < N; i++) {
        struct strait_packet_on_wire *p = strait_wire_packet(&w);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        p->number = (uint64_t)i;
        CU_ASSERT_FATAL(strait_wire_carry(&w, 0, p, 10.0 * i));
        const double took_s = p->out_s - 10.0 * i;
        *mean += took_s / N;
        *least = fmin(*least, took_s);
        *most = fmax(*most, took_s);
        strait_wire_free(&w, strait_wire_take(&w, &w.links[0]));
    }
    strait_wire_release(&w);
    strait_network_free(n);
    strait_jitter_free(j);
}

/* The mean of N draws is that of the table to 4 standard deviations of at most 1 / sqrt(N). A
 * Pareto delay is never shorter than by 2/3 of the jitter, and at most 4 times it longer: 4/3
 * (u^(-1/3) - 1.5) has the mean 0, that is cut at 4 some 0.033 less. */
static void drawn(void)
{
    double mean, least, most;
    delays(&mean, &least, &most, "pareto", 0.1);
    CU_ASSERT_DOUBLE_EQUAL(mean, 1 - 0.0033, 0.1 * 4 / sqrt(N));
    CU_ASSERT(least >= 1 - 0.1 * 2 / 3 - 1e-9 && least < 1 - 0.1 * 0.65);
    CU_ASSERT(most > 1.3 && most <= 1.4);
    delays(&mean, &least, &most, "normal", 0.1);
    CU_ASSERT_DOUBLE_EQUAL(mean, 1, 0.1 * 4 / sqrt(N));
    CU_ASSERT(least > 0.6 - 1e-9 && least < 0.7 && most < 1.4 && most > 1.3);
}

/* What would arrive before it was sent arrives at once: half of a normal distribution around 1 s
 * with a jitter of 2 s is below 0 at -0.5, 30.9 % of all. */
static void not_before(void)
{
    double mean, least, most;
    delays(&mean, &least, &most, "normal", 2);
    CU_ASSERT(least >= 0 && least < 1e-6);
    /* E max(0, 1 + 2 z) = Phi(0.5) + 2 phi(0.5) = 0.69146 + 0.70413 */
    CU_ASSERT_DOUBLE_EQUAL(mean, 1.39559, 2 * 4 / sqrt(N));
}

static const struct strait_test tests[] = {
    {"delays are drawn from the distribution", drawn},
    {"no packet arrives before it was sent", not_before},
};
STRAIT_SUITE("sim/packets/wire_jitter", tests);
