/* Detects that a run can never end: all lanes wait for messages and none is under way. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "core/error.h"
#include "emu/process/shared.h"

struct strait_emu_watch {
    bool still;    /* nothing could move at the last check */
    uint64_t mark; /* progress counter at that check */
};

/** Check; call a few times a second.
 *  Returns: 0, or -1 with *err BACKEND "rank 3 waits for ever ..." */
int strait_emu_watch_look(struct strait_emu_watch *w, struct strait_emu_shared *s,
                          struct strait_error *err);
/** Messages and acknowledgements that were sent and have not arrived. */
uint64_t strait_emu_watch_under_way(struct strait_emu_shared *s);
