#include "onebit_parts.h"

#include <assert.h>
#include <math.h>

#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/parts.h"

enum { PART, MEAN };                              /* tags */
static const double BETA_1 = 0.9, BETA_2 = 0.999; /* Adam's */

/* --- the mean -------------------------------------------------------------------------------- */

struct onebit_mean onebit_mean_of(struct strait_rank *r)
{
    struct onebit_mean mean = {.world = strait_world(r, ONEBIT_MEANS),
                               .codec = strait_codec(r, "up"),
                               .x = strait_scratch(r, strait_model(r)->n_elems)};
    const size_t n = strait_n_elems(mean.x);
    const int me = mean.world.me, ranks = mean.world.n;
    struct strait_tensor *room = strait_scratch(r, n / (size_t)ranks + 1); /* alike on all ranks */
    mean.mine = strait_range(r, room, 0,
                             strait_part_start(n, me + 1, ranks) - strait_part_start(n, me, ranks));
    return mean;
}

static struct strait_packet *receive_from(struct strait_rank *r, struct strait_group g, int place,
                                          int tag)
{
    struct strait_message m = strait_recv(r, g.ranks[place], g.channel);
    assert(m.tag == tag);
    return m.packet;
}

/* Also the owner's own part is encoded. Added in the order owner, owner + 1, ... */
static void gather_mine(struct strait_rank *r, struct onebit_mean *mean)
{
    const struct strait_group g = mean->world;
    for (int k = 1; k <= g.n; k++) {
        const int owner = strait_around(g.me + k, g.n);
        struct strait_packet *part =
            strait_encode(r, mean->codec, NAN, strait_slice(r, mean->x, owner, g.n));
        if (owner == g.me)
            strait_group_packets(r, &g)[0] = part;
        else
            strait_send(r, g.ranks[owner], g.channel, PART, part);
    }
    for (int k = 1; k < g.n; k++) /* wait: others may still read the last mean */
        strait_group_packets(r, &g)[k] = receive_from(r, g, strait_around(g.me + k, g.n), PART);
    strait_decode(r, mean->mine, strait_group_packets(r, &g)[0]);
    for (int k = 1; k < g.n; k++) {
        struct strait_tensor *theirs = strait_spare(r, mean->mine);
        strait_decode(r, theirs, strait_group_packets(r, &g)[k]);
        strait_add(r, mean->mine, theirs, 1);
    }
    strait_set(r, mean->mine, mean->mine, 1.0 / g.n);
}

void onebit_average(struct strait_rank *r, struct onebit_mean *mean)
{
    const struct strait_group g = mean->world;
    gather_mine(r, mean);
    struct strait_packet *packet = strait_encode(r, mean->codec, NAN, mean->mine);
    for (int k = 1; k < g.n; k++)
        strait_send(r, g.ranks[strait_around(g.me + k, g.n)], g.channel, MEAN, strait_keep(packet));
    strait_decode(r, strait_slice(r, mean->x, g.me, g.n), packet);
    for (int k = 1; k < g.n; k++) {
        const int owner = strait_around(g.me + k, g.n);
        strait_decode(r, strait_slice(r, mean->x, owner, g.n), receive_from(r, g, owner, MEAN));
    }
}

bool onebit_uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return channel == ONEBIT_MEANS || (channel == ONEBIT_SUMS && dst == (src + 1) % e->n_ranks);
}

/* --- Adam ------------------------------------------------------------------------------------ */

double onebit_rate(const struct onebit_adam *a)
{
    return a->lr / (1 - pow(BETA_1, a->step + 1));
}

/* What v never moved for does not move: its gradient was 0, and a sign would be no news of it. */
static double divisor(const struct onebit_adam *a, double over, size_t i)
{
    return a->v[i] > 0 ? sqrt((double)a->v[i] * over) + a->epsilon : INFINITY;
}

static double over_of(const struct onebit_adam *a)
{
    return 1 / (1 - pow(BETA_2, a->n_squares));
}

void onebit_momentum(void *adam)
{
    const struct onebit_adam *a = adam;
    const float b = (float)BETA_1, rest = (float)((1 - BETA_1) * a->share);
    for (size_t i = 0; i < a->n; i++)
        a->m[i] = b * a->m[i] + rest * a->g[i];
}

void onebit_squares(void *adam)
{
    const struct onebit_adam *a = adam;
    const float b = (float)BETA_2, rest = (float)((1 - BETA_2) * a->share * a->share);
    for (size_t i = 0; i < a->n; i++)
        a->v[i] = b * a->v[i] + rest * a->g[i] * a->g[i];
}

void onebit_descend(void *adam)
{
    const struct onebit_adam *a = adam;
    const double rate = onebit_rate(a), over = over_of(a);
    for (size_t i = 0; i < a->n; i++)
        a->w[i] -= (float)(rate * (double)a->m[i] / divisor(a, over, i));
}

void onebit_collect(void *adam)
{
    const struct onebit_adam *a = adam;
    const float rate = (float)onebit_rate(a);
    for (size_t i = 0; i < a->n; i++)
        a->u[i] += rate * a->m[i];
    onebit_descend(adam);
}

void onebit_restart(void *adam)
{
    const struct onebit_adam *a = adam;
    const double over = over_of(a);
    for (size_t i = 0; i < a->n; i++) {
        a->m[i] = (float)((double)a->u[i] / a->rates);
        a->base[i] -= (float)((double)a->u[i] / divisor(a, over, i));
        a->w[i] = a->base[i];
        a->u[i] = 0;
    }
}

void onebit_half_step(struct strait_rank *r, struct onebit_adam *a, void (*job)(void *))
{
    strait_resume_part(r, 0.5, a->w ? job : NULL, a);
}
