/* When BBR takes losses for those of a policer (Linux 6.1 tcp_bbr.c, bbr_lt_bw_sampling). */
#include "sim/packets/tcp_parts.h"
#include "tests/kit/suite.h"

/* A round trip of 20 ms in which so many segments were delivered and lost. Returns: whether a
 * policer was forgotten. */
static bool go_round(struct strait_connection *c, int delivered, unsigned lost)
{
    c->delivered += delivered;
    c->delivered_s += 0.02;
    c->n_lost += lost;
    c->bbr.is_round = true;
    return strait_policer_ends(c, lost > 0, false);
}

static struct strait_connection begun(void)
{
    struct strait_connection c = {.segment_bytes = 1448};
    strait_policer_reset(&c);
    go_round(&c, 100, 30); /* the first loss, and a first round trip */
    return c;
}

static void rounds(struct strait_connection *c, int n, int delivered, unsigned lost)
{
    while (n-- > 0)
        CU_ASSERT_FALSE(go_round(c, delivered, lost));
}

/* 100 segments in 20 ms, then 110: 5000 and 5500 segments/s, less than an eighth apart. */
static void finds(void)
{
    struct strait_connection c = begun();
    rounds(&c, 3, 100, 20);
    CU_ASSERT_DOUBLE_EQUAL(c.bbr.policer.rate, 5000, 1e-6);
    rounds(&c, 3, 110, 22);
    CU_ASSERT_FALSE(c.bbr.policer.is_found);
    rounds(&c, 1, 110, 22);
    CU_ASSERT_TRUE(c.bbr.policer.is_found);
    CU_ASSERT_DOUBLE_EQUAL(c.bbr.policer.rate, 5250, 1e-6);
}

/* A loss more or less in five, a rate an eighth more or less than before. */
static void spares(void)
{
    struct strait_connection few = begun(), other = begun();
    rounds(&few, 16, 100, 19);
    CU_ASSERT_EQUAL(few.bbr.policer.rate, 0);
    CU_ASSERT_FALSE(few.bbr.policer.is_found);
    rounds(&other, 3, 100, 20);
    rounds(&other, 4, 113, 23);
    CU_ASSERT_FALSE(other.bbr.policer.is_found);
    CU_ASSERT_DOUBLE_EQUAL(other.bbr.policer.rate, 5650, 1e-6);
}

/* Who had nothing to send begins anew, and so does who has lost little for 16 round trips. */
static void begins_anew(void)
{
    struct strait_connection c = begun(), little = begun();
    rounds(&c, 3, 100, 20);
    CU_ASSERT_FALSE(strait_policer_ends(&c, true, true));
    CU_ASSERT_EQUAL(c.bbr.policer.rate, 0);
    CU_ASSERT_FALSE(c.bbr.policer.is_sampling);
    rounds(&little, 15, 100, 0);
    CU_ASSERT_TRUE(little.bbr.policer.is_sampling);
    rounds(&little, 1, 100, 0);
    CU_ASSERT_FALSE(little.bbr.policer.is_sampling);
}

/* For 48 round trips of the steady state. */
static void forgets(void)
{
    struct strait_connection c = begun();
    rounds(&c, 7, 100, 20);
    CU_ASSERT_TRUE_FATAL(c.bbr.policer.is_found);
    rounds(&c, 60, 100, 0);
    c.bbr.mode = STRAIT_BBR_PROBE_BW;
    rounds(&c, 47, 100, 0);
    CU_ASSERT_TRUE(go_round(&c, 100, 0));
    CU_ASSERT_FALSE(c.bbr.policer.is_found);
    CU_ASSERT_EQUAL(c.bbr.policer.rate, 0);
}

static const struct strait_test tests[] = {
    {"a fifth lost at one rate in two intervals is a policer's", finds},
    {"fewer losses or another rate are not", spares},
    {"an interval of too long, or without data, begins anew", begins_anew},
    {"a policer is forgotten after 48 round trips", forgets},
};
STRAIT_SUITE("sim/packets/policer", tests);
