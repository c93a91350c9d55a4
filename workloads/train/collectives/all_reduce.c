/* All-reduces by name. The tree reduces to position 0 and broadcasts from there; with three ranks:
 *
 *             rank 0      rank 1      rank 2
 *   start     a           b           c
 *   reduce    (a+b)+c     .           .           1 > 0, then 2 > 0
 *   broadcast (a+b)+c     (a+b)+c     (a+b)+c     0 > 2, 0 > 1
 *
 * Sum order: that of the reduction. With a codec: n - 1 errors in the sum, one in its copies. */
#include "parts.h"

const char *const strait_sums[] = {"decoded", "encoded", NULL};

bool strait_all_reduce_agrees(enum strait_all_reduce how)
{
    return how == STRAIT_AR_RING || how == STRAIT_AR_HALVING || how == STRAIT_AR_TREE ||
           how == STRAIT_AR_ALL_TO_ALL || how == STRAIT_AR_PAT || how == STRAIT_AR_DOUBLE_TREE;
}

void strait_all_reduce(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                       struct strait_tensor *x, enum strait_all_reduce how)
{
    if (strait_all_reduce_agrees(how))
        strait_agree_on_statistics(r, g, c, x);
    switch (how) {
    case STRAIT_AR_RING:
        strait_reduce_scatter(r, g, c, x);
        strait_all_gather(r, g, c, x);
        return;
    case STRAIT_AR_HALVING:
        strait_all_reduce_by_halving(r, g, c, x);
        return;
    case STRAIT_AR_TREE:
        strait_reduce(r, g, 0, c, x);
        strait_broadcast_sum(r, g, 0, c, g.n, x);
        return;
    case STRAIT_AR_ALL_TO_ALL:
        strait_all_reduce_to_owners(r, g, c, x);
        return;
    case STRAIT_AR_RING_ENCODED:
        if (strait_sends_views(c)) /* plain values are added in any ring */
            strait_all_reduce(r, g, c, x, STRAIT_AR_RING);
        else if (g.n > 1)
            strait_all_gather_packet(r, g, strait_reduce_scatter_encoded(r, g, c, x), x);
        return;
    case STRAIT_AR_DOUBLE_TREE:
        strait_all_reduce_by_trees(r, g, c, x);
        return;
    case STRAIT_AR_GLOO:
        strait_all_reduce_by_gloo(r, g, c, x);
        return;
    case STRAIT_AR_PAT:
        strait_all_reduce_by_pat(r, g, c, x);
        return;
    case STRAIT_AR_OPEN_MPI:
        strait_all_reduce_by_open_mpi(r, g, c, x);
        return;
    case STRAIT_AR_NCCL:
        strait_all_reduce_by_nccl(r, g, c, x);
        return;
    }
}

bool strait_all_reduce_uses(enum strait_all_reduce how, int n, int src, int dst)
{
    switch (how) {
    case STRAIT_AR_RING:
    case STRAIT_AR_RING_ENCODED:
        return src != dst && dst == (src + 1) % n;
    case STRAIT_AR_HALVING:
        return strait_halving_uses(n, src, dst);
    case STRAIT_AR_TREE: /* both directions use the same pairs */
        for (int mask = 1; mask < n; mask *= 2) {
            const int low = src < dst ? src : dst, high = src < dst ? dst : src;
            if (high == low + mask && low % (2 * mask) == 0)
                return true;
        }
        return false;
    case STRAIT_AR_ALL_TO_ALL:
        return src != dst;
    case STRAIT_AR_DOUBLE_TREE:
        return strait_double_tree_uses(n, 0, src, dst) || strait_double_tree_uses(n, 1, src, dst);
    case STRAIT_AR_GLOO:
        return strait_gloo_uses(n, 0, src, dst) || strait_gloo_uses(n, 1, src, dst);
    case STRAIT_AR_PAT:
        return strait_pat_uses(n, src, dst);
    case STRAIT_AR_OPEN_MPI: /* of large sums; strait_open_mpi_uses knows */
        return strait_open_mpi_uses(n, SIZE_MAX / 4, 0, src, dst);
    case STRAIT_AR_NCCL: /* whatever it chooses: strait_nccl_uses knows */
        return dst == (src + 1) % n || strait_double_tree_uses(n, 0, src, dst) ||
               strait_double_tree_uses(n, 1, src, dst);
    }
    return false;
}
