#include "experiment_parts.h"

#include <math.h>
#include <string.h>

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

/* "curves": recorded runs of this job, beside which "until" is the round that they say. */
static int read_curves(struct strait_experiment *e, struct strait_object *o,
                       struct strait_error *err)
{
    const char *path;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string_or(o, &path, "curves", NULL, err) != 0)
        return -1;
    if (!path)
        return 0;
    strait_object_where(o, "curves", where, sizeof(where));
    if (e->trains)
        return strait_refuse(err, where, "expected either \"curves\" or \"training\", found both");
    if (strait_curves_load(&e->curves, path, err) != 0)
        return -1;
    const struct strait_curves *c = e->curves;
    const double local_steps = strait_experiment_has_param(e, "local_steps")
                                   ? strait_experiment_param(e, "local_steps")
                                   : 0;
    if (c->n_elems > 0 && c->n_elems != e->model->n_elems)
        return strait_refuse(err, where, "expected curves of a model of %zu parameters, found %zu",
                             e->model->n_elems, c->n_elems);
    if (*c->strategy && strcmp(c->strategy, e->strategy->name) != 0)
        return strait_refuse(err, where, "expected curves of \"%s\", found \"%s\"",
                             e->strategy->name, c->strategy);
    if (c->local_steps > 0 && local_steps > 0 && (double)c->local_steps != local_steps)
        return strait_refuse(err, where, "expected curves of %.0f local steps a round, found %zu",
                             local_steps, c->local_steps);
    return 0;
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
    if (read_curves(e, o, err) != 0)
        return -1;
    static const char *const beside[] = {"until", "seeds"};
    for (int i = 0; i < 2 && !e->trains && !e->curves; i++)
        if (strait_object_has(o, beside[i]))
            return strait_refuse(err, strait_object_where(o, beside[i], where, sizeof(where)),
                                 "expected it beside \"training\" or \"curves\", found none");
    if (read_until(e, o, err) != 0 ||
        strait_object_integer_or(o, &n_seeds, "seeds", 1, MAX_SEEDS, 1, err) != 0)
        return -1;
    e->n_seeds = (int)n_seeds;
    return 0;
}
