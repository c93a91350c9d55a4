/* For who looks on: what the keeper reads of the links anyway, left in the shared memory. */
#pragma once
#include "emu/process/shared.h"

/** In the keeper: leave a reading. */
void strait_emu_live_put(struct strait_emu_shared *s, const struct strait_emu_relay_report *r);
/** In the caller: call run->watch with what is known now.
 *  In:      links  room for s->n_links
 */
void strait_emu_live_show(const struct strait_run *run, struct strait_emu_shared *s,
                          struct strait_live_link *links);
