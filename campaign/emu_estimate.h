/* Before emulating: measure what the network costs this machine, and derive the dilation and the
 * duration. */
#pragma once
#include "session_state.h"

/** Measure the costs that the emulated points among r->missing need and r->store lacks, half a
 *  second for each network and number of ranks; print on stderr what follows from them.
 *  Returns: 0, or -1 with *err: INPUT or HOST when a point is impossible at its dilation */
int strait_emu_estimate_find(struct strait_session *r, struct strait_error *err);
