/* SimGrid's links whose rates change. SimGrid bounds a flow for its whole life by the bandwidths
 * that its links have when it starts: so they start at their largest and are put right at the same
 * instant. */
#pragma once
#include <stddef.h>

#include "child.h"
#include "rate_changes.h"
#include "simgrid_library.h"

struct strait_simgrid_rates {
    const struct strait_simgrid *sg;
    struct strait_rate_changes changes;
    struct strait_simgrid_link *links; /* of the network, by number; NULL: none changes */
};

/** After the platform is loaded. In a child only. */
void strait_simgrid_rates_init(struct strait_simgrid_rates *r, const struct strait_simgrid *sg,
                               const struct strait_network *network, struct strait_child *child);
/** Body of an actor that makes the changes; returns after the last one. */
void strait_simgrid_rates_change(struct strait_simgrid_rates *r);
/** In an actor, before and after it starts a flow over these links. */
void strait_simgrid_rates_lift(struct strait_simgrid_rates *r, const int *links, int n_links);
void strait_simgrid_rates_lower(struct strait_simgrid_rates *r, const int *links, int n_links);
