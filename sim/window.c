#include "window.h"

#include <math.h>
#include "core/heap.h"

/* Tolerates rounding: times are sums of RTTs and flow times. After years of simulated time the sum
 * is rounded by more than that, and who sleeps until then must not sleep again. */
static bool reached(double now_s, double start_s, double rtt_s)
{
    return now_s - start_s >= rtt_s * (1 - 1e-9) || now_s >= start_s + rtt_s;
}

void strait_window_init(struct strait_window *w, double rtt_s, double path_bytes_per_s,
                        const struct strait_tcp *tcp, bool ramp)
{
    const double n = strait_tcp_n_connections(tcp);
    *w = (struct strait_window){
        .n_connections = n,
        .rtt_s = rtt_s,
        .pipe_bytes = rtt_s * path_bytes_per_s,
        .initial_bytes = ramp ? n * floor(tcp->initial_window_bytes) : INFINITY,
        .cap_bytes = n * strait_most(1, floor(tcp->window_bytes)),
        .rto_min_s = tcp->rto_min_s,
        .decays = tcp->slow_start_after_idle && tcp->congestion != STRAIT_BBR,
        .last_s = -INFINITY,
        .ready_s = -INFINITY,
    };
    w->cwnd_bytes = w->initial_bytes;
}

/* Saturated: acknowledgements come as fast as the network carries; only the receiver's window
 * limits. */
static double limit(const struct strait_window *w)
{
    return w->saturated ? w->cap_bytes : strait_least(w->cwnd_bytes, w->cap_bytes);
}

/* Slow start: the window grows by what was acknowledged if at least half of it was used, or if the
 * sender was limited by the window. */
static void grow(struct strait_window *w, double acked_bytes)
{
    if (w->cwnd_bytes < 2 * acked_bytes || w->saturated || w->limited)
        w->cwnd_bytes =
            strait_least(w->cwnd_bytes + acked_bytes, strait_most(w->cwnd_bytes, 2 * w->cap_bytes));
}

/* When the last connection sends its first bytes of a transfer that starts at start_s. */
static double last_turn_s(const struct strait_window *w, double start_s, double bytes,
                          double s_per_byte)
{
    const double n = w->n_connections;
    return strait_most(w->ready_s,
                       start_s + (n - 1) * strait_least(bytes / n, w->block_bytes) * s_per_byte);
}

static void close_window(struct strait_window *w)
{
    if (w->open) {
        grow(w, w->sent_bytes);
        if (!w->full && w->sent_bytes > 0)
            w->ready_s =
                w->rtt_s + last_turn_s(w, w->start_s, w->sent_bytes, w->busy_s / w->sent_bytes);
    }
    w->open = false;
}

/* Halve the window for each full RTO of silence, down to the initial window. Silence counts from
 * the last send, which was before the last byte left the queue. */
static void decay(struct strait_window *w, double idle_s)
{
    if (!w->decays || !(idle_s > w->rto_s) || isinf(idle_s))
        return;
    close_window(w);
    const double n_halves = strait_least(floor(idle_s / w->rto_s), 1000);
    w->cwnd_bytes = strait_most(w->initial_bytes, ldexp(w->cwnd_bytes, -(int)n_halves));
}

/* An acknowledgement releases twice as much: turns get longer as windows grow. */
static void set_block(struct strait_window *w, bool waited)
{
    w->block_bytes = waited ? 2 * w->block_bytes : STRAIT_TURN_BYTES;
}

static void begin_episode(struct strait_window *w, double now_s, double window_bytes)
{
    w->full = true;
    w->full_s = now_s;
    w->full_window_bytes = window_bytes;
    w->full_bytes = 0;
}

/* How long the last byte of an episode waited in the queue. The initial window is sent at once and
 * then waits for all before it; after that each acknowledgement releases two segments (slow start),
 * so that the rest is sent at twice the link's rate, starting one RTT later. The receiver's window
 * limits it all. */
static double queueing_s(const struct strait_window *w, double end_s)
{
    const double took_s = end_s - w->full_s, bytes_per_s = w->full_bytes / took_s;
    if (!w->full || !(took_s > 0))
        return 0;
    if (w->full_bytes <= w->full_window_bytes)
        return took_s;
    const double rest_s = (w->full_bytes - w->full_window_bytes) / (2 * bytes_per_s);
    return strait_least(strait_most(0, took_s - w->rtt_s - rest_s),
                        strait_most(0, w->cap_bytes / bytes_per_s - w->rtt_s));
}

double strait_window_next(struct strait_window *w, double now_s, double wanted_bytes, double *bytes)
{
    const bool waited = w->open && w->left_bytes <= 0;
    if (w->open && reached(now_s, w->start_s, w->rtt_s))
        close_window(w);
    if (now_s > w->last_s) {
        if (!w->open)
            w->saturated = false;
        w->full = false;
        decay(w, now_s - (w->last_s - w->queue_s));
    }
    if (!w->open && limit(w) >= w->pipe_bytes) { /* a full window never waits for an RTT */
        if (!w->full) {
            begin_episode(w, now_s, limit(w));
            set_block(w, waited);
        }
        *bytes = wanted_bytes;
        return now_s;
    }
    if (!w->open) {
        w->open = true;
        w->limited = waited;
        set_block(w, waited);
        w->start_s = now_s;
        w->left_bytes = w->n_connections * floor(limit(w) / w->n_connections);
        w->sent_bytes = w->busy_s = 0;
    }
    *bytes = strait_least(wanted_bytes, w->left_bytes);
    return *bytes > 0 ? now_s : w->start_s + w->rtt_s;
}

void strait_window_sent(struct strait_window *w, double start_s, double end_s, double bytes)
{
    w->last_s = end_s;
    if (w->open) {
        w->left_bytes -= bytes;
        w->sent_bytes += bytes;
        w->busy_s += end_s - start_s;
        if (w->left_bytes <= 0 && reached(w->busy_s, 0, w->rtt_s))
            w->saturated = true;
        if (w->saturated && !w->full) {
            begin_episode(w, w->start_s, w->sent_bytes);
            w->full_bytes = w->sent_bytes - bytes;
        }
    } else {
        grow(w, bytes);
    }
    if (w->full)
        w->full_bytes += bytes;
    w->queue_s = queueing_s(w, end_s);
    w->rto_s = w->rtt_s + w->queue_s + w->rto_min_s;
}

double strait_window_left_s(const struct strait_window *w, double end_s)
{
    const double n = w->n_connections;
    if (n <= 1)
        return end_s;
    if (!w->full)
        return strait_most(end_s, w->busy_s / n + last_turn_s(w, w->start_s, w->sent_bytes,
                                                              w->busy_s / w->sent_bytes));
    const double s_per_byte = (end_s - w->full_s) / w->full_bytes;
    const double at_once_bytes = strait_least(w->full_bytes, w->full_window_bytes);
    const double turn_s = last_turn_s(w, w->full_s, at_once_bytes, s_per_byte);
    const double rest_bytes = w->full_bytes - at_once_bytes, next_bytes = 2 * w->full_window_bytes;
    if (rest_bytes <= 0)
        return strait_most(end_s, turn_s + at_once_bytes * s_per_byte / n);
    /* After these the last connection waits for its own acknowledgements, one round trip each
     * time. */
    const double n_more = ceil(log2(rest_bytes / next_bytes + 1));
    const double last_bytes = rest_bytes - next_bytes * (exp2(n_more - 1) - 1);
    return strait_most(end_s, turn_s + n_more * w->rtt_s + last_bytes * s_per_byte / n);
}
