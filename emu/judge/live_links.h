/* For the live view: the supervisor's periodic reading of the links, kept in shared memory. */
#pragma once
#include "emu/process/shared.h"

/** In the supervisor: store a reading. */
void strait_emu_live_put(struct strait_emu_shared *s, const struct strait_emu_relay_report *r);
/** In the caller: call run->watch with the latest state.
 *  In:      links  room for s->n_links */
void strait_emu_live_show(const struct strait_run *run, struct strait_emu_shared *s,
                          struct strait_live_link *links);
