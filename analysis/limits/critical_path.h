/* The parts of the critical path, and where each is spent. Private to this room. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "carried.h"
#include "limits_inputs.h"

enum strait_part {
    STRAIT_PART_COMPUTE,
    STRAIT_PART_ENCODE,
    STRAIT_PART_TRANSFER,
    STRAIT_PART_WAIT,
    STRAIT_PART_LATENCY,
    STRAIT_PART_DECODE,
    STRAIT_PART_AGGREGATE,
    STRAIT_PART_OTHER,
    STRAIT_N_PARTS
};

/* Links of a kind, both directions together. */
enum strait_links {
    STRAIT_CLIENT_PORTS,
    STRAIT_SERVER_PORT,
    STRAIT_SITE_PORTS,
    STRAIT_SITE_PAIRS,
    STRAIT_N_LINKS
};

struct strait_critical_path {
    double part_s[STRAIT_N_PARTS];  /* a round; they sum to it */
    int rank[STRAIT_N_PARTS];       /* with most of it; -1: none, or a link's */
    int link[STRAIT_N_PARTS];       /* likewise of a link */
    int from, to;                   /* ranks with most of the latency; -1: none */
    double links_s[STRAIT_N_LINKS]; /* a round: transfer and wait on links of this kind */
    int busiest[STRAIT_N_LINKS];    /* the link of the kind with most of that; -1: none */
};

/** 0, or -1 with *err NOMEM. */
int strait_critical_path_of(struct strait_critical_path *out, const struct strait_limits_inputs *in,
                            const struct strait_span_witness *witness, struct strait_error *err);
json_t *strait_critical_path_json(const struct strait_critical_path *p,
                                  const struct strait_limits_inputs *in);
