/* A star of network namespaces with shaped links. The realisation shapes them: a relay process in
 * user space (a TUN device a node; the state of a link is the time at which it is free), or the
 * kernel (a veth pair a node, netem and tbf at its two ends). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/ask/network.h"
#include "trunk.h"

#define STRAIT_EMU_DEVICE "eth0" /* the interface of every node */

enum strait_emu_realisation {
    STRAIT_EMU_RELAY, /* needs /dev/net/tun */
    STRAIT_EMU_KERNEL /* netem if there is delay, jitter or loss; tbf if there is a rate */
};
/** "relay" or "kernel". */
const char *strait_emu_realisation_name(enum strait_emu_realisation realisation);

enum { STRAIT_EMU_CHANGE_CHARS = 256 };
/* A counter that this realisation does not have. */
#define STRAIT_EMU_UNKNOWN UINT64_MAX

/* Links are those of the network, one direction of a node's port each: a queue of 0 bytes never
 * drops, like an infinite one. What a plan says is virtual: rates are divided by the dilation and
 * delays multiplied by it. */

/* A frame from s to d crosses out[s], then in[d]; with sites also the links between them on the
 * network's path. Its delay is the sum of their delays. */
struct strait_emu_net_plan {
    int n_nodes;             /* 1 and more */
    struct strait_link *out; /* n_nodes: from the node to the switch */
    struct strait_link *in;  /* n_nodes: from the switch to the node */
    const struct strait_network
        *sites;                  /* borrowed while the net is there; NULL: a star. Its paths */
    struct strait_link *between; /* relay: its links from number 2 n_nodes on */
    double overhead_bytes;       /* for each segment beside its 14 byte Ethernet header: 0 as tc tbf
                                   counts, 24 on a real wire (preamble, checksum, gap) */
    double dilation;            /* real seconds for one virtual second, at least 1; 0 counts as 1 */
    double rto_min_s;           /* virtual, smallest retransmission time-out; 0: 0.2 */
    double window_bytes;        /* TCP window that buffers must allow; 0: the kernel's maxima */
    bool slow_start_after_idle; /* false: the congestion window survives idle times */
    bool realtime;        /* relay: ask for SCHED_FIFO; the report says whether it was granted */
    bool unshaped;        /* negative control: forward everything at once */
    uint64_t seed;        /* for loss and jitter; the kernel takes it from Linux 6.6 on */
    const char *tun_path; /* NULL: /dev/net/tun */
    /* When schedules of rates begin, CLOCK_MONOTONIC in memory that is shared; 0: not yet, NULL:
     * never. Before, links have the rates of time 0. Kernel: the schedules are borrowed while the
     * net is there. */
    const _Atomic(int64_t) *start_ns;
    enum strait_emu_realisation realisation;
    /* Only the nodes of this host are made; NULL: all. A star; borrowed while the net is there. */
    const struct strait_emu_trunk *trunk;
};

/* The kernel's counters of an interface. Bytes of IP packets; a super-packet of many TCP segments
 * is one packet and its headers count once. */
struct strait_emu_counters {
    uint64_t tx_bytes, rx_bytes;
    uint64_t tx_packets, rx_packets;
    uint64_t tx_dropped, rx_dropped; /* above 0: packets were lost that should not have been */
    uint64_t tx_errors, rx_errors;
};

/* Relay: counted when a link accepts a packet, which may then wait in its queue. Kernel: counted
 * when it has left the queue; a link without rate, delay and loss counts nothing. */
struct strait_emu_link_report {
    uint64_t n_packets, n_segments; /* that used the link; kernel: both count segments */
    uint64_t wire_bytes;            /* of these, with Ethernet headers and overhead */
    uint64_t n_queue_drops;         /* segments (kernel: super-packets) dropped by a full queue */
    uint64_t n_loss_drops;          /* segments lost by loss_ratio */
    uint64_t queue_peak_bytes;      /* kernel: STRAIT_EMU_UNKNOWN */
    uint64_t backlog_bytes;         /* queued now; kernel: or delayed */
    uint64_t carried_bytes;         /* of wire_bytes, what has left the queue; STRAIT_EMU_UNKNOWN
                                       where nothing is shaped, and so nothing counted */
};

/* With kernel links lateness is NAN and relay-only drop counters are 0. */
struct strait_emu_relay_report {
    enum strait_emu_realisation realisation;
    double at_s; /* CLOCK_MONOTONIC, when the links were read */
    int n_nodes;
    int n_between;                           /* links of sites and pairs; 0 in a star */
    int n_changed;                           /* kernel: links that were found shaped otherwise than
                                                at set-up, the most at any report so far */
    char change[STRAIT_EMU_CHANGE_CHARS];    /* of the first of them; "" for none */
    struct strait_emu_link_report *out, *in; /* n_nodes each */
    struct strait_emu_link_report *between;  /* n_between, as a network numbers them */
    uint64_t n_delivered;                    /* packets written to their destination */
    uint64_t n_write_failures;               /* packets refused by the destination's device */
    uint64_t n_unroutable;                   /* without destination node, or not IPv4 */
    uint64_t n_memory_drops;                 /* because the relay's pool was full */
    /* How late packets were written, in real seconds, rounded up to an eighth of an octave. */
    double late_p50_s, late_p99_s, late_p999_s, late_max_s;
    double gap_max_s;     /* relay: how late it was at most for a turn every 2 ms; kernel: NAN */
    double cpu_s, wall_s; /* of the relay process, since the start */
    bool realtime;        /* SCHED_FIFO was granted */
};

struct strait_emu_net;

/** Build namespaces, devices, routes and links. A relay ends with the calling thread; the kernel's
 *  shapers are read back and compared with the plan. Nothing has a name outside these processes:
 *  when they end, by any signal, everything is gone.
 *  Out:     out   free with strait_emu_net_free
 *  In:      plan  copied
 *  Returns: 0, or -1 with *err: INPUT for an impossible plan, HOST if this machine or user cannot
 *           (no TUN, no netem, no right to make namespaces), BACKEND if the kernel's shapers differ
 *           from the plan
 *  Cost:    about 1 ms a node */
int strait_emu_net_up(struct strait_emu_net **out, const struct strait_emu_net_plan *plan,
                      struct strait_error *err);

/** End the relay and close the namespaces. In a forked child it only closes the child's copies.
 *  NULL is allowed. */
void strait_emu_net_free(struct strait_emu_net *net);

int strait_emu_net_n_nodes(const struct strait_emu_net *net);
enum strait_emu_realisation strait_emu_net_realisation(const struct strait_emu_net *net);
double strait_emu_net_dilation(const struct strait_emu_net *net);

/** A node's namespace as a file descriptor, owned by net; -1 for a node of another host. */
int strait_emu_net_namespace_fd(const struct strait_emu_net *net, int node);

/** Move the calling thread into a node's namespace. A forked child also closes everything else of
 *  net (other namespaces, the relay's control socket) and can afterwards only enter again.
 *  Returns: 0, or -1 with *err */
int strait_emu_net_enter(struct strait_emu_net *net, int node, struct strait_error *err);

/** A node's IPv4 address in network byte order: 10.0.0.1 for node 0, then upwards. */
uint32_t strait_emu_net_address(int node);

/** A node's interface counters, read from the kernel inside its namespace. */
int strait_emu_net_counters(struct strait_emu_counters *out, struct strait_emu_net *net, int node,
                            struct strait_error *err);

/** Read counters and lateness.
 *  Out:     out      release with strait_emu_relay_report_release
 *  In:      restart  reset counters and lateness afterwards
 *  Returns: 0, or -1 with *err BACKEND when the relay is gone */
int strait_emu_net_report(struct strait_emu_relay_report *out, struct strait_emu_net *net,
                          bool restart, struct strait_error *err);
void strait_emu_relay_report_release(struct strait_emu_relay_report *report);

/** Round trips measured by the stock ping program in the namespace of `from`: an independent probe.
 *  56 data bytes, so each way has 98 bytes and the overhead on the wire.
 *  Out:     rtt_min_s, rtt_median_s  virtual (real time divided by the dilation); may be NULL
 *  In:      n  probes, 20 ms of virtual time apart
 *  Returns: 0, or -1 with *err: HOST when ping is missing, BACKEND when an answer is missing */
int strait_emu_net_ping(double *rtt_min_s, double *rtt_median_s, struct strait_emu_net *net,
                        int from, int to, int n, struct strait_error *err);
