/* Reader of the layer table (docs/layer-table.md) and of the table of iterations beside it. */
#pragma once
#include "model.h"

#define STRAIT_LAYER_CSV_HEADER                                                                    \
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"          \
    "ready_us_p50,ready_us_p90,ready_order"
#define STRAIT_ITERS_CSV_HEADER "iter,fwd_us,bwd_us,opt_us"

/** Read a layer table into a model with timing USER_TABLE; fwd_s and bwd_s are the sums over its
 *  layers, or the medians of the iterations file that it names.
 *  Returns: 0, or -1 with *err INPUT naming file and line */
int strait_layer_csv_load(struct strait_model **out, const char *path, struct strait_error *err);

/** Replace fwd_s, bwd_s and opt_s by the medians of a table of iterations.
 *  Out:     n_iters  rows of the table; may be NULL */
int strait_iters_csv_load(struct strait_model *m, size_t *n_iters, const char *path,
                          struct strait_error *err);
