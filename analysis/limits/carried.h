/* How much each link carried until when, from the transfers in the logs of all ranks. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "workloads/ask/network.h"
#include "workloads/rank/log.h"

struct strait_carried;

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

/** Sort what the wanted links carried. A transfer's bytes are taken to pass evenly between its
 *  posting and its arrival.
 *  Out:     out     free with strait_carried_free
 *  In:      wanted  by link, strait_network_n_links of them
 *  Returns: 0, or -1 with *err NOMEM
 *  Cost:    O(s log s) for the s transfers over wanted links */
int strait_carried_new(struct strait_carried **out, const struct strait_log *logs, int n_ranks,
                       const struct strait_network *n, const bool *wanted,
                       struct strait_error *err);
void strait_carried_free(struct strait_carried *c);
/** Bytes that a wanted link carried between two moments. O(log s). */
double strait_carried_bytes(const struct strait_carried *c, int link, double from_s, double to_s);
