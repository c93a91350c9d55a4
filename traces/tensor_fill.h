/* Choose which recorded tensors stand for a model's parameters, so that codecs run on real data. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "traces/models/model.h"
#include "tensors.h"

/* Two disjoint sets of files: a codec is calibrated on one and judged on the other. */
enum strait_tensor_fill_set {
    STRAIT_FILL_SENT,    /* the last recorded step of each layer */
    STRAIT_FILL_HELD_OUT /* files not in SENT: the nearest other step, else other tensors */
};

/* Classes of parameters that are tiled separately: a bias cannot stand for a matrix, and the rows
 * of an embedding or of a vocabulary-wide head differ from a layer's weights. */
enum strait_tensor_fill_class {
    STRAIT_FILL_VECTOR, /* one dimension (or none) */
    STRAIT_FILL_INNER,  /* weights of linear and convolutional layers */
    STRAIT_FILL_TABLE,  /* two dimensions, the first above 8 times the second */
    STRAIT_FILL_N_CLASSES
};

struct strait_tensor_fill_source {
    const struct strait_recording *recording;
    double scale; /* brings it to the value range of its pool's first; exactly 1 if alone */
};

/* Recordings laid end to end and repeated endlessly. */
struct strait_tensor_fill_pool {
    struct strait_tensor_fill_source *sources;
    size_t n_sources, n_elems;
};

struct strait_tensor_fill_row {
    const struct strait_recording *recorded; /* the recording of this very tensor, or NULL */
    const struct strait_tensor_fill_pool *tiled_from; /* else: the pool of its class */
    size_t n_elems;
};

struct strait_tensor_fill_plan {
    char model[64], kind[16];
    enum strait_tensor_fill_set set;
    struct strait_tensor_fill_row *rows; /* n_rows, as the rows of the model */
    size_t n_rows;
    struct strait_tensor_fill_pool pools[STRAIT_FILL_N_CLASSES]; /* empty if no row needs it */
    size_t recorded_bytes, tiled_bytes;
};

/** Decide for every row of `m` which recordings fill it with data of `kind`.
 *
 *  Rule. A row whose model, layer, kind and shape were recorded uses that file unchanged: the same
 *  values on every rank. Every other row is tiled from recordings of its class, from the first of
 *  these that has any: the same model and kind; there, the other class of matrices; for updates,
 *  gradients of the same model; then the same three in the other recorded models, the nearest
 *  family first (attention: gpt; convolutional: resnet); finally any kind. A model that was not
 *  recorded begins with the nearest family. One step is used of each layer: for SENT the last; for
 *  HELD_OUT the nearest to it (in the logarithm of the step) among the files that the SENT plan of
 *  the same model and kind does not use.
 *
 *  Recordings in a pool are scaled to one value range, so that a bound relative to the range of the
 *  tiled tensor means for each part what it meant for the recording. Each tiled row starts at its
 *  own offset (which depends on the rank), and every repetition is scaled by its own factor in
 *  (255/256, 1], so that no lossless stage finds matches that real training would not have.
 *
 *  How close the sets are: under sz at 1e-3 of the range, bits a value of HELD_OUT over SENT were
 *  measured as 1.04 (cnn), 0.97 (resnet), 1.01 (gpt) and 0.99 (gpt2-small) for updates, 1.06, 1.00,
 *  1.00 and 1.00 for parameters. cnn differs because it still changes between its steps 150 and
 *  390. Gradients of embeddings are the exception: both recorded ones are in SENT, and the matrices
 *  that stand for them in HELD_OUT need 1.5 times the bits.
 *
 *  In:      t     must outlive the plan
 *           kind  "param", "grad" or "update"
 *  Returns: 0, or -1 with *err INPUT when no recording of a class is left */
int strait_tensor_fill_plan_new(struct strait_tensor_fill_plan **out, const struct strait_model *m,
                                const struct strait_tensors *t, const char *kind,
                                enum strait_tensor_fill_set set, struct strait_error *err);
void strait_tensor_fill_plan_free(struct strait_tensor_fill_plan *p);

/** Fill elements [first, first + n_elems) of a row for one rank. The same arguments give the same
 *  values, and a row may be filled in parts.
 *  Cost:    O(n_elems), no allocation */
void strait_tensor_fill_row(float *out, size_t n_elems, const struct strait_tensor_fill_plan *p,
                            size_t row, size_t first, unsigned rank);

/** Share of the bytes that are exactly recorded; the rest is tiled. */
double strait_tensor_fill_recorded_ratio(const struct strait_tensor_fill_plan *p);
/** Whether any element comes from this recording. */
bool strait_tensor_fill_uses(const struct strait_tensor_fill_plan *p,
                             const struct strait_recording *r);
/** The class of a tensor, by its shape. */
enum strait_tensor_fill_class strait_tensor_fill_class(unsigned n_dims, const size_t *shape);
