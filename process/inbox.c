#include "inbox.h"

#include <stdlib.h>

void strait_proc_inbox_init(struct strait_proc_inbox *box)
{
    *box = (struct strait_proc_inbox){.closed = false};
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++)
        box->channels[c].end = &box->channels[c].first;
}

static void free_list(struct strait_proc_letter *l)
{
    while (l) {
        struct strait_proc_letter *next = l->next;
        free(l);
        l = next;
    }
}

void strait_proc_inbox_close(struct strait_proc_inbox *box)
{
    box->closed = true;
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++) {
        for (struct strait_proc_letter *l = box->channels[c].first; l; l = l->next)
            strait_packet_drop(l->message.packet);
        free_list(box->channels[c].first);
        box->channels[c].first = NULL;
        box->channels[c].end = &box->channels[c].first;
    }
}

void strait_proc_inbox_release(struct strait_proc_inbox *box)
{
    strait_proc_inbox_close(box);
    free_list(box->spare);
    box->spare = NULL;
}

bool strait_proc_inbox_put(struct strait_proc_inbox *box, const struct strait_message *message,
                           int channel)
{
    if (box->closed) {
        strait_packet_drop(message->packet);
        return true;
    }
    struct strait_proc_letter *l = box->spare;
    if (l)
        box->spare = l->next;
    else if (!(l = malloc(sizeof(*l))))
        return false;
    l->message = *message;
    l->next = NULL;
    *box->channels[channel].end = l;
    box->channels[channel].end = &l->next;
    return true;
}

bool strait_proc_inbox_take(struct strait_proc_inbox *box, struct strait_message *out, int src,
                            int channel, double latest_s)
{
    for (struct strait_proc_letter **at = &box->channels[channel].first; *at; at = &(*at)->next) {
        struct strait_proc_letter *l = *at;
        if ((src != STRAIT_ANY && l->message.src != src) || l->message.arrived_s > latest_s)
            continue;
        *at = l->next;
        if (!l->next)
            box->channels[channel].end = at;
        *out = l->message;
        l->next = box->spare;
        box->spare = l;
        return true;
    }
    return false;
}
