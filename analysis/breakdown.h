/* The breakdown of a round's time: the critical path through the logs of all ranks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "analysis/limits/limits.h"
#include "workloads/rank/log.h"

enum strait_phase {
    STRAIT_PHASE_COMPUTE,
    STRAIT_PHASE_ENCODE,
    STRAIT_PHASE_TRANSFER,
    STRAIT_PHASE_DECODE,
    STRAIT_PHASE_AGGREGATE,
    STRAIT_PHASE_OTHER, /* none of the above: scheduling, wake-ups, delays without a span */
    STRAIT_N_PHASES
};
const char *strait_phase_name(enum strait_phase phase); /* "compute", "encode", ... */
const char *strait_span_kind_name(enum strait_span_kind kind);

struct strait_breakdown {
    double *rounds_s; /* n_rounds; owned */
    size_t n_rounds;
    size_t n_known_rounds;           /* before a log was full; phases and wait are from these */
    double round_s;                  /* mean over all rounds */
    double total_s;                  /* all rounds, including gaps between them */
    double known_s;                  /* sum of the known rounds */
    double from_s, known_to_s;       /* begin of the first round, end of the last known one */
    double phase_s[STRAIT_N_PHASES]; /* mean a round on the critical path; the sum is round_s */
    double known_scale;              /* from a known round's mean to that of all rounds */
    double client_busy_s[STRAIT_N_SPAN_KINDS]; /* mean a round and client; summed over lanes */
    double server_busy_s[STRAIT_N_SPAN_KINDS]; /* rank 0, a round; NAN without a server */
    struct strait_path_step *steps; /* of the known rounds, each from its end back; owned */
    size_t n_steps, cap_steps;
};

/** Compute the breakdown, walking back from the end of each of rank 0's rounds: the activity that
 *  ended last before this moment on this rank is what the rank waited for. A busy span leads to its
 *  own start, a transfer to the moment when its sender posted it. Gaps are STRAIT_PHASE_OTHER.
 *  Out:     out         release with strait_breakdown_release
 *  In:      logs        n_ranks of them; borrowed
 *           has_server  rank 0 is not a client
 *  Returns: 0, or -1 with *err: BACKEND when rank 0 has no round or a span is impossible
 *  Cost:    O(s log s) for the s spans of the ranks on the path
 *  Source:  own; the longest path through an execution as in Yang and Miller, ICDCS 1988 */
int strait_breakdown_of(struct strait_breakdown *out, const struct strait_log *logs, int n_ranks,
                        bool has_server, struct strait_error *err);
void strait_breakdown_release(struct strait_breakdown *b);

/* For how long clients (or ranks, without a server) were blocked in a receive. */
struct strait_waits {
    int first;           /* rank */
    double from_s, to_s; /* not for the stop message after the last round */
    double sum_s;        /* of the spans so far */
};
struct strait_waits strait_waits_begin(const struct strait_breakdown *b, bool has_server);
void strait_waits_add(void *waits, const struct strait_span *s);
/** All spans of n_ranks were added, in the order of ranks: the mean a round and client. */
double strait_waits_mean_s(const struct strait_waits *w, const struct strait_breakdown *b,
                           int n_ranks);
