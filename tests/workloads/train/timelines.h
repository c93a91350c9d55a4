/* Every listed strategy on three ranks, in settings that show what it is for, and what two of them
 * may not share: as many bytes in the same time are one schedule under two names. */
#pragma once
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "workloads/ask/strategy.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

struct timeline {
    const char *name;
    uint64_t payload_bytes, n_messages;
    double total_s;
};

static inline struct timeline timeline_of(const struct strait_outcome *o)
{
    return (struct timeline){o->experiment->strategy->name, o->payload_bytes, o->n_messages,
                             o->total_s};
}

/* A server is one of the three. Without a codec gTop-k's merging tree of three is a parameter
 * server; its sizes are those that follow from the shape, in the simulation as on the wire. */
static inline json_t *on_three_ranks(const struct strait_strategy *s)
{
    json_t *set =
        json_pack("{s:s, s:i}", "/strategy/name", s->name, "/clients", s->has_server ? 2 : 3);
    if (strcmp(s->name, "gtopk") == 0)
        json_object_set_new(set, "/codec",
                            json_pack("{s:s, s:f, s:s, s:s, s:i, s:s}", "name", "gtopk", "ratio",
                                      0.01, "payload", "published", "lossless", "none", "cutoff", 0,
                                      "profile", "tests/data/gtopk-costs.json"));
    if (strcmp(s->name, "kvstream") == 0) { /* 16 KB a layer */
        json_object_set_new(set, "/strategy/tokens", json_integer(2));
        json_object_set_new(set, "/strategy/layers", json_integer(5));
    }
    if (strcmp(s->name, "ac-sgd") == 0) /* the second batch has the samples of the first */
        json_object_set_new(set, "/strategy/epoch", json_integer(1));
    if (strcmp(s->name, "elastic-diloco") ==
        0) /* beside DiLoCo's 500, some words more are nothing */
        json_object_set_new(set, "/strategy/local_steps", json_integer(400));
    if (strcmp(s->name, "replay") == 0) { /* a trace in place of a model */
        json_object_set_new(set, "/model", json_null());
        json_object_set_new(set, "/trace", json_string("experiments/traces/data-parallel.ti"));
        json_object_set_new(set, "/strategy/speed", json_real(1e9));
    }
    return set;
}

/* The last of the list against all before it, but DGC against DeMo: without a codec both gather all
 * values from all ranks. Their plans differ by at least 0.9 % in the settings
 * of the tests; the same plan under another name, by what rounding leaves: 1e-12. */
static inline void expect_unlike_others(const struct timeline *all, size_t n)
{
    const struct timeline *a = &all[n - 1];
    for (const struct timeline *b = all; b < a; b++) {
        const bool same_bytes = a->payload_bytes == b->payload_bytes,
                   same_time = fabs(a->total_s - b->total_s) <= 1e-3 * b->total_s;
        if (strcmp(a->name, "dgc") == 0 && strcmp(b->name, "demo") == 0)
            continue;
        CU_ASSERT(!same_bytes || !same_time);
        if (same_bytes && same_time)
            fprintf(stderr,
                    "%s is like %s: %llu bytes; %llu and %llu messages; %.17g and %.17g s\n",
                    a->name, b->name, (unsigned long long)a->payload_bytes,
                    (unsigned long long)a->n_messages, (unsigned long long)b->n_messages,
                    a->total_s, b->total_s);
    }
}
