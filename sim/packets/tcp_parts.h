/* One TCP connection packet by packet, sender and receiver, as Linux does it: selective
 * acknowledgements, loss detection by time (RACK), tail probes, proportional rate reduction,
 * time-outs, Reno, CUBIC and BBR.
 *
 * What differs from Linux: an acknowledgement tells of all that has arrived (there: of three
 * blocks), the receiver's memory has no limit beside the window.
 *
 * Sources: RFC 5681, RFC 6298 (time-outs), RFC 6937 (PRR), RFC 8985 (RACK, TLP), RFC 9438 (CUBIC),
 * RFC 6928; Linux 6.1 net/ipv4/tcp_input.c, tcp_output.c, tcp_recovery.c, tcp_rate.c, tcp_cubic.c,
 * tcp_bbr.c; Cardwell et al., BBR, ACM Queue 14(5), 2016. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include "core/random.h"
#include "packet_wire.h"

/* The clock of the guests' kernel, whose TCP the emulation runs (100 Hz, as User-Mode Linux is by
 * default; Debian's counts 250 ticks a second). */
#define STRAIT_TICK_S 0.01

enum strait_tcp_state { STRAIT_TCP_OPEN, STRAIT_TCP_REDUCED, STRAIT_TCP_RECOVERY, STRAIT_TCP_LOSS };

enum strait_segment_flag {
    STRAIT_SEG_ARRIVED = 1, /* receiver */
    STRAIT_SEG_SACKED = 2,  /* the sender knows */
    STRAIT_SEG_LOST = 4,
    STRAIT_SEG_AGAIN = 8,     /* sent again and not known to be lost again */
    STRAIT_SEG_REPEATED = 16, /* was ever sent again */
    STRAIT_SEG_LISTED = 32,   /* in the list by time of sending */
    STRAIT_SEG_LIMITED = 64,  /* sent while the application limited the rate */
    STRAIT_SEG_PUSHED = 128,  /* ends a message */
};

struct strait_segment {
    double sent_s;
    double first_s, delivered_s, delivered; /* of the connection, when it was sent */
    uint64_t earlier, later;                /* by time of sending */
    uint64_t end_byte;                      /* of the stream */
    uint64_t place, end_place;              /* of its first and its last byte, for draws */
    uint16_t n_sent;
    unsigned flags;
};

struct strait_arrival {
    uint64_t seq;
    double sent_s;
};

struct strait_rate_sample { /* of one acknowledgement; segments and seconds */
    double prior_delivered, prior_s, send_s, interval_s, delivered, rtt_s, prior_in_flight;
    double acked, lost;
    bool is_limited, is_valid;
};

struct strait_cubic {
    double last_max, k_s, origin, friendly, acked, count, last_cwnd;
    double epoch, last; /* ticks; epoch NAN: none yet */
};

/* HyStart: where slow start ends before a loss. A round ends with the acknowledgement of what was
 * sent when it began. */
struct strait_hystart {
    uint64_t end_seq;
    double least_s;               /* round trip of all */
    double begin_s, ack_s, rtt_s; /* of this round: begin, end of its train, least round trip */
    int n_samples;
    bool is_on, found;
};

enum strait_bbr_mode {
    STRAIT_BBR_STARTUP,
    STRAIT_BBR_DRAIN,
    STRAIT_BBR_PROBE_BW,
    STRAIT_BBR_PROBE_RTT
};

/* What BBR knows of a policer: rate 0: of no interval yet. Segments, and segments/s. */
struct strait_policer {
    double rate, begin_ms, delivered; /* of this interval: when it began, delivered and lost then */
    uint64_t lost;
    int rounds; /* of this interval, or since the policer was found */
    bool is_sampling, is_found;
};

struct strait_bbr {
    enum strait_bbr_mode mode;
    enum strait_tcp_state before;
    double max_rate[3]; /* segments/s: the best of the last rounds, windowed (Linux win_minmax) */
    uint64_t max_round[3], round;
    double next_delivered, full_rate, pacing_gain, window_gain, prior_cwnd;
    double min_rtt_s, min_rtt_at_s, probe_done_s, cycle_s;
    double extra[2], aggregate, aggregate_s; /* segments beyond what the rate explains */
    int full_rounds, cycle, extra_rounds, extra_at;
    bool is_round, is_full, conserves, restarts, probe_round_done;
    struct strait_policer policer;
};

struct strait_connection {
    struct strait_wire *wire;
    struct strait_heap_node node; /* earliest deadline or before */
    void *owner;
    /* what does not change; cap, offer_bytes: the receiver's window in whole segments and in
     * bytes */
    enum strait_congestion congestion;
    int there[STRAIT_MAX_HOPS], back[STRAIT_MAX_HOPS], n_hops;
    double segment_bytes, initial, cap, offer_bytes, rto_min_s, write_bytes_per_s, write_turn_bytes,
        largest_burst, super_packet_bytes;
    bool decays, in_own_memory; /* the latter: nothing delays at the own port, so that what waits
                                   there is still the socket's (TCP small queues) */
    struct strait_sequence draws;
    uint64_t key; /* of what links draw for its packets */
    struct strait_ack_count acks;
    uint64_t *message_ends;                            /* places in the stream */
    size_t n_messages, cap_messages, message, writing; /* those of the next byte cut, written */
    /* the stream */
    uint64_t posted_bytes, cut_bytes; /* by the caller; made into segments */
    uint64_t written_end;             /* handed to TCP */
    uint64_t piece_end;               /* of its first piece that is not sent */
    struct strait_segment *ring;
    uint64_t n_ring, una, nxt; /* ring: a power of two */
    struct strait_arrival *log;
    uint64_t n_log, logged, read; /* arrivals written and read by acknowledgements */
    /* receiver */
    uint64_t received; /* all before have arrived */
    uint64_t n_holes;  /* segments above it that have arrived */
    unsigned n_unacked;
    double delack_s;
    double window_bytes;         /* that it offers: grows as data come */
    unsigned quick;              /* acknowledgements that wait for nothing */
    unsigned n_repeated, n_held; /* without news in order: sent, held back */
    uint64_t repeated_seq;
    double held_until_s, patience_s, data_s; /* data_s: when data came last */
    /* counts of the sender, segments */
    int64_t sacked, lost, again;
    uint64_t hint, first_sent, last_sent; /* lowest that may have to be sent again; list's ends */
    /* window */
    double cwnd, ssthresh, counted, prior_cwnd, prior_ssthresh, most_out, used;
    double window_at_s;
    uint64_t high, usage_seq, probe_seq, rtt_seq;
    bool limited, probing, probe_again, undoable;
    double undo_before_s;
    enum strait_tcp_state state;
    double prr_delivered, prr_out;
    /* times */
    double srtt_s, mdev_s, mdev_max_s, rttvar_s, rto_s, min_rtt_s, rack_sent_s, rack_rtt_s,
        last_sent_s;
    uint64_t rack_seq;
    unsigned n_backoff;
    enum { STRAIT_NO_TIMER, STRAIT_RTO, STRAIT_TLP, STRAIT_REO } timer;
    double timer_s, rto_from_s, send_s, try_s; /* the last: after a drop in the own port */
    double pace_s, burst_from_s, burst_s, burst_credit_s; /* when the next super-packet may leave;
                                                             of the last one */
    double write_s, write_at_s; /* until when its pace is used up; when it may write next */
    double turn_bytes;          /* that it may still write before others of its host may */
    struct strait_connection *next_ready; /* of those of its host that wait for a turn */
    bool is_ready;
    /* delivery rate */
    double delivered, delivered_s, first_s, limited_until, pacing_per_s;
    double own_memory_bytes, burst_memory_bytes; /* of super-packets in the own port; of the last */
    struct strait_packet_on_wire *burst_first, *burst_last; /* its segments, until it is complete */
    uint64_t burst_seq;                                     /* its first one */
    bool is_held;                                           /* until one has left the own port */
    uint64_t n_sent, n_lost; /* of all times; the latter Linux tp->lost */
    struct strait_cubic cubic;
    struct strait_hystart hystart;
    struct strait_bbr bbr;
};

struct strait_connection_plan {
    const struct strait_network *network;
    int src, dst;
    uint64_t seed;
    int channel;
    unsigned number, ordinal; /* of the stream's connections; of all that src opens to dst */
    bool ramp;
};
void strait_connection_init(struct strait_connection *c, struct strait_wire *w, void *owner,
                            const struct strait_connection_plan *plan);
void strait_connection_release(struct strait_connection *c);
/** So many bytes more are to be sent, with the next turn.
 *  Returns: whether it had none before, so that it waits for a turn */
bool strait_connection_post(struct strait_connection *c, double now_s, uint64_t bytes);
/** Write and send what one turn allows. True: it may write more, after the others. */
bool strait_connection_turn(struct strait_connection *c, double now_s);
/** A packet of this connection has arrived at its end: data at the receiver, or an
 *  acknowledgement at the sender. */
void strait_connection_data(struct strait_connection *c, const struct strait_packet_on_wire *p,
                            double now_s);
void strait_connection_ack(struct strait_connection *c, const struct strait_packet_on_wire *p,
                           double now_s);
/** The deadline in `node` is over. */
void strait_connection_due(struct strait_connection *c, double now_s);
/** Send what may be sent. */
void strait_connection_send(struct strait_connection *c, double now_s);
/** Bytes of the stream that have arrived without a gap. */
uint64_t strait_connection_received_bytes(const struct strait_connection *c);

/* Between the files of this folder. */

/* The kernel's clock at that moment, and how many ticks a time is for its timers. */
static inline double strait_tick_of(double at_s)
{
    return floor(at_s / STRAIT_TICK_S + 1e-9);
}
static inline double strait_n_ticks(double s)
{
    return ceil(s / STRAIT_TICK_S - 1e-9);
}
/* When a timer fires that is set now: never early, so a tick later than asked for; from 63 ticks on
 * in steps of 8, from 504 on of 64, ... (Linux kernel/time/timer.c, calc_index). */
static inline double strait_timer_s(double now_s, double in_s)
{
    const double ticks = strait_n_ticks(in_s);
    double step = 1;
    while (ticks >= 63 * step)
        step *= 8;
    return (floor((strait_tick_of(now_s) + ticks) / step) + 1) * step * STRAIT_TICK_S;
}
static inline struct strait_segment *strait_segment_of(const struct strait_connection *c,
                                                       uint64_t seq)
{
    return &c->ring[seq & (c->n_ring - 1)];
}
static inline double strait_in_flight(const struct strait_connection *c)
{
    return (double)((int64_t)(c->nxt - c->una) - c->sacked - c->lost + c->again);
}
/* The transport hands twice the link's rate to TCP, after a first burst of this length
 * (emu/process/pump.h). */
#define STRAIT_WRITE_BURST_S 2e-3
/* TCP has so little that is not sent that the application may write more. */
bool strait_connection_takes_more(const struct strait_connection *c);
/* Write what the application has written by now, at its pace. */
void strait_connection_write(struct strait_connection *c, double now_s);
/* The application or the pace waited for now. */
void strait_connection_go_on(struct strait_connection *c, double now_s);
/* Nothing is under way since the own port had no room: a segment of it. */
void strait_connection_try(struct strait_connection *c, double now_s);
/* A probe of the tail: the next new segment, or the last one again. */
void strait_connection_probe(struct strait_connection *c, double now_s);
/* recovery.c */
/* Have the earliest deadline come. */
void strait_connection_arm(struct strait_connection *c);
void strait_recovery_list(struct strait_connection *c, uint64_t seq); /* as sent last */
void strait_recovery_unlist(struct strait_connection *c, uint64_t seq);
void strait_recovery_ack(struct strait_connection *c, struct strait_rate_sample *rs, double now_s,
                         bool advanced, double echo_s);
void strait_recovery_time_out(struct strait_connection *c, double now_s);
void strait_recovery_late(struct strait_connection *c, double now_s);
void strait_recovery_rearm(struct strait_connection *c, double now_s);
void strait_recovery_reduce(struct strait_connection *c, double now_s); /* the own port was full */
/* congestion.c and bbr.c */
double strait_congestion_ssthresh(struct strait_connection *c, double now_s);
void strait_congestion_avoid(struct strait_connection *c, double acked, double now_s);
void strait_cubic_reset(struct strait_connection *c);
void strait_cubic_idle(struct strait_connection *c, double now_s);
void strait_cubic_acked(struct strait_connection *c, double rtt_s, double now_s); /* HyStart */
double strait_pacing_rate(const struct strait_connection *c);                     /* segments/s */
void strait_bbr_init(struct strait_connection *c);
void strait_bbr_ack(struct strait_connection *c, const struct strait_rate_sample *rs, double now_s);
void strait_bbr_start(struct strait_connection *c, double now_s); /* after idleness */
void strait_bbr_save(struct strait_connection *c);
void strait_bbr_lost(struct strait_connection *c);
void strait_bbr_undone(struct strait_connection *c);
/* policer.c, with each sample. True: a policer that was found is to be forgotten now. */
bool strait_policer_ends(struct strait_connection *c, bool lost, bool is_limited);
void strait_policer_reset(struct strait_connection *c);
