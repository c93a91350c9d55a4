/* What arrived at a rank and no lane has taken yet, by channel and in order of arrival. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"

struct strait_emu_letter {
    struct strait_emu_letter *next;
    struct strait_message message;
};

/* All calls under the rank's lock. */
struct strait_emu_inbox {
    struct {
        struct strait_emu_letter *first, **end;
    } channels[STRAIT_MAX_CHANNELS];
    struct strait_emu_letter *spare;
    bool closed; /* the rank has returned: what arrives vanishes */
};

void strait_emu_inbox_init(struct strait_emu_inbox *box);
void strait_emu_inbox_release(struct strait_emu_inbox *box);
/** From now on whatever arrives is dropped, and so is what lies there. */
void strait_emu_inbox_close(struct strait_emu_inbox *box);
/** Take the message over. False when memory ran out. */
bool strait_emu_inbox_put(struct strait_emu_inbox *box, const struct strait_message *message,
                          int channel);
/** The first message from src (STRAIT_ANY: of all) that arrived at latest_s or before, into out.
 *  False: there is none. */
bool strait_emu_inbox_take(struct strait_emu_inbox *box, struct strait_message *out, int src,
                           int channel, double latest_s);
