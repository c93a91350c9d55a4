/* Measure a codec, and adding, in the state in which ranks work. A sender encodes once a round,
 * from caches that others emptied. A receiver decodes what has just arrived from one sender after
 * the other, each into memory of its own, and adds all of them in the end: it knows its own code,
 * but the caches that its core has to itself hold the values of other senders. */
#pragma once
#include <stdbool.h>
#include "timing.h"

/* The tensors of the senders, and room for what is decoded: those of sender i begin at slice
 * i * n_slices. */
struct strait_turns {
    struct strait_slice *from, *to;
    size_t n_slices, n_turns;
    bool warm; /* nobody empties the caches: a rank of a ring goes on with what just arrived */
};

/** Number of senders whose values together fill several second-level caches, so that a receiver
 *  finds none of them cached.
 *  In: len_bytes: of one sender's values */
size_t strait_n_turns(size_t len_bytes);

/** The time of each encode and decode, in rounds: one that does not count, then more until there
 *  are at least n_repeats readings that span min_s seconds (at most MAX_REPEATS readings). Every
 *  piece of work begins after a wait, as in a rank, in which others may use the processor.
 *  Out:     out  ascending; len_bytes: of the first sender
 *  In:      bundle  open
 *  Returns: 0, or -1 with *err */
int strait_time_turns(struct strait_codec_times *out, const struct strait_bundle *bundle,
                      const struct strait_turns *turns, size_t n_repeats, double min_s,
                      const struct strait_sweeper *sweeper, struct strait_error *err);

struct strait_memory_times {
    double add_s[STRAIT_TIMING_MAX_REPEATS], copy_s[STRAIT_TIMING_MAX_REPEATS]; /* ascending */
    size_t n_repeats;
};
/** The same for sum += x and sum = x, where each x in turn was written before the first is added.
 *  In:  x     n_turns times n_elems values
 *       from  what each x is written with, every few readings; n_elems, as sum
 *       sweeper  used before that: the readings shall span some time, as disturbances do */
void strait_time_memory(struct strait_memory_times *out, float *sum, float *x, const float *from,
                        size_t n_elems, size_t n_turns, size_t n_repeats,
                        const struct strait_sweeper *sweeper);

/** The tenth percentile of n ascending readings. The shortest of many would be an error of the
 *  clock, and shorter the more readings there are. */
double strait_typical_s(const double *ascending_s, size_t n);
