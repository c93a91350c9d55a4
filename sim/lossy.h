/* TCP over a path that loses packets, by chance or because a queue is full: a window a round trip,
 * each with its losses as drawn, what they do to the window, and the wait until the sender knows of
 * them. Used instead of window.h where a link of the path has loss or a finite queue. Pure
 * functions of time and of one keyed sequence of draws.
 *
 * Reach: a flow's own window and the queue that its rate fills. Not here: losses of acknowledgements
 * (later ones stand for them), HyStart, bursts of other flows (a queue's share is that of the rate).
 * A stream of S connections is one window of S times the size of which a loss cuts the S-th part. */
#pragma once
#include <stdbool.h>
#include "core/random.h"
#include "workloads/ask/network.h"

struct strait_lossy {
    enum strait_congestion congestion;
    double rtt_s, segment_bytes, loss_ratio, rto_min_s;
    double n_connections, initial, cap, pipe; /* segments, all connections together */
    bool decays;                              /* the window shrinks while idle */
    struct strait_sequence draws;

    double cwnd, ssthresh;       /* segments */
    double w_max, origin_s, k_s; /* CUBIC: of one connection; origin_s NAN: no epoch yet */
    double friendly;             /* CUBIC: what Reno's growth would have reached by now */
    double rto_s;
    unsigned n_timeouts; /* in a row */

    bool open, saturated, limited;                  /* a window is being sent */
    double start_s, left_bytes, sent_bytes, busy_s; /* of it */
    double lost_at; /* fraction of this window sent before its first loss; 1: none was lost */
    double n_lost;  /* segments of this window */
    bool recovers;  /* this window is the one in which the loss before it becomes known */
    /* Segments of it, those sent before the loss was known, those that come twice as fast as they
     * drain. */
    double released, earlier, burst;
    double ready_s; /* nothing is sent before; the sender waits to learn of a loss */
    double last_s;  /* when the last byte left; -INFINITY: none did */
    bool resends;   /* what is sent next was lost, and nothing follows it */
};

/** A stream when it is set up.
 *  In:      loss_ratio  of a segment, over all links of the path
 *           key         of the draws
 *  Source:  RFC 5681 (Reno), RFC 9438 (CUBIC), RFC 6937 (proportional rate reduction), RFC 8985
 *           (RACK and the tail loss probe), Linux net/ipv4/tcp_cubic.c */
void strait_lossy_init(struct strait_lossy *w, double rtt_s, double path_bytes_per_s,
                       double loss_ratio, const struct strait_tcp *tcp, bool ramp, uint64_t key);
/** As strait_window_next. */
double strait_lossy_next(struct strait_lossy *w, double now_s, double wanted_bytes, double *bytes);
/** The allowed flow has left the sender.
 *  In:      queue_s  the longest wait in the queue of the narrowest link; INFINITY: it never drops
 *           more     further bytes are waiting behind these
 *  Returns: bytes of it that were lost and have to be sent again */
double strait_lossy_sent(struct strait_lossy *w, double start_s, double end_s, double bytes,
                         double queue_s, bool more);
