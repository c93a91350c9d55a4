/* Traces of other tools: their formats, and reading a file of any of them. */
#pragma once
#include "imported.h"

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
