/* What the keys that an offloaded cache keeps would find, on a small transformer: for the rows. */
#pragma once
#include <jansson.h>
#include "workloads/ask/strategy.h"

enum kv_keys { KV_LOW_RANK, KV_QUANTISED }; /* of the parameter "keys" */

/** A share of the keys' bytes must be whole bits where keys are quantised.
 *  Returns: 0, or -1 with *err INPUT */
int kv_check_keys(const struct strait_experiment *e, struct strait_error *err);
/** {"recall", "attention_error", "attention_error_of_true", "of"} of the top-k tokens that
 *  approximate keys choose, with the run's shares of tokens, directions and bits.
 *  Out:     out  a new reference
 *  Returns: 0, or -1 with *err: the recorded tensors cannot be read, or NOMEM */
int kv_approximate_quality(json_t **out, const struct strait_experiment *e,
                           struct strait_error *err);
/** The same of a whole cache: all is found, without error. */
int kv_full_quality(json_t **out, const struct strait_experiment *e, struct strait_error *err);
