/* How many bytes codecs made of the values that ranks sent. A run with real payload notes them; a
 * sized run of the same experiment takes them instead of a profile's ratios. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/error.h"

struct strait_sent_sizes;

/* What was encoded. The same of one rank comes again, round after round. */
struct strait_encoding {
    uint64_t codec;    /* of the rank */
    uint64_t lo, hi;   /* elements of the flattened model */
    uint64_t of_ranks; /* values are sums of so many ranks'; 0: unknown */
    uint64_t is_sum;   /* of packets that were added while encoded */
    double bound;      /* NAN: the experiment's */
};

/** Empty, in memory shared across fork. Free with strait_sent_sizes_free. NULL with *err. */
struct strait_sent_sizes *strait_sent_sizes_new(int n_ranks, struct strait_error *err);
void strait_sent_sizes_free(struct strait_sent_sizes *s);
/** Note one more packet of a rank. What exceeds the room is not noted. */
void strait_sent_sizes_note(struct strait_sent_sizes *s, int rank, struct strait_encoding what,
                            size_t n_bytes);
/** After the last note and before the first look: sort them. 0, or -1 with *err. */
int strait_sent_sizes_close(struct strait_sent_sizes *s, struct strait_error *err);
/** Different encodings of a rank: as many counters has strait_sent_sizes_next, all 0 at first. */
size_t strait_sent_sizes_n(const struct strait_sent_sizes *s, int rank);
/** Bytes of the rank's next encoding of this kind; after the last noted one always that one's,
 *  since every round sends the same recorded values.
 *  In/out:  n_taken  the rank's counters
 *  Returns: false if the rank encoded nothing like it */
bool strait_sent_sizes_next(size_t *n_bytes, uint32_t *n_taken, const struct strait_sent_sizes *s,
                            int rank, struct strait_encoding what);
