/* What calibration codes and adds: a model's values, which nobody sends. */
#pragma once
#include "workloads/ask/experiment.h"
#include "workloads/timing/timing.h"

/* A model's tensors of one kind, held-out recordings, as each of some senders has them; larger
 * models are cut down evenly. All senders encode the same values: what a sender encodes it wrote
 * not long ago, and whatever more senders' values take of the last cache is the host's business.
 * Each is decoded into memory of its own. */
struct strait_held_out {
    float *values, *decoded;
    struct strait_sweeper sweeper;
    struct strait_slice *slices, *back; /* sender after sender */
    size_t n_slices, n_elems, n_turns;  /* of a sender */
};

/** Returns: 0 with what strait_held_out_release releases, also after -1 with *err */
int strait_held_out_init(struct strait_held_out *h, const struct strait_experiment *e,
                         const char *kind, struct strait_error *err);
void strait_held_out_release(struct strait_held_out *h);
