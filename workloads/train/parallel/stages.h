/* What strategies share that cut the model into stages (pipeline.c): where ranks stand, the layers
 * of each stage, and in which order a batch's passes are computed. */
#pragma once
#include "pipeline_grid.h"
#include "workloads/train/collectives/collectives.h"

enum { STRAIT_FORWARD = 0, STRAIT_BACKWARD }; /* directions, and their channels */
enum { STRAIT_GPIPE, STRAIT_ONE_F_ONE_B };
extern const char *const strait_schedules[];

struct strait_stages {
    struct strait_grid grid;
    struct strait_grid_at at; /* where this rank stands */
    int n_chunks, n_micro;
    const int *first; /* of the layers of the s v stages, and their end */
};

/* A pass of a microbatch through a chunk of this rank. */
struct strait_pass {
    int chunk, micro, first, end; /* the layers [first, end) */
};

/** Stages of equal compute, as far as whole layers go. In: all but `first`. */
void strait_stages_cut(struct strait_rank *r, struct strait_stages *s);
/** The i-th pass of a batch in this direction: as many microbatches as stages take a chunk, then
 *  the same ones the next. With one chunk, microbatch i. */
struct strait_pass strait_stages_pass(const struct strait_stages *s, int direction, int i);
/** Whether the stage `ahead` of this one, of all s v, exists; its rank is around the ring. */
bool strait_stages_neighbour(const struct strait_stages *s, int chunk, int ahead, int *rank);
/** One batch by the parameter "schedule": calls pass(r, arg, direction, which) one after another.
 */
void strait_stages_run(struct strait_rank *r, const struct strait_stages *s,
                       void (*pass)(struct strait_rank *, void *, int direction,
                                    struct strait_pass),
                       void *arg);
/** The ranks that have the same part of the model. */
struct strait_group strait_stages_replicas(struct strait_rank *r, const struct strait_stages *s,
                                           int channel);
