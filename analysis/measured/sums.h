/* What a codec costs and saves in an all-reduce whose every hop encodes a partial sum. */
#pragma once
#include "codecs/profile/profile.h"
#include "workloads/ask/experiment.h"

enum { STRAIT_MAX_SUM_ENTRIES = 20 };

/** Pass pieces of the model on from rank to rank with held-out recordings: every hop decodes a
 *  piece, adds its rank's own and encodes the sum. Which sums of which pieces count how often says
 *  the experiment's collective (sums_sent.h). Of large models or many ranks only some pieces.
 *  Out:     entries  ratio: of all that is sent; encode and decode: raw bytes of a piece by its
 *                    typical time, in a rank that does nothing else. The first is of all sums, the
 *                    others are of those of 1, 2, 4, ... and all ranks, as far as these are sent
 *           n        of them; 0: the codec takes none of the tensors
 *  In:      kind     of each rank's own values
 *  Returns: 0, or -1 with *err
 *  Cost:    up to about 128 MiB encoded, and a few seconds of readings */
int strait_sums_measure(struct strait_profile_entry entries[STRAIT_MAX_SUM_ENTRIES], int *n,
                        const struct strait_experiment *e, const char *kind,
                        struct strait_error *err);
