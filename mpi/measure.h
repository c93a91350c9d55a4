/* Measure MPI's links between rank 0 and the others: rate, round trip, cost of a message. */
#pragma once
#include <stdbool.h>
#include "world.h"

struct strait_mpi_figure {
    double value, error; /* error: of the mean of n readings; NAN: of one */
    unsigned n;
};

struct strait_mpi_path {            /* rank 0 and one other */
    struct strait_mpi_figure rtt_s; /* of empty messages: median */
    struct strait_mpi_figure
        message_s; /* what one of many small messages takes, one after another */
    struct strait_mpi_figure out_bytes_per_s, in_bytes_per_s; /* payload, from rank 0 and to it */
};

struct strait_mpi_links {
    struct strait_mpi_path *paths;                 /* of the caller: n - 1, by rank */
    struct strait_mpi_figure together_bytes_per_s; /* rank 0 sends to all at once */
    struct strait_mpi_figure others_rtt_s;         /* between ranks 1 and 2; NAN: there is no 2 */
    struct strait_mpi_figure collective_s; /* one call of MPI's all-reduce of a single float */
    struct strait_mpi_figure
        steps_s; /* log2 n exchanges, rounded up: what its words need at least */
};

/** Time of a call besides its steps; never below 0. */
struct strait_mpi_figure strait_mpi_beside(struct strait_mpi_figure collective_s,
                                           struct strait_mpi_figure steps_s);
/** What of the round trips to ranks 1 and 2 is the way to rank 0's own port: what they have in
 *  common, (r01 + r02 - r12) / 2, and no more than the shorter of them. NAN where there is no rank
 *  2. */
struct strait_mpi_figure strait_mpi_own_rtt(const struct strait_mpi_links *links);
/** The one with the median rate out, which stands for all clients; of two in the middle the slower,
 *  of equal ones in their order. */
const struct strait_mpi_path *strait_mpi_typical(const struct strait_mpi_path *paths, int n);
/** Measure, on all ranks together; some seconds a rank.
 *  Out:     links  on rank 0; elsewhere unused
 *  Returns: 0, or -1 with *err: BACKEND where a rank does not answer */
int strait_mpi_measure(struct strait_mpi_world *w, struct strait_mpi_links *links,
                       struct strait_error *err);
