/* Exact max-min fair sharing of links: which flow ends when.
 *
 * Flows that share no link, directly or through other flows, do not affect each other and are kept
 * in separate components. If all flows of a component share one link (the hub) and their other
 * links are private, as in a star, the component is processor sharing with private caps: a flow
 * gets either its cap or the hub's fair level, and an arrival or departure costs O(log n). Of
 * any other component with many flows over few combinations of shared links, as between sites, each
 * combination is such a hub, and progressive filling shares the links among these: O(log n) and
 * O(k log k) for k combinations. What is left is solved by progressive filling of single flows,
 * O(n log n) a change. */
#pragma once
#include "flow.h"

struct strait_fairshare;

/** n_links links of the given capacities, without flows. NULL when memory runs out. */
struct strait_fairshare *strait_fairshare_new(int n_links, const double *bytes_per_s);
void strait_fairshare_free(struct strait_fairshare *fs);
/** Start a flow of bytes (above 0) over these links, at least 2, at now_s, which never decreases.
 *  Returns: 0, or -1 when memory runs out */
int strait_fairshare_start(struct strait_fairshare *fs, struct strait_flow *flow, const int *links,
                           int n_links, double bytes, double now_s);
/** Give a link another capacity from now_s on. */
void strait_fairshare_change(struct strait_fairshare *fs, int link, double bytes_per_s,
                             double now_s);
/** When the next flow ends if nothing else starts; INFINITY: none; NAN: memory ran out. Ask again
 *  after flows started or ended, before time advances. */
double strait_fairshare_next_s(struct strait_fairshare *fs);
/** A flow that ends at now_s, which is at most strait_fairshare_next_s; call until NULL. The flow's
 *  memory is the caller's again. */
struct strait_flow *strait_fairshare_ended(struct strait_fairshare *fs, double now_s);
