/* Collectives over the calls of rank.h, one file each in collectives/. All take a codec: where data
 * only moves it is encoded once at its source (one error); where it is reduced, every hop decodes,
 * adds and encodes again, unless the codec adds encoded. Everybody of the group makes the same
 * calls in the same order on the group's channel, and ends with the same bits. With `none` a packet
 * is a view: what a collective was given to send is read until all others have it. */
#pragma once
#include "workloads/rank/rank.h"
#include "workloads/ask/strategy.h"

struct strait_group { /* who takes part in a collective, and on which channel */
    int *ranks;       /* n of them, in the order of the collective */
    int n, me, channel;
    struct strait_packet **packets; /* room of a call: n, */
    struct strait_task **tasks;     /* and 2 n */
};

struct strait_group strait_world(struct strait_rank *r, int channel);
/** ranks are copied; the caller is one of them. */
struct strait_group strait_group_of(struct strait_rank *r, const int *ranks, int n, int channel);
/** First element of part i of n of n_elems, as strait_slice cuts them; i = n: n_elems. */
size_t strait_part_start(size_t n_elems, int i, int n);

/** What calling a collective takes beside its steps on the wire: the kernel's launch, the
 *  transport's threads, whatever negotiates it; 0 where a rank is alone. For strategies that have
 *  STRAIT_LAUNCH_PARAM. */
double strait_launch_s(const struct strait_rank *r);
void strait_launch(struct strait_rank *lane); /* takes that time */
#define STRAIT_LAUNCH_PARAM                                                                        \
    {                                                                                              \
        "launch", "what calling a collective takes beside its steps on the wire",                  \
            STRAIT_PARAM_TIME, .min = 0, .max = 10                                                 \
    }

/** Ring: afterwards part (me + 1) mod n of x is the sum, in ring order, of everybody's part. */
void strait_reduce_scatter(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                           struct strait_tensor *x);
/** Ring: part (me + 1) mod n of x goes to everybody, encoded once at its source. */
void strait_all_gather(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x);
/** Ring of packets of any sizes. In: all[me], a reference that stays the caller's. Out: all[i] is
 *  i's packet, each a reference of the caller's. sizes_first: everybody hears of all sizes first, a
 *  round of empty messages, as receivers need that post fixed buffers (GRACE). */
void strait_gather_packets(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           bool sizes_first);

/** Binomial tree: root's x goes to everybody, encoded once. root is a place in the group. */
void strait_broadcast(struct strait_rank *r, struct strait_group g, int root,
                      struct strait_codec *c, struct strait_tensor *x);
/** The same by a chain from root on, in n_pieces that follow one another. */
void strait_broadcast_pipelined(struct strait_rank *r, struct strait_group g, int root,
                                struct strait_codec *c, struct strait_tensor *x, int n_pieces);
/** Binomial tree: root's x becomes the sum; the others' x holds the sums of their subtrees. */
void strait_reduce(struct strait_rank *r, struct strait_group g, int root, struct strait_codec *c,
                   struct strait_tensor *x);
/** The same sum by a chain that ends at the root, in n_pieces that follow one another; the others'
 *  x holds the sums so far. Only to the next place around. */
void strait_reduce_pipelined(struct strait_rank *r, struct strait_group g, int root,
                             struct strait_codec *c, struct strait_tensor *x, int n_pieces);
/** May place src send to place dst in a tree of either direction, whatever its root? */
bool strait_tree_uses(int n, int src, int dst);

enum strait_all_reduce {
    STRAIT_AR_RING,        /* reduce-scatter and all-gather above */
    STRAIT_AR_HALVING,     /* recursive halving, then doubling */
    STRAIT_AR_TREE,        /* reduce to place 0, then broadcast */
    STRAIT_AR_ALL_TO_ALL,  /* every part straight to its owner, the sums straight to everybody */
    STRAIT_AR_RING_ENCODED /* the ring with packets added as they are: strait_codec_adds */
};
/** x becomes the sum of everybody's. Sum orders: see the file of each. */
void strait_all_reduce(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x, enum strait_all_reduce how);
/** May place src of n send to place dst? For uses_stream of a strategy. */
bool strait_all_reduce_uses(enum strait_all_reduce how, int n, int src, int dst);

/* Sites: groups of neighbours with a leader each, its first rank. Sums inside a site are plain. */
struct strait_sites {
    int n_ranks;
    int (*of)(const void *arg, int rank); /* the site of a rank, any number */
    const void *arg;
};
struct strait_hierarchy {
    struct strait_group site, leaders; /* leaders.me: -1 for those who are none */
};
/** Inside of sites, and among leaders, each has a channel of its own. */
struct strait_hierarchy strait_hierarchy_of(struct strait_rank *r, struct strait_sites sites,
                                            int channel_inside, int channel_between);
/** Reduce to the site's leader, ring all-reduce among leaders with the codec, broadcast inside. */
void strait_all_reduce_by_sites(struct strait_rank *r, const struct strait_hierarchy *h,
                                struct strait_codec *c, struct strait_tensor *x);
/** May src send to dst inside of a site, or else between leaders? */
bool strait_hierarchy_uses(struct strait_sites sites, int src, int dst, bool inside);
