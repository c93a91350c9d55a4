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
    bool wants_estimate;                 /* rows at once (estimate.h), instead of exact ones */
    struct strait_asked_table tables[2]; /* of layers, of slowness */
};

/** Read {"experiment": {...}, "round": false, "why": false, "estimate": false, "table": "...",
 *  "slowness": [1, 4]}. The experiment
 *  may name what ships, but no file: a string that is a path is refused. "table" is a layer table
 *  (docs/layer-table.md) in place of the experiment's model, "slowness" the factors that a file of
 *  "device" would have.
 *  Out:     q   release with strait_asked_release, also after a failure
 *  Returns: 0, or -1 with *err INPUT as `strait run` has it: "experiment#/clients: expected ..." */
int strait_asked_read(struct strait_asked *q, const char *body, size_t len_bytes,
                      struct strait_error *err);
void strait_asked_release(struct strait_asked *q);

/* Parts of it, for bodies of another kind. */

/** A body's JSON, without a key twice. A new reference, or NULL with *err INPUT. */
json_t *strait_asked_json(const char *body, size_t len_bytes, struct strait_error *err);
/** Refuse a path in any string of `at`, but for a title and a schema. pointer: where it stands.
 *  0, or -1 with *err INPUT. */
int strait_asked_refuse_paths(const json_t *at, const char *pointer, struct strait_error *err);
/** A text as a file without a name, open in t->fd; it ends with this process. 0, or -1 with *err
 *  SYSTEM. */
int strait_asked_file(struct strait_asked_table *t, const char *name, const char *text,
                      struct strait_error *err);
/** Where an error names the file's path, name it so. */
void strait_asked_name(struct strait_error *err, const struct strait_asked_table *t,
                       const char *name);
