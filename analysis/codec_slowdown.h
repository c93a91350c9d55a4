/* Did codecs take more processor time than on the same machine when it was calibrated? */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "workloads/rank/log.h"

/** Compare what all ranks were charged for encoding and decoding with what their calibration says.
 *  Out:     text  why it is to be flagged: more than 5 % above; untouched else
 *  In:      charged, calibrated  n_ranks logs each, of the same rounds
 *  Returns: whether it is
 */
bool strait_inflation_text(char *text, size_t cap, const struct strait_log *charged,
                           const struct strait_log *calibrated, int n_ranks);
