/* BBR's detection of policers, Linux 6.1 tcp_bbr.c, bbr_lt_bw_sampling: a sender that loses a fifth
 * of what it sends at the same rate in two intervals takes that rate for all that it will get, and
 * keeps to it for 48 round trips. Streams that share a queue of less than what is under way lose so
 * much while they start, and are slow long after they have become alone. */
#include "tcp_parts.h"

#include <math.h>

static const double LOSSY = 50.0 / 256, SAME_RATIO = 1.0 / 8, SAME_BYTES_PER_S = 500;
enum { MIN_ROUNDS = 4, MAX_ROUNDS = 16, POLICED_ROUNDS = 48 };

/* delivered_s in the whole milliseconds that Linux keeps. */
static double now_ms(const struct strait_connection *c)
{
    return floor(c->delivered_s * 1e3 + 1e-6);
}

static void begin_interval(struct strait_connection *c)
{
    struct strait_policer *p = &c->bbr.policer;
    p->begin_ms = now_ms(c);
    p->delivered = c->delivered;
    p->lost = c->n_lost;
    p->rounds = 0;
}

void strait_policer_reset(struct strait_connection *c)
{
    c->bbr.policer = (struct strait_policer){0};
    begin_interval(c);
}

static void end_interval(struct strait_connection *c, double rate)
{
    struct strait_policer *p = &c->bbr.policer;
    const double off = fabs(rate - p->rate);
    if (p->rate > 0 &&
        (off <= SAME_RATIO * p->rate || off * c->segment_bytes <= SAME_BYTES_PER_S)) {
        p->rate = (rate + p->rate) / 2;
        p->is_found = true;
        p->rounds = 0;
        return;
    }
    p->rate = rate;
    begin_interval(c);
}

/* An interval has at least four round trips and ends with a loss. */
static void sample(struct strait_connection *c, bool lost, bool is_limited)
{
    struct strait_policer *p = &c->bbr.policer;
    if (!p->is_sampling) {
        if (!lost)
            return;
        begin_interval(c);
        p->is_sampling = true;
    }
    p->rounds += !is_limited && c->bbr.is_round;
    if (is_limited || p->rounds > MAX_ROUNDS) {
        strait_policer_reset(c);
        return;
    }
    const double delivered = c->delivered - p->delivered, ms = now_ms(c) - p->begin_ms;
    if (p->rounds >= MIN_ROUNDS && lost && delivered > 0 && ms >= 1 &&
        (double)(c->n_lost - p->lost) >= LOSSY * delivered)
        end_interval(c, 1e3 * delivered / ms);
}

bool strait_policer_ends(struct strait_connection *c, bool lost, bool is_limited)
{
    struct strait_policer *p = &c->bbr.policer;
    if (!p->is_found) {
        sample(c, lost, is_limited);
        return false;
    }
    if (c->bbr.mode != STRAIT_BBR_PROBE_BW || !c->bbr.is_round || ++p->rounds < POLICED_ROUNDS)
        return false;
    strait_policer_reset(c);
    return true;
}
