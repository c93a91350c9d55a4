/* Before anything is emulated: what the network costs this machine, how slow the points must
 * therefore be, and how long that takes. */
#pragma once
#include "session.h"

/** Measure what the emulated points among r->missing need and r->store lacks, half a second for
 *  each network and count of ranks; say on stderr what follows from it.
 *  Returns: 0, or -1 with *err: INPUT or HOST when a point cannot be at its dilation */
int strait_pace_find(struct strait_session *r, struct strait_error *err);
