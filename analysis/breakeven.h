/* The numbers of clients for which compression pays: all intervals, since a gain may disappear
 * again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Up to this many counts each one is examined; above, only between neighbours with different
 * signs. */
enum { STRAIT_BREAKEVEN_MAX_COUNTS = 256 };

struct strait_interval {
    long first, last; /* both inclusive */
};

struct strait_breakeven {
    struct strait_interval *pays; /* ascending, n of them; owned */
    size_t n;
    long first, last; /* range of the counts examined */
    bool every_count; /* false: found by bisection, so that a gain between two swept counts of the
                         same sign may be missed */
};

/** Is a round with the codec shorter than one without, by more than rounding? */
bool strait_breakeven_pays(double with_s, double without_s);

/** Round times at n_clients with and without the codec. 0, or -1 with *err. */
typedef int (*strait_breakeven_fn)(double *with_s, double *without_s, long n_clients, void *context,
                                   struct strait_error *err);

/** Find the intervals between the smallest and the largest swept count in which a round with the
 *  codec is shorter than one without, by more than rounding.
 *  Out:     out       release with strait_breakeven_release
 *  In:      counts    n_counts of them, in any order, at least 1 each; repeats are allowed
 *           times     called once for each examined count
 *  Returns: 0, or -1 with *err: INPUT for missing or impossible counts, the error of times, or
 *           BACKEND when a time is not a number */
int strait_breakeven_find(struct strait_breakeven *out, const long *counts, size_t n_counts,
                          strait_breakeven_fn times, void *context, struct strait_error *err);
void strait_breakeven_release(struct strait_breakeven *b);

/* The same search with the times at the ends of their intervals. */
struct strait_breakeven_bounds {
    const struct strait_breakeven *perhaps, *surely; /* where it may pay, and where it must */
};

/** Describe the result: "always (1-64 clients)", "never (1-64 clients)", "at 1-7 and from 42
 *  clients on (1-64 looked at)"; with bounds "from 11 (9 to 14) clients on (1-64 looked at)".
 *  In:      in  NULL: without bounds
 *  Returns: buf */
const char *strait_breakeven_text(char *buf, size_t cap, const struct strait_breakeven *b,
                                  const struct strait_breakeven_bounds *in);
