/* Error bounds tensor by tensor, from a file that `strait sensitivity` writes:
 *     {"schema": "strait-bounds/1", "kind": "rms", "tensors": {"fc1.weight": 0.02, ...}}
 * A tensor that it does not name keeps the codec's bound. */
#pragma once
#include <jansson.h>
#include "codecs/codec.h"
#include "core/error.h"
#include "traces/models/model.h"

/** Read a file for a model.
 *  Out:     out   double[m->n_rows], NAN for tensors that the file does not name; the caller frees
 *           kind  of the bounds
 *  In:      where in the experiment the file is named, for errors
 *  Returns: 0, or -1 with *err INPUT naming the file and the tensor */
int strait_tensor_bounds_load(double **out, enum strait_bound_kind *kind, const char *path,
                              const struct strait_model *m, const char *where,
                              struct strait_error *err);
/** Write such a file; bounds that are NAN are left out. In: record: how they were found, stored as
 *  "found" (borrowed; NULL: none). 0, or -1 with *err. */
int strait_tensor_bounds_save(const char *path, const double *bounds, enum strait_bound_kind kind,
                              const struct strait_model *m, json_t *record,
                              struct strait_error *err);
/** "fc1.weight" */
const char *strait_tensor_name(char name[192], const struct strait_param_row *row);
