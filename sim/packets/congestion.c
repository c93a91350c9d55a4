/* Reno and CUBIC: how the window grows and by how much it shrinks. */
#include "connection.h"

#include <math.h>

/* Linux tcp_cubic.c: what remains after a loss, segments/s^3, the slowest growth before the first
 * loss. */
static const double BETA = 717.0 / 1024, SCALE = 410.0 / 1024, FIRST_COUNT = 20,
                    LOOK_TICKS = 3; /* HZ / 32 */

static void begin_epoch(struct strait_cubic *b, double cwnd, double acked, double ticks)
{
    b->epoch = ticks;
    b->acked = acked;
    b->friendly = cwnd;
    b->k_s = b->last_max > cwnd ? cbrt((b->last_max - cwnd) / SCALE) : 0;
    b->origin = fmax(b->last_max, cwnd);
}

/* Acknowledgements for each segment by which the window grows (Linux bictcp_update). It looks at
 * the clock in ticks, and not at every acknowledgement: on short round trips that decides how fast
 * the window grows. */
static double cubic_count(struct strait_connection *c, double acked, double now_s)
{
    struct strait_cubic *b = &c->cubic;
    const double ticks = strait_tick_of(now_s);
    b->acked += acked;
    if (b->last_cwnd == c->cwnd && ticks - b->last <= LOOK_TICKS)
        return b->count;
    const bool looks = isnan(b->epoch) || ticks != b->last;
    b->last_cwnd = c->cwnd;
    b->last = ticks;
    if (isnan(b->epoch))
        begin_epoch(b, c->cwnd, acked, ticks);
    if (looks) {
        const double off_s = (ticks - b->epoch) * STRAIT_TICK_S + c->min_rtt_s - b->k_s;
        const double target = floor(b->origin + SCALE * off_s * off_s * off_s);
        b->count = target > c->cwnd ? floor(c->cwnd / (target - c->cwnd)) : 100 * c->cwnd;
        if (b->last_max <= 0)
            b->count = fmin(b->count, FIRST_COUNT);
    }
    const double each = floor(c->cwnd * (1 + BETA) / (3 * (1 - BETA)));
    while (b->acked > each) {
        b->acked -= each;
        b->friendly++;
    }
    if (b->friendly > c->cwnd)
        b->count = fmin(b->count, floor(c->cwnd / (b->friendly - c->cwnd)));
    return b->count = fmax(b->count, 2);
}

double strait_congestion_ssthresh(struct strait_connection *c, double now_s)
{
    (void)now_s;
    if (c->congestion == STRAIT_BBR) {
        strait_bbr_save(c);
        return c->ssthresh;
    }
    if (c->congestion == STRAIT_RENO)
        return fmax(2, floor(c->cwnd / 2));
    struct strait_cubic *b = &c->cubic;
    b->epoch = NAN;
    b->last_max = c->cwnd < b->last_max ? c->cwnd * (1 + BETA) / 2 : c->cwnd;
    return fmax(2, floor(c->cwnd * BETA));
}

void strait_cubic_reset(struct strait_connection *c)
{
    c->cubic = (struct strait_cubic){.epoch = NAN, .last = -INFINITY};
}

void strait_cubic_idle(struct strait_connection *c, double now_s)
{
    c->cubic.epoch += strait_tick_of(now_s) - strait_tick_of(c->last_sent_s); /* NAN stays */
}

void strait_congestion_avoid(struct strait_connection *c, double acked, double now_s)
{
    const bool slow = c->cwnd < c->ssthresh;
    c->window_at_s = now_s; /* Linux tcp_cong_avoid: every acknowledgement says that it is in use */
    if (!c->limited && !(slow && c->cwnd < 2 * c->most_out))
        return;
    if (slow) {
        const double to = fmin(c->cwnd + acked, c->ssthresh);
        acked -= to - c->cwnd;
        c->cwnd = fmin(to, 2 * c->cap);
        if (acked <= 0)
            return;
    }
    const double count = c->congestion == STRAIT_CUBIC ? cubic_count(c, acked, now_s) : c->cwnd;
    if (c->counted >= count) {
        c->counted = 0;
        c->cwnd++;
    }
    c->counted += acked;
    const double more = floor(c->counted / count);
    c->counted -= more * count;
    c->cwnd = fmin(c->cwnd + more, 2 * c->cap);
}
