/* A model as its table of parameters: shapes, compute times and the order in which gradients are
 * ready. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_MAX_DIMS = 8 };

enum strait_timing {
    STRAIT_TIMING_RECORDED,     /* measured by our own hooks, on the device that the model names */
    STRAIT_TIMING_STATED_FLOPS, /* operations of the layers at a stated device rate */
    STRAIT_TIMING_PUBLISHED,    /* a published single-device throughput, divided by FLOPs */
    STRAIT_TIMING_USER_TABLE,   /* as in the user's table */
    STRAIT_TIMING_STATED_STEP   /* the user's time of a step, divided among the layers */
};

enum strait_family { STRAIT_FAMILY_ATTENTION, STRAIT_FAMILY_CONVOLUTIONAL, STRAIT_FAMILY_OTHER };

/* One parameter tensor, in the order of the forward pass. The times are those of its layer,
 * repeated for each of its parameters: sum over layers, never over rows. */
struct strait_param_row {
    char layer[96], param[32], type[32]; /* "blocks.0.qkv", "weight", "Linear" */
    size_t layer_index;
    unsigned n_dims;
    size_t shape[STRAIT_MAX_DIMS];
    size_t n_elems;
    double fwd_s_p50, fwd_s_p90, bwd_s_p50, bwd_s_p90; /* of one iteration, the whole batch */
    double ready_s_p50, ready_s_p90; /* from the start of backward until the gradient is ready */
    size_t ready_order;              /* 0 is first; a permutation of 0..n_rows-1 */
};

/* Consecutive rows with the same layer name. */
struct strait_layer {
    size_t first_row, n_rows, n_elems;
    double fwd_s_p50, fwd_s_p90, bwd_s_p50, bwd_s_p90;
    double ready_s_p50;         /* when the layer's last gradient is ready */
    double fwd_flop_per_sample; /* 2 x multiply-adds; 0 where the table does not say */
};

struct strait_model {
    char name[64];
    char *source; /* where the shapes come from */
    enum strait_timing timing;
    char timing_source[256]; /* describes where the compute times come from */
    char inferred[160];      /* what of the layers was not known but inferred; "" */
    char device[64];         /* the device of these times: "one CPU core ...", "NVIDIA V100" */
    bool on_cpu;             /* computes on CPU cores and so competes with codecs */
    enum strait_family family;
    unsigned batch; /* samples an iteration; 0: unknown */

    struct strait_param_row *rows;
    size_t n_rows;
    struct strait_layer *layers;
    size_t n_layers;
    size_t n_elems; /* all parameters; 4 bytes each */

    /* One iteration. If iterations were recorded: the medians of their totals, which include work
     * that belongs to no layer; else the sums over the layers. */
    double fwd_s, bwd_s, opt_s;
    double fwd_flop_per_sample; /* 0: unknown */
    double device_flop_per_s;   /* the rate behind the times; 0 if they do not come from FLOPs */
};

/** Load a shipped model by name, or a layer table (docs/layer-table.md) by path: a path has a
 *  slash or ends in ".csv".
 *  Out:     out   free with strait_model_free
 *  Returns: 0, or -1 with *err: INPUT naming file and line, or the nearest known name */
int strait_model_load(struct strait_model **out, const char *name_or_path,
                      struct strait_error *err);
/** A model of its own that is the same. NULL when memory ran out. */
struct strait_model *strait_model_copy(const struct strait_model *m);
void strait_model_free(struct strait_model *m);

/** Names of the shipped models, NULL-terminated, n of them: recorded ones first. */
const char *const *strait_model_names(size_t *n);

/** Scale all times to a device of `flop_per_s` (sustained, a multiply-add counts as two) and say so
 *  in timing_source. The optimiser's time is scaled too.
 *  Returns: 0, or -1 with *err INPUT if the table has no FLOPs (recorded models) or the rate is not
 *           a finite number above 0 */
int strait_model_set_device_rate(struct strait_model *m, double flop_per_s,
                                 struct strait_error *err);

/** Scale all times so that an iteration takes `step_s`, and say so in timing_source.
 *  Returns: 0, or -1 with *err INPUT if the table's times are all 0 */
int strait_model_set_step(struct strait_model *m, double step_s, struct strait_error *err);
/** Scale forward and backward to `batch` samples an iteration, at the same samples a second; the
 *  optimiser's time stays.
 *  Returns: 0, or -1 with *err INPUT if the table does not say its batch */
int strait_model_set_batch(struct strait_model *m, unsigned batch, struct strait_error *err);

/** Time of one iteration: forward, backward and optimiser. */
double strait_model_step_s(const struct strait_model *m);
/** "recorded", "stated FLOPs", "published throughput", "user's table",
 *  "stated step". */
const char *strait_timing_name(enum strait_timing timing);
/** Path of a shipped file below traces/. Returns: buf */
const char *strait_traces_path(char *buf, size_t cap, const char *relative);
