/* What the kernel's shapers are told: arithmetic, and the comparison with what they say. */
#include <math.h>
#include <string.h>
#include "emu/links/qdisc.h"
#include "emu/links/rate_changer.h"
#include "tests/kit/suite.h"

static struct strait_emu_qdisc shaper_of(struct strait_link link, double overhead_bytes,
                                         double dilation)
{
    struct strait_emu_qdisc s;
    strait_emu_qdisc_of(&s, &link, overhead_bytes, dilation, 1.5e-3);
    return s;
}

static void rates(void)
{
    /* 1 Gbps / 8 = 125 MB/s; 1.5 ms of that are 187500 bytes */
    struct strait_emu_qdisc s = shaper_of((struct strait_link){.rate_bits_per_s = 1e9}, 0, 1);
    CU_ASSERT(s.has_tbf && !s.has_netem);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 125000000);
    CU_ASSERT_EQUAL(s.burst_bytes, 187500);
    CU_ASSERT_EQUAL(s.limit_bytes, 2147483647);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_qdisc_credit_s(&s), 1.5e-3, 1e-9);
    /* 24 bytes on the wire beside each frame: x 1514 / 1538, so 1448 bytes of payload in 1538 */
    s = shaper_of((struct strait_link){.rate_bits_per_s = 1e9, .queue_bytes = 1538000}, 24, 1);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 123049415);
    CU_ASSERT_EQUAL(s.limit_bytes, 1514000);
    /* a queue is bytes already, unlike a rate */
    s = shaper_of((struct strait_link){.rate_bits_per_s = 1e9, .queue_bytes = 64000}, 0, 1);
    CU_ASSERT_EQUAL(s.limit_bytes, 64000);
    /* 37 Mbps at dilation 4: 37e6 / 32 = 1156250 bytes/s, 1.5 ms of that are below two frames */
    s = shaper_of((struct strait_link){.rate_bits_per_s = 37e6}, 0, 4);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 1156250);
    CU_ASSERT_EQUAL(s.burst_bytes, 3028);
    /* a queue below half a byte still is one: 0 would be refused by the kernel */
    s = shaper_of((struct strait_link){.rate_bits_per_s = 1e9, .queue_bytes = 0.3}, 0, 1);
    CU_ASSERT_EQUAL(s.limit_bytes, 1);
    s = shaper_of((struct strait_link){.rate_bits_per_s = INFINITY}, 0, 1);
    CU_ASSERT(!s.has_tbf && !s.has_netem);
    CU_ASSERT_EQUAL(strait_emu_qdisc_credit_s(&s), 0);
}

static void delays(void)
{
    struct strait_emu_qdisc s = shaper_of(
        (struct strait_link){
            .rate_bits_per_s = INFINITY, .delay_s = 0.025, .jitter_s = 0.001, .loss_ratio = 0.01},
        0, 4);
    CU_ASSERT(s.has_netem && !s.has_tbf);
    CU_ASSERT_EQUAL(s.delay_ns, 100000000);
    CU_ASSERT_EQUAL(s.jitter_ns, 4000000);
    CU_ASSERT_EQUAL(s.loss, 42949673); /* 4294967295 / 100 */
    s = shaper_of((struct strait_link){.rate_bits_per_s = 1e6, .loss_ratio = 1}, 0, 1);
    CU_ASSERT(s.has_netem && s.has_tbf);
    CU_ASSERT_EQUAL(s.loss, UINT32_MAX);
}

/* In virtual time the rate of a link with a delay, 1.25 MB/s of 10 Mbps, is netem's: each packet
 * takes its own time, and the tbf outside, of one frame, cuts super-packets. With a finite queue,
 * losses or rates that change the rate is tbf's: a burst of one frame, 1514 bytes, and of what
 * passes in 2 us, 3 bytes (2.5 rounded up); 1517 bytes take 1.2136 ms, which are added to the
 * delay. Where there is no delay a message may be early by two frames, 2.4224 ms, or by 0.3 ms
 * where that is more. */
static void exact(void)
{
    struct strait_link link = {.rate_bits_per_s = 10e6, .delay_s = 0.005};
    struct strait_emu_qdisc s;
    strait_emu_qdisc_of(&s, &link, 0, 1, 2e-6);
    CU_ASSERT(s.has_tbf && s.has_netem);
    CU_ASSERT_EQUAL(s.netem_bytes_per_s, 1250000);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 2000000000);
    CU_ASSERT_EQUAL(s.burst_bytes, 1514);
    CU_ASSERT_EQUAL(s.delay_ns, 5000000);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_qdisc_credit_s(&s), 757e-9, 1e-12);
    for (int i = 0; i < 2; i++) {
        link.queue_bytes = i == 0 ? 100000 : 0;
        link.loss_ratio = i == 1 ? 0.01 : 0;
        strait_emu_qdisc_of(&s, &link, 0, 1, 2e-6);
        CU_ASSERT(s.has_tbf && s.has_netem);
        CU_ASSERT_EQUAL(s.netem_bytes_per_s, 0);
        CU_ASSERT_EQUAL(s.rate_bytes_per_s, 1250000);
        CU_ASSERT_EQUAL(s.burst_bytes, 1517);
        CU_ASSERT_EQUAL(s.delay_ns, 5000000 + 1213600);
        CU_ASSERT_EQUAL(strait_emu_qdisc_credit_s(&s), 0);
    }
    link.loss_ratio = 0;
    link.delay_s = 0;
    strait_emu_qdisc_of(&s, &link, 0, 1, 2e-6);
    CU_ASSERT(s.has_tbf && !s.has_netem);
    CU_ASSERT_EQUAL(s.delay_ns, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_qdisc_credit_s(&s), 2.4224e-3, 1e-12);
    link.rate_bits_per_s = 1e9;
    strait_emu_qdisc_of(&s, &link, 0, 1, 2e-6);
    CU_ASSERT_EQUAL(s.burst_bytes, 37500);
    /* an unlimited rate has nothing to make up for */
    link = (struct strait_link){.rate_bits_per_s = INFINITY, .delay_s = 0.005};
    strait_emu_qdisc_of(&s, &link, 0, 1, 2e-6);
    CU_ASSERT_EQUAL(s.delay_ns, 5000000);
}

static void differences(void)
{
    char text[256] = "";
    const struct strait_emu_qdisc wanted = {.has_netem = true,
                                            .has_tbf = true,
                                            .delay_ns = 25000000,
                                            .loss = 1000,
                                            .rate_bytes_per_s = 125000000,
                                            .burst_bytes = 187500,
                                            .limit_bytes = 12500000};
    struct strait_emu_qdisc found = wanted;
    CU_ASSERT(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    found.burst_bytes += 8; /* a tick of 64 ns at 125 MB/s */
    CU_ASSERT(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    found.burst_bytes = 131072;
    CU_ASSERT_FALSE(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    CU_ASSERT_STRING_EQUAL(text, "asked for tbf burst in bytes 187500, found 131072");
    found = wanted;
    found.rate_bytes_per_s = 12500000;
    CU_ASSERT_FALSE(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    CU_ASSERT_STRING_EQUAL(text, "asked for tbf rate in bytes/s 125000000, found 12500000");
    found = wanted;
    found.delay_ns++;
    CU_ASSERT_FALSE(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    found = wanted;
    found.loss = 0;
    CU_ASSERT_FALSE(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    found = (struct strait_emu_qdisc){0};
    CU_ASSERT_FALSE(strait_emu_qdisc_same(text, sizeof(text), &wanted, &found));
    CU_ASSERT_STRING_EQUAL(text, "asked for netem 1, found 0");
}

/* Where the rate changes, the shaper begins with that of time 0: 10 Mbps are 1250000 bytes/s.
 * Uniform jitter stays below the delay, that of a table is netem's to cut; both keep the order. */
static void changing(void)
{
    const double at_s[] = {0, 1}, bits_per_s[] = {10e6, 80e6};
    struct strait_schedule *schedule = strait_schedule_new(2, at_s, bits_per_s, INFINITY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
    struct strait_link link = {.rate_bits_per_s = 80e6, .delay_s = 0.001, .schedule = schedule};
    struct strait_emu_qdisc s = shaper_of(link, 0, 1);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 1250000);
    CU_ASSERT_TRUE(s.in_order);
    strait_emu_qdisc_of_step(&s, &link, 80e6, 0, 1, 1.5e-3);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 10000000);
    CU_ASSERT_TRUE(s.in_order);
    /* in virtual time, too, such a rate is tbf's: what waits in netem has its times already */
    strait_emu_qdisc_of_step(&s, &link, 80e6, 0, 1, 2e-6);
    CU_ASSERT_EQUAL(s.rate_bytes_per_s, 10000000);
    CU_ASSERT_EQUAL(s.netem_bytes_per_s, 0);
    link.schedule = NULL;
    link.rate_bits_per_s = 80e6;
    CU_ASSERT_FALSE(shaper_of(link, 0, 1).in_order);
    link.jitter_s = 0.002;
    CU_ASSERT_EQUAL(shaper_of(link, 0, 1).jitter_ns, 1000000);
    const struct strait_jitter table = {.n = 1};
    link.jitter = &table;
    CU_ASSERT_EQUAL(shaper_of(link, 0, 1).jitter_ns, 2000000);
    CU_ASSERT_TRUE(shaper_of(link, 0, 1).in_order);
    link.delay_s = 0;
    CU_ASSERT_TRUE(shaper_of(link, 0, 1).has_netem);
    strait_schedule_free(schedule);
}

static const struct strait_test tests[] = {
    {"where the rate changes, the shaper begins with the first", changing},
    {"rate, overhead, burst and queue are as calculated by hand", rates},
    {"delay, jitter and loss are as calculated by hand", delays},
    {"where nothing is late, a link takes its time for every byte", exact},
    {"a difference between asked and found is told", differences},
};
STRAIT_SUITE("emu/links/shaper", tests);
