/* A recorded program as a graph: the computing, messages and collectives of every rank, with their
 * dependencies. Importers build graphs; the strategy `replay` runs them. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

enum strait_program_kind {
    STRAIT_PROGRAM_COMPUTE,
    STRAIT_PROGRAM_SLEEP, /* time passes and no resource is busy */
    STRAIT_PROGRAM_SEND,
    STRAIT_PROGRAM_RECV,
    STRAIT_PROGRAM_COLLECTIVE,
    STRAIT_PROGRAM_NOTHING, /* joins dependencies */
    STRAIT_N_PROGRAM_KINDS
};

enum strait_program_collective {
    STRAIT_PROGRAM_ALL_REDUCE,
    STRAIT_PROGRAM_ALL_GATHER,
    STRAIT_PROGRAM_REDUCE_SCATTER,
    STRAIT_PROGRAM_ALL_TO_ALL,
    STRAIT_PROGRAM_BROADCAST,
    STRAIT_PROGRAM_REDUCE,
    STRAIT_PROGRAM_GATHER,
    STRAIT_PROGRAM_SCATTER,
    STRAIT_PROGRAM_BARRIER,
    STRAIT_N_PROGRAM_COLLECTIVES
};

/* Computing units of a rank: each takes one node at a time. */
enum { STRAIT_PROGRAM_ACCEL = 0, STRAIT_PROGRAM_CPU = 1, STRAIT_PROGRAM_MAX_UNITS = 8 };
/* Groups of ranks that collectives name: 0 is all ranks. */
enum { STRAIT_PROGRAM_WORLD = 0, STRAIT_PROGRAM_MAX_GROUPS = 6, STRAIT_PROGRAM_MAX_NAMES = 256 };
enum { STRAIT_PROGRAM_MAX_RANKS = 4096 };

struct strait_program_node {
    uint8_t kind;       /* enum strait_program_kind */
    uint8_t collective; /* enum strait_program_collective */
    uint8_t unit;       /* of COMPUTE: 0 the accelerator, from 1 on streams on CPU cores */
    uint8_t group;      /* of COLLECTIVE */
    int32_t peer;       /* of SEND and RECV the other rank; of rooted collectives the root */
    int32_t tag;
    uint32_t mate;  /* of SEND: the node of the peer that receives it; set by finish */
    uint64_t bytes; /* of a message; of a collective what each rank has before it (ALL_GATHER,
                       GATHER: its own share; REDUCE_SCATTER, ALL_TO_ALL: all n shares; SCATTER:
                       one share; BROADCAST, REDUCE, ALL_REDUCE: the whole) */
    double time_s;  /* of COMPUTE and SLEEP */
    double flop;    /* of COMPUTE and reductions beside time_s: takes a speed to be time */
};

struct strait_program_edge {
    uint32_t from, to;
    bool on_start; /* `to` may begin when `from` has begun, else when it has ended */
};

struct strait_program_rank {
    struct strait_program_node *nodes;
    size_t n_nodes, cap_nodes;
    struct strait_program_edge *edges; /* finish sorts them by `from` */
    size_t n_edges, cap_edges;
    uint32_t *first_edge; /* n_nodes + 1: edges of node i are [first_edge[i], first_edge[i + 1]) */
    uint32_t *n_before;   /* n_nodes: edges that end at node i */
};

struct strait_program_group {
    char name[64];
    int *ranks;
    int n;
    unsigned kinds; /* bit for each collective that is used in it; set by finish */
};

/* What was added so far. */
struct strait_program_counts {
    uint64_t nodes[STRAIT_N_PROGRAM_KINDS], calls[STRAIT_N_PROGRAM_COLLECTIVES];
    double call_bytes[STRAIT_N_PROGRAM_COLLECTIVES], message_bytes, compute_s, flop;
};

/* A graph that is looked at is counted and not kept, so that a trace of any length fits. Sums of
 * hashes say whether it is sound; where they leave a doubt it must be read again and kept. */
struct strait_program_look {
    uint64_t ends, sizes; /* of messages: sends less receives, without and with their bytes */
    uint64_t *calls; /* [rank * STRAIT_PROGRAM_MAX_NAMES + group]: of calls in order; 0: none */
    bool is_doubtful;
};

struct strait_program {
    struct strait_program_rank *ranks;
    int n_ranks;
    struct strait_program_counts counts;
    struct strait_program_look *look; /* NULL: nodes and edges are kept */
    struct strait_program_group
        groups[STRAIT_PROGRAM_MAX_GROUPS]; /* groups[0] has no ranks of its own */
    int n_groups;
    unsigned char *sends; /* bit [src * n_ranks + dst]; set by finish */
    uint64_t hash;        /* of all above */
};

/** In:  is_look  count nodes and edges, keep none */
struct strait_program *strait_program_new(int n_ranks, bool is_look, struct strait_error *err);
void strait_program_free(struct strait_program *g);
/** Append a node. A node of a graph that is looked at has no index: the next one is counted.
 *  Returns: its index, or -1 with *err NOMEM */
int64_t strait_program_add(struct strait_program *g, int rank, struct strait_program_node node,
                           struct strait_error *err);
/** `to` waits for `from`; both may be added later. Where edges are not kept, one that does not lead
 *  from an earlier node to a later one leaves a doubt. Returns: 0, or -1 with *err NOMEM */
int strait_program_edge_add(struct strait_program *g, int rank, uint32_t from, uint32_t to,
                            bool on_start, struct strait_error *err);
/** Of nodes of which to[stride * first[i]] to to[stride * (first[i + 1] - 1)] wait for i, how many
 *  can end; the others wait for each other in circles. -1: memory ran out. */
int64_t strait_program_n_ending(const uint32_t *first, const uint32_t *to, size_t stride,
                                size_t n_nodes);
/** The group of that name, made with these ranks by its first use; n 0: all ranks.
 *  Returns: its index, or -1 with *err INPUT: too many, or another member list than before */
int strait_program_group_of(struct strait_program *g, const char *name, const int *ranks, int n,
                            const char *where, struct strait_error *err);
/** Match the k-th send from a to b with a tag with the k-th receive of b from a with it, sort
 *  edges, and check that the graph can end: no cycle in a rank, no message without its other end,
 *  the same collectives in the same order on all ranks of a group. A graph that is looked at is
 *  found sound, or look->is_doubtful is set.
 *  In:      where  the file, for errors
 *  Returns: 0, or -1 with *err INPUT naming rank and node */
int strait_program_finish(struct strait_program *g, const char *where, struct strait_error *err);

/** Ranks of a group, and place i of them. */
int strait_program_group_n(const struct strait_program *g, int group);
int strait_program_group_rank(const struct strait_program *g, int group, int i);
/** Whether src sends a message of its own (not of a collective) to dst. */
bool strait_program_sends(const struct strait_program *g, int src, int dst);
const char *strait_program_collective_name(enum strait_program_collective collective);
/** Counts for people and programs: {"ranks": n, "nodes": {kind: n}, "messages": n, "message_bytes",
 *  "collectives": {name: {"calls", "bytes"}}, "compute_s", "flop"}. NULL when memory runs out. */
json_t *strait_program_facts(const struct strait_program *g);
