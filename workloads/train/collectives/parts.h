/* Shared by the files of the collectives. */
#pragma once
#include "collectives.h"

/** i modulo n, also for negative i. */
static inline int strait_around(int i, int n)
{
    return (i % n + n) % n;
}

/* Ranks that are no power of two fold first, as MPICH and Open MPI do: the first 2 extra of them
 * make pairs, of which one stays. */
struct strait_fold {
    int n;     /* that stay: the largest power of two that is at most the number of ranks */
    int extra; /* ranks beyond n, so many pairs */
    int place; /* of this rank among those that stay; -1: it is folded away */
    int stays; /* of a pair: 0 the first, 1 the second */
};
static inline struct strait_fold strait_fold_of(int n, int me, int stays)
{
    struct strait_fold f = {.n = 1, .stays = stays};
    while (f.n <= n / 2)
        f.n *= 2;
    f.extra = n - f.n;
    f.place = me >= 2 * f.extra ? me - f.extra : me % 2 == stays ? me / 2 : -1;
    return f;
}
/** Position in the group of a place among those that stay. */
static inline int strait_unfolded(struct strait_fold f, int place)
{
    return place < f.extra ? 2 * place + f.stays : place + f.extra;
}

void strait_all_reduce_by_halving(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_trees(struct strait_rank *r, struct strait_group g,
                                struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                               struct strait_tensor *x);
struct strait_packet *strait_broadcast_by_gloo(struct strait_rank *r, struct strait_group g,
                                               int root, struct strait_packet *taken,
                                               size_t n_bytes);
void strait_all_reduce_by_pat(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                              struct strait_tensor *x);
/** Its halves: part me of x becomes the sum; goes to all. */
void strait_reduce_scatter_by_pat(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x);
void strait_all_gather_by_pat(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                              struct strait_tensor *x);
/** All packets by PAT: take() gets that of the position so far behind this one. */
void strait_gather_by_pat(struct strait_rank *r, struct strait_group g, struct strait_packet *mine,
                          void (*take)(struct strait_rank *r, void *of, int behind,
                                       struct strait_packet *packet),
                          void *of);
bool strait_pat_uses(int n, int src, int dst);
void strait_all_reduce_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x);
void strait_reduce_scatter_by_nccl(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *none, struct strait_tensor *x);
void strait_all_gather_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x);
void strait_gather_by_nccl(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                           bool sizes_first);
struct strait_packet *strait_broadcast_by_nccl(struct strait_rank *r, struct strait_group g,
                                               int root, struct strait_packet *taken,
                                               size_t n_bytes);
bool strait_halving_uses(int n, int src, int dst);
void strait_all_reduce_to_owners(struct strait_rank *r, struct strait_group g,
                                 struct strait_codec *c, struct strait_tensor *x);
