/* For which numbers of clients compression pays: every interval, since a gain may vanish again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Up to this many counts each one is looked at; above, only between neighbours that differ. */
enum { STRAIT_BREAKEVEN_MAX_COUNTS = 256 };

struct strait_interval {
    long first, last; /* both included */
};

struct strait_breakeven {
    struct strait_interval *pays; /* ascending, n of them; owned */
    size_t n;
    long first, last; /* the counts that were looked at lie between these */
    bool every_count; /* false: found by bisection, so that a gain between two swept counts of the
                         same sign may be missed */
};

/** Round times at n_clients with the codec and without any. 0, or -1 with *err. */
typedef int (*strait_breakeven_fn)(double *with_s, double *without_s, long n_clients, void *context,
                                   struct strait_error *err);

/** Find the intervals between the smallest and the largest swept count in which a round with the
 *  codec is shorter than one without, by more than rounding.
 *  Out:     out       release with strait_breakeven_release
 *  In:      counts    n_counts of them, in any order, at least 1 each; repeats are fine
 *           times     called once a count that is looked at
 *  Returns: 0, or -1 with *err: INPUT for no or impossible counts, whatever times reported, or
 *           BACKEND when a time is not a number
 */
int strait_breakeven_find(struct strait_breakeven *out, const long *counts, size_t n_counts,
                          strait_breakeven_fn times, void *context, struct strait_error *err);
void strait_breakeven_release(struct strait_breakeven *b);

/** "always (1-64 clients)", "never (1-64 clients)", "at 1-7 and from 42 clients on (1-64 looked
 *  at)". Returns buf. */
const char *strait_breakeven_text(char *buf, size_t cap, const struct strait_breakeven *b);
