/* Reno and CUBIC: how the window grows and by how much it shrinks. */
#include "tcp_parts.h"

#include <math.h>

/* Linux tcp_cubic.c: what remains after a loss, segments/s^3, the slowest growth before the first
 * loss. */
static const double BETA = 717.0 / 1024, SCALE = 410.0 / 1024, FIRST_COUNT = 20,
                    LOOK_TICKS = 3; /* HZ / 32 */

/* Segments/s at which Linux would pace, by tcp_update_pacing_rate for Reno and CUBIC. */
double strait_pacing_rate(const struct strait_connection *c)
{
    return c->congestion == STRAIT_BBR
               ? c->pacing_per_s
               : (c->cwnd < c->ssthresh / 2 ? 2 : 1.2) * c->cwnd / c->srtt_s;
}

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
    c->hystart = (struct strait_hystart){.end_seq = c->nxt,
                                         .least_s = INFINITY,
                                         .begin_s = INFINITY,
                                         .ack_s = -INFINITY,
                                         .rtt_s = INFINITY,
                                         .is_on = c->hystart.is_on};
}

/* Linux tcp_cubic.c hystart_update: a train of acknowledgements that come within 2 ms of each other
 * for half of the path's round trip, or 8 samples of which none is within an eighth of the least
 * round trip, 4 to 16 ms. Super-packets hold acknowledgements back for 1 ms at most. */
static const double TRAIN_GAP_S = 2e-3, MIN_DELAY_S = 4e-3, MAX_DELAY_S = 16e-3,
                    MAX_CUSHION_S = 1e-3, CUSHION_BYTES = 4 * 65536.0;
enum { LOW_WINDOW = 16, HYSTART_SAMPLES = 8 };

static bool is_long_train(const struct strait_connection *c, double now_s)
{
    const double bytes_per_s = strait_pacing_rate(c) * c->segment_bytes,
                 cushion_s = fmin(MAX_CUSHION_S, CUSHION_BYTES / bytes_per_s);
    return now_s - c->hystart.begin_s > (c->hystart.least_s + cushion_s) / 2;
}

void strait_cubic_acked(struct strait_connection *c, double rtt_s, double now_s)
{
    struct strait_hystart *h = &c->hystart;
    if (strait_tick_of(now_s) - c->cubic.epoch < 1 / STRAIT_TICK_S) /* not right after a loss */
        return;
    h->least_s = fmin(h->least_s, rtt_s);
    if (h->found || c->cwnd >= c->ssthresh)
        return;
    if (c->una > h->end_seq) {
        h->begin_s = h->ack_s = now_s;
        h->end_seq = c->nxt;
        h->rtt_s = INFINITY;
        h->n_samples = 0;
    }
    if (c->cwnd < LOW_WINDOW)
        return;
    if (now_s - h->ack_s <= TRAIN_GAP_S) {
        h->ack_s = now_s;
        h->found = is_long_train(c, now_s);
    }
    h->rtt_s = fmin(h->rtt_s, rtt_s);
    if (h->n_samples < HYSTART_SAMPLES)
        h->n_samples++;
    else
        h->found |= h->rtt_s > h->least_s + fmin(fmax(h->least_s / 8, MIN_DELAY_S), MAX_DELAY_S);
    if (h->found)
        c->ssthresh = c->cwnd;
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
