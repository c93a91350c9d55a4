/* Recorded tensors and their manifest: parameters, gradients and updates of real training. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"
#include "traces/models/model.h"

struct strait_recording {
    char model[64];
    char layer[128]; /* layer and parameter: "blocks.0.qkv.weight" */
    char kind[16];   /* "param", "grad" or "update" */
    long step;
    char file[256]; /* inside the folder */
    unsigned n_dims;
    size_t shape[STRAIT_MAX_DIMS];
    size_t n_elems;
    /* From the manifest, for information; nothing is computed from these. */
    double min, max, rms;
    size_t n_zeros;
    const float *values; /* n_elems of them, mapped read-only: pages load on first access */
};

struct strait_tensors {
    char *folder;
    struct strait_recording *recordings; /* in the manifest's order */
    size_t n_recordings;
};

/** Open a folder of raw little-endian float32 files with its manifest.json. Checks the size of
 *  every file against its shape; reads no values yet.
 *  In:      folder  NULL: the shipped set
 *  Returns: 0, or -1 with *err: INPUT naming the JSON Pointer in the manifest or the file, SYSTEM
 *           when a file cannot be mapped */
int strait_tensors_load(struct strait_tensors **out, const char *folder, struct strait_error *err);
void strait_tensors_free(struct strait_tensors *t);

/** The recording of exactly this tensor at this step, or NULL. Negative step: the last one. */
const struct strait_recording *strait_tensors_find(const struct strait_tensors *t,
                                                   const char *model, const char *layer,
                                                   const char *kind, long step);

/** Whether no value is infinite or NaN. Reads the whole tensor. */
bool strait_recording_is_finite(const struct strait_recording *r);
