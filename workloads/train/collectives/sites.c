/* Hierarchical all-reduce over sites: not encoded inside, with the codec between. Two sites of two
 * ranks (capitals are sums of all):
 *
 *             rank 0     rank 1     rank 2     rank 3
 *   start     a          b          c          d
 *   inside    a+b        .          c+d        .         a tree to each site's leader
 *   between   S          .          S          .         a ring of the leaders, with the codec
 *   inside    S          S          S          S         a tree from each leader
 *
 * Three ranks, the last one alone at its site: leaders' halves of the ring are parts 0 and 1:
 *
 *             rank 0     rank 1     rank 2
 *   start     a0 a1      b0 b1      c0 c1
 *   inside    ab0 ab1    .          c0 c1                 1 > 0
 *   between   .   S1     .          S0 .                  0 > 2 part 0, 2 > 0 part 1
 *             S0  S1     .          S0 S1                 the sums the other way
 *   inside    S0  S1     S0 S1      S0 S1                 0 > 1
 *
 * Sum order: each site's as in its tree, then the sites' sums in ring order of the leaders. With a
 * codec and k sites: k - 1 errors in the sum, one in its copies. */
#include "parts.h"

static int site_of(struct strait_sites s, int rank)
{
    return s.of(s.arg, rank);
}

/* Whether it is the first rank of its site. */
static bool leads(struct strait_sites s, int rank)
{
    for (int i = 0; i < rank; i++)
        if (site_of(s, i) == site_of(s, rank))
            return false;
    return true;
}

struct strait_hierarchy strait_hierarchy_of(struct strait_rank *r, struct strait_sites sites,
                                            int channel_inside, int channel_between)
{
    int *ranks = strait_alloc(r, (size_t)sites.n_ranks, sizeof(*ranks));
    struct strait_hierarchy h = {.leaders.me = -1};
    int n = 0;
    for (int i = 0; i < sites.n_ranks; i++)
        if (site_of(sites, i) == site_of(sites, strait_me(r)))
            ranks[n++] = i;
    h.site = strait_group_of(r, ranks, n, channel_inside);
    if (h.site.me != 0)
        return h;
    n = 0;
    for (int i = 0; i < sites.n_ranks; i++)
        if (leads(sites, i))
            ranks[n++] = i;
    h.leaders = strait_group_of(r, ranks, n, channel_between);
    return h;
}

void strait_all_reduce_by_sites(struct strait_rank *r, const struct strait_hierarchy *h,
                                struct strait_codec *c, struct strait_tensor *x)
{
    struct strait_codec *plain = strait_codec(r, "none");
    strait_reduce(r, h->site, 0, plain, x);
    if (h->leaders.me >= 0)
        strait_all_reduce(r, h->leaders, c, x, STRAIT_AR_RING);
    strait_broadcast(r, h->site, 0, plain, x);
}

bool strait_hierarchy_agrees(struct strait_sites sites, int src, int dst)
{
    return leads(sites, src) && leads(sites, dst);
}

bool strait_hierarchy_uses(struct strait_sites sites, int src, int dst, bool inside)
{
    int n = 0, from = 0, to = 0; /* positions in the site, or among leaders */
    if (inside ? site_of(sites, src) != site_of(sites, dst)
               : !leads(sites, src) || !leads(sites, dst))
        return false;
    for (int i = 0; i < sites.n_ranks; i++)
        if (inside ? site_of(sites, i) == site_of(sites, src) : leads(sites, i)) {
            from += i < src;
            to += i < dst;
            n++;
        }
    return strait_all_reduce_uses(inside ? STRAIT_AR_TREE : STRAIT_AR_RING, n, from, to);
}
