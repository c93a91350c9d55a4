/* Messages that arrived at a rank and were not taken yet, by channel and in order of arrival. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"

struct strait_emu_letter {
    struct strait_emu_letter *next;
    struct strait_message message;
};

/* The caller holds the rank's lock. */
struct strait_emu_inbox {
    struct {
        struct strait_emu_letter *first, **end;
    } channels[STRAIT_MAX_CHANNELS];
    struct strait_emu_letter *spare;
    bool closed; /* the rank has returned: drop arriving messages */
};

void strait_emu_inbox_init(struct strait_emu_inbox *box);
void strait_emu_inbox_release(struct strait_emu_inbox *box);
/** Drop all messages, now and from now on. */
void strait_emu_inbox_close(struct strait_emu_inbox *box);
/** Add the message; takes it. False when memory ran out. */
bool strait_emu_inbox_put(struct strait_emu_inbox *box, const struct strait_message *message,
                          int channel);
/** Take the first message from src (STRAIT_ANY: from any) that arrived at latest_s or before.
 *  False: none. */
bool strait_emu_inbox_take(struct strait_emu_inbox *box, struct strait_message *out, int src,
                           int channel, double latest_s);
