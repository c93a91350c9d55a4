/* Quality of an offloaded cache's approximate keys, measured on a small transformer, for the
 * rows. */
#pragma once
#include <jansson.h>
#include "workloads/ask/strategy.h"

enum kv_keys { KV_LOW_RANK, KV_QUANTISED }; /* values of the parameter "keys" */

/** Check that quantised keys' share of bytes is a whole number of bits.
 *  Returns: 0, or -1 with *err INPUT */
int kv_check_keys(const struct strait_experiment *e, struct strait_error *err);
/** {"recall", "attention_error", "attention_error_of_true", "of"} for the top-k tokens that
 *  approximate keys choose, with the run's shares of tokens, directions and bits.
 *  Out:     out  a new reference
 *  Returns: 0, or -1 with *err: the recorded tensors cannot be read, or NOMEM */
int kv_approximate_quality(json_t **out, const struct strait_experiment *e,
                           struct strait_error *err);
/** The same for a whole cache: everything is found, without error. */
int kv_full_quality(json_t **out, const struct strait_experiment *e, struct strait_error *err);
