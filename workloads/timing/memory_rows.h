/* Rows gathered from a large memory, as a host gathers keys and values for its accelerator, and how
 * fast this machine does it. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

/* Some of the rows that are stored one behind the other: one of each n_stored / n_rows, drawn, in
 * ascending order; the first if all are wanted. */
struct strait_gather {
    unsigned char *to;         /* n_rows rows */
    const unsigned char *from; /* n_stored rows */
    size_t row_bytes, n_rows, n_stored;
    uint64_t state; /* of the draws, which go on with each gather */
};

/** Gather the next rows. In: gather: a struct strait_gather */
void strait_gather(void *gather);

enum { STRAIT_N_GATHER_ROWS = 11 }; /* of 64 B, 128 B ... 64 KiB */
struct strait_gather_speed {
    double bytes_per_s; /* of bytes in one piece */
    double row_bytes[STRAIT_N_GATHER_ROWS];
    double efficiency[STRAIT_N_GATHER_ROWS]; /* of rows this long, relative to that; at most 1 */
};
/** Measure: an eighth of a memory that no cache holds, typical of n_repeats readings of processor
 *  time each. Errors: NOMEM */
int strait_time_gather(struct strait_gather_speed *out, size_t n_repeats, struct strait_error *err);
