/* Open MPI's messages over TCP, and which algorithm it takes: for the files of its collectives. */
#pragma once
#include "parts.h"

/* Beside the group's channel: answers of exchanges whose two ways have different peers. */
enum { STRAIT_ANSWERING = 10 };

/* One MPI_Sendrecv, or half of one. What goes one way is one message of MPI's, in one packet or in
 * several behind one another. */
struct strait_sendrecv {
    struct strait_group g;
    int to, from;        /* ranks, the same in a pair; -1: that way nothing goes */
    unsigned step;       /* the same for both of a pair */
    bool is_one_of_many; /* what comes is from strait_send_each */
    size_t out_bytes;
    int n_out; /* packets */
    /** Packet i of what is sent; where views are sent, nobody changes them before all have them. */
    struct strait_packet *(*put)(struct strait_rank *r, struct strait_sendrecv *x, int i);
    /** Packet i of what comes, taken. */
    void (*take)(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken);
    void *of; /* the caller's */
    int n_taken;
    bool sent, got;
    bool is_new;                /* the connection was opened for it */
    struct strait_task *leaves; /* the beginning; NULL: the buffer may hold all */
};
void strait_sendrecv(struct strait_rank *r, struct strait_sendrecv x);
/** MPI_Isend to each of n peers, and MPI_Waitall. */
void strait_send_each(struct strait_rank *r, struct strait_sendrecv x, const int *peers, int n);

/** A packet that is sent as if so much of it had gone before; what arrives is all of it. Only in
 *  simulations. The rest is dropped by strait_packet_drop, so that it counts as held with it. */
struct strait_packet *strait_rest_of(struct strait_rank *r, struct strait_packet *taken,
                                     size_t gone_bytes);

/* Its algorithms, by the names of its own code. */
enum strait_open_mpi_way {
    STRAIT_MPI_DOUBLING, /* all to the partner at 1, 2, 4 ... */
    STRAIT_MPI_RING,
    STRAIT_MPI_RABENSEIFNER, /* halves, quarters ..., and back */
    STRAIT_MPI_LINEAR,       /* the root to each */
    STRAIT_MPI_CHAIN,
    STRAIT_MPI_BINARY,
    STRAIT_MPI_BINOMIAL,
    STRAIT_MPI_KNOMIAL, /* of radix 4 */
    STRAIT_MPI_SCATTER, /* and an all-gather */
    STRAIT_MPI_DEFAULT, /* all to rank 0, and a broadcast */
    STRAIT_MPI_BRUCK,
    STRAIT_MPI_NEIGHBOURS,
    STRAIT_MPI_HALVING
};
enum strait_open_mpi_call {
    STRAIT_MPI_ALLREDUCE,
    STRAIT_MPI_BCAST,
    STRAIT_MPI_ALLGATHERV,
    STRAIT_MPI_REDUCE_SCATTER
};
/** Its fixed rules. In: n_bytes  of the call; of an all-gather a rank's mean */
enum strait_open_mpi_way strait_open_mpi_way(enum strait_open_mpi_call call, int n, size_t n_bytes);

/* As the functions without `by_open_mpi` in collectives.h. */
/** mean_bytes: of a rank's packet, the same on all; 0: sizes are exchanged first. */
void strait_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                               struct strait_packet **all, size_t mean_bytes);
void strait_gather_around_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                      struct strait_packet **all);
struct strait_packet *strait_broadcast_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                                   int root, struct strait_packet *taken,
                                                   size_t n_bytes);
/** All packets of position 0, n_bytes together, to all, as one message. */
void strait_broadcast_blocks(struct strait_rank *r, struct strait_group g,
                             struct strait_packet **all, size_t n_bytes);
/** From 16 ranks on: halves down a binomial tree, then an all-gather. Simulations only. */
struct strait_packet *strait_broadcast_in_parts(struct strait_rank *r, struct strait_group g,
                                                int root, struct strait_packet *taken,
                                                size_t n_bytes);
void strait_reduce_scatter_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                       struct strait_codec *none, struct strait_tensor *x);
/** taken: plain values of part me + 1 */
void strait_all_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_packet *taken, struct strait_tensor *x);
/* The two halves of a ring, whatever the rules say. */
void strait_ring_scatter_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                     struct strait_codec *none, struct strait_tensor *x);
void strait_ring_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                    struct strait_codec *none, struct strait_tensor *x);
