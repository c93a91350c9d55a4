#include "federated.h"
#include <math.h>
#include <stdio.h>

#include "workloads/ask/experiment.h"
#include "workloads/train/plans/selection.h"

enum { ONCE_A_CLIENT = 0 };
const char *const strait_straggler_draws[] = {"client", "round", NULL};

bool strait_straggles_anew(const struct strait_rank *r)
{
    return (int)strait_param(r, "straggler_draw") != ONCE_A_CLIENT;
}

void strait_straggle(struct strait_rank *r, bool first)
{
    if (!first && !strait_straggles_anew(r))
        return;
    const double spread = strait_param(r, "straggler_spread");
    if (spread > 0) /* without draws rounds can repeat (steady.c) */
        strait_set_slowness(r, strait_draw_slowness(spread, strait_draw(r, "straggler"),
                                                    strait_draw(r, "straggler's angle")));
}

bool strait_star_uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    (void)e;
    if (channel == STRAIT_STAR_DOWN)
        return src == STRAIT_STAR_SERVER && dst != STRAIT_STAR_SERVER;
    return channel == STRAIT_STAR_UP && src != STRAIT_STAR_SERVER && dst == STRAIT_STAR_SERVER;
}

int strait_star_check_dropout(const struct strait_experiment *e, struct strait_error *err)
{
    if (strait_experiment_param(e, "dropout") > 0 && !(strait_experiment_param(e, "deadline") > 0))
        return strait_refuse_at(
            err, e->file, "/strategy/deadline",
            "expected a deadline such as \"60 s\" beside dropout, since nothing "
            "else ends a round in which clients fall silent");
    return 0;
}

bool strait_star_refers(const struct strait_experiment *e, int direction)
{
    (void)e;
    return direction == 1;
}

void strait_star_begin(struct strait_rank *r, struct strait_packet *model)
{
    for (int i = 1; i < strait_n_ranks(r); i++)
        strait_send(r, i, STRAIT_STAR_DOWN, 0, strait_keep(model));
}

void strait_star_stop(struct strait_rank *r, int tag)
{
    struct strait_packet *stop = strait_control(r, 0); /* one for all: there may be a million */
    for (int i = 1; i < strait_n_ranks(r); i++)
        strait_send(r, i, STRAIT_STAR_DOWN, tag, strait_keep(stop));
    strait_drop(r, stop);
}

/* Be silent until the network has this client back: the server, which waits for it, sends nothing
 * meanwhile. False: it never comes back. */
static bool come_back(struct strait_rank *r)
{
    struct strait_message none;
    while (strait_is_away(r)) {
        const double back_s = strait_next_presence_s(r);
        if (isinf(back_s))
            return false;
        strait_recv_by(r, &none, STRAIT_STAR_SERVER, STRAIT_STAR_DOWN, back_s);
    }
    return true;
}

void strait_star_report_forever(struct strait_rank *r, enum strait_tensor_kind trained)
{
    struct strait_tensor *w = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *x = strait_tensor(r, trained, 0, STRAIT_ALL_LAYERS);
    strait_straggle(r, true);
    for (int i = 0;; i++) {
        struct strait_message m = strait_recv(r, STRAIT_STAR_SERVER, STRAIT_STAR_DOWN);
        strait_enter_round(r, i);
        strait_straggle(r, false);
        strait_decode(r, w, m.packet);
        do { /* what was trained when it left is lost */
            if (!come_back(r))
                return;
            strait_train(r, w, x, (int)strait_param(r, "local_steps"));
        } while (strait_is_away(r));
        strait_send(r, STRAIT_STAR_SERVER, STRAIT_STAR_UP, m.tag,
                    strait_encode(r, strait_codec(r, "up"), NAN, x));
    }
}

void strait_average(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                    struct strait_tensor *x)
{
    if (g.n == 1)
        return;
    strait_agree_on_statistics(r, g, c, x);
    strait_reduce_scatter(r, g, c, x);
    struct strait_tensor *mine = strait_slice(r, x, (g.me + 1) % g.n, g.n);
    strait_set(r, mine, mine, 1.0 / g.n);
    if (g.agreement) /* a mean lies where one rank's values do */
        strait_all_gather_packet(r, g, strait_encode_sum(r, c, 1, mine), x);
    else
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
