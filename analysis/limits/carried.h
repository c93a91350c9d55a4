/* How much each link carried when, from the transfers in the logs of all ranks. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "limits_inputs.h"

/** Bytes of a transfer on the wire: its payload and its frames. */
double strait_carried_wire_bytes(const struct strait_network *n, const struct strait_span *s);
/** The most payload that a link carries between two moments, frames included; of a rate that
 *  changes what its schedule lets pass. */
double strait_carried_most_bytes(const struct strait_network *n, int link, double from_s,
                                 double to_s);
/** Seconds between two moments for which a link is needed to carry so many payload bytes, frames
 *  included. Where its rate changes, it is not known when within them the bytes passed: the longer
 *  of two times is taken, as early as possible (a link that was slow at first) and as late as
 *  possible (one that became slow), so that a change of rate is the link's and not the path's. */
double strait_carried_needs_s(const struct strait_network *n, int link, double from_s, double to_s,
                              double bytes);
/** Whether a span crosses the network; else it is no transfer, or one to a rank's accelerator. */
bool strait_carried_crosses(const struct strait_network *n, const struct strait_span *s);

/* What did this link carry between two moments? */
struct strait_carried_question {
    int link;
    double from_s, to_s;
    double bytes; /* the answer */
};

/** Answer questions. A transfer's bytes are taken to pass evenly between its posting and its
 *  arrival.
 *  Out:     asked    n_asked of them: `bytes`
 *  In:      witness  for who would walk over all spans too; NULL: nobody
 *  Returns: 0, or -1 with *err NOMEM
 *  Cost:    O(s log s) for the s transfers over links that are asked for, which are looked at a few
 *           links at a time, so that memory stays small */
int strait_carried_answer(struct strait_carried_question *asked, size_t n_asked,
                          const struct strait_span_witness *witness, const struct strait_log *logs,
                          int n_ranks, const struct strait_network *n, struct strait_error *err);
