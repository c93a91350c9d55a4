#include "watch.h"

#include <stdio.h>

uint64_t strait_emu_watch_under_way(struct strait_emu_shared *s)
{
    uint64_t landed = 0, sent = 0;
    for (int i = 0; i < s->n_ranks; i++) /* first: what lands later was sent by then or later */
        landed += atomic_load(&s->ranks[i].state.n_landed);
    for (int i = 0; i < s->n_ranks; i++)
        sent += atomic_load(&s->ranks[i].state.n_sent);
    return sent - landed;
}

static int tell(const struct strait_emu_shared *s, int rank, struct strait_error *err)
{
    const struct strait_emu_rank_shared *r = &s->ranks[rank];
    const int src = atomic_load(&r->state.stuck_src);
    char from[32] = "any rank";
    if (src != STRAIT_ANY)
        snprintf(from, sizeof(from), "rank %d", src);
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                            "rank %d waits for ever for a message from %s on channel %d", rank,
                            from, (int)atomic_load(&r->state.stuck_channel));
}

int strait_emu_watch_look(struct strait_emu_watch *w, struct strait_emu_shared *s,
                          struct strait_error *err)
{
    uint64_t mark = 0;
    int stuck = -1;
    bool still = strait_emu_watch_under_way(s) == 0;
    for (int i = 0; i < s->n_ranks; i++) {
        struct strait_emu_rank_shared *r = &s->ranks[i];
        const int n_lanes = atomic_load(&r->state.n_lanes),
                  n_stuck = atomic_load(&r->state.n_stuck);
        mark += atomic_load(&r->state.progress) + atomic_load(&r->state.n_sent) +
                atomic_load(&r->state.n_landed);
        still = still && n_lanes == n_stuck;
        if (n_lanes > 0 && stuck < 0)
            stuck = i;
    }
    const bool twice = still && w->still && mark == w->mark && stuck >= 0;
    w->still = still;
    w->mark = mark;
    return twice ? tell(s, stuck, err) : 0;
}
