/* The traffic on links, as a table or as one line: for `strait net top` and the live view. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include "workloads/live/live_state.h"

struct strait_flow { /* NAN: not known */
    double bits_per_s;
    double share_ratio; /* of the link's rate */
    double queue_bytes, n_drops;
};

struct strait_flow_row {
    char name[40], address[16]; /* address "": not shown */
    struct strait_flow out, in;
    bool inner; /* between sites: its traffic was counted at a port and is not added to the total */
};

/** Rates of a link between two readings, span_s apart.
 *  In:      before  NULL: nothing was carried before */
struct strait_flow strait_flow_of(const struct strait_live_link *now,
                                  const struct strait_live_link *before, double span_s,
                                  double rate_bits_per_s);
struct strait_flow_row strait_flows_total(const struct strait_flow_row *rows, size_t n);
/** Print all rows in order, or if there are more than `most` the busiest ones, busiest first; and
 *  the total. Omits columns without any known value. */
void strait_flows_print(FILE *out, const struct strait_flow_row *rows, size_t n, size_t most);
/** Print the total and the busiest link, without a newline: "sends 1.2 Mbit/s, receives ...". */
void strait_flows_print_line(FILE *out, const struct strait_flow_row *rows, size_t n);
