/* What links carry, as a table for a screen or as one line: `strait net top` and the live view. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include "workloads/rank/live_state.h"

struct strait_flow { /* NAN: not known */
    double bits_per_s;
    double share_ratio; /* of the link's rate */
    double queue_bytes, n_drops;
};

struct strait_flow_row {
    char name[40], address[16]; /* address "": none is shown */
    struct strait_flow out, in;
    bool inner; /* between sites: what it carries was counted at a port, no part of the total */
};

/** A link from one reading to the next, span_s later.
 *  In:      before  NULL: nothing was carried before
 */
struct strait_flow strait_flow_of(const struct strait_live_link *now,
                                  const struct strait_live_link *before, double span_s,
                                  double rate_bits_per_s);
struct strait_flow_row strait_flows_total(const struct strait_flow_row *rows, size_t n);
/** All rows as they stand, or if they are more than `most` the busiest ones, busiest first; and the
 *  total. Columns of which nothing is known are left out. */
void strait_flows_print(FILE *out, const struct strait_flow_row *rows, size_t n, size_t most);
/** The total and the busiest link, without an end of line: "sends 1.2 Mbit/s, receives ...". */
void strait_flows_print_line(FILE *out, const struct strait_flow_row *rows, size_t n);
