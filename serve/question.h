/* The experiment in a request's body, within limits: what is asked of a classroom's page. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "workloads/ask/experiment.h"

/* Points of a question, clients of a point, factors of slowness. */
enum {
    STRAIT_ASKED_MAX_POINTS = 96,
    STRAIT_ASKED_MAX_CLIENTS = 10000,
    STRAIT_ASKED_MAX_FACTORS = 256
};

struct strait_asked_table { /* of the body, as a file */
    char path[32];          /* "": none */
    int fd;                 /* -1: none */
};
struct strait_asked {
    struct strait_sweep *sweep;          /* errors name it "experiment" */
    bool wants_round;                    /* also who sends what when, in one round of the base */
    bool wants_why;                      /* also what it would be with one thing faster */
    struct strait_asked_table tables[2]; /* of layers, of slowness */
};

/** Read {"experiment": {...}, "round": false, "why": false, "table": "...",
 *  "slowness": [1, 4]}. The experiment
 *  may name what ships, but no file: a string that is a path is refused. "table" is a layer table
 *  (docs/layer-table.md) in place of the experiment's model, "slowness" the factors that a file of
 *  "device" would have.
 *  Out:     q   release with strait_asked_release, also after a failure
 *  Returns: 0, or -1 with *err INPUT as `strait run` has it: "experiment#/clients: expected ..." */
int strait_asked_read(struct strait_asked *q, const char *body, size_t len_bytes,
                      struct strait_error *err);
void strait_asked_release(struct strait_asked *q);
