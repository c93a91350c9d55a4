/* Traces of other tools. A new format is one file that defines a struct strait_import_format and
 * one line in the table of import.c. Whatever a format cannot hold is inferred in a way that is
 * said, or said to be missing. */
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

/** The table, n of them. */
const struct strait_import_format *const *strait_import_formats(size_t *n);
/** NULL: no such format. */
const struct strait_import_format *strait_import_format_find(const char *name);
/** Read a file. format NULL: recognised by its first bytes. A name with ".0." stands for the files
 *  of all ranks, ".0.", ".1.", ... in formats that have one a rank.
 *  Returns: 0, or -1 with *err; release in either case */
int strait_import_read(struct strait_import *in, const char *path,
                       const struct strait_import_format *format, struct strait_error *err);
/** The same for its facts alone. No node of a graph is kept, unless the counts leave a doubt
 *  whether the graph is sound; then the file is read again. */
int strait_import_look(struct strait_import *in, const char *path,
                       const struct strait_import_format *format, struct strait_error *err);
/** Read an open source, once: where a look leaves a doubt, in->graph says so. */
int strait_import_source(struct strait_import *in, struct strait_source *s,
                         const struct strait_import_format *format, bool is_look,
                         struct strait_error *err);
void strait_import_release(struct strait_import *in);
/** Read a file for its graph alone, finished.
 *  Returns: 0, or -1 with *err, also if it has none */
int strait_import_graph(struct strait_program **out, const char *path, struct strait_error *err);
/** Set the model that stands beside a graph: one value, no times.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_import_stand_in(struct strait_model **out, const char *path, struct strait_error *err);

/* For readers. */
/** Begin the graph. 0, or -1 with *err NOMEM */
int strait_import_graph_begin(struct strait_import *in, int n_ranks, struct strait_error *err);
void strait_import_fact(struct strait_import *in, const char *name, json_t *value_taken);
void strait_import_inferred(struct strait_import *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strait_import_missing(struct strait_import *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
