/* What `strait codec`, `strait list codecs` and `strait calibrate` share: how codecs are shown,
 * which settings and tensors are measured, and what one tensor costs. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "codecs/spec.h"
#include "traces/tensors.h"
#include "cli/options.h"

/* The subcommands of `strait codec`; argv[0] is theirs. */
int strait_codec_list_command(int argc, char **argv);
int strait_codec_bench_command(int argc, char **argv);
int strait_codec_encode_command(int argc, char **argv);
int strait_codec_decode_command(int argc, char **argv);

/* --- codec_list.c */

/** Everything that is to be said of each codec: an object each, appended to `out`. */
int strait_codec_rows(json_t *out, struct strait_error *err);
/** These rows as a table of at most 120 columns on stdout. */
void strait_codec_rows_print(const json_t *rows);

/* --- codec_cases.c: which settings are measured */

struct strait_codec_cases {
    struct strait_codec_spec *items;
    size_t n, cap;
};

/** What a bounded codec is measured at where nobody named a bound. */
struct strait_bound_grid {
    enum strait_bound_kind kind;
    const double *values;
    size_t n;
};

/** The settings to measure: `texts` (spec.h), or every codec that can be used here where there are
 *  none. A bounded codec without a bound is measured at the points of those grids whose kind it
 *  keeps; of the first such grid alone where `first_only`.
 *  Returns: 0, or -1 with *err INPUT, or HOST naming a codec that was asked for and cannot be used
 */
int strait_codec_cases_fill(struct strait_codec_cases *cases, const struct strait_texts *texts,
                            const struct strait_bound_grid *grids, size_t n_grids, bool first_only,
                            struct strait_error *err);
int strait_codec_cases_add(struct strait_codec_cases *cases, const struct strait_codec_spec *spec,
                           struct strait_error *err);
void strait_codec_cases_release(struct strait_codec_cases *cases);
/** Where nobody asked for codecs by name, say on stderr which ones could not be used. */
void strait_codec_cases_left_out(const struct strait_texts *texts);
/** 0, or -1 with *err HOST when this codec cannot be used here. */
int strait_codec_require(const struct strait_codec_ops *ops, struct strait_error *err);
/** Whether encode needs a bound. */
bool strait_codec_needs_bound(const struct strait_codec_ops *ops);

/* --- tensor_set.c: which tensors are measured */

struct strait_set_tensor {
    const char *name; /* of its file */
    const char *kind; /* "param", "update", "grad", or "any" for files of unknown kind */
    const float *x;
    size_t n_elems, n_rows;
    unsigned n_dims;
};
struct strait_tensor_set {
    struct strait_set_tensor *items;
    size_t n;
    struct strait_tensors *recorded; /* whose values the items borrow, or NULL */
    float **owned;                   /* else n_loaded of them */
    size_t n_loaded;
};

/** Files of the user's, or the recorded tensors where there are none.
 *  In:      kind_word  "weights", "updates", "gradients": what the files hold, or which of the
 *                      recorded ones are taken; NULL: unknown, all
 *  Returns: 0, or -1 with *err */
int strait_tensor_set_load(struct strait_tensor_set *set, const char *const *paths, size_t n_paths,
                           const char *kind_word, struct strait_error *err);
void strait_tensor_set_release(struct strait_tensor_set *set);
/** "weights" of "param", and so on; "all" of "any". */
const char *strait_tensor_kind_word(const char *kind);

/* --- codec_trial.c: what one tensor costs */

struct strait_trial {
    size_t n_tensors;
    double raw_bytes, encoded_bytes;
    double encode_s, decode_s; /* medians, summed over tensors */
    double error_over_bound;   /* the largest; NAN where there is no bound to hold it against */
    double error_squares, squares;
    bool exact; /* every bit came back */
};

/** Encode and decode one tensor n_repeats times. Sizes and errors are those of the first encode;
 *  times leave it out where there are more.
 *  In/out:  bytes  at least ops->max_bytes(state, n_elems); afterwards the last encoding
 *           y      float32[n_elems]
 *  In:      state  open; of this tensor alone where the codec is STATEFUL */
int strait_trial_run(struct strait_trial *trial, const struct strait_codec_spec *spec, void *state,
                     unsigned char *bytes, float *y, const struct strait_set_tensor *t,
                     uint64_t key, unsigned n_repeats, struct strait_error *err);
void strait_trial_add(struct strait_trial *sum, const struct strait_trial *trial);
double strait_trial_ratio(const struct strait_trial *trial);
double strait_trial_l2_error(const struct strait_trial *trial);
/** 0, or -1 with *err BACKEND when a bound was not kept, or a lossless codec changed something. */
int strait_trial_check(const struct strait_trial *trial, const struct strait_codec_spec *spec,
                       struct strait_error *err);
