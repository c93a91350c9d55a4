/* A flow over links that it shares with others. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/heap.h"

enum { STRAIT_FLOW_MAX_LINKS = 5 };

struct strait_component;

struct strait_flow { /* in the caller's memory; zero it once */
    void *owner;     /* for the caller, as is `finish` while the flow is not under way */
    double weight;   /* share of a link relative to other flows' weights; 0 counts as 1 */
    /* Private to the solver. What flows of a hub need comes first. */
    struct strait_component *component;
    struct strait_heap_node finish;
    size_t place; /* in the component's list */
    struct strait_flow *next_done;
    struct strait_heap_node by_cap;
    double cap; /* bytes/s of the narrowest private link */
    bool capped;
    int n_links, link[STRAIT_FLOW_MAX_LINKS]; /* n_links different ones */
    double left_bytes, rate;                  /* general: at the component's last_s */
    double started_s;                         /* of a flow that is alone */
    struct strait_component *of_class;        /* where that is divided */
};
