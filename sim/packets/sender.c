/* Which segments a sender sends when: bursts, its own port, lost segments first. writer.c has what
 * the application wrote. */
#include "tcp_parts.h"

#include <math.h>
#include <stdlib.h>

#include "codecs/frame.h"

/* A packet's memory beside its data in the guests' kernel: its header's 256 bytes (MAX_TCP_HEADER
 * with WLAN) and 320 to share data are in a block of 1024, its descriptor takes 256. */
enum { PACKET_MEMORY_BYTES = 1024 + 256 };
enum { FIRST_RING = 64, NOT_PACED = 10 };
/* Linux TCP_RTO_MIN and TCP_RESOURCE_PROBE_INTERVAL, for what the own port has no room for. */
static const double MIN_TRY_S = 0.2, NEXT_TRY_S = 0.5;
static const double NEAR_S = 512e-6;
static const double DEFER_S = 1e-3; /* Linux waits only so long for a larger burst */

/* Room for one more segment and one more arrival: all that are not acknowledged, and the last one
 * before, whose end says how much has arrived. */
static bool make_room(struct strait_connection *c)
{
    if (c->nxt - c->una + 2 <= c->n_ring && c->logged - c->read + 2 <= c->n_log)
        return true;
    const uint64_t n = c->n_ring > 0 ? 2 * c->n_ring : FIRST_RING;
    struct strait_segment *ring = malloc(n * sizeof(*ring));
    struct strait_arrival *log = malloc(n * sizeof(*log));
    if (!ring || !log) {
        free(ring);
        free(log);
        c->wire->no_memory = true;
        return false;
    }
    for (uint64_t i = c->una > 0 ? c->una - 1 : 0; i < c->nxt; i++)
        ring[i & (n - 1)] = *strait_segment_of(c, i);
    for (uint64_t i = c->read; i < c->logged; i++)
        log[i & (n - 1)] = c->log[i & (c->n_log - 1)];
    free(c->ring);
    free(c->log);
    c->ring = ring;
    c->log = log;
    c->n_ring = c->n_log = n;
    return true;
}

/* Segments that leave together (Linux tcp_tso_autosize): a millisecond at the pacing rate, and on
 * short round trips more, half as much with each further 512 us (tcp_tso_rtt_log). */
static double burst_of(const struct strait_connection *c)
{
    const double near_bytes = ldexp(c->super_packet_bytes, -(int)fmin(c->min_rtt_s / NEAR_S, 32)),
                 segments = strait_pacing_rate(c) / 1024 + near_bytes / c->segment_bytes;
    return fmin(fmax(2, floor(segments)), c->largest_burst);
}

/* Segments of the first piece that TCP holds and has not sent (an skb of its write queue): what the
 * application writes fills the last piece, up to the largest super-packet, before a next one. */
static double first_piece(const struct strait_connection *c)
{
    const uint64_t bytes = c->piece_end > c->cut_bytes ? c->piece_end - c->cut_bytes : 0;
    return ceil((double)bytes / c->segment_bytes);
}

/* Linux tcp_tso_should_defer: wait for an acknowledgement that is near, to send more at once. */
static bool defers(const struct strait_connection *c, double room, double now_s)
{
    const double piece = first_piece(c);
    return piece > 1 && c->state < STRAIT_TCP_RECOVERY && c->nxt > c->una &&
           now_s - c->pace_s <= DEFER_S && room < burst_of(c) &&
           room < floor(fmin(c->cwnd, c->cap) / 3) &&
           (room < piece || c->piece_end == c->written_end) &&
           strait_segment_of(c, c->una)->sent_s + c->srtt_s - now_s <= fmin(c->srtt_s / 2, DEFER_S);
}

/* Linux tcp_small_queue_check: in the own port wait at most two super-packets like the next one, or
 * a millisecond at the pacing rate, their memory counted (truesize), and twice that where they are
 * sent again. One alone that is not acknowledged holds nothing back. */
static bool is_held(const struct strait_connection *c, double n, bool is_new)
{
    if (!c->in_own_memory || c->una >= c->burst_seq)
        return false;
    const double each_bytes = n * c->segment_bytes + PACKET_MEMORY_BYTES,
                 paced_bytes = strait_pacing_rate(c) * c->segment_bytes / 1024,
                 most_bytes = fmax(2 * each_bytes, paced_bytes);
    return c->own_memory_bytes >= (is_new ? most_bytes : 2 * most_bytes);
}

/* Linux tcp_should_autocork: what was written last is less than a super-packet, and may grow while
 * others of the stream wait in the own port. */
static bool corks(const struct strait_connection *c)
{
    const double bytes = (double)(c->piece_end - c->cut_bytes);
    return c->piece_end == c->written_end && bytes < c->largest_burst * c->segment_bytes &&
           c->nxt > c->una && c->own_memory_bytes >= bytes + PACKET_MEMORY_BYTES;
}

static void stamp(struct strait_connection *c, struct strait_segment *s, double now_s)
{
    if (c->nxt == c->una)
        c->first_s = c->delivered_s = now_s;
    s->sent_s = now_s;
    s->first_s = c->first_s;
    s->delivered_s = c->delivered_s;
    s->delivered = c->delivered;
    s->flags &= ~(unsigned)STRAIT_SEG_LIMITED;
    s->flags |= c->limited_until > 0 ? STRAIT_SEG_LIMITED : 0;
}

/* Linux tcp_update_skb_after_send: a super-packet waits until the time of all before it is over,
 * and then leaves as a whole. What passed since then shortens its own time by up to a half. The
 * first ten segments take no time. */
static void begin_burst(struct strait_connection *c, double now_s)
{
    c->burst_credit_s = fmax(0, now_s - c->pace_s);
    c->burst_from_s = c->pace_s = fmax(c->pace_s, now_s);
    c->burst_s = 0;
    c->burst_seq = c->nxt;
    c->burst_memory_bytes = PACKET_MEMORY_BYTES;
    c->burst_first = NULL;
}

/* Its memory is free when the last one of its segments has left the own port. */
static void end_burst(struct strait_connection *c)
{
    if (!c->burst_last)
        return;
    c->own_memory_bytes += c->burst_memory_bytes;
    c->burst_last->memory_bytes = c->burst_memory_bytes;
    c->burst_last = NULL;
}

static void pace(struct strait_connection *c, double bytes)
{
    if (c->congestion != STRAIT_BBR || !(c->pacing_per_s > 0))
        return;
    c->burst_s += bytes / (c->segment_bytes * c->pacing_per_s);
    if (c->n_sent >= NOT_PACED)
        c->pace_s = c->burst_from_s + c->burst_s - fmin(c->burst_s / 2, c->burst_credit_s);
}

/* False: the own port had no room. */
static bool emit(struct strait_connection *c, uint64_t seq, uint64_t number, double bytes,
                 double now_s)
{
    struct strait_packet_on_wire *p = strait_wire_packet(c->wire);
    if (!p)
        return false;
    p->connection = c;
    p->seq = seq;
    p->sent_s = now_s;
    p->key = c->key;
    p->wire_bytes = bytes + c->wire->header_bytes;
    p->number = number;
    if (strait_wire_carry(c->wire, c->there[0], p, now_s)) {
        if (c->in_own_memory) {
            c->burst_memory_bytes += bytes;
            if (!c->burst_first)
                c->burst_first = p;
            else
                strait_wire_join(c->wire, c->there[0], c->burst_first, p, now_s);
            c->burst_last = p;
        }
        return true;
    }
    strait_wire_free(c->wire, p);
    return !c->in_own_memory;
}

/* The place of a byte that is cut now or next, for draws. */
static uint64_t place_of(struct strait_connection *c, uint64_t at_byte)
{
    while (c->message_ends[c->message] <= at_byte)
        c->message++;
    const uint64_t from = c->message > 0 ? c->message_ends[c->message - 1] : 0;
    return strait_packet_place(c->message, (at_byte - from) / (uint64_t)c->segment_bytes);
}

/* Bytes that the receiver's window has room for behind all that is sent. */
static double offered_bytes(const struct strait_connection *c)
{
    const uint64_t acked = c->una > 0 ? strait_segment_of(c, c->una - 1)->end_byte : 0;
    return c->offer_bytes - (double)(c->cut_bytes - acked);
}

/* Of the next new segment. */
static double next_bytes(const struct strait_connection *c)
{
    return fmin(c->segment_bytes, (double)(c->written_end - c->cut_bytes));
}

/* New segments that fit into it. Linux tcp_snd_wnd_test, tcp_mss_split_point: a super-packet begins
 * only where its first segment fits, and then fills the window to the last byte. */
static double offered(const struct strait_connection *c, bool begins)
{
    const double bytes = offered_bytes(c);
    return begins && bytes < fmax(1, next_bytes(c)) ? 0 : ceil(bytes / c->segment_bytes);
}

static bool send_new(struct strait_connection *c, double now_s)
{
    if (!make_room(c))
        return false;
    const uint64_t seq = c->nxt, from = c->cut_bytes;
    const uint64_t n = (uint64_t)fmin(next_bytes(c), fmax(1, offered_bytes(c)));
    if (strait_in_flight(c) <= 0 && c->n_sent > 0) {
        if (c->congestion == STRAIT_CUBIC)
            strait_cubic_idle(c, now_s);
        else if (c->congestion == STRAIT_BBR)
            strait_bbr_start(c, now_s);
    }
    const uint64_t place = place_of(c, from), end_place = place_of(c, from + n - 1);
    if (!emit(c, seq, strait_packet_number(STRAIT_PACKET_DATA, place, 0), (double)n, now_s))
        return false;
    struct strait_segment *s = strait_segment_of(c, seq);
    *s = (struct strait_segment){
        .end_byte = from + n, .place = place, .end_place = end_place, .n_sent = 1};
    if (from + n == c->message_ends[c->message])
        s->flags |= STRAIT_SEG_PUSHED;
    stamp(c, s, now_s);
    c->cut_bytes += n;
    if (c->cut_bytes >= c->piece_end) {
        const uint64_t end = c->piece_end + (uint64_t)(c->largest_burst * c->segment_bytes);
        c->piece_end = end < c->written_end ? end : c->written_end;
    }
    c->nxt++;
    strait_recovery_list(c, seq);
    return true;
}

static bool send_again(struct strait_connection *c, uint64_t seq, double now_s)
{
    struct strait_segment *s = strait_segment_of(c, seq);
    const uint64_t from = seq > 0 ? strait_segment_of(c, seq - 1)->end_byte : 0;
    if (!emit(c, seq, strait_packet_number(STRAIT_PACKET_DATA, s->place, s->n_sent),
              (double)(s->end_byte - from), now_s))
        return false;
    s->n_sent++;
    stamp(c, s, now_s);
    if (!(s->flags & STRAIT_SEG_AGAIN))
        c->again++;
    s->flags |= STRAIT_SEG_AGAIN | STRAIT_SEG_REPEATED;
    if (c->undoable && isinf(c->undo_before_s))
        c->undo_before_s = now_s;
    strait_recovery_list(c, seq);
    return true;
}

/* The own port had no room (Linux tcp_enter_cwr): an acknowledgement, a write or, where none is
 * under way, the timer of probes has it tried again. */
static void drop(struct strait_connection *c, double now_s)
{
    strait_recovery_reduce(c, now_s);
    if (c->nxt != c->una)
        return;
    if (c->written_end < c->posted_bytes)
        c->send_s = now_s + STRAIT_WRITE_BURST_S / 2;
    if (isinf(c->try_s))
        c->try_s = strait_timer_s(now_s, fmax(c->rto_s, MIN_TRY_S));
}

/* Super-packets are dropped as a whole. */
static bool fits(const struct strait_connection *c, double n, double now_s)
{
    return !c->in_own_memory ||
           strait_wire_has_room(c->wire, c->there[0], now_s,
                                n * (c->segment_bytes + c->wire->header_bytes));
}

static bool transmit(struct strait_connection *c, uint64_t seq, double now_s)
{
    const bool is_new = seq >= c->nxt;
    if (is_new)
        strait_connection_write(c, now_s);
    if (is_new && c->cut_bytes == c->written_end)
        return false;
    if (!(is_new ? send_new(c, now_s) : send_again(c, seq, now_s))) {
        drop(c, now_s);
        return false;
    }
    c->n_sent++;
    c->prr_out++;
    c->try_s = INFINITY;
    c->last_sent_s = now_s;
    pace(c, (double)(strait_segment_of(c, seq)->end_byte -
                     (seq > 0 ? strait_segment_of(c, seq - 1)->end_byte : 0)));
    return true;
}

/* Send segment seq again, or the next new one if it is nxt. False: there was none, or no room. */
static bool transmit_one(struct strait_connection *c, uint64_t seq, double now_s)
{
    begin_burst(c, now_s);
    const bool sent = transmit(c, seq, now_s);
    end_burst(c);
    return sent;
}

/* The lowest lost segment that has not been sent again; nxt: none. */
static uint64_t next_lost(struct strait_connection *c)
{
    if (c->lost <= c->again)
        return c->nxt;
    for (c->hint = c->hint < c->una ? c->una : c->hint; c->hint < c->nxt; c->hint++) {
        const unsigned flags = strait_segment_of(c, c->hint)->flags;
        if (flags & STRAIT_SEG_LOST && !(flags & STRAIT_SEG_AGAIN))
            return c->hint;
    }
    return c->nxt;
}

/* Linux tcp_cwnd_validate and tcp_cwnd_application_limited. */
static void validate(struct strait_connection *c, bool is_limited, double now_s)
{
    const double out = (double)(c->nxt - c->una);
    if (c->una >= c->usage_seq || is_limited || (!c->limited && out > c->most_out)) {
        c->limited = is_limited;
        c->most_out = out;
        c->usage_seq = c->nxt;
    }
    if (c->limited || (c->cwnd < c->ssthresh && c->cwnd < 2 * c->most_out)) {
        c->used = 0;
        c->window_at_s = now_s;
        return;
    }
    c->used = fmax(c->used, out);
    if (!c->decays || c->state != STRAIT_TCP_OPEN ||
        strait_tick_of(now_s) - strait_tick_of(c->window_at_s) < strait_n_ticks(c->rto_s))
        return;
    const double used = fmax(c->used, c->initial);
    if (used < c->cwnd) {
        c->ssthresh = fmax(c->ssthresh, floor(c->cwnd / 2) + floor(c->cwnd / 4));
        c->cwnd = floor((c->cwnd + used) / 2);
    }
    c->used = 0;
    c->window_at_s = now_s;
}

/* `writes`: because the application wrote, or its time has come; else it was an acknowledgement, or
 * the own port. */
static void send_all(struct strait_connection *c, double now_s, bool writes)
{
    bool any = false, limited = false;
    const bool had_none = c->nxt == c->una;
    const uint64_t before = c->written_end;
    c->send_s = INFINITY;
    for (double left = 0;; left--) {
        if (left <= 0)
            strait_connection_write(c, now_s);
        if (left <= 0 && c->pace_s > now_s) {
            c->send_s = fmin(c->send_s, c->pace_s);
            break;
        }
        const bool is_new = c->lost <= c->again;
        const double room = is_new ? fmin(c->cwnd - strait_in_flight(c), offered(c, left <= 0))
                                   : fmin(c->cwnd, c->cap) - strait_in_flight(c);
        limited = room <= 0;
        if (limited)
            break;
        if (left <= 0) {
            left = fmin(fmin(room, fmax(1, floor(c->cwnd / 2))), burst_of(c));
            if (is_new) {
                if (defers(c, room, now_s)) {
                    limited = room <= first_piece(c);
                    break;
                }
                left = fmin(left, first_piece(c));
            }
            end_burst(c);
            c->is_held = is_held(c, left, is_new) ||
                         (is_new && writes && c->written_end > before && corks(c));
            if (c->is_held)
                break;
            if (!fits(c, left, now_s)) {
                drop(c, now_s);
                break;
            }
            begin_burst(c, now_s);
        }
        if (!transmit(c, next_lost(c), now_s))
            break;
        any = true;
    }
    end_burst(c);
    if (any) {
        validate(c, limited, now_s);
        if (had_none)
            c->rto_from_s = now_s;
        strait_recovery_rearm(c, now_s);
    }
    strait_connection_arm(c);
}

void strait_connection_send(struct strait_connection *c, double now_s)
{
    send_all(c, now_s, false);
}

/* Linux tcp_send_probe0: one segment; where there is no room again, a longer wait. */
void strait_connection_try(struct strait_connection *c, double now_s)
{
    c->try_s = INFINITY;
    if (c->nxt != c->una)
        return;
    if (!fits(c, 1, now_s)) {
        strait_recovery_reduce(c, now_s);
        c->try_s = strait_timer_s(now_s, NEXT_TRY_S);
    } else if (transmit_one(c, c->nxt, now_s)) {
        c->rto_from_s = now_s;
        strait_recovery_rearm(c, now_s);
    }
}

/* RFC 8985, section 7: new data, or the last segment again. */
void strait_connection_probe(struct strait_connection *c, double now_s)
{
    c->probing = true;
    c->probe_again = offered(c, true) <= 0 || !transmit_one(c, c->nxt, now_s);
    if (c->probe_again) {
        const uint64_t last = c->nxt - 1;
        if (!(strait_segment_of(c, last)->flags & STRAIT_SEG_SACKED))
            transmit_one(c, last, now_s);
    }
    c->probe_seq = c->nxt;
    c->rto_from_s = now_s;
}

bool strait_connection_turn(struct strait_connection *c, double now_s)
{
    c->turn_bytes = c->write_turn_bytes;
    send_all(c, now_s, true);
    const bool again = c->turn_bytes <= 0 && c->write_at_s <= now_s &&
                       c->written_end < c->posted_bytes && strait_connection_takes_more(c);
    c->turn_bytes = INFINITY;
    return again;
}

void strait_connection_go_on(struct strait_connection *c, double now_s)
{
    send_all(c, now_s, true);
}
