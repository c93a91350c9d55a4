/* Inside this room: make a layer table of formats that have one size and some times a layer. */
#pragma once
#include "imported.h"
#include "traces/models/model_build.h"

/* A layer with one parameter. */
struct strait_plain_layer {
    char name[64], type[32];
    double n_elems, fwd_s, bwd_s;
};

struct strait_plain_layers {
    struct strait_plain_layer *items;
    size_t n, cap;
};

/** Append one. False when memory runs out. */
bool strait_plain_layers_add(struct strait_plain_layers *l, const struct strait_plain_layer *one);
/** Make them in->model: gradients become ready from the last layer to the first, as their backward
 *  passes end one after another.
 *  Returns: 0, or -1 with *err */
int strait_plain_layers_finish(struct strait_plain_layers *l, struct strait_import *in,
                               const char *timing, const char *device, struct strait_error *err);
