/* Where a round's time goes: the critical path through the logs of all ranks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "workloads/rank/log.h"

enum strait_phase {
    STRAIT_PHASE_COMPUTE,
    STRAIT_PHASE_ENCODE,
    STRAIT_PHASE_TRANSFER,
    STRAIT_PHASE_DECODE,
    STRAIT_PHASE_AGGREGATE,
    STRAIT_PHASE_OTHER, /* nothing of the above: scheduling, wake-up, delays that nobody logged */
    STRAIT_N_PHASES
};
const char *strait_phase_name(enum strait_phase phase); /* "compute", "encode", ... */
const char *strait_span_kind_name(enum strait_span_kind kind);

struct strait_breakdown {
    double *rounds_s; /* n_rounds; owned */
    size_t n_rounds;
    size_t n_known_rounds; /* before a log was full: phases and wait are in their proportions */
    double round_s;        /* mean */
    double total_s;        /* all rounds, gaps between them included */
    double phase_s[STRAIT_N_PHASES]; /* mean a round on the critical path; they sum to round_s */
    double wait_s; /* mean a round and client (rank, without a server) blocked in a receive */
    double client_busy_s[STRAIT_N_SPAN_KINDS]; /* mean a round and client; lanes added */
    double server_busy_s[STRAIT_N_SPAN_KINDS]; /* rank 0 a round; NAN without a server */
};

/** Walk back from the end of each of rank 0's rounds: the activity that ended last before this
 *  moment on this rank is what it waited for; a busy span leads to its own start, a transfer to the
 *  moment when its sender posted it. What lies between is STRAIT_PHASE_OTHER.
 *  Out:     out         release with strait_breakdown_release
 *  In:      logs        n_ranks of them; borrowed
 *           has_server  rank 0 is no client
 *  Returns: 0, or -1 with *err: BACKEND when rank 0 marked no round or a span is impossible
 *  Cost:    O(s log s) for the s spans of the ranks on the path
 *  Source:  own; the longest path through an execution as in Yang and Miller, ICDCS 1988
 */
int strait_breakdown_of(struct strait_breakdown *out, const struct strait_log *logs, int n_ranks,
                        bool has_server, struct strait_error *err);
void strait_breakdown_release(struct strait_breakdown *b);
