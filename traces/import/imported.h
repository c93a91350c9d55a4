/* What a reader of another tool's traces stands on. A new format is one file that defines a struct
 * strait_import_format and one line in the table of import.c. Whatever a format cannot hold is
 * inferred in a way that is said, or said to be missing. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "source.h"
#include "traces/program.h"
#include "traces/models/model.h"

struct strait_import; /* below */

struct strait_import_format {
    const char *name, *summary;
    const char *source; /* who defines it */
    /** Does a file that begins so have this format? head is followed by a NUL. */
    bool (*sniff)(const char *head, size_t n);
    /** Read everything. 0, or -1 with *err INPUT naming line or byte. */
    int (*read)(struct strait_import *in, struct strait_source *s, struct strait_error *err);
};

/* What a file has, and what became of it. */
struct strait_import {
    const struct strait_import_format *format;
    const char *path;
    json_t *facts;                /* {name: value}: what is in it */
    json_t *inferred, *missing;   /* arrays of sentences */
    struct strait_model *model;   /* layers; NULL: none */
    struct strait_program *graph; /* what each rank does; NULL: none */
    bool is_look;                 /* the graph is counted, not kept */
    json_t *experiment;           /* keys of an experiment that follow from it; NULL: none */
    char *iters;                  /* table of iterations beside the layer table; NULL: none */
    char *slowness;               /* table of factors that "slowness" in it names; NULL: none */
};

/** Begin the graph. 0, or -1 with *err NOMEM */
int strait_import_graph_begin(struct strait_import *in, int n_ranks, struct strait_error *err);
void strait_import_fact(struct strait_import *in, const char *name, json_t *value_taken);
void strait_import_inferred(struct strait_import *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strait_import_missing(struct strait_import *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
