/* The network model of every backend: links, ports, sites and TCP. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "core/json.h"
#include "workloads/rates/jitter.h"
#include "workloads/rates/schedule.h"

/* One direction of one port, or of a link between two sites. */
struct strait_link {
    double rate_bits_per_s; /* on the wire, headers included; the largest of a schedule's */
    double delay_s;         /* one way; a path adds the delays of its two ports */
    double loss_ratio;      /* of segments, each drawn independently */
    double jitter_s;        /* +- around delay_s, never below 0; packets keep their order */
    double queue_bytes;     /* drop-tail; INFINITY: never drops, the default */
    const struct strait_schedule *schedule; /* the rate over time; NULL: constant */
    const struct strait_jitter *jitter;     /* how jitter_s is distributed; NULL: uniformly */
    const struct strait_schedule *present; /* out port of a client: 1 there, 0 away; NULL: always */
    double background_bits_per_s; /* that other traffic takes; already off the rates above */
    int n_flows; /* of others, long TCP flows that compete for this port; of ranks' ports alone */
    const char *group; /* "name" of its entry, borrowed from the JSON; NULL: none */
};

enum strait_congestion { STRAIT_RENO, STRAIT_BBR, STRAIT_CUBIC };

/* The largest number of flows of others in one direction of a port. */
enum { STRAIT_MAX_OTHER_FLOWS = 8 };
/* The largest number of TCP connections a stream that was measured. */
enum { STRAIT_MAX_CONNECTIONS = 16 };
/* Bytes that a sender writes to one of several connections before it is the next one's turn. */
enum { STRAIT_TURN_BYTES = 1 << 14 };

/* TCP as in Linux. Sources: RFC 6928 (initial window), RFC 5681 (slow start, restart after idle),
 * Linux net/ipv4/tcp_output.c tcp_cwnd_restart, include/net/tcp.h TCP_RTO_MIN. */
struct strait_tcp {
    enum strait_congestion congestion;
    double segment_bytes;        /* payload of one full segment: 1448 with time stamps */
    double initial_window_bytes; /* 10 segments; INFINITY: no ramp (negative control) */
    double window_bytes;         /* limit of unacknowledged bytes a connection; INFINITY: none */
    double rto_min_s;            /* 0.2 */
    bool slow_start_after_idle;  /* the window decays while idle (not under BBR) */
    bool hystart;                /* CUBIC leaves slow start before the queue overflows */
    bool writes_at_once; /* a library's processes hand all of a message to TCP, which ours do not */
    unsigned n_connections; /* of a stream, each carries an equal part of every message */
};

/* How simulations move bytes: CHOSEN is packets where the network needs them; FORMULA is flows on
 * ports as slow as their losses make them (sim/loss_formula.h). */
enum strait_detail {
    STRAIT_DETAIL_CHOSEN,
    STRAIT_DETAIL_FLOWS,
    STRAIT_DETAIL_PACKETS,
    STRAIT_DETAIL_FORMULA
};
/* Up to so many data segments in all, about a third of a second of processor time, an experiment
 * that names a congestion control has packets on clean links too. */
#define STRAIT_MAX_CHOSEN_SEGMENTS 1e6

/* Every rank has one port, out (towards its switch) and in (from it). In a star all ports meet at
 * one switch, the core. Otherwise ranks belong to sites: the ports of a site meet at its switch,
 * and its ranks share one port of the site to the core. A site is a cluster on a wide-area network
 * or a node with several accelerators; only the figures differ. Two sites may also have a link of
 * their own. */
struct strait_network {
    int n_ranks;
    struct strait_link *out, *in;           /* n_ranks each */
    int n_sites;                            /* 0: a star */
    int *site;                              /* of each rank, -1: at the core; NULL in a star */
    struct strait_link *site_out, *site_in; /* n_sites each */
    struct strait_link *between; /* [from * n_sites + to], rate 0: none; NULL: no pair has one */
    double overhead_bytes; /* beyond the 1514 bytes of a full Ethernet frame: 24 on a real wire
                              (check sum 4, preamble 8, gap 12), 0 as tc counts */
    struct strait_tcp tcp;
    /* A stream's share of a link is inversely proportional to the sum of its two ranks' drags, as
     * TCP's is to its round trip. Simulators only; NULL: all shares are equal. */
    double *drag;
    double share_spread; /* spread of the shares, keyed draws of 1 +- this */
    int n_others; /* 1: the last rank is only where flows of others begin and end; 0: none is */
    bool names_congestion;             /* the file does, and not by default */
    bool names_window;                 /* the same */
    bool has_server;                   /* rank 0 has the server's port; for words alone */
    enum strait_detail detail;         /* of simulations */
    struct strait_schedule *schedules; /* those of the links, owned */
    struct strait_jitter *jitters;     /* likewise */
    struct strait_schedule *presences; /* likewise; NULL: nobody leaves */
};

/** Payload bytes/s of a long TCP stream alone on the link: rate / 8 * 1448 / (1514 + overhead).
 *  Source:  header sizes (IP 20, TCP 32, Ethernet 14) */
double strait_goodput_bytes_per_s(const struct strait_network *n, const struct strait_link *l);
/** The rate of a link at t_s of the run, and the least that it ever has. */
double strait_link_bits_per_s(const struct strait_link *l, double t_s);
double strait_link_least_bits_per_s(const struct strait_link *l);
/** TCP connections of a stream, 1 to STRAIT_MAX_CONNECTIONS: n_connections, with 0 as 1. */
unsigned strait_tcp_n_connections(const struct strait_tcp *tcp);
/** Bytes of a message beside its payload: one frame a connection. */
double strait_network_frame_bytes(const struct strait_network *n);
/** The site of a rank: 0 in a star, -1 at the core. */
int strait_network_site(const struct strait_network *n, int rank);

/* Links by number: 2 r and 2 r + 1 are out and in of rank r, then those of the sites in the same
 * order, then those of pairs of sites. */
enum { STRAIT_MAX_HOPS = 5 };
int strait_network_n_links(const struct strait_network *n);
const struct strait_link *strait_network_link(const struct strait_network *n, int link);
/** Whether a rank is away at t_s of the run: it answers nothing. */
bool strait_network_is_away(const struct strait_network *n, int rank, double t_s);
/** Links whose rate changes over time. */
int strait_network_n_scheduled(const struct strait_network *n);
/** The links from src to dst in order: at least 2, since src and dst differ.
 *  Returns: how many */
int strait_network_path(const struct strait_network *n, int src, int dst,
                        int links[STRAIT_MAX_HOPS]);

/** Rate of the narrowest link from src to dst. */
double strait_path_bits_per_s(const struct strait_network *n, int src, int dst);
/** Payload bytes/s of a long TCP stream alone on the path. */
double strait_path_goodput_bytes_per_s(const struct strait_network *n, int src, int dst);
/** The most by which jitter can move a packet from src to dst. */
double strait_path_jitter_s(const struct strait_network *n, int src, int dst);
/** Probability that a packet from src to dst is lost: 1 - the product of (1 - loss) over its
 *  links. */
double strait_path_loss_ratio(const struct strait_network *n, int src, int dst);
/** Whether packets from src to dst can be lost, by chance or at a full queue. */
bool strait_path_drops(const struct strait_network *n, int src, int dst);
/** Whether simulations move single packets. They do if the experiment asks for it. Unless it asks
 *  for flows, they also do if a link has loss, jitter or a finite queue, if flows of others keep
 *  their windows full, and under BBR, whose rate is an estimate. */
bool strait_network_by_packets(const struct strait_network *n);
/** Whether a link has loss, jitter or a finite queue. */
bool strait_network_is_imperfect(const struct strait_network *n);
/** Whether a link loses packets by chance. */
bool strait_network_loses(const struct strait_network *n);
/** Weight of a stream from src to dst on shared links; 1 if all are equal. */
double strait_path_share(const struct strait_network *n, int src, int dst);
/** Give every rank a keyed share, uniform in 1 +- spread (below 1), the same in both directions and
 *  in every round. A server has no share of its own: its streams take the other end's.
 *  Returns: 0, or -1 when memory runs out */
int strait_network_spread_shares(struct strait_network *n, double spread, uint64_t seed,
                                 bool has_server);
/** One-way delay from src to dst: the sum over its links; 0 to oneself. */
double strait_path_delay_s(const struct strait_network *n, int src, int dst);
/** Round-trip time. */
double strait_path_rtt_s(const struct strait_network *n, int src, int dst);
const char *strait_congestion_name(enum strait_congestion c); /* "reno", "bbr", "cubic" */

/** A star with all links equal to the given ones; node 0 has the server's. NULL when memory runs
 *  out. */
struct strait_network *strait_network_star(int n_ranks, struct strait_link server_out,
                                           struct strait_link server_in,
                                           struct strait_link client_out,
                                           struct strait_link client_in, double overhead_bytes,
                                           struct strait_tcp tcp);
/** What a connection may have under way, packet by packet: where processes write all at once and
 *  the file names no window, at least what Linux's buffers allow. */
double strait_network_packet_window_bytes(const struct strait_network *n);
/** The window of a network that names none: twice the longest path's bandwidth-delay product, at
 *  least 1 MB. */
double strait_network_default_window_bytes(const struct strait_network *n);
/** Flows of others on all ports together. */
int strait_network_n_flows(const struct strait_network *n);
/** A copy of n whose link rates are multiplied by a factor. Delays, queues and rates that change
 *  over time stay as they are. The copy has its own arrays and borrows everything else from n. NULL
 *  when memory runs out. */
struct strait_network *strait_network_at_rate(const struct strait_network *n, double factor);
/** The same with each rank's delay off by at most this share of it, a keyed draw. */
struct strait_network *strait_network_off_delays(const struct strait_network *n, double off,
                                                 uint64_t draw);
/** A copy of n with one more rank, where the flows of others have their other ends: at the core,
 *  with a port of twice the rate that they can take together, and no delay. Borrows what n owns
 *  beside its arrays. NULL when memory runs out. */
struct strait_network *strait_network_with_others(const struct strait_network *n);
/** Read "network" of an experiment (docs/experiment.md).
 *  In:      experiment   the object that holds the key
 *           has_server   rank 0 has the server's port
 *  Returns: 0, or -1 with *err INPUT: "wan.json#/network/client/rate: expected ..." */
int strait_network_read(struct strait_network **out, struct strait_object *experiment, int n_ranks,
                        bool has_server, struct strait_error *err);
void strait_network_free(struct strait_network *n);
