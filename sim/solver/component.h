/* Inside the fair-share solver: flows that are alone, components, and the three ways to share their
 * links. */
#pragma once
#include "flow.h"

/* Flows that share links, directly or through other flows. */
struct strait_component {
    int hub;       /* the link that all flows share, all other links being private; -1: none */
    double last_s; /* the state here and in the flows is valid at this time */
    struct strait_flow **flows;
    size_t n, cap_flows;
    bool dirty;                    /* flows were added or removed since the rates were computed */
    struct strait_component *next; /* in the list of dirty or of spare components */
    struct strait_heap_node node;  /* in by_next while it has flows and is clean */

    /* Hub: a flow at the fair level ends when served_bytes, the bytes given to each unit of weight
     * since the beginning, reaches its key; a capped flow ends when the time reaches its key. Caps
     * are compared per unit of weight. */
    struct strait_flow *single; /* the only one, which is in no heap; NULL: all are in heaps */
    double level, served_bytes;
    long double capped_sum, fair_weight; /* sum of capped rates; sum of the other flows' weights */
    struct strait_heap fair_finish, capped_finish;
    struct strait_heap fair_by_cap;   /* smallest cap first; empty unless is_ordered */
    struct strait_heap capped_by_cap; /* largest cap first: keys are negative */
    bool is_ordered;                  /* a level has reached least_cap: fair flows lie by caps */
    double least_cap;                 /* at most that of each fair flow */

    /* Divided into classes, each of them like a hub of its own but for its level. */
    struct strait_component **classes; /* n_classes of them, 0: it is not divided */
    size_t n_classes, cap_classes;
    size_t undivided;                /* flows with which dividing it did not pay */
    int link[STRAIT_FLOW_MAX_LINKS]; /* of a class: the links that all of its n flows share */
    int n_links;
};

struct strait_fair_link {
    double bytes_per_s;
    struct strait_component *component; /* NULL: idle, or its only flow is alone */
    size_t n_flows;
    uintptr_t flows; /* their addresses, combined by exclusive or: of a single flow its own */
};

/* Scratch of progressive_filling.c and classes.c for a link. In a star, where nobody needs it, its
 * memory is never touched. */
struct strait_filling {
    double free; /* capacity not allocated yet */
    size_t n_open, first, end;
    double open_weight; /* of the flows without a rate yet */
    double level;       /* classes.c: bytes/s of a unit of weight where it is full */
    bool reached;
    struct strait_heap_node node;
};

struct strait_fairshare {
    struct strait_fair_link *links;
    struct strait_filling *fillings; /* of each link */
    int n_links;
    double now_s;
    int64_t n_started;
    struct strait_heap by_next;                  /* components, by the end of their next flow */
    struct strait_component *dirty, *last_dirty; /* in the order in which they became so */
    struct strait_component *spare;
    struct strait_heap alone; /* flows that share nothing, by their end; but for those that have */
    struct strait_flow *new_alone, *last_alone; /* begun since rates were computed, in a list */
    struct strait_component **all;              /* all ever made, to free them */
    size_t n_all, cap_all, n_flows;
    struct strait_flow *done_first, *done_last;
    double looked_s; /* what ends then is in that list; NAN: rates may have changed since */
    bool no_memory;  /* a flow was lost for lack of it */
    /* Scratch of progressive_filling.c, with room for every flow and every link. */
    struct strait_flow **of_link, **order; /* STRAIT_FLOW_MAX_LINKS x n_flows, and n_flows */
    size_t cap_scratch;
    int *touched;
    struct strait_heap filling;
};

/* alone.c. Once one of a flow's links gets another flow, it belongs to a component. */
/** Of a flow of weight 1 on idle links, whose left_bytes are set. */
void strait_alone_begin(struct strait_fairshare *fs, struct strait_flow *flow);
/** Put those that have begun into fs->alone. 0, or -1 when memory runs out. */
int strait_alone_settle(struct strait_fairshare *fs);
/** Make it the only flow of a component, as if it always had been; dirty if it has just begun. NULL
 *  when memory runs out. */
struct strait_component *strait_alone_leave(struct strait_fairshare *fs, struct strait_flow *flow);
/** The one that ends first; NULL: there is none. */
struct strait_flow *strait_alone_first(const struct strait_fairshare *fs);
void strait_alone_end(struct strait_fairshare *fs, struct strait_flow *flow);

/* component.c */
/** Flows whose ends are closer than this end together: rounding must not cause separate events. */
double strait_fairshare_slack_s(double now_s);

/** Bytes/s of a flow's narrowest link other than the hub. */
double strait_flow_cap(const struct strait_fairshare *fs, const struct strait_flow *flow, int hub);
/** An empty component without a hub; NULL when memory runs out. */
struct strait_component *strait_component_new(struct strait_fairshare *fs, double last_s);
/** Reserve room for n flows, so that moving flows cannot fail. 0, or -1. */
int strait_component_reserve(struct strait_component *c, size_t n);
void strait_component_append(struct strait_component *c, struct strait_flow *flow);
/** Insert it into by_next by the next end of its flows. 0, or -1. */
int strait_component_schedule(struct strait_fairshare *fs, struct strait_component *c,
                              double next_s);

/* hub.c. Cannot fail: strait_component_reserve has made room. */
void strait_hub_begin(struct strait_component *c, int link);
void strait_hub_add(struct strait_component *c, struct strait_flow *flow, double left_bytes,
                    double cap);
double strait_hub_remove(struct strait_component *c, struct strait_flow *flow); /* bytes left */
void strait_hub_advance(struct strait_component *c, double now_s);
void strait_hub_settle(struct strait_component *c, double bytes_per_s);
bool strait_hub_is_shared(const struct strait_component *c); /* a flow gets the fair level */
/** Let the flow with the largest cap above the level, or with the smallest one up to it, leave or
 *  reach its cap. Returns: false if there is none */
bool strait_hub_lower(struct strait_component *c, double level);
bool strait_hub_raise(struct strait_component *c, double level);
double strait_hub_next_s(const struct strait_component *c);
struct strait_flow *strait_hub_first_ended(const struct strait_component *c, double slack_s);

/* classes.c */
/** Divide a component without a hub, whose flows' left_bytes are known, where that pays.
 *  Returns: 0, or -1 when memory runs out */
int strait_classes_begin(struct strait_fairshare *fs, struct strait_component *c);
/** Undo that: the flows' left_bytes are known again. */
void strait_classes_leave(struct strait_fairshare *fs, struct strait_component *c);
bool strait_classes_pay(const struct strait_component *c);
/** Put a flow into the class of the links that it shares now; -1 when memory runs out. */
int strait_classes_join(struct strait_fairshare *fs, struct strait_component *c,
                        struct strait_flow *flow, double left_bytes);
double strait_classes_part(struct strait_flow *flow); /* bytes left */
void strait_classes_advance(struct strait_component *c, double now_s);
/** 0, or -1 where caps and levels keep changing each other: the component must be left whole. */
int strait_classes_settle(struct strait_fairshare *fs, struct strait_component *c);
double strait_classes_next_s(const struct strait_component *c);
struct strait_flow *strait_classes_first_ended(const struct strait_component *c, double slack_s);

/* progressive_filling.c */
void strait_progressive_filling_advance(struct strait_component *c, double now_s);
/** Compute the rates. Splits a component whose flows no longer share links, and switches one that
 *  has got a hub to processor sharing. 0, or -1 when memory runs out. */
int strait_progressive_filling_settle(struct strait_fairshare *fs, struct strait_component *c);
struct strait_flow *strait_progressive_filling_first_ended(const struct strait_component *c,
                                                           double slack_s);
