/* All-reduce in 2 log2 n steps, rounded up, for any number of ranks, none of which is folded away:
 * parallel aggregated trees (NCCL 2.23: Jeaugey, arXiv 2506.20252), one binomial tree for each
 * part, with its owner as root; the same steps as Bruck's (Bruck et al., TPDS 1997), the farthest
 * first where sums go out, so that what goes far is least. Three ranks (capitals are sums):
 *
 *             rank 0           rank 1           rank 2
 *   start     a0 a1 a2         b0 b1 b2         c0 c1 c2
 *   step 1    a0+b0 a1 .       . b1+c1 b2       c0 . c2+a2       part i - 1 goes to i - 1
 *   step 2    S0 . .           . S1 .           . . S2           part i - 2 goes to i - 2
 *   step 2    S0 S1 .          . S1 S2          S0 . S2          part i goes to i + 2
 *   step 1    S0 S1 S2         S0 S1 S2         S0 S1 S2         part i goes to i + 1
 *
 * A rank at distance o behind a part's owner sums what comes from o + 1, o + 2, o + 4 .. below the
 * lowest bit of o, and gives it to o less that bit. Sum order: pairs of pairs from the owner on.
 * With a codec each part's sum has the errors of n - 1 messages, and its copies one more. */
#include <assert.h>
#include <math.h>

#include "parts.h"

static struct strait_tensor *part(struct strait_rank *r, struct strait_group g,
                                  struct strait_tensor *x, int behind)
{
    return strait_slice(r, x, strait_around(g.me - behind, g.n), g.n);
}

void strait_reduce_scatter_by_pat(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x)
{
    for (int d = 1; d < g.n; d *= 2) {
        for (int o = d; o < g.n; o += 2 * d)
            strait_send(r, g.ranks[strait_around(g.me - d, g.n)], g.channel, o,
                        strait_encode_sum(r, c, d < g.n - o ? d : g.n - o, part(r, g, x, o)));
        for (int o = 0; o + d < g.n; o += 2 * d) {
            struct strait_message m =
                strait_recv(r, g.ranks[strait_around(g.me + d, g.n)], g.channel);
            assert(m.tag == o + d);
            struct strait_tensor *sum = part(r, g, x, o), *theirs = strait_spare(r, sum);
            strait_decode(r, theirs, m.packet);
            strait_add(r, sum, theirs, 1);
        }
    }
}

void strait_gather_by_pat(struct strait_rank *r, struct strait_group g, struct strait_packet *mine,
                          void (*take)(struct strait_rank *r, void *of, int behind,
                                       struct strait_packet *packet),
                          void *of)
{
    struct strait_packet **packets = strait_group_packets(r, &g);
    int d = 1;
    while (d < g.n)
        d *= 2;
    packets[0] = mine;
    for (d /= 2; d > 0; d /= 2) {
        for (int o = 0; o + d < g.n; o += 2 * d)
            strait_send(r, g.ranks[strait_around(g.me + d, g.n)], g.channel, g.n + o,
                        strait_keep(packets[o]));
        for (int o = 0; o + d < g.n; o += 2 * d) {
            struct strait_message m =
                strait_recv(r, g.ranks[strait_around(g.me - d, g.n)], g.channel);
            assert(m.tag == g.n + o);
            packets[o + d] = strait_keep(m.packet);
            take(r, of, o + d, m.packet);
        }
    }
    for (int o = 0; o < g.n; o++)
        strait_drop(r, packets[o]);
}

struct decoding {
    const struct strait_group *g;
    struct strait_tensor *x;
    int n_tasks;
};

static void decode(struct strait_rank *r, void *of, int behind, struct strait_packet *packet)
{
    struct decoding *d = of;
    strait_group_tasks(r, d->g)[d->n_tasks++] =
        strait_decode_start(r, part(r, *d->g, d->x, behind), packet);
}

void strait_all_gather_by_pat(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                              struct strait_tensor *x)
{
    struct decoding d = {&g, x, 0};
    struct strait_packet *mine = strait_encode_sum(r, c, g.n, part(r, g, x, 0));
    decode(r, &d, 0, strait_keep(mine));
    strait_gather_by_pat(r, g, mine, decode, &d);
    for (int i = 0; i < d.n_tasks; i++)
        strait_wait(r, strait_group_tasks(r, &g)[i]);
}

void strait_all_reduce_by_pat(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                              struct strait_tensor *x)
{
    if (g.n == 1)
        return;
    strait_reduce_scatter_by_pat(r, g, c, x);
    strait_all_gather_by_pat(r, g, c, x);
}

bool strait_pat_uses(int n, int src, int dst)
{
    const int ahead = strait_around(dst - src, n), behind = strait_around(src - dst, n);
    return ahead > 0 && ((ahead & (ahead - 1)) == 0 || (behind & (behind - 1)) == 0);
}
