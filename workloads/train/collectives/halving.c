/* All-reduce by recursive halving and doubling (Rabenseifner, ICCS 2004; Thakur et al., IJHPCA
 * 2005). Four ranks after each step (capitals are sums; 0..3 are the parts):
 *
 *             rank 0        rank 1        rank 2        rank 3
 *   start     a0 a1 a2 a3   b0 b1 b2 b3   c0 c1 c2 c3   d0 d1 d2 d3
 *   halve     ab0 ab1 . .   . . ab2 ab3   cd0 cd1 . .   . . cd2 cd3     0 - 1, 2 - 3: a half
 *   halve     S0 . . .      . . S2 .      . S1 . .      . . . S3        0 - 2, 1 - 3: a quarter
 *   double    S0 S1 . .     . . S2 S3     S0 S1 . .     . . S2 S3       0 - 2, 1 - 3
 *   double    S0 S1 S2 S3   the same      the same      the same        0 - 1, 2 - 3
 *
 * Other numbers fold first, as MPICH does: of the first 2 (n - p) ranks, p the power of two below
 * n, the even ones give all to their odd neighbours and get the sum back at the end. Three ranks:
 *
 *             rank 0        rank 1        rank 2
 *   start     a0 a1         b0 b1         c0 c1
 *   fold      . .           ab0 ab1       c0 c1             0 > 1
 *   halve     . .           S0 .          . S1              1 - 2
 *   double    . .           S0 S1         S0 S1             1 - 2
 *   unfold    S0 S1         S0 S1         S0 S1             1 > 0
 *
 * Sum order, the same for all parts: folded pairs, then pairs, pairs of pairs, ... of what is left.
 * With a codec each part's sum has the errors of n - 1 messages and, where it only moves, one more:
 * its owner encodes it once, and doubling passes packets on, one message each. */
#include <assert.h>
#include <math.h>

#include "parts.h"

enum { STAYS = 1 }; /* of a folded pair the second rank */

static struct strait_tensor *parts(struct strait_rank *r, struct strait_tensor *x,
                                   struct strait_fold f, int first, int n)
{
    const size_t n_elems = strait_n_elems(x);
    return strait_range(r, x, strait_part_start(n_elems, first, f.n),
                        strait_part_start(n_elems, first + n, f.n));
}

static void add_from(struct strait_rank *r, struct strait_group g, int from,
                     struct strait_tensor *sum, int tag)
{
    struct strait_message m = strait_recv(r, g.ranks[from], g.channel);
    assert(m.tag == tag);
    struct strait_tensor *theirs = strait_spare(r, sum);
    strait_decode(r, theirs, m.packet);
    strait_add(r, sum, theirs, 1);
}

/* Receive part i; keep the packet, to pass it on. */
static struct strait_task *receive_part(struct strait_rank *r, struct strait_group g,
                                        struct strait_fold f, int from, int i,
                                        struct strait_tensor *x)
{
    struct strait_message m = strait_recv(r, g.ranks[from], g.channel);
    assert(m.tag == g.n + i);
    strait_group_packets(r, &g)[i] = strait_keep(m.packet);
    return strait_decode_start(r, parts(r, x, f, i, 1), m.packet);
}

/* Ranks in the sum of the n_places places around this one, of which the first `extra` hold two. */
static int ranks_in(struct strait_fold f, int n_places)
{
    const int twice = f.extra - (f.place - f.place % n_places);
    return n_places + (twice < 0 ? 0 : twice < n_places ? twice : n_places);
}

/* Halve: of my remaining parts, send the partner's half and add its share of mine. Afterwards only
 * part `first` is mine. */
static int halve(struct strait_rank *r, struct strait_group g, struct strait_fold f,
                 struct strait_codec *c, struct strait_tensor *x)
{
    int first = 0;
    for (int mask = 1, n = f.n / 2; mask < f.n; mask *= 2, n /= 2) {
        const int to = strait_unfolded(f, f.place ^ mask), upper = (f.place & mask) != 0;
        strait_send(r, g.ranks[to], g.channel, mask,
                    strait_encode_sum(r, c, ranks_in(f, mask),
                                      parts(r, x, f, upper ? first : first + n, n)));
        first += upper ? n : 0;
        add_from(r, g, to, parts(r, x, f, first, n), mask);
    }
    return first;
}

/* Double: pass all parts that I have to the partner as received, and decode them meanwhile.
 * Partners may read views late, and the next call adds to what the first of them read: so wait for
 * the acknowledgements of all but the last partner, whose next message implies its own. Over equal
 * links they have arrived before. */
static void double_up(struct strait_rank *r, struct strait_group g, struct strait_fold f,
                      struct strait_codec *c, struct strait_tensor *x, int mine)
{
    int first = mine, n_tasks = 0;
    strait_group_packets(r, &g)[mine] = strait_encode_sum(r, c, g.n, parts(r, x, f, mine, 1));
    strait_group_tasks(r, &g)[n_tasks++] = strait_decode_start(
        r, parts(r, x, f, mine, 1), strait_keep(strait_group_packets(r, &g)[mine]));
    for (int mask = f.n / 2, n = 1; mask > 0; mask /= 2, n *= 2) {
        const int with = strait_unfolded(f, f.place ^ mask),
                  theirs = f.place & mask ? first - n : first + n;
        const bool acked = strait_sends_views(c) && mask > 1;
        for (int i = first; i < first + n; i++)
            if (acked)
                strait_group_tasks(r, &g)[n_tasks++] =
                    strait_send_acked(r, g.ranks[with], g.channel, g.n + i,
                                      strait_keep(strait_group_packets(r, &g)[i]));
            else
                strait_send(r, g.ranks[with], g.channel, g.n + i,
                            strait_keep(strait_group_packets(r, &g)[i]));
        for (int i = theirs; i < theirs + n; i++)
            strait_group_tasks(r, &g)[n_tasks++] = receive_part(r, g, f, with, i, x);
        first = first < theirs ? first : theirs;
    }
    for (int i = 0; i < n_tasks; i++)
        strait_wait(r, strait_group_tasks(r, &g)[i]);
}

void strait_all_reduce_by_halving(struct strait_rank *r, struct strait_group g,
                                  struct strait_codec *c, struct strait_tensor *x)
{
    const struct strait_fold f = strait_fold_of(g.n, g.me, STAYS);
    if (g.n == 1)
        return;
    if (f.place < 0) {
        strait_send(r, g.ranks[g.me + 1], g.channel, 0, strait_encode_sum(r, c, 1, x));
        for (int i = 0; i < f.n; i++)
            strait_group_tasks(r, &g)[i] = receive_part(r, g, f, g.me + 1, i, x);
        for (int i = 0; i < f.n; i++)
            strait_wait(r, strait_group_tasks(r, &g)[i]);
    } else {
        const int folded = f.place < f.extra ? g.me - 1 : -1; /* whose sum is added to mine */
        if (folded >= 0)
            add_from(r, g, folded, x, 0);
        double_up(r, g, f, c, x, halve(r, g, f, c, x));
        for (int i = 0; i < f.n && folded >= 0; i++)
            strait_send(r, g.ranks[folded], g.channel, g.n + i,
                        strait_keep(strait_group_packets(r, &g)[i]));
    }
    for (int i = 0; i < f.n; i++)
        strait_drop(r, strait_group_packets(r, &g)[i]);
}

bool strait_halving_uses(int n, int src, int dst)
{
    const struct strait_fold a = strait_fold_of(n, src, STAYS), b = strait_fold_of(n, dst, STAYS);
    if (a.place < 0 || b.place < 0)
        return src / 2 == dst / 2 && src < 2 * a.extra && src != dst;
    const int apart = a.place ^ b.place;
    return apart > 0 && (apart & (apart - 1)) == 0;
}
