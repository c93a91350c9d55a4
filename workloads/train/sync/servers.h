/* Parameter servers (Li et al., OSDI 2014) that sum a gradient piece by piece, behind the backward
 * pass and before the next forward pass: a push lane, a pull lane and a lane that serves, beside
 * the one that trains. Layers are cut into pieces, each kept by one server: a worker pushes a piece
 * when its layer's gradient is there, the server sends the sum to all when all have pushed it.
 *
 * Servers are workers too, the first ones, or the ranks behind the workers. Where nodes hold
 * several accelerators their gradients are summed inside first, as BytePS does (Jiang et al.,
 * OSDI 2020): a reduce-scatter leaves each accelerator a share of the layer, which it exchanges
 * with those at its place in other nodes and then hands to its neighbours, so that a node's port
 * carries the model once. */
#pragma once
#include <math.h>
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "overlap.h"
#include "workloads/ask/strategy.h"

struct strait_servers {
    struct strait_gradients gradients;
    struct strait_tensor **x[2]; /* what is cut: its layers, or its whole */
    struct strait_group inside;  /* the accelerators of a node */
    int place;                   /* in it */
    int n_workers, n_servers;    /* at this place */
    bool colocated;
    int n_layers, n_pieces;
    int *first;                      /* piece of each layer, and n_pieces */
    int *layer, *owner;              /* of each piece */
    struct strait_tensor **piece[2]; /* [share x n_pieces + piece], by turns */
    struct strait_tensor **arrived;  /* of a server: [worker x n_pieces + piece] */
    struct strait_tensor **sum[2];   /* of one that does not train */
    struct strait_task **decoding;
    int *n_here, *n_sums, *n_pulls; /* pushed, and rounds of each piece */
    int *n_unsent, *n_ready;        /* pieces, and rounds of each layer */
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
/* Parameters of a strategy that can use them. */
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
        {"transport",        "what one thread of a node's server moves, in and out together",      \
         STRAIT_PARAM_SPEED, .min = 1,                                                             \
         .max = 1e15,        .fallback = INFINITY},                                                \
    {                                                                                              \
        "node_size", "accelerators of a node, summed inside of it first", STRAIT_PARAM_INTEGER,    \
            .min = 1, .max = 1e6, .fallback = 1                                                    \
    }

/** Which server keeps which piece. By bytes: from the last piece on, the order in which gradients
 *  come, the one that has least so far; by turns: one after another.
 *  In:      load_bytes  scratch, n_servers */
void strait_servers_assign(int *owner, double *load_bytes, int n_servers, const double *bytes,
                           int n_pieces, bool by_bytes);

/* What is pushed when: layers as they come; those that the next forward pass needs first before
 * others; or all layers as one, in parts for at least all servers. */
enum strait_push_order { STRAIT_AS_THEY_COME, STRAIT_URGENT_FIRST, STRAIT_WHOLE };

bool strait_uses_servers(const struct strait_experiment *e);
/** As the experiment's parameters say, "partition" among them.
 *  In:      credit  pieces sent and not yet acknowledged; 0: no limit */
struct strait_servers *strait_servers_new(struct strait_rank *r, enum strait_push_order order,
                                          int credit);
bool strait_servers_trains(const struct strait_rank *r, const struct strait_servers *s);
/** Messages to expect for a layer in a round. */
int strait_servers_n_parts(const struct strait_servers *s, int layer);
/** The lanes of a rank that trains. It posts layers whose gradient is there to `ready`; for each
 *  part that is summed the layer is posted to `summed`. Layers of a round after all sums of the
 *  last one. */
void strait_servers_start(struct strait_rank *r, struct strait_servers *s);
enum {
    STRAIT_SERVERS_INSIDE = 0,
    STRAIT_SERVERS_READY = 1,
    STRAIT_SERVERS_SUMMED = 2,
    STRAIT_SERVERS_PUSH = 5,
    STRAIT_SERVERS_PULL = 6
}; /* channels */
/** When all is summed. */
void strait_servers_stop(struct strait_rank *r, struct strait_servers *s);
/** All rounds of a rank that only serves. */
void strait_servers_serve(struct strait_rank *r, struct strait_servers *s);

/** Clients that train: all but separate servers, whatever the strategy. */
int strait_servers_n_training(const struct strait_experiment *e);
int strait_servers_check(const struct strait_experiment *e, struct strait_error *err);
bool strait_servers_use_stream(const struct strait_experiment *e, int src, int dst, int channel);
