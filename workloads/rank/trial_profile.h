/* Inside this room: what a point takes from its profiles when it is prepared. */
#pragma once
#include "trial.h"

/** Fill the costs of both codecs, of their lossless ones and of memory; check those of all bounds
 *  that the strategy may use.
 *  Returns: 0, or -1 with *err INPUT when a profile has no entry */
int strait_trial_find_costs(struct strait_trial *p, struct strait_error *err);
/** Is it the codec `none`? */
bool strait_trial_is_none(const struct strait_codec_spec *spec);
