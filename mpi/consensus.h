/* Between runs the processes check that they agree, and rank 0 announces the next run. */
#pragma once
#include <jansson.h>
#include "world.h"

/* Values that must be the same on all processes; "" if this process could not find one. */
struct strait_mpi_hello {
    const char *program, *experiment, *profile; /* hashes */
    const char *file;                           /* for the error */
};

/** Before anything else, on all processes: do all run the same program, on the same experiment?
 *  In:      err  what this process could not do, OK: nothing
 *  Out:     machines  on rank 0: "alpha 3, beta 6, Open MPI v4.1.4", ranks by host
 *  Returns: 0, or -1 with *err, the same on all: that of the lowest rank that has one, "rank 3 on
 *           HOST: ...", or INPUT naming what differs */
int strait_mpi_agree(struct strait_mpi_world *w, const struct strait_mpi_hello *hello,
                     char *machines, size_t cap, struct strait_error *err);
/** Rank 0: the others run this point now; NULL: nothing comes any more. 0, or -1 with *err. */
int strait_mpi_announce(struct strait_mpi_world *w, const json_t *point, struct strait_error *err);
/** The others: what rank 0 announces, a new reference, or NULL. 0, or -1 with *err. */
int strait_mpi_next(struct strait_mpi_world *w, json_t **point, struct strait_error *err);
