/* How Gloo passes pieces around a ring: two on their way at a time, each sent when its receiver has
 * said that it is ready for it (gloo/transport/tcp/pair.cc). For gloo.c and gloo_gather.c. */
#pragma once
#include "parts.h"

/* One pass of n_steps pieces on one rank, from position `from` and on to position `to` of the
 * group, which are its neighbours. Channels: the pass reads the group's, which carries pieces; the
 * lane that sends reads the next one, which says who is ready; the next four are for lanes of this
 * rank alone. */
struct strait_gloo_pass {
    struct strait_group g;
    int to, from, n_steps;
    bool sends_first; /* before it says that it is ready (gloo/allgather.cc) */
    /** Piece i, to be sent; in the lane that sends. Takes nothing: the packet is the pass's. */
    struct strait_packet *(*give)(struct strait_rank *lane, void *of, int i);
    /** Piece i has come; takes it. */
    void (*take)(struct strait_rank *r, void *of, int i, struct strait_packet *piece);
    void *of;
    struct strait_gloo_ear *ear; /* of two ranks; NULL: of more */
    int n_before;                /* pieces of earlier passes with this ear */
};

/** Whose only connection carries both pieces and words, where words wait behind data: a lane that
 *  hears n_pieces of both. NULL for more than two ranks. */
struct strait_gloo_ear *strait_gloo_hear(struct strait_rank *r, struct strait_group g,
                                         int n_pieces);
void strait_gloo_hung_up(struct strait_rank *r, struct strait_gloo_ear *ear); /* NULL is allowed */
void strait_gloo_run(struct strait_rank *r, struct strait_gloo_pass *pass);
