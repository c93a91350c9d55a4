/* Gloo's broadcast (facebookincubator/gloo: gloo/broadcast.cc), a binomial tree whose near half
 * comes first. A packet goes when its receiver has said that it is ready (gloo_ring.h), so that
 * ranks that begin together need a round trip at the first level, and later ones a delay each. Four
 * ranks:
 *
 *             rank 0   1    2    3
 *   step 0    A        A    .    .      0 > 1
 *   step 1    A        A    A    A      0 > 2, 1 > 3
 *
 * A rank's sends are posted together and share its port. */
#include "gloo_ring.h"

static int position(const struct strait_group *g, int place, int root)
{
    return g->ranks[strait_around(place + root, g->n)];
}

static struct strait_packet *pass_down(struct strait_rank *r, struct strait_group g, int root,
                                       struct strait_packet *packet)
{
    const int place = strait_around(g.me - root, g.n), words = g.channel + 1;
    int bit = 1;
    while (bit <= place)
        bit *= 2;
    if (place > 0) {
        const int parent = position(&g, place - bit / 2, root);
        strait_send(r, parent, words, root, strait_control(r, 0));
        packet = strait_recv(r, parent, g.channel).packet;
    }
    for (; place + bit < g.n; bit *= 2) {
        const int child = position(&g, place + bit, root);
        strait_drop(r, strait_recv(r, child, words).packet);
        strait_send(r, child, g.channel, root, strait_keep(packet));
    }
    return packet;
}

struct strait_packet *strait_broadcast_by_gloo(struct strait_rank *r, struct strait_group g,
                                               int root, struct strait_packet *taken,
                                               size_t n_bytes)
{
    if (n_bytes == 0 && g.n > 1) { /* of any size: that goes first */
        struct strait_packet *word = taken ? strait_control(r, (double)taken->payload_bytes) : NULL;
        strait_drop(r, pass_down(r, g, root, word));
    }
    return pass_down(r, g, root, taken);
}
