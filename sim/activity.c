/* What goes on in a run: lanes that wake, sends that are acknowledged, and the end of the last of
 * all activities, after which lanes would wait for ever. */
#include "engine.h"

#include <assert.h>

static void deadlock(struct strait_engine *m) __attribute__((noreturn));
static void deadlock(struct strait_engine *m)
{
    struct strait_error err = {0};
    for (int i = 0; i < m->run->n_ranks && err.code == STRAIT_OK; i++)
        for (const struct strait_lane *l = m->nodes[i].lanes; l; l = l->next) {
            if (l->ended || l->on != STRAIT_ON_MESSAGE)
                continue;
            if (l->wanted == STRAIT_ANY)
                strait_error_set(&err, STRAIT_ERR_BACKEND, m->backend->name,
                                 "rank %d waits for ever for a message on channel %d", i,
                                 l->channel);
            else
                strait_error_set(&err, STRAIT_ERR_BACKEND, m->backend->name,
                                 "rank %d waits for ever for a message from rank %d on channel %d",
                                 i, l->wanted, l->channel);
        }
    if (err.code == STRAIT_OK)
        strait_error_set(&err, STRAIT_ERR_BACKEND, m->backend->name,
                         "lanes wait for ever for each other to end");
    strait_child_fail(m->child, &err);
}

void strait_engine_rest(struct strait_engine *m)
{
    assert(m->n_active > 0);
    if (--m->n_active == 0)
        deadlock(m);
}

void strait_lane_wake(struct strait_lane *lane, double now_s)
{
    if (!lane->blocked || lane->woken)
        return;
    lane->woken = true;
    lane->woken_s = now_s;
    if (lane->for_ever)
        lane->machine->n_active++;
    strait_lanes_wake(&lane->machine->lanes, lane->task);
}

void strait_lane_serve_at(struct strait_lane *lane, double at_s)
{
    struct strait_engine *m = lane->machine;
    lane->is_idle = false;
    lane->on = STRAIT_ON_TIME;
    m->n_active++;
    if (strait_lanes_call_at(&m->lanes, &lane->turn, at_s) != 0)
        strait_child_no_memory(m->child);
}

void strait_op_acked(struct strait_op *op, double back_s, double now_s)
{
    op->times.ended_s = back_s;
    op->known = true;
    if (op->waiter)
        strait_lane_wake(op->waiter, now_s);
}
