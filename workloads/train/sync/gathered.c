#include "gathered.h"
#include <math.h>
#include "workloads/ask/experiment.h"

enum { GRADIENT = 0 };

struct strait_gathering strait_gathering_of(struct strait_rank *r)
{
    struct strait_gathering g = {
        .world = strait_world_by_library(r, GRADIENT),
        .codec = strait_codec(r, "up"),
        .all = strait_alloc(r, (size_t)strait_n_ranks(r), sizeof(struct strait_packet *))};
    for (int turn = 0; turn < 2; turn++)
        g.gradient[turn] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    g.sum = strait_like(r, g.gradient[0]);
    return g;
}

void strait_gather_sum(struct strait_rank *r, struct strait_gathering *g, struct strait_tensor *x)
{
    g->all[g->world.me] = strait_encode(r, g->codec, NAN, x);
    strait_gather_packets(r, g->world, g->all, !strait_size_is_fixed(r, g->codec, x));
    for (int i = 0; i < g->world.n; i++) {
        struct strait_tensor *y = i == 0 ? g->sum : strait_spare(r, g->sum);
        strait_decode(r, y, g->all[i]);
        if (i > 0)
            strait_add(r, g->sum, y, 1);
    }
}

bool strait_gathering_uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    return strait_has_library(e) ? strait_library_uses(e, channel, GRADIENT, src, dst)
                                 : channel == GRADIENT && dst == (src + 1) % e->n_ranks;
}
