/* Common to `strait codec`, `strait list codecs` and `strait calibrate`: showing codecs, choosing
 * settings and tensors to measure, and measuring one tensor. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "codecs/spec.h"
#include "traces/tensors.h"
#include "cli/kit/options.h"

/* The subcommands of `strait codec`; argv[0] is the subcommand. */
int strait_codec_list_command(int argc, char **argv);
int strait_codec_bench_command(int argc, char **argv);
int strait_codec_encode_command(int argc, char **argv);
int strait_codec_decode_command(int argc, char **argv);

/* --- codec_list.c */

/** Append an object for each codec, with all its properties, to `out`. */
int strait_codec_rows(json_t *out, struct strait_error *err);
/** Print these rows as a table of at most 120 columns on stdout. */
void strait_codec_rows_print(const json_t *rows);
void strait_codec_row_print(const json_t *row);

/* --- codec_cases.c: settings to measure */

struct strait_codec_cases {
    struct strait_codec_spec *items;
    size_t n, cap;
};

/** The bounds at which a codec is measured if the user names none. */
struct strait_bound_grid {
    enum strait_bound_kind kind;
    const double *values;
    size_t n;
};

/** The settings to measure: `texts` (spec.h), or if empty every available codec. A bounded codec
 *  without a bound is measured at all points of the grids whose kind it supports.
 *  Returns: 0, or -1 with *err INPUT, or HOST naming a requested codec that is unavailable */
int strait_codec_cases_fill(struct strait_codec_cases *cases, const struct strait_texts *texts,
                            const struct strait_bound_grid *grids, size_t n_grids,
                            struct strait_error *err);
int strait_codec_cases_add(struct strait_codec_cases *cases, const struct strait_codec_spec *spec,
                           struct strait_error *err);
void strait_codec_cases_release(struct strait_codec_cases *cases);
/** If the user named no codecs, print on stderr which ones are unavailable. */
void strait_codec_cases_left_out(const struct strait_texts *texts);
/** 0, or -1 with *err HOST if this codec is unavailable. */
int strait_codec_require(const struct strait_codec_ops *ops, struct strait_error *err);
/** Whether encode needs a bound. */
bool strait_codec_needs_bound(const struct strait_codec_ops *ops);

/* --- tensor_set.c: tensors to measure */

struct strait_set_tensor {
    const char *name; /* file name */
    const char *kind; /* "param", "update", "grad", or "any" if unknown */
    const float *x;
    size_t n_elems, n_rows;
    unsigned n_dims;
};
struct strait_tensor_set {
    struct strait_set_tensor *items;
    size_t n;
    struct strait_tensors *recorded; /* source of the values, or NULL */
    float **owned;                   /* otherwise n_loaded owned arrays */
    size_t n_loaded;
};

/** Load the user's files, or those of one folder with a manifest.json, or the recorded tensors if
 *  there are none.
 *  In:      kind_word  "weights", "updates", "gradients": kind of the files, or of the recorded
 *           tensors to take;
 *                      NULL: unknown, all
 *  Returns: 0, or -1 with *err */
int strait_tensor_set_load(struct strait_tensor_set *set, const char *const *paths, size_t n_paths,
                           const char *kind_word, struct strait_error *err);
void strait_tensor_set_release(struct strait_tensor_set *set);
/** "weights" for "param", and so on; "all" for "any". */
const char *strait_tensor_kind_word(const char *kind);

/* --- codec_trial.c: measuring one tensor */

struct strait_codec_trial {
    size_t n_tensors;
    double raw_bytes, encoded_bytes;
    double encode_s, decode_s; /* medians, summed over tensors */
    double error_over_bound;   /* the largest; NAN without a bound */
    double error_squares, squares;
    bool exact; /* every bit was restored */
};

/** Encode and decode one tensor n_repeats times. Sizes and errors are of the first encode; times
 *  are of the others, if there are any.
 *  In/out:  bytes  at least ops->max_bytes(state, n_elems); afterwards the last encoding
 *           y      float32[n_elems]
 *  In:      state  open; for this tensor only if the codec is STATEFUL */
int strait_codec_trial_run(struct strait_codec_trial *trial, const struct strait_codec_spec *spec,
                           void *state, unsigned char *bytes, float *y,
                           const struct strait_set_tensor *t, uint64_t key, unsigned n_repeats,
                           struct strait_error *err);
void strait_codec_trial_add(struct strait_codec_trial *sum, const struct strait_codec_trial *trial);
double strait_codec_trial_ratio(const struct strait_codec_trial *trial);
double strait_codec_trial_l2_error(const struct strait_codec_trial *trial);
/** 0, or -1 with *err BACKEND if a bound was exceeded or a lossless codec changed a value. */
int strait_codec_trial_check(const struct strait_codec_trial *trial,
                             const struct strait_codec_spec *spec, struct strait_error *err);
