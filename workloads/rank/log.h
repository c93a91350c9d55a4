/* The log of a rank, and its transport between processes. */
#pragma once
#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"
#include "spans.h"

/* Some minibatches of real training on a rank. */
struct strait_trained {
    int32_t round, n_batches;
    double time_s; /* when the last of them ended */
    double loss;   /* mean */
};

/* A round that rank 0 of a run with real training ended, and how the run's model did then. */
struct strait_scored {
    int32_t round;
    double time_s;
    double loss, accuracy; /* on held-out data; NAN: not scored then, or there is no accuracy */
    double bound;          /* of the clients' codec in this round; NAN: none */
    int64_t n;             /* held-out answers */
};

/* The log of one rank. Counters are exact even for spans that are not kept. */
struct strait_log {
    size_t n_spans;
    struct strait_spans spans;
    bool no_memory;   /* a span was lost for lack of it: the log must not be believed */
    size_t max_spans; /* limit of kept spans, rounds excepted; 0: STRAIT_LOG_MAX_SPANS */
    uint64_t n_messages, payload_bytes, raw_bytes; /* sent to other ranks */
    uint64_t link_bytes;                           /* between the host and its accelerator */
    uint64_t n_added_encoded;                      /* packets added to others without decoding */
    uint64_t n_missing;     /* updates that a round waited for and did without */
    uint64_t peak_bytes;    /* most memory that the rank held at once */
    double allocated_bytes; /* and what its process would need for that: footprint.h, else 0 */
    double total_s[STRAIT_N_SPAN_KINDS]; /* sums over all spans of the kind */
    uint64_t n_of_kind[STRAIT_N_SPAN_KINDS];
    uint64_t n_lost;         /* spans that were not kept */
    double lost_from_s;      /* start of the earliest of them */
    bool drew;               /* random numbers were drawn, so rounds may differ */
    double n_batches;        /* that the rank trains on, whether for real or not */
    double error_over_bound; /* largest |x - y| / bound seen on real data; -1: not checked */
    struct strait_trained *trained;
    struct strait_scored *scored; /* rank 0 */
    size_t n_trained, cap_trained, n_scored, cap_scored;
    double *of_workers; /* rank 0: the last model's accuracy on data like each worker's; or NULL */
    size_t n_of_workers;
};

/* Limits of spans in one rank's log and in all logs together. Beyond them spans are not kept;
 * totals and rounds still are, and the row says so. */
enum { STRAIT_LOG_MAX_SPANS = 1 << 20, STRAIT_LOGS_MAX_SPANS = 1 << 24 };

static inline void strait_log_lose(struct strait_log *log, double start_s)
{
    if (log->n_lost++ == 0 || start_s < log->lost_from_s)
        log->lost_from_s = start_s;
}

static inline void strait_log_add(struct strait_log *log, const struct strait_span *span)
{
    assert(span->kind >= 0 && span->kind < STRAIT_N_SPAN_KINDS);
    log->total_s[span->kind] += span->end_s - span->start_s;
    log->n_of_kind[span->kind]++;
    if (span->kind == STRAIT_SPAN_TRANSFER && span->peer < 0)
        log->link_bytes += span->bytes;
    if (span->kind == STRAIT_SPAN_AGGREGATE && span->bytes > 0)
        log->n_added_encoded++;
    const size_t most = log->max_spans > 0 ? log->max_spans : STRAIT_LOG_MAX_SPANS;
    if (log->n_spans >= most && span->kind != STRAIT_SPAN_ROUND) {
        strait_log_lose(log, span->start_s);
    } else if (strait_spans_add(&log->spans, span)) {
        log->n_spans++;
    } else {
        log->no_memory = true;
        strait_log_lose(log, span->start_s); /* still counted in the totals above */
    }
}

void strait_log_release(struct strait_log *log);
/** Returns: false when memory ran out */
bool strait_log_add_trained(struct strait_log *log, const struct strait_trained *trained);
bool strait_log_add_scored(struct strait_log *log, const struct strait_scored *scored);
/** Write or read a log at a file descriptor's current position (a memfd or a pipe). */
int strait_log_write(int fd, const struct strait_log *log, struct strait_error *err);
int strait_log_read(int fd, struct strait_log *log, struct strait_error *err);

/* A backend's facts about a run beside its spans: constants with their sources, checks,
 * warnings. */
struct strait_facts {
    json_t *constants; /* {name: {"value": v, "source": text}} */
    json_t *report;    /* the backend's own figures: counters, probes, lateness, dilation */
    json_t *invalid;   /* array of texts; empty: the run is valid */
    json_t *flags;     /* array of texts worth knowing that do not invalidate the run */
};
int strait_facts_init(struct strait_facts *f, struct strait_error *err);
void strait_facts_release(struct strait_facts *f);
