/* The header that a session writes before its rows. Of session.c alone. */
#pragma once
#include "session_state.h"

/** Whether the folder's last header announced the same rows. */
bool strait_session_is_announced(const struct strait_session *r);
/** Write the header.
 *  In:      constants  by their hashes; NULL: none yet
 *  Returns: 0, or -1 with *err */
int strait_session_begin(struct strait_session *r, const json_t *constants,
                         struct strait_error *err);
