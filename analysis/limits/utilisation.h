/* How busy each resource was. Private to this room. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "limits_inputs.h"

/* Kinds of resources, each a key of "utilisation". */
enum strait_use {
    STRAIT_USE_CLIENT_OUT,
    STRAIT_USE_CLIENT_IN,
    STRAIT_USE_SERVER_OUT,
    STRAIT_USE_SERVER_IN,
    STRAIT_USE_SITE_OUT,
    STRAIT_USE_SITE_IN,
    STRAIT_USE_BETWEEN_SITES,
    STRAIT_USE_ACCELERATORS,
    STRAIT_USE_HOST_LINKS, /* where anything crosses them */
    STRAIT_USE_CLIENT_CORES,
    STRAIT_USE_SERVER_CORES,
    STRAIT_N_USES
};

struct strait_utilisation {
    const struct strait_limits_inputs *in;
    double *links; /* by link: share of the time that it was filled; owned */
    double *accelerators, *cores, *host_links; /* by rank; owned */
    int n_links, n_ranks;
};

/** Begin with nothing; `in` is kept. 0, or -1 with *err NOMEM. */
int strait_utilisation_begin(struct strait_utilisation *u, const struct strait_limits_inputs *in,
                             struct strait_error *err);
/** Add a span: all are to be, rank by rank in their order. */
void strait_utilisation_add(struct strait_utilisation *u, const struct strait_span *s);
/** All were: make shares of the sums. */
void strait_utilisation_end(struct strait_utilisation *u);
void strait_utilisation_release(struct strait_utilisation *u);
/** {"client_out": {"mean", "most", "at", "n"}, ...} without the kinds that there are none of. */
json_t *strait_utilisation_json(const struct strait_utilisation *u,
                                const struct strait_limits_inputs *in);
