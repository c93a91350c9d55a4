/* TCP's congestion window as the simulators see it: how much of a stream may go now as one flow,
 * and when the next part may. Pure: time comes in, time goes out.
 *
 * Slow start is a chain of windows. Window i goes as one flow; the next one may not start before
 * the acknowledgement of its first byte, one RTT after its start, and is larger by what was
 * acknowledged. A window that takes an RTT or longer on the wire keeps the acknowledgements coming:
 * from there on the network is the limit, and what is left goes as one flow.
 *
 * A stream of S connections is one window of S times the size. Each connection carries an equal
 * part of every message, at once and over the same path, so their windows open, are used and decay
 * in step; and as all streams have S, each of S flows gets the S-th part of what one would get.
 * They take turns, and so do their acknowledgements: the last one's next window begins later than
 * the first one's, and so does its part of the end of a message. Nothing else is later: before it
 * the others' bytes go. */
#pragma once
#include <stdbool.h>
#include "workloads/ask/network.h"

struct strait_window {
    double rtt_s, pipe_bytes; /* the path alone: RTT, and what fits into it at full rate */
    double n_connections;     /* whose windows these are, all together */
    double initial_bytes, cap_bytes, rto_min_s;
    bool decays; /* while idle */

    double cwnd_bytes;
    bool limited;         /* the open window follows one that was used up */
    bool open, saturated; /* a window is under way; the network, not the window, is the limit */
    double start_s, left_bytes, sent_bytes, busy_s; /* of the open window */
    double last_s; /* the last byte left the port; -INFINITY: none did */
    /* While the network is the limit a queue grows in front of it. The episode began at full_s with
     * full_window_bytes in hand and has carried full_bytes so far. */
    bool full;
    double full_s, full_window_bytes, full_bytes;
    double
        block_bytes; /* of one connection that follow each other, then it is the next one's turn */
    double ready_s;  /* when the last connection may send again, by its own acknowledgements */
    double queue_s;  /* how long the last byte has waited in that queue */
    double rto_s;    /* after the last flow */
};

/** A stream at its set-up, all its connections together.
 *  In:      path_bytes_per_s  goodput of the narrower of its two links
 *           ramp              false: the initial window is unlimited (the negative control)
 *  Source:  RFC 6928 (initial window), RFC 5681 sections 3.1 and 4.1 */
void strait_window_init(struct strait_window *w, double rtt_s, double path_bytes_per_s,
                        const struct strait_tcp *tcp, bool ramp);

/** Ask to send at now_s.
 *  Out:     bytes    how much of wanted_bytes may go now as one flow; 0 when nothing may
 *  Returns: now_s, or the later time at which to ask again
 *  Source:  Linux tcp_cwnd_restart, tcp_is_cwnd_limited, tcp_set_rto */
double strait_window_next(struct strait_window *w, double now_s, double wanted_bytes,
                          double *bytes);

/** The flow that was allowed has left the sender. */
void strait_window_sent(struct strait_window *w, double start_s, double end_s, double bytes);

/** When the last of the connections has sent its part of what was sent until end_s. */
double strait_window_left_s(const struct strait_window *w, double end_s);
