/* Open MPI's all-gather of packets of any sizes, MPI_Allgatherv (open-mpi/ompi v4.1.4,
 * coll_base_allgatherv.c), by its fixed rules. Nothing is decoded on the way. Blocks of four ranks:
 *
 *              rank 0     rank 1     rank 2     rank 3
 *   ring       gather.c
 *   Bruck      A          B          C          D
 *     step 0   A B        B C        C D        A D        rank i sends to i - 1, then to i - 2,
 *     step 1   A B C D    B C D A    C D A B    D A B C    all from its own on that fit
 *   neighbours (even numbers; of odd ones a ring)
 *     step 0   A B        A B        C D        C D        0 - 1, 2 - 3
 *     step 1   A B C D    A B C D    A B C D    A B C D    1 - 2, 3 - 0: two blocks at a time
 *   default    B, C and D to rank 0, and all four from there as one broadcast
 *
 * Two ranks exchange theirs. Blocks of one message follow one another, a packet each. Sizes are
 * gathered first where ranks do not know them: Bruck's way, as MPI_Allgather does with three ranks
 * and more than four. */
#include <math.h>

#include "open_mpi.h"

enum { WORDS = STRAIT_N_WORDS }; /* sizes a message of a frame has room for */

/* Blocks of either way: so many from there on, around. */
struct blocks {
    struct strait_packet **all;
    double *sizes;
    int out, in, n_in;
};

static struct strait_packet *put(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    const struct blocks *b = x->of;
    (void)r;
    return strait_keep(b->all[strait_around(b->out + i, x->g.n)]);
}

static void take(struct strait_rank *r, struct strait_sendrecv *x, int i,
                 struct strait_packet *taken)
{
    const struct blocks *b = x->of;
    (void)r;
    b->all[strait_around(b->in + i, x->g.n)] = taken;
}

static size_t bytes_of(const struct strait_group *g, struct strait_packet **all, int first, int n)
{
    size_t n_bytes = 0;
    for (int i = 0; i < n; i++)
        n_bytes += all[strait_around(first + i, g->n)]->payload_bytes;
    return n_bytes;
}

/* n blocks from `out` on go to position `to`; what comes begins with block `in`. */
static void pass(struct strait_rank *r, struct strait_sendrecv x, struct strait_packet **all, int n,
                 int to, int out, int from, int in)
{
    struct blocks b = {.all = all, .out = out, .in = in};
    x.to = x.g.ranks[strait_around(to, x.g.n)];
    x.from = x.g.ranks[strait_around(from, x.g.n)];
    x.out_bytes = bytes_of(&x.g, all, out, n);
    x.n_out = n;
    x.put = put;
    x.take = take;
    x.of = &b;
    strait_sendrecv(r, x);
}

static void around(struct strait_rank *r, struct strait_sendrecv x, struct strait_packet **all)
{
    const int me = x.g.me;
    for (int step = 0; step < x.g.n - 1; step++) {
        x.step = (unsigned)step;
        pass(r, x, all, 1, me + 1, me - step, me - 1, me - step - 1);
    }
}

static void by_bruck(struct strait_rank *r, struct strait_sendrecv x, struct strait_packet **all)
{
    const int me = x.g.me, n = x.g.n;
    for (int distance = 1; distance < n; distance *= 2) {
        x.step = (unsigned)distance;
        pass(r, x, all, distance <= n / 2 ? distance : n - distance, me - distance, me,
             me + distance, me + distance);
    }
}

/* Even ranks begin upwards and go on downwards, odd ones the other way. */
static void by_neighbours(struct strait_rank *r, struct strait_sendrecv x,
                          struct strait_packet **all)
{
    const int me = x.g.me, up = me % 2 == 0 ? 1 : -1, first = me % 2 == 0 ? me : me - 1;
    int in[2] = {first, first}, out = first;
    pass(r, x, all, 1, me + up, me, me + up, me + up);
    for (int i = 1; i < x.g.n / 2; i++) {
        const int way = i % 2 == 0 ? up : -up;
        in[i % 2] += 2 * way;
        x.step = (unsigned)i;
        pass(r, x, all, 2, me + way, out, me + way, in[i % 2]);
        out = in[i % 2];
    }
}

/* To position 0, which takes them in turn, and from there to all. */
static void by_default(struct strait_rank *r, struct strait_sendrecv x, struct strait_packet **all,
                       size_t n_bytes)
{
    struct blocks b = {.all = all, .out = x.g.me};
    x.put = put;
    x.take = take;
    x.of = &b;
    x.n_out = 1;
    x.to = x.from = -1;
    if (x.g.me > 0) {
        x.to = x.g.ranks[0];
        x.out_bytes = all[x.g.me]->payload_bytes;
        strait_sendrecv(r, x);
        strait_drop(r, all[x.g.me]);
    }
    for (int i = 1; i < x.g.n && x.g.me == 0; i++) {
        x.from = x.g.ranks[i];
        b.in = i;
        strait_sendrecv(r, x);
    }
    strait_broadcast_blocks(r, x.g, all, n_bytes);
}

static void gather(struct strait_rank *r, struct strait_group g, struct strait_packet **all,
                   enum strait_open_mpi_way way, size_t mean_bytes)
{
    const struct strait_sendrecv x = {.g = g};
    if (g.n == 1)
        return;
    switch (way) {
    case STRAIT_MPI_BRUCK:
        by_bruck(r, x, all);
        return;
    case STRAIT_MPI_NEIGHBOURS:
        if (g.n % 2 == 0)
            by_neighbours(r, x, all);
        else
            around(r, x, all);
        return;
    case STRAIT_MPI_DEFAULT:
        by_default(r, x, all, mean_bytes * (size_t)g.n);
        return;
    default: /* with two ranks a ring is one exchange */
        around(r, x, all);
        return;
    }
}

/* --- sizes ---------------------------------------------------------------------------------- */

static struct strait_packet *put_sizes(struct strait_rank *r, struct strait_sendrecv *x, int i)
{
    const struct blocks *b = x->of;
    struct strait_packet *p = strait_control(r, 0);
    for (int k = 0; k < WORDS; k++)
        p->words[k] = b->sizes[strait_around(b->out + WORDS * i + k, x->g.n)];
    return p;
}

static void take_sizes(struct strait_rank *r, struct strait_sendrecv *x, int i,
                       struct strait_packet *taken)
{
    const struct blocks *b = x->of;
    for (int k = 0; k < WORDS && WORDS * i + k < b->n_in; k++)
        b->sizes[strait_around(b->in + WORDS * i + k, x->g.n)] = taken->words[k];
    strait_drop(r, taken);
}

/* Returns: the bytes of all. */
static double exchange_sizes(struct strait_rank *r, struct strait_group g, size_t mine_bytes)
{
    struct strait_sendrecv x = {.g = g};
    double sum = 0;
    strait_group_sizes(r, &g)[g.me] = (double)mine_bytes;
    for (int distance = 1; distance < g.n; distance *= 2) {
        struct blocks b = {.sizes = strait_group_sizes(r, &g), .out = g.me, .in = g.me + distance};
        b.n_in = distance <= g.n / 2 ? distance : g.n - distance;
        x.step = (unsigned)(g.n + distance);
        x.to = g.ranks[strait_around(g.me - distance, g.n)];
        x.from = g.ranks[strait_around(g.me + distance, g.n)];
        x.n_out = (b.n_in + WORDS - 1) / WORDS;
        x.put = put_sizes;
        x.take = take_sizes;
        x.of = &b;
        strait_sendrecv(r, x);
    }
    for (int i = 0; i < g.n; i++)
        sum += strait_group_sizes(r, &g)[i];
    return sum;
}

void strait_gather_by_open_mpi(struct strait_rank *r, struct strait_group g,
                               struct strait_packet **all, size_t mean_bytes)
{
    if (mean_bytes == 0 && g.n > 1)
        mean_bytes = (size_t)exchange_sizes(r, g, all[g.me]->payload_bytes) / (size_t)g.n;
    gather(r, g, all, strait_open_mpi_way(STRAIT_MPI_ALLGATHERV, g.n, mean_bytes), mean_bytes);
}

void strait_gather_around_by_open_mpi(struct strait_rank *r, struct strait_group g,
                                      struct strait_packet **all)
{
    gather(r, g, all, STRAIT_MPI_RING, 0);
}
