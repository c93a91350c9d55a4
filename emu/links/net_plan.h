/* A network as it is asked for, and as its links report it; checks of a plan, and values derived from
 * it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/ask/network.h"
#include "trunk.h"

#define STRAIT_EMU_PACKET_RUN_S 0.25e-3 /* virtual: a super-packet at the rate of a link */

enum strait_emu_realisation {
    STRAIT_EMU_RELAY, /* needs /dev/net/tun */
    STRAIT_EMU_KERNEL /* netem if there is delay, jitter or loss; tbf if there is a rate */
};

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
void strait_emu_relay_report_release(struct strait_emu_relay_report *report);

/** 0, or -1 with *err INPUT naming the impossible field. */
int strait_emu_net_plan_check(const struct strait_emu_net_plan *plan, struct strait_error *err);

/** The plan's dilation, with 0 as 1. */
double strait_emu_net_plan_dilation(const struct strait_emu_net_plan *plan);

/** Smallest retransmission time-out of a plan's routes, real milliseconds. */
uint32_t strait_emu_net_plan_rto_min_ms(const struct strait_emu_net_plan *plan);

/** Largest IP packet of its nodes: 1500, or what fits between hosts. */
uint32_t strait_emu_net_plan_mtu_bytes(const struct strait_emu_net_plan *plan);

/** TCP segments in a super-packet of STRAIT_EMU_PACKET_RUN_S at a link's rate: at least 1, at most
 *  64 KiB. Longer ones would delay the acknowledgements that pace the sender. */
unsigned strait_emu_net_packet_run_segments(double rate_bits_per_s, double overhead_bytes);
/** The rate that limits a node's super-packets: its own, or if that is unlimited the fastest one
 *  that they may meet; INFINITY where none is limited. A token bucket takes none that is larger
 *  than its burst. */
double strait_emu_net_super_packet_bits_per_s(const struct strait_emu_net_plan *plan, int index);
