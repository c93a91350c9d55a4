#include "experiment_parts.h"

#include <math.h>

enum { MAX_SEEDS = 1000 };

static int refuse_strategy(const struct strait_experiment *e, struct strait_object *o,
                           struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    return strait_refuse(err, strait_object_where(o, "training", where, sizeof(where)),
                         "expected a strategy that trains (strait list strategies), found \"%s\"",
                         e->strategy->name);
}

/* {"accuracy": 0.88} or {"loss": 0.3} */
static int read_until(struct strait_experiment *e, struct strait_object *o,
                      struct strait_error *err)
{
    struct strait_object u;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    e->until = (struct strait_until){.accuracy = INFINITY, .loss = -INFINITY};
    if (!strait_object_has(o, "until"))
        return 0;
    if (strait_object_enter(&u, o, "until", false, err) != 0)
        return -1;
    const bool by_loss = strait_object_has(&u, "loss");
    if (by_loss == strait_object_has(&u, "accuracy"))
        return strait_refuse(err, strait_object_where(o, "until", where, sizeof(where)),
                             "expected either \"accuracy\" or \"loss\", found %s",
                             by_loss ? "both" : "none");
    if ((by_loss ? strait_object_number(&u, &e->until.loss, "loss", 0, 1e30, err)
                 : strait_object_number(&u, &e->until.accuracy, "accuracy", 0, 1, err)) != 0)
        return -1;
    e->has_until = true;
    return strait_object_close(&u, err);
}

int strait_ask_training(struct strait_experiment *e, struct strait_object *o,
                        struct strait_error *err)
{
    struct strait_object t;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    long n_seeds;
    e->trains = strait_object_has(o, "training");
    if (e->trains && !e->strategy->trains)
        return refuse_strategy(e, o, err);
    if (e->trains && (strait_object_enter(&t, o, "training", false, err) != 0 ||
                      strait_training_read(&e->training, &t, err) != 0))
        return -1;
    static const char *const beside[] = {"until", "seeds"};
    for (int i = 0; i < 2 && !e->trains; i++)
        if (strait_object_has(o, beside[i]))
            return strait_refuse(err, strait_object_where(o, beside[i], where, sizeof(where)),
                                 "expected it beside \"training\" alone, found none");
    if (read_until(e, o, err) != 0 ||
        strait_object_integer_or(o, &n_seeds, "seeds", 1, MAX_SEEDS, 1, err) != 0)
        return -1;
    e->n_seeds = (int)n_seeds;
    return 0;
}
