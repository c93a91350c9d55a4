/* BBR as in Linux 6.1 tcp_bbr.c (Cardwell et al. 2016). */
#include "tcp_parts.h"

#include <math.h>

static const double HIGH_GAIN = 2885.0 / 1000 + 1.0 / 256, DRAIN_GAIN = 1000.0 / 2885,
                    WINDOW_GAIN = 2, MARGIN = 0.99, MIN_RTT_S = 10, PROBE_S = 0.2,
                    FULL_GROWTH = 1.25, MIN = 4, EXTRA_S = 0.1;
static const double CYCLE[] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
enum { N_CYCLE = 8, RATE_ROUNDS = 10, FULL_ROUNDS = 3, EXTRA_ROUNDS = 5 };

static double max_rate(const struct strait_connection *c)
{
    return c->bbr.max_rate[0];
}

/* Linux bbr_bw. */
static double rate_of(const struct strait_connection *c)
{
    return c->bbr.policer.is_found ? c->bbr.policer.rate : max_rate(c);
}

/* An emulation's connection has sent 12 bytes of greeting before time 0 (emu/process/connect.c):
 * one segment and, as its first one, delivered beside the SYN. Its acknowledgement is a first
 * sample and widens the window, which Linux does not ask whether it is in use. */
static void greet(struct strait_connection *c)
{
    c->delivered = 2;
    c->n_sent = 1;
    c->cwnd++;
    c->bbr.round = 1;
    c->bbr.next_delivered = c->delivered;
    c->bbr.max_rate[0] = c->bbr.max_rate[1] = c->bbr.max_rate[2] = 1 / c->srtt_s;
    c->bbr.max_round[0] = c->bbr.max_round[1] = c->bbr.max_round[2] = 1;
}

void strait_bbr_init(struct strait_connection *c)
{
    c->bbr = (struct strait_bbr){
        .min_rtt_s = c->srtt_s, .pacing_gain = HIGH_GAIN, .window_gain = HIGH_GAIN};
    c->pacing_per_s = HIGH_GAIN * MARGIN * c->cwnd / c->srtt_s;
    greet(c);
}

/* Largest value of the last rounds, with the next best ones for when it gets old: Linux
 * lib/win_minmax.c. */
static void note_rate(struct strait_bbr *b, double rate)
{
    double *m = b->max_rate;
    uint64_t *at = b->max_round;
    const uint64_t t = b->round;
    if (rate >= m[0] || t - at[2] > RATE_ROUNDS) {
        m[0] = m[1] = m[2] = rate;
        at[0] = at[1] = at[2] = t;
        return;
    }
    if (rate >= m[1]) {
        m[1] = m[2] = rate;
        at[1] = at[2] = t;
    } else if (rate >= m[2]) {
        m[2] = rate;
        at[2] = t;
    }
    if (t - at[0] > RATE_ROUNDS) {
        m[0] = m[1], at[0] = at[1];
        m[1] = m[2], at[1] = at[2];
        m[2] = rate, at[2] = t;
        if (t - at[0] > RATE_ROUNDS) {
            m[0] = m[1], at[0] = at[1];
            m[1] = m[2], at[1] = at[2];
        }
    } else if (at[1] == at[0] && t - at[0] > RATE_ROUNDS / 4) {
        m[1] = m[2] = rate;
        at[1] = at[2] = t;
    } else if (at[2] == at[1] && t - at[1] > RATE_ROUNDS / 2) {
        m[2] = rate;
        at[2] = t;
    }
}

static double product(const struct strait_connection *c, double rate, double gain)
{
    return rate > 0 ? ceil(gain * rate * c->bbr.min_rtt_s) : c->initial;
}

/* Segments of a super-packet: Linux bbr_tso_segs_goal. */
static double goal(const struct strait_connection *c)
{
    return fmin(fmax(2, floor(c->pacing_per_s / 1024)), 44);
}

/* Room for what segmentation offload and delayed acknowledgements hold back. */
static double quantized(const struct strait_connection *c, double window)
{
    window += 3 * goal(c);
    window = 2 * ceil(window / 2);
    return window + (c->bbr.mode == STRAIT_BBR_PROBE_BW && c->bbr.cycle == 0 ? 2 : 0);
}

static double inflight(const struct strait_connection *c, double gain)
{
    return quantized(c, product(c, max_rate(c), gain));
}

static void set_pace(struct strait_connection *c, double gain)
{
    const double per_s = rate_of(c) * gain * MARGIN;
    if (c->bbr.is_full || per_s > c->pacing_per_s)
        c->pacing_per_s = per_s;
}

/* What will be under way when the next super-packet may leave: Linux bbr_packets_in_net_at_edt. */
static double in_flight_then(const struct strait_connection *c, double in_flight, double now_s)
{
    const double then = in_flight + (c->bbr.pacing_gain > 1 ? goal(c) : 0);
    return fmax(0, then - floor(rate_of(c) * fmax(0, c->pace_s - now_s)));
}

static void next_phase(struct strait_connection *c)
{
    c->bbr.cycle = (c->bbr.cycle + 1) % N_CYCLE;
    c->bbr.cycle_s = c->delivered_s;
}

static void reset_mode(struct strait_connection *c)
{
    c->bbr.mode = c->bbr.is_full ? STRAIT_BBR_PROBE_BW : STRAIT_BBR_STARTUP;
    if (!c->bbr.is_full)
        return;
    c->bbr.cycle = N_CYCLE - 1 - (int)(7 * strait_sequence_unit(&c->draws));
    next_phase(c);
}

static void update_rate(struct strait_connection *c, const struct strait_rate_sample *rs)
{
    struct strait_bbr *b = &c->bbr;
    b->is_round = false;
    if (!rs->is_valid || !(rs->interval_s > 0))
        return;
    if (rs->prior_delivered >= b->next_delivered) {
        b->next_delivered = c->delivered;
        b->round++;
        b->is_round = true;
        b->conserves = false;
    }
    if (strait_policer_ends(c, rs->lost > 0, rs->is_limited))
        reset_mode(c);
    const double rate = rs->delivered / rs->interval_s;
    if (!rs->is_limited || rate >= max_rate(c))
        note_rate(b, rate);
}

static void update_aggregation(struct strait_connection *c, const struct strait_rate_sample *rs,
                               double now_s)
{
    struct strait_bbr *b = &c->bbr;
    if (rs->acked <= 0 || !rs->is_valid)
        return;
    if (b->is_round && ++b->extra_rounds >= EXTRA_ROUNDS) {
        b->extra_rounds = 0;
        b->extra_at = !b->extra_at;
        b->extra[b->extra_at] = 0;
    }
    double expected = rate_of(c) * (now_s - b->aggregate_s);
    if (b->aggregate <= expected) {
        b->aggregate = expected = 0;
        b->aggregate_s = now_s;
    }
    b->aggregate += rs->acked;
    const double extra = fmin(floor(b->aggregate - expected), c->cwnd);
    b->extra[b->extra_at] = fmax(b->extra[b->extra_at], extra);
}

/* In the cycle of PROBE_BW; none where a policer was found. */
static double cycle_gain(const struct strait_connection *c)
{
    return c->bbr.policer.is_found ? 1 : CYCLE[c->bbr.cycle];
}

static void update_phase(struct strait_connection *c, const struct strait_rate_sample *rs,
                         double now_s)
{
    const struct strait_bbr *b = &c->bbr;
    if (b->mode != STRAIT_BBR_PROBE_BW)
        return;
    const double gain = cycle_gain(c), in_flight = in_flight_then(c, rs->prior_in_flight, now_s);
    const bool is_long = c->delivered_s - b->cycle_s > b->min_rtt_s;
    const bool is_over = gain > 1   ? is_long && (rs->lost > 0 || in_flight >= inflight(c, gain))
                         : gain < 1 ? is_long || in_flight <= inflight(c, 1)
                                    : is_long;
    if (is_over)
        next_phase(c);
}

static void update_mode(struct strait_connection *c, const struct strait_rate_sample *rs,
                        double now_s)
{
    struct strait_bbr *b = &c->bbr;
    if (!b->is_full && b->is_round && !rs->is_limited) {
        if (max_rate(c) >= FULL_GROWTH * b->full_rate) {
            b->full_rate = max_rate(c);
            b->full_rounds = 0;
        } else {
            b->is_full = ++b->full_rounds >= FULL_ROUNDS;
        }
    }
    if (b->mode == STRAIT_BBR_STARTUP && b->is_full)
        b->mode = STRAIT_BBR_DRAIN;
    if (b->mode == STRAIT_BBR_DRAIN &&
        in_flight_then(c, strait_in_flight(c), now_s) <= inflight(c, 1))
        reset_mode(c);
}

void strait_bbr_save(struct strait_connection *c)
{
    struct strait_bbr *b = &c->bbr;
    b->prior_cwnd = b->before < STRAIT_TCP_RECOVERY && b->mode != STRAIT_BBR_PROBE_RTT
                        ? c->cwnd
                        : fmax(b->prior_cwnd, c->cwnd);
}

static void end_probe(struct strait_connection *c, double now_s)
{
    struct strait_bbr *b = &c->bbr;
    if (!(b->probe_done_s > 0) || now_s <= b->probe_done_s)
        return;
    b->min_rtt_at_s = now_s;
    c->cwnd = fmax(c->cwnd, b->prior_cwnd);
    reset_mode(c);
}

static void update_min_rtt(struct strait_connection *c, const struct strait_rate_sample *rs,
                           double now_s)
{
    struct strait_bbr *b = &c->bbr;
    const bool expired = now_s > b->min_rtt_at_s + MIN_RTT_S;
    if (isfinite(rs->rtt_s) && (rs->rtt_s < b->min_rtt_s || expired)) {
        b->min_rtt_s = rs->rtt_s;
        b->min_rtt_at_s = now_s;
    }
    if (expired && !b->restarts && b->mode != STRAIT_BBR_PROBE_RTT) {
        strait_bbr_save(c);
        b->mode = STRAIT_BBR_PROBE_RTT;
        b->probe_done_s = 0;
    }
    if (b->mode == STRAIT_BBR_PROBE_RTT) {
        c->limited_until = fmax(1, c->delivered + strait_in_flight(c));
        if (!(b->probe_done_s > 0) && strait_in_flight(c) <= MIN) {
            b->probe_done_s = now_s + PROBE_S;
            b->probe_round_done = false;
            b->next_delivered = c->delivered;
        } else if (b->probe_done_s > 0) {
            b->probe_round_done |= b->is_round;
            if (b->probe_round_done)
                end_probe(c, now_s);
        }
    }
    if (rs->is_valid && rs->delivered > 0)
        b->restarts = false;
}

static void update_gains(struct strait_connection *c)
{
    struct strait_bbr *b = &c->bbr;
    switch (b->mode) {
    case STRAIT_BBR_STARTUP:
        b->pacing_gain = b->window_gain = HIGH_GAIN;
        break;
    case STRAIT_BBR_DRAIN:
        b->pacing_gain = DRAIN_GAIN;
        b->window_gain = HIGH_GAIN;
        break;
    case STRAIT_BBR_PROBE_BW:
        b->pacing_gain = cycle_gain(c);
        b->window_gain = WINDOW_GAIN;
        break;
    case STRAIT_BBR_PROBE_RTT:
        b->pacing_gain = b->window_gain = 1;
        break;
    }
}

/* Linux bbr_set_cwnd_to_recover_or_restore. */
static bool recovers(struct strait_connection *c, const struct strait_rate_sample *rs)
{
    struct strait_bbr *b = &c->bbr;
    const enum strait_tcp_state before = b->before;
    const double in_flight = strait_in_flight(c);
    if (rs->lost > 0)
        c->cwnd = fmax(1, c->cwnd - rs->lost);
    if (c->state == STRAIT_TCP_RECOVERY && before != STRAIT_TCP_RECOVERY) {
        b->conserves = true;
        b->next_delivered = c->delivered;
        c->cwnd = in_flight + rs->acked;
    } else if (before >= STRAIT_TCP_RECOVERY && c->state < STRAIT_TCP_RECOVERY) {
        c->cwnd = fmax(c->cwnd, b->prior_cwnd);
        b->conserves = false;
    }
    b->before = c->state;
    if (b->conserves)
        c->cwnd = fmax(c->cwnd, in_flight + rs->acked);
    return b->conserves;
}

static void set_window(struct strait_connection *c, const struct strait_rate_sample *rs)
{
    const struct strait_bbr *b = &c->bbr;
    if (rs->acked > 0 && !recovers(c, rs)) {
        const double extra =
            b->is_full ? fmin(fmax(b->extra[0], b->extra[1]), rate_of(c) * EXTRA_S) : 0;
        const double target = quantized(c, product(c, rate_of(c), b->window_gain) + extra);
        if (b->is_full)
            c->cwnd = fmin(c->cwnd + rs->acked, target);
        else if (c->cwnd < target || c->delivered < c->initial)
            c->cwnd += rs->acked;
        c->cwnd = fmax(c->cwnd, MIN);
    }
    if (b->mode == STRAIT_BBR_PROBE_RTT)
        c->cwnd = fmin(c->cwnd, MIN);
}

void strait_bbr_ack(struct strait_connection *c, const struct strait_rate_sample *rs, double now_s)
{
    update_rate(c, rs);
    update_aggregation(c, rs, now_s);
    update_phase(c, rs, now_s);
    update_mode(c, rs, now_s);
    update_min_rtt(c, rs, now_s);
    update_gains(c);
    set_pace(c, c->bbr.pacing_gain);
    set_window(c, rs);
}

void strait_bbr_start(struct strait_connection *c, double now_s)
{
    struct strait_bbr *b = &c->bbr;
    if (!(c->limited_until > 0))
        return;
    b->restarts = true;
    b->aggregate_s = now_s;
    b->aggregate = 0;
    if (b->mode == STRAIT_BBR_PROBE_BW)
        set_pace(c, 1);
    else if (b->mode == STRAIT_BBR_PROBE_RTT)
        end_probe(c, now_s);
}

void strait_bbr_lost(struct strait_connection *c)
{
    c->bbr.before = STRAIT_TCP_LOSS;
    c->bbr.full_rate = 0;
    c->bbr.is_round = true;
    if (strait_policer_ends(c, true, false))
        reset_mode(c);
}

/* Linux bbr_undo_cwnd. */
void strait_bbr_undone(struct strait_connection *c)
{
    c->bbr.full_rate = 0;
    c->bbr.full_rounds = 0;
    strait_policer_reset(c);
}
