#include "federated.h"

#include "workloads/train/plans/selection.h"

enum { ONCE_A_CLIENT = 0 };
const char *const strait_straggler_draws[] = {"client", "round", NULL};

void strait_straggle(struct strait_rank *r, bool first)
{
    const bool once = (int)strait_param(r, "straggler_draw") == ONCE_A_CLIENT;
    const double spread = strait_param(r, "straggler_spread");
    if (spread > 0 && (first || !once)) /* who draws nothing repeats (steady.h) */
        strait_set_slowness(r, strait_draw_slowness(spread, strait_draw(r, "straggler"),
                                                    strait_draw(r, "straggler's angle")));
}

void strait_average(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                    struct strait_tensor *x)
{
    strait_reduce_scatter(r, g, c, x);
    struct strait_tensor *mine = strait_slice(r, x, (g.me + 1) % g.n, g.n);
    if (g.n > 1)
        strait_set(r, mine, mine, 1.0 / g.n);
    strait_all_gather(r, g, c, x);
}

void strait_outer_step(struct strait_rank *r, struct strait_tensor *w, struct strait_tensor *m,
                       struct strait_tensor *g)
{
    const double lr = strait_param(r, "outer_lr"), momentum = strait_param(r, "outer_momentum");
    strait_set(r, m, m, momentum);
    strait_add(r, m, g, 1);
    strait_add(r, w, g, lr);
    strait_add(r, w, m, lr * momentum);
}
