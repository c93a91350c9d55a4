/* Exact max-min fair sharing of links: which flow ends when.
 *
 * Flows that touch no common link, directly or through others, do not matter to each other: they
 * are kept in separate components. Where all flows of a component share one link (the hub) and
 * have their other links to themselves, as in a star, the component is processor sharing with
 * private caps: a flow is either held by its cap or gets the hub's fair level, and an arrival or a
 * departure costs O(log n). Any other component is solved by progressive filling, O(n log n) a
 * change. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/heap.h"

enum { STRAIT_FLOW_MAX_LINKS = 5 };

struct strait_component;

struct strait_flow { /* the caller's storage; zero it once */
    void *owner;     /* the caller's, like weight */
    double weight;   /* what it gets of a link, beside the others' weights; 0 counts as 1 */
    /* The solver's own. */
    struct strait_component *component;
    int link[STRAIT_FLOW_MAX_LINKS]; /* n_links different ones */
    int n_links;
    double cap; /* bytes/s of the narrowest private link */
    bool capped;
    double left_bytes, rate;                /* general: at the component's last_s */
    struct strait_heap_node finish, by_cap; /* hub */
    size_t place;                           /* in the component's list */
    struct strait_flow *next_done;
};

struct strait_fairshare;

/** n_links links of the given capacities, nothing on them. NULL when memory runs out. */
struct strait_fairshare *strait_fairshare_new(int n_links, const double *bytes_per_s);
void strait_fairshare_free(struct strait_fairshare *fs);
/** Begin a flow of bytes (above 0) over these links, 2 at least, at now_s, which never goes back.
 *  Returns: 0, or -1 when memory runs out */
int strait_fairshare_start(struct strait_fairshare *fs, struct strait_flow *flow, const int *links,
                           int n_links, double bytes, double now_s);
/** When the next flow ends if nothing else starts; INFINITY: there is none; NAN: memory ran out.
 *  Ask again after flows started or ended, before time goes on. */
double strait_fairshare_next_s(struct strait_fairshare *fs);
/** The flows that end at now_s, which is at most strait_fairshare_next_s, one a call; NULL: no
 *  more. The flow is the caller's again. */
struct strait_flow *strait_fairshare_ended(struct strait_fairshare *fs, double now_s);
