/* The memory shared by the caller, the supervisor and all rank processes of a run: states,
 * counters, and data that must not cost bytes on the shaped network (such as the time at which a
 * message was posted). */
#pragma once
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "workloads/rank/backend.h"
#include "emu/links/net.h"
#include "process/local_rank.h"

/* Limit of messages of one stream on the wire at once; a sender delays the next one. */
enum { STRAIT_EMU_RING = 512 };

struct strait_emu_envelope { /* sent beside a message, not on the wire */
    double posted_s;
    uint64_t noise_bytes; /* of a sized payload, after the frame */
    uint64_t acked;       /* an acknowledgement is wanted */
};

struct strait_emu_stream { /* one TCP connection, or as many as the network says */
    int32_t src, dst, channel;
    atomic_uint_fast64_t n_put, n_taken; /* envelopes: n_taken <= n_put <= n_taken + RING */
    struct strait_emu_envelope ring[STRAIT_EMU_RING];
};

/* Data of one rank process for the others; written by that rank alone, after the start by atomics,
 * or before a byte on its control socket that orders it. */
struct strait_emu_rank_shared {
    uint16_t port; /* where it listens, network byte order */
    struct strait_proc_state state;

    /* figures, complete when the rank has ended */
    double returned_s;                        /* virtual, when its program ended */
    uint64_t bytes_sent, bytes_received;      /* frames and payload */
    uint64_t sent_checksum;                   /* of all messages, in any order */
    uint64_t n_retransmits;                   /* from TCP_INFO, all streams */
    double slip_sum_s, slip_max_s;            /* real: padded jobs that ended late */
    double write_late_max_s, read_late_max_s; /* real: see transport.h */
    double stall_max_s;                       /* real: all of it did not run, or it began late */
    double cpu_s;                             /* CPU time of the whole process since time 0 */
    double run_delay_s;                       /* its threads were ready but had no processor */
    double job_cpu_s;                         /* part of cpu_s that was measured in jobs */
    uint64_t n_measured;                      /* jobs whose cost was measured */
    uint64_t n_slow;                          /* of these, well above the rest: padded_slots.h */
    uint64_t n_too_fast;                      /* messages faster than their links */
    double too_fast_took_s, too_fast_least_s;
    uint64_t too_fast_bytes;
};

struct strait_emu_shared {
    size_t size_bytes;
    int n_ranks, n_streams;
    double dilation;
    double credit_s; /* virtual: how much earlier than its rate a message may pass idle links */
    _Atomic(int64_t) start_ns; /* written by the supervisor before GO; 0: not yet */
    sem_t compute;             /* measured jobs that may run at once */
    /* The supervisor's result: 0: none yet; 1: the run is over; 2: see error. */
    atomic_int outcome;
    struct strait_error error;
    /* The supervisor's last reading of the links, in the network's order. */
    atomic_uint n_readings; /* odd while it is being written */
    double read_at_s;       /* CLOCK_MONOTONIC; 0: not yet */
    int n_links;
    struct strait_emu_link_report *links;
    struct strait_emu_rank_shared *ranks;
    int32_t *index; /* [src][dst][channel] -> stream, -1: not declared */
    struct strait_emu_stream *streams;
};

/** Whether a run has more connections than a machine can; needs no memory, and stops counting
 *  there.
 *  Returns: 0, or -1 with *err HOST */
int strait_emu_shared_check(const struct strait_run *run, struct strait_error *err);
/** Map the memory of a run, with one stream for each that run->uses_stream declares; children
 *  forked later share it.
 *  In:      n_compute  measured jobs that may run at once on this machine
 *  Returns: the memory, or NULL with *err */
struct strait_emu_shared *strait_emu_shared_new(const struct strait_run *run, double dilation,
                                                unsigned n_compute, struct strait_error *err);
void strait_emu_shared_free(struct strait_emu_shared *s);

/** The declared stream, or NULL. */
struct strait_emu_stream *strait_emu_shared_stream(struct strait_emu_shared *s, int src, int dst,
                                                   int channel);
