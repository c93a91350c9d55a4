/* One parameter tensor, in the order of the forward pass; layers are numbered as in a model's
 * table. */
#pragma once
#include <stddef.h>

struct strait_learn_param {
    const char *layer, *param, *type; /* "conv1", "weight", "Conv2d" */
    unsigned n_dims;
    size_t shape[8], n_elems;
    size_t first;       /* its first element in the flattened model */
    size_t layer_index; /* 0 for all parameters of the first layer */
};
