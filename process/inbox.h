/* Messages that arrived at a rank and were not taken yet, by channel and in order of arrival. */
#pragma once
#include <stdbool.h>
#include "workloads/rank/backend.h"

struct strait_proc_letter {
    struct strait_proc_letter *next;
    struct strait_message message;
};

/* The caller holds the rank's lock. */
struct strait_proc_inbox {
    struct {
        struct strait_proc_letter *first, **end;
    } channels[STRAIT_MAX_CHANNELS];
    struct strait_proc_letter *spare;
    bool closed; /* the rank has returned: drop arriving messages */
};

void strait_proc_inbox_init(struct strait_proc_inbox *box);
void strait_proc_inbox_release(struct strait_proc_inbox *box);
/** Drop all messages, now and from now on. */
void strait_proc_inbox_close(struct strait_proc_inbox *box);
/** Add the message; takes it. False when memory ran out. */
bool strait_proc_inbox_put(struct strait_proc_inbox *box, const struct strait_message *message,
                           int channel);
/** Take the first message from src (STRAIT_ANY: from any) that arrived at latest_s or before.
 *  False: none. */
bool strait_proc_inbox_take(struct strait_proc_inbox *box, struct strait_message *out, int src,
                            int channel, double latest_s);
