/* The profile of a results folder, which --on both measures on this machine and extends. */
#pragma once
#include "session_state.h"

/** r->profile: what an earlier run in this folder measured on this machine with this program,
 *  unless --fresh, and what that lacks for the sweep; r->calibrated_now where anything was
 *  measured. Entries for a model whose table or recordings have changed since are measured again.
 *  0, or -1 with *err. */
int strait_own_profile_choose(struct strait_session *r, struct strait_error *err);
/** Write it as profile.json. Returns: the record for the store, new, or NULL with *err */
json_t *strait_own_profile_save(const struct strait_session *r, struct strait_error *err);
