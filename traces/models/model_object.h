/* A model by a few figures in place of a layer table: "model" of an experiment as an object. */
#pragma once
#include "model.h"
#include "core/json.h"

/** Read and close an object with one of (docs/layer-table.md)
 *  - name    a shipped model or a layer table; `batch`, `step` or `rate` replace its own
 *  - config  a Hugging Face config.json (hf_config.h), with `tokens` a sample, `batch`, and `step`
 *            or `rate`
 *  - params  the number of parameters (inferred.h), with `layers`, `vocabulary`, `batch`, and
 *            `step`, or `rate` with `flops` or `tokens` of a step
 *  Returns: 0, or -1 with *err INPUT naming the key */
int strait_model_object_load(struct strait_model **out, struct strait_object *o,
                             struct strait_error *err);
/** Load a model by its name or path, as "model" of an experiment; errors about the name are placed
 *  at `where`, those in a line of the file at that line. */
int strait_model_name_load(struct strait_model **out, const char *name, const char *where,
                           struct strait_error *err);

/** A model as the text of a layer table, which reads back as the same shapes, times (to a
 *  picosecond) and order; FLOPs and an iteration's time outside of layers have no place in it.
 *  Returns: text to be freed, or NULL when memory runs out */
char *strait_model_table_text(const struct strait_model *m);
