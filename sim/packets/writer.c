/* What the application hands to a connection: messages, at the transport's pace. */
#include "tcp_parts.h"

#include <math.h>
#include <stdlib.h>

#include "codecs/frame.h"

/* The transport stops writing where so much is not sent (tcp_notsent_lowat in emu/links/net.c). */
enum { MIN_WRITE_BYTES = 1 << 14, NOT_SENT_BYTES = 1 << 20, FIRST_MESSAGES = 16 };

bool strait_connection_takes_more(const struct strait_connection *c)
{
    return c->written_end - c->cut_bytes < NOT_SENT_BYTES;
}

/* Linux tcp_cwnd_restart. */
static void restart(struct strait_connection *c, double now_s)
{
    const double time_out = strait_n_ticks(c->rto_s);
    double idle = strait_tick_of(now_s) - strait_tick_of(c->last_sent_s);
    if (!c->decays || c->nxt > c->una || !(idle > time_out) || isinf(idle))
        return;
    const double min = fmin(c->initial, c->cwnd);
    if (c->state == STRAIT_TCP_OPEN)
        c->ssthresh = fmax(c->ssthresh, floor(c->cwnd / 2) + floor(c->cwnd / 4));
    while ((idle -= time_out) > 0 && c->cwnd > min)
        c->cwnd = floor(c->cwnd / 2);
    c->cwnd = fmax(c->cwnd, min);
    c->window_at_s = now_s;
    c->used = 0;
}

/* Bytes that the transport hands over next: up to a segment's end, counted from the message's begin
 * (strait_emu_outgoing_whole_bytes), and no further than the message. */
static uint64_t next_write(struct strait_connection *c)
{
    while (c->message_ends[c->writing] <= c->written_end)
        c->writing++;
    const uint64_t begin = c->writing > 0 ? c->message_ends[c->writing - 1] : 0,
                   left = c->message_ends[c->writing] - c->written_end,
                   written = c->written_end - begin,
                   frame = written < STRAIT_FRAME_BYTES ? STRAIT_FRAME_BYTES - written : 0;
    const double ahead_s = fmax(0, c->write_s - c->write_at_s);
    const uint64_t max = (uint64_t)fmin(
        fmax((STRAIT_WRITE_BURST_S - ahead_s) * c->write_bytes_per_s, MIN_WRITE_BYTES),
        c->write_turn_bytes);
    const uint64_t over = (written + frame + max) % (uint64_t)c->segment_bytes,
                   whole = frame + (over < max ? max - over : max);
    return whole < left ? whole : left;
}

/* The application has more: hand a part of it to TCP, at its pace, where TCP has little that is not
 * sent. It does so at write_at_s, whether TCP may send or not. False: not before send_s. */
static bool write_more(struct strait_connection *c, double now_s)
{
    const uint64_t unsent = c->written_end - c->cut_bytes;
    if (c->written_end == c->posted_bytes)
        return false;
    if (!strait_connection_takes_more(c)) {
        c->write_at_s = fmax(c->write_at_s, now_s);
        return false;
    }
    if (c->write_at_s > now_s) {
        if (unsent == 0)
            c->send_s = fmin(c->send_s, c->write_at_s);
        return false;
    }
    if (c->turn_bytes <= 0)
        return false;
    if (unsent < (uint64_t)c->segment_bytes && strait_in_flight(c) < c->cwnd &&
        c->lost <= c->again && !(c->own_memory_bytes > 0)) /* Linux tcp_rate_check_app_limited */
        c->limited_until = fmax(1, c->delivered + strait_in_flight(c));
    if (unsent == 0)
        restart(c, now_s);
    const uint64_t n = next_write(c), burst = (uint64_t)(c->largest_burst * c->segment_bytes),
                   room_end = c->cut_bytes + burst;
    const bool is_last = c->piece_end == c->written_end;
    c->written_end += n;
    if (is_last && c->piece_end < room_end)
        c->piece_end = c->written_end < room_end ? c->written_end : room_end;
    c->turn_bytes -= (double)n;
    c->write_s = fmax(c->write_s, c->write_at_s) + (double)n / c->write_bytes_per_s;
    if (c->write_s - STRAIT_WRITE_BURST_S > c->write_at_s)
        c->write_at_s = c->write_s - STRAIT_WRITE_BURST_S / 2;
    return true;
}

void strait_connection_write(struct strait_connection *c, double now_s)
{
    while (write_more(c, now_s))
        ;
}

static bool note_message(struct strait_connection *c)
{
    if (c->n_messages == c->cap_messages) {
        const size_t cap = c->cap_messages > 0 ? 2 * c->cap_messages : FIRST_MESSAGES;
        uint64_t *ends = realloc(c->message_ends, cap * sizeof(*ends));
        if (!ends) {
            c->wire->no_memory = true;
            return false;
        }
        c->message_ends = ends;
        c->cap_messages = cap;
    }
    c->message_ends[c->n_messages++] = c->posted_bytes;
    return true;
}

bool strait_connection_post(struct strait_connection *c, double now_s, uint64_t bytes)
{
    const bool had_none = c->written_end == c->posted_bytes;
    if (had_none)
        c->write_at_s = fmax(c->write_at_s, now_s);
    c->posted_bytes += bytes;
    return note_message(c) && had_none;
}
