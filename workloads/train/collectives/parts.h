/* Shared by the files of the collectives. */
#pragma once
#include "collectives.h"

/** i modulo n, also for negative i. */
static inline int strait_around(int i, int n)
{
    return (i % n + n) % n;
}

void strait_all_reduce_by_halving(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_trees(struct strait_rank *r, struct strait_group g,
                                struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_gloo(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                               struct strait_tensor *x);
void strait_all_reduce_by_pat(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                              struct strait_tensor *x);
bool strait_pat_uses(int n, int src, int dst);
void strait_all_reduce_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                   struct strait_codec *c, struct strait_tensor *x);
void strait_all_reduce_by_nccl(struct strait_rank *r, struct strait_group g,
                               struct strait_codec *none, struct strait_tensor *x);
bool strait_open_mpi_uses(int n, int src, int dst);
bool strait_halving_uses(int n, int src, int dst);
void strait_all_reduce_to_owners(struct strait_rank *r, struct strait_group g,
                                 struct strait_codec *c, struct strait_tensor *x);
