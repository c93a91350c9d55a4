/* Putting a model together, row by row: for the layer-table reader and the architectures. */
#pragma once
#include "model.h"

struct strait_builder {
    struct strait_model *m; /* owned until strait_build_finish takes it */
    size_t cap_rows, cap_layers;
    bool failed; /* memory ran out; finish reports it */
};

/** Begin with an empty model. */
void strait_build_init(struct strait_builder *b, const char *name);
/** Drop what was built; nothing after a successful finish. */
void strait_build_release(struct strait_builder *b);
/** Begin a layer; the parameters that follow belong to it. NULL without memory. */
struct strait_layer *strait_build_layer(struct strait_builder *b, const char *name,
                                        const char *type, double fwd_flop_per_sample);
/** A parameter of the last layer. NULL without memory; the layer's name and type are set. */
struct strait_param_row *strait_build_param(struct strait_builder *b, const char *param,
                                            unsigned n_dims, const size_t *shape);
/** Sum layers and rows up, guess the family, and hand the model over. At least one row.
 *  Returns: 0, or -1 with *err NOMEM */
int strait_build_finish(struct strait_model **out, struct strait_builder *b,
                        struct strait_error *err);

/** Share an iteration's forward and backward time out over the layers by their FLOPs; gradients
 *  become ready one layer after another from the last to the first. p90 = p50: nothing jitters. */
void strait_model_spread_times(struct strait_model *m, double fwd_s, double bwd_s);
/** Replace a sentence of the model. */
int strait_model_set_source(struct strait_model *m, const char *source, struct strait_error *err);
/** Product of the dimensions; false on overflow (of elements or of their bytes), on 0, or on more
 *  dimensions than fit. */
bool strait_shape_elems(size_t *n_elems, const size_t *shape, size_t n_dims);
