/* A member of `elastic-diloco` (elastic_diloco.c): its inner steps, a ring that may break, and the
 * outer step. */
#include "elastic.h"

#include <math.h>

#include "federated.h"
#include "workloads/train/parallel/pipeline_grid.h"

struct strait_elastic strait_elastic_begin(struct strait_rank *r)
{
    struct strait_elastic m = {
        .w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
        .momentum = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
        .update = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS),
        .mean = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
    };
    strait_learns(r, m.w);
    strait_straggle(r, true);
    return m;
}

double strait_elastic_limit_s(struct strait_rank *r, const char *param)
{
    return strait_param(r, "grace") > 0 ? strait_param(r, param) : INFINITY;
}

/* --- the ring ------------------------------------------------------------------------------- */

/* The members in the order of the ring; searched for when they change. */
static void form(struct strait_rank *r, struct strait_elastic *m, double members)
{
    if (m->ring.members == members)
        return;
    m->ring.members = members;
    m->ring.n = 0;
    for (int i = 0; i < strait_n_ranks(r); i++)
        if (strait_elastic_has(members, i))
            m->ring.ranks[m->ring.n++] = i;
    if ((int)strait_param(r, "order") == ELASTIC_BY_NETWORK)
        strait_ring_order_of(r, m->ring.ranks, m->ring.n);
    for (int i = 0; i < m->ring.n; i++)
        if (m->ring.ranks[i] == strait_me(r))
            m->ring.me = i;
}

/* The ring is broken: rank 0 hears it in the place of what it waits for, and from it all others.
 * Tag -attempt. */
static struct strait_packet *give_up(struct strait_rank *r, const struct strait_elastic *m,
                                     int attempt)
{
    const struct strait_elastic_ring *g = &m->ring;
    for (int i = 0; i < g->n && !strait_is_away(r); i++)
        if ((strait_me(r) == 0) != (g->ranks[i] == 0))
            strait_send(r, g->ranks[i], ELASTIC_RING, -attempt, strait_control(r, 0));
    return NULL;
}

/* A step of the ring: this to the next rank, and the packet of the one before. NULL: the ring is
 * broken, or this rank has left. Tags grow from ring to ring, so that what is left of a broken one
 * is passed over. */
static struct strait_packet *pass(struct strait_rank *r, const struct strait_elastic *m,
                                  int attempt, int step, struct strait_packet *taken)
{
    struct strait_message from;
    const int tag = attempt * 2 * strait_n_ranks(r) + step;
    strait_send(r, m->ring.ranks[(m->ring.me + 1) % m->ring.n], ELASTIC_RING, tag, taken);
    while (strait_recv_by(r, &from, STRAIT_ANY, ELASTIC_RING,
                          strait_now_s(r) + strait_elastic_limit_s(r, "timeout"))) {
        if (from.tag == tag && !strait_is_away(r))
            return from.packet;
        strait_drop(r, from.packet);
        if (strait_is_away(r) || from.tag > tag || from.tag == -attempt)
            break;
    }
    return give_up(r, m, attempt);
}

/* The part of the ring `behind` steps before this rank's. */
static struct strait_tensor *part(struct strait_rank *r, const struct strait_elastic *m, int behind)
{
    const int n = m->ring.n;
    return strait_slice(r, m->mean, (m->ring.me - behind + 2 * n) % n, n);
}

/* As collectives/ring.c, of which any step may fail; packets are copies, since a broken ring begins
 * again with other values. */
bool strait_elastic_average(struct strait_rank *r, struct strait_elastic *m, double members,
                            int attempt)
{
    form(r, m, members);
    struct strait_codec *c = strait_codec(r, "up");
    const int n = m->ring.n;
    struct strait_packet *packet;
    strait_set(r, m->mean, m->update, m->has_change ? 1 : 0);
    for (int step = 0; step < n - 1; step++) {
        struct strait_tensor *sum = part(r, m, step + 1), *theirs = strait_spare(r, sum);
        packet = pass(r, m, attempt, step, strait_snapshot(r, c, NAN, part(r, m, step)));
        if (!packet)
            return false;
        strait_decode(r, theirs, packet);
        strait_add(r, sum, theirs, 1);
    }
    if (n == 1)
        return true;
    struct strait_tensor *mine = part(r, m, -1);
    strait_set(r, mine, mine, 1.0 / n);
    packet = strait_snapshot(r, c, NAN, mine);
    strait_decode(r, mine, strait_keep(packet));
    for (int step = 0; step < n - 1; step++) {
        packet = pass(r, m, attempt, n + step, packet);
        if (!packet)
            return false;
        strait_decode(r, part(r, m, step), strait_keep(packet));
    }
    strait_drop(r, packet);
    return true;
}

/* --- the outer step ------------------------------------------------------------------------- */

/* Newcomers are shared out among the members, in the order of their numbers. */
static void send_state(struct strait_rank *r, const struct strait_elastic *m, double members,
                       double newcomers)
{
    for (int i = 0, k = 0; i < strait_n_ranks(r); i++) {
        if (!strait_elastic_has(newcomers, i))
            continue;
        if (strait_elastic_donor(members, strait_n_ranks(r), k++) != strait_me(r))
            continue;
        struct strait_tensor *const both[] = {m->w, m->momentum};
        for (int j = 0; j < 2; j++)
            strait_send(r, i, ELASTIC_STATE, m->version,
                        strait_snapshot(r, strait_codec(r, "none"), NAN, both[j]));
    }
}

void strait_elastic_step(struct strait_rank *r, struct strait_elastic *m, double members,
                         double newcomers)
{
    strait_outer_step(r, m->w, m->momentum, m->mean);
    m->version++;
    m->has_change = false;
    send_state(r, m, members, newcomers);
}

/* False: it left meanwhile, and what it computed is lost. */
bool strait_elastic_train(struct strait_rank *r, struct strait_elastic *m)
{
    const double leaves_s = strait_next_presence_s(r);
    strait_straggle(r, false);
    strait_train(r, m->w, m->update, (int)strait_param(r, "local_steps"));
    m->has_change = strait_now_s(r) < leaves_s;
    return m->has_change;
}
