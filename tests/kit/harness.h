/* An experiment as text, run on a backend, and the values recorded for it: what the tests of
 * strategies share. */
#pragma once
#include <jansson.h>
#include "workloads/rank/trial.h"
#include "workloads/rank/rank.h"

struct strait_outcome {
    struct strait_experiment *experiment;
    struct strait_profile *profile;
    struct strait_trial *point;
    double total_s;         /* end of rank 0's last round */
    uint64_t payload_bytes; /* sent by all ranks */
    uint64_t n_messages;
};

/** Read the text, with settings {"/pointer": value} put in, and run it. profile: shipped name.
 *  Asserts success; free with strait_outcome_free. */
struct strait_outcome strait_outcome_of(const char *text, json_t *settings, const char *profile,
                                        const struct strait_backend *backend,
                                        struct strait_trial_options options);
void strait_outcome_free(struct strait_outcome *o);

/** Recorded values of a kind on a rank, all of the model: out[n_elems]. */
void strait_recorded(float *out, const struct strait_trial *p, enum strait_tensor_kind kind,
                     int rank);
