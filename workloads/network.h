/* One link model for every backend: what the wire and TCP are, in units of the base kind. */
#pragma once
#include <stdbool.h>

/* One direction of one port of the star. */
struct strait_link {
    double rate_bits_per_s; /* on the wire, headers included */
    double delay_s;         /* one way; a path adds the delays of its two ports */
    double loss_ratio;      /* of segments */
    double jitter_s;        /* uniform, +- around delay_s, never reordering */
    double queue_bytes;     /* drop-tail; INFINITY: never drops, the default */
};

enum strait_congestion { STRAIT_RENO, STRAIT_BBR, STRAIT_CUBIC };

/* TCP as Linux has it. Sources: RFC 6928 (initial window), RFC 5681 (slow start, restart after
 * idle), Linux net/ipv4/tcp_output.c tcp_cwnd_restart, include/net/tcp.h TCP_RTO_MIN. */
struct strait_tcp {
    enum strait_congestion congestion;
    double segment_bytes;        /* payload of one full segment: 1448 with time stamps */
    double initial_window_bytes; /* 10 segments; INFINITY: no ramp at all (negative control) */
    double window_bytes;         /* most unacknowledged bytes of a stream; INFINITY: no cap */
    double rto_min_s;            /* 0.2 */
    bool slow_start_after_idle;  /* the window decays while idle (not under BBR) */
};

/* A star: every rank has one port, out (towards the star) and in (from it). */
struct strait_network {
    int n_ranks;
    struct strait_link *out, *in; /* n_ranks each */
    double overhead_bytes; /* beyond the 1514 bytes of a full Ethernet frame: 24 on a real wire
                              (check sum 4, preamble 8, gap 12), 0 as tc counts */
    struct strait_tcp tcp;
};

/** Payload bytes a second of a long TCP stream that has the link alone:
 *  rate / 8 * 1448 / (1514 + overhead). Source: header sizes (IP 20, TCP 32, Ethernet 14). */
double strait_goodput_bytes_per_s(const struct strait_network *n, const struct strait_link *l);
/** One way from src to dst: out[src].delay_s + in[dst].delay_s. */
double strait_path_delay_s(const struct strait_network *n, int src, int dst);
/** There and back again. */
double strait_path_rtt_s(const struct strait_network *n, int src, int dst);
const char *strait_congestion_name(enum strait_congestion c); /* "reno", "bbr", "cubic" */

/** All links equal to the given ones; node 0 gets the server's. NULL when memory runs out. */
struct strait_network *strait_network_star(int n_ranks, struct strait_link server_out,
                                           struct strait_link server_in,
                                           struct strait_link client_out,
                                           struct strait_link client_in, double overhead_bytes,
                                           struct strait_tcp tcp);
void strait_network_free(struct strait_network *n);
