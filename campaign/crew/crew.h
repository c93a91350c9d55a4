/* The processes of mpirun or srun that compute the points of one experiment: rank 0 gives out the
 * next point to whoever asks for one. */
#pragma once
#include <jansson.h>
#include "hand.h"
#include "mpi/world.h"

struct strait_crew {
    struct strait_mpi_world *world;
    struct strait_hand hand; /* started before world was opened */
    double lost_s;           /* silence after which a process counts as lost; 0: 30 */
    int n_lost;              /* rank 0, in the end: processes that are lost */
};

/* Callbacks for rank 0, in order of completion: a task ended. Both return 0, or -1 with *err, which
 * ends the crew. */
struct strait_crew_use {
    /** What the work of task i said; borrowed. */
    int (*take)(size_t i, const json_t *answer, void *context, struct strait_error *err);
    /** Task i has cost one worker after the other. */
    int (*lost)(size_t i, const char *why, void *context, struct strait_error *err);
    void *context;
};

/** Rank 0: have tasks[0..n) computed by all, itself too, and end the others. What is lost is given
 *  to another, three times at most. After lost processes MPI cannot be left, only ended
 *  (strait_mpi_world_abort).
 *  In:      tasks  what the hands know them by
 *           use    counts tasks by their index in tasks
 *           what   for the progress line; NULL: none
 *  Returns: 0, or -1 with *err: that of use, or all workers are lost */
int strait_crew_lead(struct strait_crew *c, const size_t *tasks, size_t n,
                     const struct strait_crew_use *use, const char *what, struct strait_error *err);
/** The others: compute what rank 0 gives, until nothing is left. 0, or -1 with *err: rank 0 is
 *  lost. */
int strait_crew_follow(struct strait_crew *c, struct strait_error *err);
