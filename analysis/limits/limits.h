/* What limits a round: the parts of its critical path, and how busy every resource was. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "workloads/ask/network.h"
#include "workloads/rank/log.h"

/* A step of the critical path: a span, or a gap in which the rank did nothing that is logged. */
struct strait_path_step {
    bool is_gap;
    struct strait_span span; /* of a gap: nothing */
    size_t at;               /* the span's place in the rank's log */
    int rank;
    double from_s, to_s; /* of the round's time it takes */
};

/* The rounds that the logs know in full. */
struct strait_limits_inputs {
    const struct strait_log *logs;
    int n_ranks;
    const struct strait_network *network;
    bool has_server;         /* rank 0 */
    bool on_cpu;             /* models compute on the processor's cores */
    unsigned n_server_cores; /* of a server; other ranks have one */
    const struct strait_path_step *steps;
    size_t n_steps;
    double from_s, to_s; /* begin of the first of these rounds, end of the last */
    double known_s;      /* sum of these rounds, without what lies between them; 0: none */
    double round_s;      /* mean of all rounds, which the parts add up to */
};

/** Put into a row:
 *  "critical_path"  {part: {"s", "at"}}: seconds a round on the critical path, where `at` is the
 *                   rank, link or path with most of them, or null. Parts add up to the round:
 *                   "compute", "encode", "decode", "aggregate"; of a transfer "transfer", what its
 *                   own bytes take on the link that was filled most meanwhile, "wait", what other
 *                   bytes took there, and "latency", when that link had nothing to carry: path
 *                   delay, slow start, losses; "other"
 *  "utilisation"    {resource: {"mean", "most", "at", "n"}}: the share of the rounds' time for
 *                   which each of n resources of a kind was busy or filled; most: the worst one,
 *                   `at`
 *  "limits"         {"by", "at", "share", "utilisation", "text"}: what has the largest share of the
 *                   critical path: "link" (all links of a kind, both directions together; `at` is
 *                   the worst), "host-link" (between host and accelerator), "latency", "straggler",
 *                   "compute", "encode", "decode", "aggregate" or "other"; utilisation: of that resource, null for none
 *  All three are null where no round is known in full.
 *  Returns: 0, or -1 with *err NOMEM
 *  Cost:    O(s log s) for s spans */
int strait_limits_put(json_t *row, const struct strait_limits_inputs *in, struct strait_error *err);

enum { STRAIT_LINK_NAME_CHARS = 64 };
/** "server port in", "client 3 port out", "site 2 port in", "link from site 1 to site 2": `in`
 *  leads to it. Without a server "rank 3 port out". Returns: buf */
const char *strait_link_name(char buf[STRAIT_LINK_NAME_CHARS], const struct strait_network *n,
                             int link);
/** "server", "client 3" or "rank 3". Returns: buf */
const char *strait_rank_name(char buf[STRAIT_LINK_NAME_CHARS], bool has_server, int rank);
