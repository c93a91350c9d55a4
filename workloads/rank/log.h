/* Who did what when: spans of one rank, and how a rank's log crosses a process boundary. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

enum strait_span_kind {
    STRAIT_SPAN_COMPUTE, /* forward, backward, local training, optimiser step */
    STRAIT_SPAN_ENCODE,
    STRAIT_SPAN_DECODE,
    STRAIT_SPAN_AGGREGATE, /* adding tensors */
    STRAIT_SPAN_TRANSFER,  /* logged by the receiver: posted there to arrived here */
    STRAIT_SPAN_WAIT,      /* this lane blocked in a receive */
    STRAIT_SPAN_ROUND,     /* of rank 0's round mark; start to end of the round */
    STRAIT_N_SPAN_KINDS
};

struct strait_span {
    double queued_s, start_s, end_s; /* queued_s < start_s where a job waited for its slots */
    uint64_t bytes;                  /* payload on the wire or encoded; 0 where none */
    uint64_t raw_bytes;              /* float32 bytes that it stands for */
    int32_t rank, round, peer, tag;  /* peer: the sender of a transfer, else -1 */
    int16_t lane, channel;
    int32_t kind; /* enum strait_span_kind */
};

/* The log of one rank; counters are exact even where spans are not kept. */
struct strait_log {
    struct strait_span *spans;
    size_t n_spans, cap_spans;
    size_t max_spans; /* keep no more than these, but for rounds; 0: STRAIT_LOG_MAX_SPANS */
    uint64_t n_messages, payload_bytes, raw_bytes; /* sent to other ranks */
    uint64_t link_bytes;                           /* between the host and its accelerator */
    uint64_t peak_bytes;                           /* most that the rank held at once */
    double allocated_bytes; /* and what its process would need for that: footprint.h, else 0 */
    double total_s[STRAIT_N_SPAN_KINDS];           /* sums over all spans of the kind */
    uint64_t n_of_kind[STRAIT_N_SPAN_KINDS];
    uint64_t n_lost;         /* spans that were not kept */
    double lost_from_s;      /* start of the earliest of them */
    bool drew;               /* chance was asked for: rounds need not be alike */
    double error_over_bound; /* largest |x - y| / bound seen on real data; -1: not checked */
};

/* Above this many spans in one rank's log, or in all ranks' logs together, no more are kept; totals
 * and rounds go on, and the row says so. */
enum { STRAIT_LOG_MAX_SPANS = 1 << 20, STRAIT_LOGS_MAX_SPANS = 1 << 24 };

void strait_log_add(struct strait_log *log, const struct strait_span *span);
void strait_log_release(struct strait_log *log);
/** Write to / read from a file descriptor (a memfd or a pipe) at its current position. */
int strait_log_write(int fd, const struct strait_log *log, struct strait_error *err);
int strait_log_read(int fd, struct strait_log *log, struct strait_error *err);

/* What a backend says of a run beside its spans: constants with their sources, checks, warnings. */
struct strait_facts {
    json_t *constants; /* {name: {"value": v, "source": text}} */
    json_t *report;    /* backend's own figures: counters, probes, lateness, dilation */
    json_t *invalid;   /* array of texts; empty: the run is valid */
    json_t *flags;     /* array of texts: to be known, no reason to disbelieve the run */
};
int strait_facts_init(struct strait_facts *f, struct strait_error *err);
void strait_facts_release(struct strait_facts *f);
