#include "tcp_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double DELACK_S = 0.04; /* Linux TCP_DELACK_MIN */
/* The receiver's first window, and how much of it grows with each segment (Linux
 * tcp_select_initial_window, tcp_grow_window); acknowledgements that wait for nothing at first and
 * after a pause (TCP_MAX_QUICKACKS), of which the greeting has taken one; tcp_comp_sack_nr,
 * tcp_comp_sack_delay_ns. */
static const double FIRST_WINDOW_BYTES = 65535, GROWS_SEGMENTS = 2, HELD_S = 1e-3, HELD_RTTS = 0.05;
enum { ONLY_WRITE_TURN_BYTES = 1 << 17 }; /* WRITE_TURN_BYTES in emu/process/outgoing.c */
enum { MAX_QUICK = 16, MAX_REPEATED = 3, MAX_HELD = 44 };
/* Super-packets of at most so much of their port's rate, and 64 KB (gso_max_segs in
 * docs/emulation.md, Linux GSO_MAX_SIZE). */
static const double BURST_S = 0.25e-3, LARGEST_BURST = 44;
/* Bytes of a super-packet's data: gso_max_size in emu/links/net.c, Linux sk_setup_caps. */
static const double GSO_MAX_BYTES = 65536, MTU_BYTES = 1500, MAX_TCP_HEADER_BYTES = 256;

static double narrowest_bytes_per_s(const struct strait_connection *c)
{
    double least = INFINITY;
    for (int i = 0; i < c->n_hops; i++)
        least = fmin(least, c->wire->links[c->there[i]].bytes_per_s);
    return least;
}

/* 1 where losses are drawn, which hit single segments. */
static double largest_burst(const struct strait_connection *c, const struct strait_network *n)
{
    const struct strait_wire_link *own = &c->wire->links[c->there[0]];
    if (strait_network_loses(n))
        return 1;
    return fmin(
        fmax(1, floor(BURST_S * own->bytes_per_s / (c->segment_bytes + c->wire->header_bytes))),
        LARGEST_BURST);
}

void strait_connection_init(struct strait_connection *c, struct strait_wire *w, void *owner,
                            const struct strait_connection_plan *plan)
{
    const struct strait_network *n = plan->network;
    const struct strait_tcp *tcp = &n->tcp;
    const double rtt_s = strait_path_rtt_s(n, plan->src, plan->dst);
    *c = (struct strait_connection){
        .wire = w,
        .owner = owner,
        .congestion = tcp->congestion,
        .segment_bytes = tcp->segment_bytes,
        .initial =
            plan->ramp ? fmax(1, floor(tcp->initial_window_bytes / tcp->segment_bytes)) : 1e9,
        .cap = fmax(1, floor(strait_network_packet_window_bytes(n) / tcp->segment_bytes)),
        .offer_bytes = fmax(tcp->segment_bytes, strait_network_packet_window_bytes(n)),
        .rto_min_s = tcp->rto_min_s,
        .decays = tcp->slow_start_after_idle && tcp->congestion != STRAIT_BBR,
        .draws = strait_sequence_at(strait_random_bits(
            plan->seed, "connection", (uint64_t)plan->src << 32 | (uint64_t)plan->dst,
            (uint64_t)plan->channel << 8 | plan->number)),
        .key = strait_packet_key(plan->seed, plan->src, plan->dst, plan->ordinal),
        .ssthresh = INFINITY,
        .srtt_s = rtt_s,       /* of the handshake */
        .mdev_s = 1.5 * rtt_s, /* twice that, less a quarter with the greeting's acknowledgement */
        .mdev_max_s = tcp->rto_min_s,
        .rttvar_s = fmax(tcp->rto_min_s, 2 * rtt_s),
        .min_rtt_s = rtt_s,
        .rto_s = rtt_s + fmax(tcp->rto_min_s, 2 * rtt_s),
        .last_sent_s = -INFINITY,
        .rack_sent_s = -INFINITY,
        .delack_s = INFINITY,
        .window_bytes = FIRST_WINDOW_BYTES,
        .quick = MAX_QUICK - 1,
        .held_until_s = INFINITY,
        .patience_s = rtt_s + fmax(tcp->rto_min_s, 2 * rtt_s),
        .data_s = INFINITY,
        .timer_s = INFINITY,
        .send_s = INFINITY,
        .try_s = INFINITY,
        .turn_bytes = INFINITY,
        .hystart = {.least_s = INFINITY, .rtt_s = INFINITY, .is_on = tcp->hystart},
        .first_sent = UINT64_MAX,
        .last_sent = UINT64_MAX,
    };
    c->n_hops = strait_network_path(n, plan->src, plan->dst, c->there);
    const int n_back = strait_network_path(n, plan->dst, plan->src, c->back);
    assert(n_back == c->n_hops); /* both ways by the same ports */
    c->cwnd = c->initial;
    const struct strait_wire_link *own = &w->links[c->there[0]];
    c->in_own_memory = own->delay_s <= 0 && !strait_network_loses(n); /* a relay takes it */
    c->write_bytes_per_s =
        tcp->writes_at_once ? INFINITY
                            : 2 * narrowest_bytes_per_s(c) / (double)strait_tcp_n_connections(tcp);
    c->write_turn_bytes =
        strait_tcp_n_connections(tcp) > 1 ? STRAIT_TURN_BYTES : ONLY_WRITE_TURN_BYTES;
    c->largest_burst = largest_burst(c, n);
    c->super_packet_bytes =
        fmin(GSO_MAX_BYTES, (c->largest_burst + 1) * MTU_BYTES) - MAX_TCP_HEADER_BYTES - 1;
    strait_cubic_reset(c);
    if (c->congestion == STRAIT_BBR)
        strait_bbr_init(c);
}

void strait_connection_release(struct strait_connection *c)
{
    free(c->ring);
    free(c->log);
    free(c->message_ends);
}

uint64_t strait_connection_received_bytes(const struct strait_connection *c)
{
    return c->received > 0 ? strait_segment_of(c, c->received - 1)->end_byte : 0;
}

/* --- receiver -------------------------------------------------------------------------------- */

static void acknowledge(struct strait_connection *c, double echo_s, double now_s)
{
    struct strait_packet_on_wire *p = strait_wire_packet(c->wire);
    if (!p)
        return;
    p->connection = c;
    p->is_ack = true;
    p->seq = c->received;
    p->n_logged = c->logged;
    p->echo_s = echo_s;
    p->wire_bytes = c->wire->header_bytes;
    p->key = c->key;
    p->number = c->received > 0
                    ? strait_ack_number(&c->acks, STRAIT_PACKET_ACK,
                                        strait_segment_of(c, c->received - 1)->end_place)
                    : strait_ack_number(&c->acks, STRAIT_PACKET_OTHER, 0);
    c->n_unacked = 0;
    c->delack_s = c->held_until_s = INFINITY;
    c->n_held = 0;
    c->quick -= c->quick > 0;
    if (!strait_wire_carry(c->wire, c->back[0], p, now_s))
        strait_wire_free(c->wire, p);
}

/* Linux tcp_event_data_recv: while its window grows, and after a pause, a receiver acknowledges
 * each segment at once. */
static void note_data(struct strait_connection *c, bool is_new, double now_s)
{
    if (!is_new ||
        strait_tick_of(now_s) - strait_tick_of(c->data_s) > strait_n_ticks(c->patience_s))
        c->quick = MAX_QUICK;
    c->data_s = now_s;
    if (is_new && c->window_bytes < c->cap * c->segment_bytes) {
        c->window_bytes += GROWS_SEGMENTS * c->segment_bytes;
        c->quick |= 1;
    }
}

/* Linux __tcp_ack_snd_check behind a hole: the first acknowledgements that tell nothing new in
 * order at once, further ones for a while together. */
static bool holds_back(struct strait_connection *c, double now_s)
{
    if (c->repeated_seq != c->received) {
        c->repeated_seq = c->received;
        c->n_repeated = 0;
    }
    if (c->n_held >= MAX_HELD || c->n_repeated < MAX_REPEATED) {
        c->n_repeated += c->n_repeated < MAX_REPEATED;
        return false;
    }
    if (c->n_held++ == 0)
        c->held_until_s = now_s + fmin(HELD_S, HELD_RTTS * c->min_rtt_s);
    return true;
}

void strait_connection_data(struct strait_connection *c, const struct strait_packet_on_wire *p,
                            double now_s)
{
    const bool is_new =
        p->seq >= c->received && !(strait_segment_of(c, p->seq)->flags & STRAIT_SEG_ARRIVED);
    const bool had_holes = c->n_holes > 0;
    if (is_new) {
        strait_segment_of(c, p->seq)->flags |= STRAIT_SEG_ARRIVED;
        c->log[c->logged++ & (c->n_log - 1)] = (struct strait_arrival){p->seq, p->sent_s};
        c->n_holes++;
        while (c->received < c->nxt &&
               strait_segment_of(c, c->received)->flags & STRAIT_SEG_ARRIVED) {
            c->received++;
            c->n_holes--;
        }
    }
    note_data(c, is_new, now_s);
    const bool ends_hole = had_holes && c->n_holes == 0;
    const bool is_read = is_new && strait_segment_of(c, p->seq)->flags & STRAIT_SEG_PUSHED;
    c->n_unacked += c->n_holes == 0;
    if (!is_new || c->quick > 0 || ends_hole ||
        (c->n_holes == 0 && (is_read || c->n_unacked >= 2)) ||
        (c->n_holes > 0 && !holds_back(c, now_s))) {
        acknowledge(c, p->sent_s, now_s);
        return;
    }
    if (c->n_holes == 0)
        c->delack_s = fmin(c->delack_s, strait_timer_s(now_s, DELACK_S));
    strait_connection_arm(c);
}

/* --- acknowledgements ------------------------------------------------------------------------ */

/* Linux tcp_rtt_estimator, deviations four times as large as RFC 6298's: the largest one of a round
 * trip counts, and what it adds to the time-out falls by a quarter in each further round trip. So a
 * young connection of a long path is patient, and so is one that has filled a queue. */
static void measure(struct strait_connection *c, double rtt_s)
{
    const double off_s = rtt_s - c->srtt_s, more_s = fabs(off_s) - c->mdev_s / 4;
    c->srtt_s += off_s / 8;
    c->mdev_s += off_s < 0 && more_s > 0 ? more_s / 8 : more_s;
    if (c->mdev_s > c->mdev_max_s) {
        c->mdev_max_s = c->mdev_s;
        c->rttvar_s = fmax(c->rttvar_s, c->mdev_max_s);
    }
    if (c->una > c->rtt_seq) {
        c->rttvar_s -= fmax(0, c->rttvar_s - c->mdev_max_s) / 4;
        c->rtt_seq = c->nxt;
        c->mdev_max_s = c->rto_min_s;
    }
    c->rto_s = c->srtt_s + c->rttvar_s;
}

static void deliver(struct strait_connection *c, const struct strait_arrival *a,
                    struct strait_rate_sample *rs, double now_s)
{
    struct strait_segment *s = strait_segment_of(c, a->seq);
    if (s->flags & STRAIT_SEG_LOST)
        c->lost--;
    if (s->flags & STRAIT_SEG_AGAIN)
        c->again--;
    strait_recovery_unlist(c, a->seq);
    s->flags &= ~(unsigned)(STRAIT_SEG_LOST | STRAIT_SEG_AGAIN);
    s->flags |= STRAIT_SEG_SACKED;
    c->sacked++;
    c->delivered++;
    c->delivered_s = now_s;
    rs->acked++;
    if (a->sent_s > c->rack_sent_s || (a->sent_s >= c->rack_sent_s && a->seq > c->rack_seq)) {
        c->rack_sent_s = a->sent_s;
        c->rack_seq = a->seq;
        c->rack_rtt_s = now_s - a->sent_s;
    }
    if (!rs->is_valid || s->delivered >= rs->prior_delivered) {
        rs->is_valid = true;
        rs->prior_delivered = s->delivered;
        rs->prior_s = s->delivered_s;
        rs->send_s = s->sent_s - s->first_s;
        rs->is_limited = s->flags & STRAIT_SEG_LIMITED;
        c->first_s = s->sent_s;
    }
    rs->rtt_s = fmin(rs->rtt_s, now_s - a->sent_s);
}

/* Linux tcp_rate_gen. */
static void finish_sample(struct strait_connection *c, struct strait_rate_sample *rs)
{
    if (c->limited_until > 0 && c->delivered > c->limited_until)
        c->limited_until = 0;
    if (!rs->is_valid)
        return;
    rs->delivered = c->delivered - rs->prior_delivered;
    rs->interval_s = fmax(rs->send_s, c->delivered_s - rs->prior_s);
    rs->is_valid = rs->interval_s >= c->min_rtt_s * (1 - 1e-9);
}

void strait_connection_ack(struct strait_connection *c, const struct strait_packet_on_wire *p,
                           double now_s)
{
    struct strait_rate_sample rs = {.rtt_s = INFINITY, .prior_in_flight = strait_in_flight(c)};
    double longest_s = 0;
    strait_connection_write(c, now_s); /* before there was room for it */
    for (; c->read < p->n_logged; c->read++) {
        const struct strait_arrival *a = &c->log[c->read & (c->n_log - 1)];
        longest_s = fmax(longest_s, now_s - a->sent_s);
        deliver(c, a, &rs, now_s);
    }
    const bool advanced = p->seq > c->una;
    for (; c->una < p->seq; c->una++)
        c->sacked--;
    if (longest_s > 0)
        measure(c, longest_s);
    c->min_rtt_s = fmin(c->min_rtt_s, rs.rtt_s);
    if (c->hystart.is_on && isfinite(rs.rtt_s))
        strait_cubic_acked(c, rs.rtt_s, now_s);
    if (advanced)
        c->n_backoff = 0;
    finish_sample(c, &rs);
    strait_recovery_ack(c, &rs, now_s, advanced, p->echo_s);
    strait_connection_send(c, now_s);
}

static void timer(struct strait_connection *c, double now_s)
{
    const int which = (int)c->timer;
    c->timer = STRAIT_NO_TIMER;
    c->timer_s = INFINITY;
    if (c->nxt == c->una)
        return;
    if (which == STRAIT_TLP)
        strait_connection_probe(c, now_s);
    else if (which == STRAIT_RTO)
        strait_recovery_time_out(c, now_s);
    else if (which == STRAIT_REO)
        strait_recovery_late(c, now_s);
    strait_recovery_rearm(c, now_s);
    strait_connection_send(c, now_s);
}

void strait_connection_due(struct strait_connection *c, double now_s)
{
    if (c->delack_s <= now_s || c->held_until_s <= now_s)
        acknowledge(c, -INFINITY, now_s);
    if (c->timer_s <= now_s)
        timer(c, now_s);
    if (c->send_s <= now_s)
        strait_connection_go_on(c, now_s);
    if (c->try_s <= now_s)
        strait_connection_try(c, now_s);
    strait_connection_arm(c);
}
