#include "lossy.h"

#include <math.h>

/* CUBIC's constants, RFC 9438 section 4: the window after a loss, and segments/s^3. */
static const double CUBIC_BETA = 0.7, CUBIC_C = 0.4;

void strait_lossy_init(struct strait_lossy *w, double rtt_s, double path_bytes_per_s,
                       double loss_ratio, const struct strait_tcp *tcp, bool ramp, uint64_t key)
{
    const double n = strait_tcp_n_connections(tcp), segment = tcp->segment_bytes;
    *w = (struct strait_lossy){
        .congestion = tcp->congestion,
        .rtt_s = rtt_s,
        .segment_bytes = segment,
        .loss_ratio = loss_ratio,
        .rto_min_s = tcp->rto_min_s,
        .n_connections = n,
        .initial = ramp ? n * floor(tcp->initial_window_bytes / segment) : INFINITY,
        .cap = n * fmax(1, floor(tcp->window_bytes / segment)),
        .pipe = rtt_s * path_bytes_per_s / segment,
        .decays = tcp->slow_start_after_idle && tcp->congestion != STRAIT_BBR,
        .draws = strait_sequence_at(key),
        .ssthresh = INFINITY,
        .origin_s = NAN,
        .rto_s = rtt_s + tcp->rto_min_s,
        .lost_at = 1,
        .ready_s = -INFINITY,
        .last_s = -INFINITY,
    };
    w->cwnd = w->initial;
}

static double window(const struct strait_lossy *w)
{
    if (w->congestion == STRAIT_BBR && w->saturated)
        return w->cap; /* its rate is what the network carries, whatever is lost */
    return fmax(1, floor(fmin(w->cwnd, w->cap)));
}

static bool in_slow_start(const struct strait_lossy *w)
{
    return w->cwnd < w->ssthresh;
}

/* --- the window's growth ------------------------------------------------------------------ */

static void begin_epoch(struct strait_lossy *w, double now_s, double one)
{
    w->origin_s = now_s;
    w->w_max = fmax(w->w_max, one);
    w->k_s = cbrt((w->w_max - one) / CUBIC_C);
    w->friendly = one;
}

/* A round trip of congestion avoidance, of which `share` was acknowledged before a loss was
 * known. */
static void avoid(struct strait_lossy *w, double now_s, double share)
{
    const double n = w->n_connections, one = w->cwnd / n;
    if (w->congestion != STRAIT_CUBIC) {
        w->cwnd += n * share;
        return;
    }
    if (isnan(w->origin_s))
        begin_epoch(w, now_s - w->rtt_s, one);
    w->friendly += 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * share;
    const double t_s = now_s - w->origin_s + w->rtt_s - w->k_s;
    const double target = fmax(CUBIC_C * t_s * t_s * t_s + w->w_max, w->friendly);
    w->cwnd += n * share * fmax(0, fmin(target - one, one / 2));
}

/* acked: segments. */
static void grow(struct strait_lossy *w, double now_s, double acked, double share)
{
    if (in_slow_start(w)) {
        if (w->cwnd < 2 * acked || w->saturated || w->limited)
            w->cwnd = fmin(w->cwnd + acked, w->ssthresh);
    } else if (w->limited || w->saturated || acked >= w->cwnd - 1) {
        avoid(w, now_s, share);
    }
    w->cwnd = fmin(w->cwnd, 2 * w->cap);
}

/* --- losses ------------------------------------------------------------------------------- */

/* So many losses, each of which cuts the window of one connection. */
static void cut(struct strait_lossy *w, double now_s, double n_lost)
{
    const double n = w->n_connections, hit = fmin(n, n_lost) / n;
    const double beta = w->congestion == STRAIT_CUBIC ? CUBIC_BETA : 0.5;
    if (w->congestion == STRAIT_BBR)
        return;
    const double one = w->cwnd / n, to = fmax(2, beta * one);
    w->cwnd += hit * n * (to - one);
    w->ssthresh = w->cwnd;
    if (w->congestion == STRAIT_CUBIC) { /* fast convergence: RFC 9438, section 4.7 */
        w->w_max = one < w->w_max ? one * (1 + CUBIC_BETA) / 2 : one;
        begin_epoch(w, now_s, fmin(to, w->w_max));
    }
}

/* The round trip in which a loss becomes known: acknowledgements of what was sent before it release
 * as much as ever (in slow start twice as much), the others what the cut window has room for. */
static void begin_recovery(struct strait_lossy *w, double now_s, double acked)
{
    const bool slow = in_slow_start(w);
    grow(w, now_s, acked * w->lost_at, w->lost_at);
    cut(w, now_s, w->n_lost);
    w->recovers = true;
    w->burst = slow ? acked * w->lost_at : 0;
    w->earlier = acked * w->lost_at + w->burst;
    w->released = fmax(1, floor(w->earlier + (1 - w->lost_at) * w->cwnd));
}

static void close_window(struct strait_lossy *w, double now_s)
{
    if (!w->open)
        return;
    const double acked = w->sent_bytes / w->segment_bytes;
    w->open = false;
    const bool recovered = w->recovers;
    w->recovers = false;
    if (w->lost_at < 1)
        begin_recovery(w, now_s, acked);
    else if (!recovered)
        grow(w, now_s, acked, 1);
}

/* The number of random losses among n segments; first: the place of the first one from the given
 * place on, last: of the last one. */
static double draw_losses(struct strait_lossy *w, double n, double *first, double *last)
{
    const double from = *first;
    *first = n;
    double n_lost = 0, at = -1;
    while (w->loss_ratio > 0) {
        const double u = 1 - strait_sequence_unit(&w->draws); /* in (0, 1] */
        at += 1 + floor(log(u) / log1p(-w->loss_ratio));
        if (!(at < n))
            break;
        n_lost++;
        if (at >= from)
            *first = fmin(*first, at);
        *last = at;
    }
    return n_lost;
}

/* What overflows the queue of the narrowest link. In slow start acknowledgements release two
 * segments each, so that half of a window queues; the initial window comes at once; beyond a round
 * trip everything queues. */
static double overflow(struct strait_lossy *w, double queue_s, double *from)
{
    const double n = w->sent_bytes / w->segment_bytes;
    if (!isfinite(queue_s) || !(w->busy_s > 0) || w->congestion == STRAIT_BBR)
        return 0;
    const double burst = w->recovers             ? w->burst / n
                         : !in_slow_start(w)     ? 0
                         : w->cwnd <= w->initial ? 1
                                                 : 0.5;
    const double burst_s = fmin(1, burst) * w->busy_s;
    const double queued_s = fmax(burst_s, w->busy_s - w->rtt_s);
    const double excess = (queued_s - queue_s) / w->busy_s * n;
    if (!(excess > 0))
        return 0;
    *from = fmax(0, fmin(1, queue_s / queued_s)) * n;
    return fmin(n, floor(excess + strait_sequence_unit(&w->draws)));
}

static void time_out(struct strait_lossy *w, double end_s)
{
    w->ready_s = end_s + w->rto_s * exp2(fmin(w->n_timeouts++, 8));
    w->ssthresh = fmax(2 * w->n_connections, w->cwnd / 2);
    w->cwnd = w->n_connections;
    w->open = false;
    w->saturated = false;
    w->origin_s = NAN;
    w->lost_at = 1;
    w->recovers = false;
}

/* Nothing follows what was lost: when does the sender learn of it? RFC 8985: later segments that
 * arrive tell, at once if there are three, else a quarter of a round trip later; if there are none,
 * a probe after two round trips, or a time-out where the probe is lost too. */
static void wait_for_tail(struct strait_lossy *w, double start_s, double end_s, double n,
                          double last, double n_lost)
{
    const double behind = n - 1 - last, took_s = end_s - start_s;
    if (w->resends && n_lost >= n) {
        time_out(w, end_s);
        return;
    }
    if (behind >= 1)
        w->ready_s = fmax(end_s, start_s + (last + 1) / n * took_s + w->rtt_s +
                                     (behind < 3 ? w->rtt_s / 4 : 0));
    else
        w->ready_s = end_s + 2 * w->rtt_s + (n <= 1 ? w->rto_min_s : 0) +
                     (n_lost > 1 ? w->rtt_s : 0); /* the probe's answer tells of the others */
    w->resends = true;
}

double strait_lossy_sent(struct strait_lossy *w, double start_s, double end_s, double bytes,
                         double queue_s, bool more)
{
    const double n = ceil(bytes / w->segment_bytes), before = w->sent_bytes / w->segment_bytes;
    /* Losses among what was sent before the last one was known belong to the same recovery. */
    double first = w->recovers ? fmax(0, w->earlier - before) : 0, last = -1, from = 0;
    w->last_s = end_s;
    w->left_bytes -= bytes;
    w->sent_bytes += bytes;
    w->busy_s += end_s - start_s;
    double n_lost = draw_losses(w, n, &first, &last);
    if (w->left_bytes <= 0 || !more) { /* the window is complete */
        const double over = fmin(n - n_lost, overflow(w, queue_s, &from));
        if (over > 0) {
            if (!w->recovers)
                first = fmin(first, fmax(0, fmin(n - 1, from - before)));
            last = fmax(last, n - 1 - floor(over > n / 2 ? 0 : 1)); /* alternate ones get through */
            n_lost += over;
        }
    }
    w->rto_s = w->rtt_s + fmax(0, w->busy_s - w->rtt_s) + w->rto_min_s;
    if (w->left_bytes <= 0)
        w->saturated =
            w->busy_s >= w->rtt_s * (1 - 1e-9) || (w->saturated && w->congestion == STRAIT_BBR);
    if (n_lost <= 0) {
        w->n_timeouts = 0;
        w->resends = w->resends && more;
        return 0;
    }
    if (w->lost_at >= 1 && first < n)
        w->lost_at = (before + first) / fmax(before + n, window(w));
    w->n_lost += n_lost;
    if (!more)
        wait_for_tail(w, start_s, end_s, n, last, n_lost);
    return fmin(bytes, n_lost * w->segment_bytes);
}

/* --- sending ------------------------------------------------------------------------------ */

/* Halve the window for each full time-out of silence, down to the initial window. */
static void decay(struct strait_lossy *w, double now_s)
{
    const double idle_s = now_s - w->last_s;
    if (!w->decays || !(idle_s > w->rto_s) || isinf(idle_s))
        return;
    close_window(w, now_s);
    w->ssthresh = fmax(w->ssthresh, 0.75 * w->cwnd); /* Linux tcp_current_ssthresh */
    w->cwnd =
        fmax(fmin(w->initial, w->cwnd), w->cwnd * pow(0.5, fmin(floor(idle_s / w->rto_s), 1000)));
}

double strait_lossy_next(struct strait_lossy *w, double now_s, double wanted_bytes, double *bytes)
{
    *bytes = 0;
    if (now_s < w->ready_s)
        return w->ready_s;
    const bool used_up = w->open && w->left_bytes <= 0;
    if (w->open && (now_s - w->start_s >= w->rtt_s * (1 - 1e-9) || (used_up && w->saturated))) {
        w->limited = used_up;
        close_window(w, now_s);
    }
    if (now_s > w->last_s) {
        if (!w->open)
            w->saturated = false;
        decay(w, now_s);
    }
    if (!w->open) {
        w->open = true;
        w->start_s = now_s;
        w->left_bytes = w->segment_bytes * (w->recovers ? fmin(w->released, w->cap) : window(w));
        w->sent_bytes = w->busy_s = w->n_lost = 0;
        w->lost_at = 1;
    }
    *bytes = fmin(wanted_bytes, w->left_bytes);
    return *bytes > 0 ? now_s : w->start_s + w->rtt_s;
}
