/* What a sender takes for lost, when, and what it does then. */
#include "tcp_parts.h"

#include <math.h>

/* A probe and a late check wait so much longer (Linux 6.1.192, TCP_TIMEOUT_MIN_US). */
static const double LONGER_S = 2e-3;
static const uint64_t NONE = UINT64_MAX;
enum { DUPLICATES = 3, MAX_BACKOFF = 8 };

/* --- segments by time of sending ------------------------------------------------------------- */

void strait_recovery_unlist(struct strait_connection *c, uint64_t seq)
{
    struct strait_segment *s = strait_segment_of(c, seq);
    if (!(s->flags & STRAIT_SEG_LISTED))
        return;
    s->flags &= ~(unsigned)STRAIT_SEG_LISTED;
    if (s->earlier == NONE)
        c->first_sent = s->later;
    else
        strait_segment_of(c, s->earlier)->later = s->later;
    if (s->later == NONE)
        c->last_sent = s->earlier;
    else
        strait_segment_of(c, s->later)->earlier = s->earlier;
}

void strait_recovery_list(struct strait_connection *c, uint64_t seq)
{
    struct strait_segment *s = strait_segment_of(c, seq);
    strait_recovery_unlist(c, seq);
    s->flags |= STRAIT_SEG_LISTED;
    s->earlier = c->last_sent;
    s->later = NONE;
    if (c->last_sent == NONE)
        c->first_sent = seq;
    else
        strait_segment_of(c, c->last_sent)->later = seq;
    c->last_sent = seq;
}

/* --- timers ---------------------------------------------------------------------------------- */

static double time_out_s(const struct strait_connection *c)
{
    return strait_timer_s(c->rto_from_s, c->rto_s * exp2(fmin(c->n_backoff, MAX_BACKOFF)));
}

/* Linux tcp_schedule_loss_probe, which also takes the place of a first time-out that would come
 * before it; else tcp_rearm_rto. */
void strait_recovery_rearm(struct strait_connection *c, double now_s)
{
    if (c->timer == STRAIT_REO)
        return;
    c->timer = STRAIT_NO_TIMER;
    c->timer_s = INFINITY;
    if (c->nxt == c->una)
        return;
    c->timer = STRAIT_RTO;
    c->timer_s = time_out_s(c);
    if (c->probing || (c->state != STRAIT_TCP_OPEN && c->state != STRAIT_TCP_REDUCED))
        return;
    const double in_s = 2 * c->srtt_s + (c->nxt - c->una == 1 ? c->rto_min_s : LONGER_S);
    c->timer = STRAIT_TLP;
    c->timer_s = fmin(strait_timer_s(now_s, in_s), c->timer_s);
}

/* One deadline for all purposes; it may come too early, never too late. */
void strait_connection_arm(struct strait_connection *c)
{
    strait_wire_at(
        c->wire, &c->node,
        fmin(fmin(fmin(c->timer_s, c->send_s), c->try_s), fmin(c->delack_s, c->held_until_s)));
}

/* --- losses ---------------------------------------------------------------------------------- */

static void mark_lost(struct strait_connection *c, uint64_t seq)
{
    struct strait_segment *s = strait_segment_of(c, seq);
    if (s->flags & STRAIT_SEG_AGAIN)
        c->again--;
    c->n_lost += !(s->flags & STRAIT_SEG_LOST) || s->flags & STRAIT_SEG_AGAIN;
    if (!(s->flags & STRAIT_SEG_LOST))
        c->lost++;
    s->flags &= ~(unsigned)STRAIT_SEG_AGAIN;
    s->flags |= STRAIT_SEG_LOST;
    strait_recovery_unlist(c, seq);
    if (seq < c->hint)
        c->hint = seq;
}

/* RFC 8985: what was sent well before something that has arrived is lost. Returns how many; sets a
 * timer where it is too early to say. */
static double detect(struct strait_connection *c, double now_s)
{
    const bool at_once = c->state >= STRAIT_TCP_RECOVERY || c->sacked >= DUPLICATES;
    const double reorder_s = at_once ? 0 : fmin(c->min_rtt_s / 4, c->srtt_s);
    double n_lost = 0, left_s = 0;
    for (uint64_t seq = c->first_sent, later; seq != NONE; seq = later) {
        const struct strait_segment *s = strait_segment_of(c, seq);
        later = s->later;
        if (s->sent_s > c->rack_sent_s || (s->sent_s >= c->rack_sent_s && seq >= c->rack_seq))
            break;
        const double remaining_s = s->sent_s + c->rack_rtt_s + reorder_s - now_s;
        if (remaining_s <= 1e-12) {
            mark_lost(c, seq);
            n_lost++;
        } else {
            left_s = fmax(left_s, remaining_s);
        }
    }
    if (left_s > 0) {
        c->timer = STRAIT_REO;
        c->timer_s = strait_timer_s(now_s, left_s + LONGER_S);
    } else if (c->timer == STRAIT_REO) {
        c->timer = STRAIT_NO_TIMER;
    }
    return n_lost;
}

/* --- the window under losses ----------------------------------------------------------------- */

static void begin_reduction(struct strait_connection *c, enum strait_tcp_state state, double now_s)
{
    c->high = c->nxt;
    c->probing = false;
    c->prior_cwnd = c->cwnd;
    c->prr_delivered = c->prr_out = 0;
    if (c->state == STRAIT_TCP_OPEN) {
        c->prior_ssthresh = c->ssthresh;
        c->ssthresh = strait_congestion_ssthresh(c, now_s);
    }
    c->state = state;
    c->undoable = false;
}

/* RFC 6937, Linux tcp_cwnd_reduction. */
static void reduce(struct strait_connection *c, const struct strait_rate_sample *rs, bool advanced)
{
    const double in_flight = strait_in_flight(c), room = c->ssthresh - in_flight;
    double n;
    if (rs->acked <= 0)
        return;
    c->prr_delivered += rs->acked;
    if (room < 0) {
        n = floor((c->ssthresh * c->prr_delivered + c->prior_cwnd - 1) / c->prior_cwnd) -
            c->prr_out;
    } else {
        n = fmax(c->prr_delivered - c->prr_out, rs->acked);
        n = fmin(room, n + (advanced && rs->lost <= 0 ? 1 : 0));
    }
    n = fmax(n, c->prr_out > 0 ? 0 : 1);
    c->cwnd = in_flight + n;
}

static void end_reduction(struct strait_connection *c, double now_s)
{
    if (c->congestion != STRAIT_BBR && isfinite(c->ssthresh)) {
        c->cwnd = c->ssthresh;
        c->window_at_s = now_s;
    }
    c->state = STRAIT_TCP_OPEN;
}

void strait_recovery_reduce(struct strait_connection *c, double now_s)
{
    if (c->state == STRAIT_TCP_OPEN)
        begin_reduction(c, STRAIT_TCP_REDUCED, now_s);
}

static void undo(struct strait_connection *c)
{
    for (uint64_t seq = c->una; seq < c->nxt; seq++) {
        struct strait_segment *s = strait_segment_of(c, seq);
        if (!(s->flags & STRAIT_SEG_LOST))
            continue;
        s->flags &= ~(unsigned)STRAIT_SEG_LOST;
        c->lost--;
        strait_recovery_list(c, seq);
    }
    c->cwnd = fmax(c->cwnd, c->prior_cwnd);
    c->ssthresh = fmax(c->ssthresh, c->prior_ssthresh);
    c->undoable = false;
    c->state = STRAIT_TCP_OPEN;
    if (c->congestion == STRAIT_BBR)
        strait_bbr_undone(c);
}

void strait_recovery_time_out(struct strait_connection *c, double now_s)
{
    if (c->state == STRAIT_TCP_OPEN || c->state == STRAIT_TCP_REDUCED || c->high <= c->una) {
        c->prior_ssthresh = c->ssthresh;
        c->prior_cwnd = c->cwnd;
        c->ssthresh = strait_congestion_ssthresh(c, now_s);
        c->undoable = true;
        c->undo_before_s = INFINITY;
    }
    for (uint64_t seq = c->una; seq < c->nxt; seq++)
        if (!(strait_segment_of(c, seq)->flags & STRAIT_SEG_SACKED))
            mark_lost(c, seq);
    c->cwnd = strait_in_flight(c) + 1;
    c->counted = 0;
    c->state = STRAIT_TCP_LOSS;
    c->high = c->nxt;
    c->probing = false;
    if (c->congestion == STRAIT_CUBIC)
        strait_cubic_reset(c);
    else if (c->congestion == STRAIT_BBR)
        strait_bbr_lost(c);
    c->n_backoff++;
    c->rto_from_s = now_s;
}

/* The time has come that `detect` set where it was too early to say. */
void strait_recovery_late(struct strait_connection *c, double now_s)
{
    struct strait_rate_sample rs = {.acked = 1, .lost = detect(c, now_s)};
    if (rs.lost > 0 && c->state < STRAIT_TCP_RECOVERY) {
        begin_reduction(c, STRAIT_TCP_RECOVERY, now_s);
        if (c->congestion != STRAIT_BBR)
            reduce(c, &rs, false);
    }
}

/* The answer to a probe: was what it repeated lost? */
static void end_probe(struct strait_connection *c, double echo_s, double now_s)
{
    if (!c->probing || c->una < c->probe_seq)
        return;
    const struct strait_segment *last = strait_segment_of(c, c->probe_seq - 1);
    c->probing = false;
    if (!c->probe_again || echo_s < last->sent_s || c->state != STRAIT_TCP_OPEN)
        return;
    begin_reduction(c, STRAIT_TCP_REDUCED, now_s);
    end_reduction(c, now_s);
}

/* Linux tcp_fastretrans_alert. */
static void change_state(struct strait_connection *c, double now_s, bool advanced, double echo_s)
{
    if (c->state == STRAIT_TCP_LOSS && c->undoable && advanced && echo_s < c->undo_before_s) {
        undo(c);
        return;
    }
    if (c->state == STRAIT_TCP_REDUCED ? c->una > c->high
                                       : c->state != STRAIT_TCP_OPEN && c->una >= c->high) {
        if (c->state == STRAIT_TCP_LOSS)
            c->state = STRAIT_TCP_OPEN;
        else
            end_reduction(c, now_s);
    }
    if (c->state < STRAIT_TCP_RECOVERY && c->lost > 0)
        begin_reduction(c, STRAIT_TCP_RECOVERY, now_s);
}

void strait_recovery_ack(struct strait_connection *c, struct strait_rate_sample *rs, double now_s,
                         bool advanced, double echo_s)
{
    end_probe(c, echo_s, now_s);
    rs->lost = rs->acked > 0 ? detect(c, now_s) : 0;
    change_state(c, now_s, advanced, echo_s);
    if (c->congestion == STRAIT_BBR)
        strait_bbr_ack(c, rs, now_s);
    else if (c->state == STRAIT_TCP_REDUCED || c->state == STRAIT_TCP_RECOVERY)
        reduce(c, rs, advanced);
    else if (advanced)
        strait_congestion_avoid(c, rs->acked, now_s);
    if (advanced || rs->acked > 0) {
        c->rto_from_s = now_s;
        strait_recovery_rearm(c, now_s);
    }
}
