/* When links change their rates, in order: for both simulators of flows. */
#pragma once
#include "core/heap.h"
#include "workloads/ask/network.h"

struct strait_rate_changes {
    const struct strait_network *network;
    struct strait_heap heap; /* of scheduled links, by the time of their next change */
    struct strait_rate_change *links;
};

/** Begin at time 0, whose rates are already those of strait_rate_changes_at.
 *  Returns: 0, or -1 when memory runs out */
int strait_rate_changes_init(struct strait_rate_changes *c, const struct strait_network *network);
void strait_rate_changes_release(struct strait_rate_changes *c);
/** When the next link changes; INFINITY: none ever does. */
double strait_rate_changes_next_s(const struct strait_rate_changes *c);
/** Take a change that is due by now_s.
 *  Out:     bytes_per_s  the link's goodput from then on
 *  Returns: the link's number, or -1: none is due */
int strait_rate_changes_take(struct strait_rate_changes *c, double *bytes_per_s, double now_s);
/** Payload bytes/s of a long stream alone on the link at t_s. */
double strait_rate_changes_at(const struct strait_network *network, int link, double t_s);
