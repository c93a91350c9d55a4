/* Whether codecs took more processor time in a run than when this machine was calibrated. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "workloads/rank/log.h"

/** Compare the time charged to all ranks for encoding and decoding with their calibrated time.
 *  Out:     text  the flag's text if it is more than 5 % above; else unchanged
 *  In:      charged, calibrated  n_ranks logs each, of the same rounds
 *  Returns: whether text was written */
bool strait_codec_slowdown_text(char *text, size_t cap, const struct strait_log *charged,
                                const struct strait_log *calibrated, int n_ranks);
