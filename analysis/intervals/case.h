/* What kind of case a point is, for errors that depend on it: its network, its TCP, its family of
 * strategies, and figures that say whether others like it were tried. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "workloads/ask/experiment.h"

enum strait_feature {
    STRAIT_FEATURE_RATE, /* narrowest port, Mbps */
    STRAIT_FEATURE_RTT,  /* longest path, ms */
    STRAIT_FEATURE_CLIENTS,
    STRAIT_FEATURE_MODEL,    /* its parameters, MB */
    STRAIT_FEATURE_SEVERITY, /* loss ratio; else jitter over the round trip; else what the path
                              * holds over the shortest queue; 0 on a clean network */
    STRAIT_N_FEATURES
};
extern const char *const strait_feature_names[STRAIT_N_FEATURES]; /* "rate_mbps", ... */

struct strait_case {
    const char *network;    /* "clean", "loss", "jitter", "queue": the first that there is */
    const char *congestion; /* "loss-based" (Reno, CUBIC), "bbr", "none": no byte crosses it */
    const char *family;     /* "server", "peers", "asynchronous" */
    const char *messages; /* "short": the mean one fits into three windows of slow start; "long" */
    bool is_alone;        /* one client of a server: no two flows share a link */
    double features[STRAIT_N_FEATURES];
};

/** In: message_bytes  the mean message's payload; 0: none is sent */
struct strait_case strait_case_of(const struct strait_experiment *e, double message_bytes);
/** As JSON: the words and the features by name. A new reference. */
json_t *strait_case_json(const struct strait_case *c);
/** The same from JSON, whose texts it borrows; a missing number is NAN, a missing word "". */
struct strait_case strait_case_from(const json_t *json);
