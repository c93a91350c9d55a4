/* Names in experiments: of networks, machines and software (each a file with constants and their
 * sources), and of strategies. */
#pragma once
#include <jansson.h>
#include "core/json.h"

/** Load the file of a "machine", "network", "software" or "region" by its name or path, and open
 *  its object; its schema and title are read.
 *  Out:     path   of the file
 *  In:      file, key  of the experiment, for errors
 *  Returns: new reference, or NULL with *err INPUT */
json_t *strait_named_load(struct strait_object *o, char path[4096], const char *kind,
                          const char *name, const char *file, const char *key,
                          struct strait_error *err);
/** Put a named network and a named machine into an experiment: "network": "NAME" becomes the
 *  network of experiments/networks/NAME.json, and "device": "NAME" or {"name": "NAME", ...} gets
 *  what it does not say itself from experiments/machines/NAME.json. "software": "NAME+NAME" gets
 *  the constants of traces/software/NAME.json, and where each of them was estimated. A name with a
 *  / or a . is a path. "strategy": "NAME" becomes {"name": "NAME"}, and a codec's short form its
 *  long one (codec_choice.h); regions become sites (regions.h). Twice is the same as once.
 *  Returns: 0, or -1 with *err INPUT, which names the experiment's file and the place */
int strait_named_expand(json_t *experiment, const char *file, struct strait_error *err);
