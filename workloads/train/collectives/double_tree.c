/* All-reduce over two binary trees (Sanders, Speck and Traeff, Parallel Computing 2009; NCCL 2.4),
 * each for one half of the tensor. A rank that passes sums on in one tree is a leaf of the other,
 * so both its port's directions carry the tensor twice, as in a ring, after about 2 log2 n hops
 * instead of 2 (n - 1). Three ranks, halves 0 and 1 (capitals are sums):
 *
 *             rank 0      rank 1      rank 2
 *   start     a0 a1       b0 b1       c0 c1
 *   up        a0 ac1      .  b1       bc0 .       1 > 2 half 0, 2 > 0 half 1: leaves at once
 *   up        S0 .        .  S1       .  .        2 > 0 half 0, 0 > 1 half 1
 *   down      S0 S1       S0 S1       S0 S1       the same ways back
 *
 * The first tree is NCCL's: the parent of place i, whose lowest bit is b, is i - b + 2 b, or i - b
 * where there is no such place. The second one is the first mirrored for an even number of ranks,
 * and moved by one for an odd number. Sum order: a rank's own, then its children's by place. With a
 * codec: n - 1 errors in the sum, one in its copies. */
#include <assert.h>
#include <math.h>

#include "parts.h"

/* NCCL's pieces: its buffer of 4 MiB in 8 steps. No more than 128, for large models. */
enum { N_TREES = 2, PIECE_BYTES = 4 * 1024 * 1024 / 8, MAX_PIECES = 128 };

/* The place of a rank's position in a tree, and back. */
static int mirrored(int n, int tree, int i)
{
    return tree == 0 ? i : n - 1 - i;
}

static int place_of(int n, int tree, int position)
{
    return n % 2 == 0 || tree == 0 ? mirrored(n, tree, position) : strait_around(position - 1, n);
}

static int position_of(int n, int tree, int place)
{
    return n % 2 == 0 || tree == 0 ? mirrored(n, tree, place) : strait_around(place + 1, n);
}

/* Of a place above 0. */
static int parent(int n, int place)
{
    const int bit = place & -place, up = (place - bit) | 2 * bit;
    return up < n ? up : place - bit;
}

/* Whether a place's sums pass this one, or are its own. */
static bool is_below(int n, int place, int top)
{
    while (place > 0 && place != top)
        place = parent(n, place);
    return place == top;
}

/* A rank in one of the trees. */
struct node {
    struct strait_tensor *x; /* the half that the tree sums */
    int up, down[2], n_down; /* ranks; up -1: the root */
    int n_sum;               /* ranks whose values are in what goes up */
    int channel;
};

static struct node node_of(struct strait_rank *r, struct strait_group g, struct strait_tensor *x,
                           int tree)
{
    const int me = place_of(g.n, tree, g.me);
    struct node node = {.x = strait_slice(r, x, tree, N_TREES),
                        .up = me > 0 ? g.ranks[position_of(g.n, tree, parent(g.n, me))] : -1,
                        .channel = g.channel + tree};
    for (int place = 0; place < g.n; place++)
        node.n_sum += is_below(g.n, place, me);
    for (int place = 1; place < g.n; place++)
        if (parent(g.n, place) == me)
            node.down[node.n_down++] = g.ranks[position_of(g.n, tree, place)];
    return node;
}

static void send_up(struct strait_rank *r, const struct node *t, struct strait_codec *c, int i,
                    int n)
{
    struct strait_tensor *piece = strait_slice(r, t->x, i, n);
    for (int k = 0; k < t->n_down; k++) {
        struct strait_tensor *theirs = strait_spare(r, piece);
        strait_decode(r, theirs, strait_recv(r, t->down[k], t->channel).packet);
        strait_add(r, piece, theirs, 1);
    }
    if (t->up >= 0)
        strait_send(r, t->up, t->channel, i, strait_encode_sum(r, c, t->n_sum, piece));
}

static void send_down(struct strait_rank *r, const struct node *t, struct strait_codec *c, int i,
                      int n)
{
    struct strait_tensor *piece = strait_slice(r, t->x, i, n);
    struct strait_packet *sum = t->up < 0 ? strait_encode_sum(r, c, t->n_sum, piece)
                                          : strait_recv(r, t->up, t->channel).packet;
    for (int k = 0; k < t->n_down; k++)
        strait_send(r, t->down[k], t->channel, i, strait_keep(sum));
    strait_decode(r, piece, sum); /* the root too, so that all ranks have the same bits */
}

/* A root has but one child, whose sum has come from all: nobody reads an older one any more. */
void strait_all_reduce_by_trees(struct strait_rank *r, struct strait_group g,
                                struct strait_codec *c, struct strait_tensor *x)
{
    struct node tree[N_TREES];
    const double half_bytes = 4.0 * (double)strait_n_elems(x) / N_TREES;
    const int n = (int)fmin(MAX_PIECES, fmax(1, ceil(half_bytes / PIECE_BYTES)));
    if (g.n == 1)
        return;
    for (int t = 0; t < N_TREES; t++)
        tree[t] = node_of(r, g, x, t);
    for (int pass = 0; pass < 2; pass++) /* first what waits for nobody */
        for (int i = 0; i < n; i++)
            for (int t = 0; t < N_TREES; t++)
                if ((tree[t].n_down > 0) == pass)
                    send_up(r, &tree[t], c, i, n);
    for (int pass = 0; pass < 2; pass++) /* first what others wait for */
        for (int i = 0; i < n; i++)
            for (int t = 0; t < N_TREES; t++)
                if ((tree[t].n_down > 0) != pass)
                    send_down(r, &tree[t], c, i, n);
}

bool strait_double_tree_uses(int n, int tree, int src, int dst)
{
    const int from = place_of(n, tree, src), to = place_of(n, tree, dst);
    return src != dst && ((from > 0 && parent(n, from) == to) || (to > 0 && parent(n, to) == from));
}
