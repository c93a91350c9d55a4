/* TCP's congestion window as the simulators model it: how much of a stream may be sent now as one
 * flow, and when the next part may follow. Pure functions of time.
 *
 * Slow start is a chain of windows. Each window is sent as one flow; the next one may not start
 * before the acknowledgement of its first byte, one RTT after its start, and is larger by what was
 * acknowledged. A window that takes an RTT or longer to send keeps the acknowledgements coming:
 * from then on the network is the limit, and the rest is sent as one flow.
 *
 * A stream of S connections is modelled as one window of S times the size. Each connection carries
 * an equal part of every message at the same time over the same path, so their windows open, are
 * used and decay together; and since all streams have S connections, each of the S flows gets the
 * S-th part of what one would get. The connections take turns, and so do their acknowledgements:
 * the last one's next window, and its end of a message, come later than the first one's. Nothing
 * else is delayed: until then the other connections' bytes fill the link. */
#pragma once
#include <stdbool.h>
#include "workloads/ask/network.h"

struct strait_window {
    double rtt_s, pipe_bytes; /* the path without other traffic: RTT, and bandwidth-delay product */
    double n_connections;     /* of the stream; the window is that of all together */
    double initial_bytes, cap_bytes, rto_min_s;
    bool decays;          /* the window shrinks while idle */
    bool limited;         /* the open window follows one that was used up */
    bool open, saturated; /* open: a window is being sent; saturated: the network is the limit */
    bool full;            /* see below */
    double cwnd_bytes;
    double start_s, left_bytes, sent_bytes, busy_s; /* of the open window */
    double last_s; /* when the last byte left the port; -INFINITY: none did */
    /* While the network is the limit (full), a queue grows before it. This episode began at full_s
     * with a window of full_window_bytes and has carried full_bytes so far. */
    double full_s, full_window_bytes, full_bytes;
    double block_bytes; /* sent by one connection before it is the next one's turn */
    double ready_s;     /* when the last connection may send again, by its own acknowledgements */
    double queue_s;     /* how long the last byte waited in that queue */
    double rto_s;       /* after the last flow */
};

/** A stream when it is set up, all connections together.
 *  In:      path_bytes_per_s  goodput of the narrower of its two links
 *           ramp              false: the initial window is unlimited (the negative control)
 *  Source:  RFC 6928 (initial window), RFC 5681 sections 3.1 and 4.1 */
void strait_window_init(struct strait_window *w, double rtt_s, double path_bytes_per_s,
                        const struct strait_tcp *tcp, bool ramp);

/** Ask to send at now_s.
 *  Out:     bytes    how much of wanted_bytes may be sent now as one flow; 0: nothing
 *  Returns: now_s, or the later time at which to ask again
 *  Source:  Linux tcp_cwnd_restart, tcp_is_cwnd_limited, tcp_set_rto */
double strait_window_next(struct strait_window *w, double now_s, double wanted_bytes,
                          double *bytes);

/** The allowed flow has left the sender. */
void strait_window_sent(struct strait_window *w, double start_s, double end_s, double bytes);

/** When the last connection has sent its part of what was sent until end_s. */
double strait_window_left_s(const struct strait_window *w, double end_s);
