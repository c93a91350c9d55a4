/* Parameter servers (Li et al., OSDI 2014) that sum gradients partition by partition, overlapping
 * the backward pass and the next forward pass: a push lane, a pull lane and a serving lane beside
 * the training lane. Layers are cut into partitions ("pieces" in names), each kept by one server: a
 * worker pushes a partition when its layer's gradient is ready; the server sends the sum to all
 * when all have pushed it.
 *
 * Servers are the first workers, or separate ranks after the workers. If nodes hold several
 * accelerators, gradients are first summed in the node, as BytePS does (Jiang et al., OSDI 2020): a
 * reduce-scatter leaves each accelerator a share of the layer, which it exchanges with those at its
 * position in other nodes and then passes to its neighbours, so that a node's port carries the
 * model once. */
#pragma once
#include <math.h>
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "overlap.h"
#include "workloads/ask/strategy.h"

struct strait_servers {
    struct strait_gradients gradients;
    struct strait_tensor **x[2];          /* what is cut: the layers, or the whole model */
    struct strait_group inside;           /* the accelerators of this node */
    int place;                            /* position in the node */
    struct strait_group peers;            /* those at this position in all worker nodes */
    struct strait_agreement **agreements; /* of each layer's partitions; NULL: they need none */
    int n_workers, n_servers;             /* at this position */
    bool colocated;
    int n_layers, n_pieces;
    int *first;                      /* first partition of each layer, and n_pieces */
    int *layer, *owner;              /* of each partition */
    struct strait_tensor **piece[2]; /* [share x n_pieces + piece], alternating by round */
    struct strait_tensor **arrived;  /* on a server: [worker x n_pieces + piece] */
    struct strait_tensor **sum[2];   /* on a server that does not train */
    struct strait_task **decoding;
    struct strait_packet **pushed;  /* [worker x n_pieces + piece], where packets are added encoded;
                                    * NULL: decoded */
    int *n_here, *n_sums, *n_pulls; /* pushes so far, and rounds, of each partition */
    int *n_unsent, *n_ready;        /* partitions left, and rounds, of each layer */
    int n_unsent_all;
    bool urgent;
    int credit, n_sent, n_acked; /* credit 0: no limit */
    struct strait_task **window;
    struct strait_rank *lanes[3];
};

enum { STRAIT_TO_RING, STRAIT_TO_SERVERS };
enum { STRAIT_COLOCATED, STRAIT_SEPARATE };
enum { STRAIT_BY_BYTES, STRAIT_BY_TURNS };
extern const char *const strait_exchanges[], *const strait_placements[], *const strait_assigns[];
/* Parameters of the strategies that use these functions. */
#define STRAIT_EXCHANGE_PARAM                                                                      \
    {                                                                                              \
        "exchange", "all-reduce: a ring; servers: parameter servers, which the others are about",  \
            STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .fallback = STRAIT_TO_RING,                   \
                                 .choices = strait_exchanges                                       \
    }
#define STRAIT_SERVERS_PARAMS                                                                      \
    {"servers",    "servers; \"clients\": as many", STRAIT_PARAM_CORES, .min = 1, .max = 1e6,      \
     .fallback = 1},                                                                               \
        {"placement",                                                                              \
         "colocated: the first clients are servers too; separate: the last only serve",            \
         STRAIT_PARAM_CHOICE,                                                                      \
         .min = 0,                                                                                 \
         .max = 1,                                                                                 \
         .fallback = STRAIT_COLOCATED,                                                             \
         .choices = strait_placements},                                                            \
        {"assign",                                                                                 \
         "each partition to the server with the fewest bytes so far, or by turns",                 \
         STRAIT_PARAM_CHOICE,                                                                      \
         .min = 0,                                                                                 \
         .max = 1,                                                                                 \
         .fallback = STRAIT_BY_BYTES,                                                              \
         .choices = strait_assigns},                                                               \
        STRAIT_SUMS_PARAM,                                                                         \
        {"transport",        "what a node moves to and from one other, in and out together",       \
         STRAIT_PARAM_SPEED, .min = 1,                                                             \
         .max = 1e15,        .fallback = INFINITY},                                                \
    {                                                                                              \
        "node_size", "accelerators of a node, summed inside of it first", STRAIT_PARAM_INTEGER,    \
            .min = 1, .max = 1e6, .fallback = 1                                                    \
    }

/** Assign partitions to servers. By bytes: from the last partition on, the order in which gradients
 *  become ready, to the server with the least load so far; by turns: round-robin.
 *  In:      load_bytes  scratch, n_servers */
void strait_servers_assign(int *owner, double *load_bytes, int n_servers, const double *bytes,
                           int n_pieces, bool by_bytes);

/* Order of pushing: layers as they become ready; those that the next forward pass needs first
 * before others; or the whole model at once, in at least one partition for each server. */
enum strait_push_order { STRAIT_AS_THEY_COME, STRAIT_URGENT_FIRST, STRAIT_WHOLE };

bool strait_uses_servers(const struct strait_experiment *e);
/** As the experiment's parameters say, including "partition".
 *  In:      credit  limit of partitions sent and not yet acknowledged; 0: none */
struct strait_servers *strait_servers_new(struct strait_rank *r, enum strait_push_order order,
                                          int credit);
bool strait_servers_trains(const struct strait_rank *r, const struct strait_servers *s);
/** Messages to expect for a layer in a round. */
int strait_servers_n_parts(const struct strait_servers *s, int layer);
/** Start the lanes of a rank that trains. It posts layers whose gradient is ready to `ready`; a
 *  layer is posted to `summed` for each of its parts that is summed. Post no layer of a round
 *  before all sums of the last one. */
void strait_servers_start(struct strait_rank *r, struct strait_servers *s);
enum {
    STRAIT_SERVERS_INSIDE = 0,
    STRAIT_SERVERS_READY = 1,
    STRAIT_SERVERS_SUMMED = 2,
    STRAIT_SERVERS_PUSH = 5,
    STRAIT_SERVERS_PULL = 6
}; /* channels */
/** Call when everything is summed. */
void strait_servers_stop(struct strait_rank *r, struct strait_servers *s);
/** All rounds of a rank that only serves. */
void strait_servers_serve(struct strait_rank *r, struct strait_servers *s);

/** Clients that train: all but separate servers, for any strategy. */
int strait_servers_n_training(const struct strait_experiment *e);
/** A `tracks` for pushes that are decoded. */
bool strait_servers_track(const struct strait_experiment *e);
int strait_servers_check(const struct strait_experiment *e, struct strait_error *err);
bool strait_servers_use_stream(const struct strait_experiment *e, int src, int dst, int channel);
