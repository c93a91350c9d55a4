/* What a round would be if one phase or one kind of link were faster: simulated again by fluid. */
#pragma once
#include <jansson.h>
#include "campaign/plan.h"

/* What can be faster. */
enum strait_faster {
    STRAIT_FASTER_NOTHING, /* as it is */
    STRAIT_FASTER_COMPUTE,
    STRAIT_FASTER_STRAGGLER, /* the slowest clients alone */
    STRAIT_FASTER_ENCODE,
    STRAIT_FASTER_DECODE,
    STRAIT_FASTER_CORES, /* more of the server's, not faster ones */
    STRAIT_FASTER_ADD,
    STRAIT_FASTER_HOST_LINK, /* to the accelerator */
    STRAIT_FASTER_CLIENTS,   /* their ports, both ways; then each way */
    STRAIT_FASTER_CLIENT_OUT,
    STRAIT_FASTER_CLIENT_IN,
    STRAIT_FASTER_SERVER, /* likewise */
    STRAIT_FASTER_SERVER_OUT,
    STRAIT_FASTER_SERVER_IN,
    STRAIT_FASTER_SITES, /* their ports, both ways */
    STRAIT_FASTER_BETWEEN_SITES,
    STRAIT_FASTER_DELAYS, /* of all links */
    STRAIT_N_FASTER
};
const char *strait_faster_key(enum strait_faster what);  /* "server_in" */
const char *strait_faster_text(enum strait_faster what); /* "the server's port, in" */

/** Whether the experiment has it. */
bool strait_faster_applies(enum strait_faster what, const struct strait_experiment *e);
enum { STRAIT_FASTER_LEAST_PER_MILLE = 1 }; /* a round that changes less stays as it is */

/** The row of a resolved point by fluid with `what` so many times as fast (`what` NOTHING: as it
 *  is). A model that the experiment trains for real is not trained.
 *  In:      round_s  as it is; a round that stays so costs no simulations for an interval, and has
 *                    none. NAN: it has one in any case
 *  Returns: new reference, or NULL with *err */
json_t *strait_what_if(const struct strait_plan_setup *setup, const json_t *resolved,
                       enum strait_faster what, double factor, double round_s,
                       struct strait_error *err);
