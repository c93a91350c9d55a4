/* Build a model row by row: for the layer-table reader and the architectures. */
#pragma once
#include "model.h"

struct strait_builder {
    struct strait_model *m; /* owned until strait_build_finish takes it */
    size_t cap_rows, cap_layers;
    bool failed; /* memory ran out; finish reports it */
};

/** Begin with an empty model. */
void strait_build_init(struct strait_builder *b, const char *name);
/** Free an unfinished model; does nothing after a successful finish. */
void strait_build_release(struct strait_builder *b);
/** Begin a layer; the parameters added next belong to it. NULL when memory runs out. */
struct strait_layer *strait_build_layer(struct strait_builder *b, const char *name,
                                        const char *type, double fwd_flop_per_sample);
/** Add a parameter to the last layer; name and type of the layer are set. NULL when memory runs
 *  out. */
struct strait_param_row *strait_build_param(struct strait_builder *b, const char *param,
                                            unsigned n_dims, const size_t *shape);
/** Sum layers and rows, guess the family, and hand the model over. Needs at least one row.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_build_finish(struct strait_model **out, struct strait_builder *b,
                        struct strait_error *err);

/** Divide an iteration's forward and backward time among the layers by their FLOPs; gradients
 *  become ready layer after layer from the last to the first. p90 = p50: no jitter. */
void strait_model_spread_times(struct strait_model *m, double fwd_s, double bwd_s);
/** Replace the text that says where the shapes come from. */
int strait_model_set_source(struct strait_model *m, const char *source, struct strait_error *err);
/** Product of the dimensions; false on overflow (of elements or of their bytes), on a dimension of
 *  0, or if there are too many dimensions. */
bool strait_shape_elems(size_t *n_elems, const size_t *shape, size_t n_dims);
