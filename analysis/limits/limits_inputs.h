/* What is known of the rounds whose limits are asked for, and the names of their links and ranks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "workloads/ask/network.h"
#include "workloads/rank/log.h"

/* A step of the critical path: a span, or a gap in which the rank did nothing that is logged. */
struct strait_path_step {
    double from_s, to_s; /* of the round's time it takes */
    /* Of a gap: none of these. */
    double span_s;  /* of the whole span */
    uint64_t bytes; /* the span's */
    uint32_t at;    /* the span's place in the rank's log */
    int32_t rank, peer;
    int8_t kind; /* of the span */
    bool is_gap;
};

/* Is shown every span of every rank, in their order. */
struct strait_span_witness {
    void (*see)(void *arg, const struct strait_span *span);
    void *arg;
};

/* The rounds that the logs know in full. */
struct strait_limits_inputs {
    const struct strait_log *logs;
    int n_ranks;
    const struct strait_network *network;
    bool has_server;         /* rank 0 */
    bool has_deadline;       /* rounds end at one: what waits and logs nothing waits for that */
    bool on_cpu;             /* models compute on the processor's cores */
    unsigned n_server_cores; /* of a server; other ranks have one */
    const struct strait_path_step *steps;
    size_t n_steps;
    double from_s, to_s; /* begin of the first of these rounds, end of the last */
    double known_s;      /* sum of these rounds, without what lies between them; 0: none */
    double round_s;      /* mean of all rounds, which the parts add up to */
    struct strait_span_witness also; /* of the walk over all spans; see NULL: nobody */
};

enum { STRAIT_LINK_NAME_CHARS = 64 };
/** "server port in", "client 3 port out", "site 2 port in", "link from site 1 to site 2": `in`
 *  leads to it. Without a server "rank 3 port out". Returns: buf */
const char *strait_link_name(char buf[STRAIT_LINK_NAME_CHARS], const struct strait_network *n,
                             int link);
/** "server", "client 3" or "rank 3". Returns: buf */
const char *strait_rank_name(char buf[STRAIT_LINK_NAME_CHARS], bool has_server, int rank);
