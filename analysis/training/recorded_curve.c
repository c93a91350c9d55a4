#include "recorded_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "training_row.h"

/* --- which curve -------------------------------------------------------------------------- */

static double param_of(const struct strait_codec_spec *spec, const char *name)
{
    for (unsigned i = 0; i < spec->ops->n_params; i++)
        if (strcmp(spec->ops->params[i].name, name) == 0)
            return spec->params[i];
    return NAN;
}

struct asked { /* as curves name it */
    const char *codec;
    double par;
};

/* The recorded run's codec that does to values what this one does; NULL name: none was recorded.
 * Runs named "rel" and "adaptive" rounded to bins of twice the bound, as sz and sz3 do. */
static struct asked recorded_as(const struct strait_codec_spec *spec)
{
    const char *name = spec->ops->name;
    const bool rounds = strcmp(name, "sz") == 0 || strcmp(name, "sz3") == 0;
    if (spec->ops->flags & STRAIT_CODEC_LOSSLESS)
        return (struct asked){"none", 0};
    if (rounds && spec->bound.kind == STRAIT_BOUND_RANGE)
        return (struct asked){"rel", spec->bound.value};
    if (rounds && spec->bound.kind == STRAIT_BOUND_RMS) /* par sqrt(3) rms, par 0.5 */
        return (struct asked){"adaptive", round(spec->bound.value / sqrt(3) * 1e3) / 1e3};
    if (strcmp(name, "topk") == 0)
        return (struct asked){"topk", param_of(spec, "ratio")};
    if (strcmp(name, "efsignsgd") == 0)
        return (struct asked){"sign", 0};
    /* clipped at 2.5 sigma, and one norm for a whole tensor: the errors that were recorded say so
     */
    if (strcmp(name, "terngrad") == 0 && fabs(param_of(spec, "clip") - 2.5) < 1e-9)
        return (struct asked){"tern", 0};
    if (strcmp(name, "qsgd") == 0 && param_of(spec, "bucket") < 1)
        return (struct asked){"qsgd", param_of(spec, "levels")};
    if (strcmp(name, "powersgd") == 0)
        return (struct asked){"powersgd", param_of(spec, "rank")};
    return (struct asked){NULL, 0};
}

/* Runs that name their codec as experiments do. */
static const struct strait_curve *find_named(const struct strait_curves *curves, unsigned clients,
                                             unsigned seed, const char *target,
                                             const struct strait_codec_spec *spec)
{
    char asked[STRAIT_SPEC_CHARS], text[STRAIT_SPEC_CHARS];
    strait_codec_spec_text(asked, spec);
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct strait_curve *c = &curves->curves[i];
        struct strait_codec_spec of;
        if (c->clients == clients && c->seed == seed && c->par == 0 &&
            strcmp(c->target, target) == 0 && strait_codec_spec_parse(&of, c->codec, NULL) == 0 &&
            strcmp(strait_codec_spec_text(text, &of), asked) == 0)
            return c;
    }
    return NULL;
}

const struct strait_curve *strait_recorded_curve(const struct strait_curves *curves,
                                                 unsigned clients, unsigned seed,
                                                 const char *target,
                                                 const struct strait_codec_spec *spec)
{
    const struct strait_curve *named = find_named(curves, clients, seed, target, spec);
    const struct asked asked = recorded_as(spec);
    if (named || !asked.codec)
        return named;
    return strait_curves_find(curves, clients, seed, target, asked.codec, asked.par,
                              spec->memory.residual);
}

/* --- what it says of a run ---------------------------------------------------------------- */

const struct strait_curve *strait_recorded_of(const struct strait_experiment *e)
{
    return e->curves && e->down.spec.ops->flags & STRAIT_CODEC_LOSSLESS
               ? strait_recorded_curve(e->curves, (unsigned)e->n_clients, (unsigned)e->seed,
                                       strait_uplink_kind(e), &e->up.spec)
               : NULL;
}

json_t *strait_recorded_row(const struct strait_trial *p, const double *rounds_s, size_t n_rounds)
{
    const struct strait_curve *curve = strait_recorded_of(p->experiment);
    const size_t n = n_rounds < curve->n_rounds ? n_rounds : curve->n_rounds;
    const char *model = p->experiment->curves->model;
    struct strait_training_rounds of = {.task = *model ? model : p->experiment->model->name,
                                        .payload = "recorded",
                                        .scored = calloc(n, sizeof(*of.scored)),
                                        .losses = calloc(n, sizeof(*of.losses)),
                                        .n = n};
    double end_s = 0;
    for (size_t i = 0; of.scored && of.losses && i < n; i++) {
        const struct strait_curve_round *round = &curve->rounds[i];
        end_s += rounds_s[i];
        of.losses[i] = round->train_loss;
        of.scored[i] = (struct strait_scored){.round = (int32_t)i,
                                              .time_s = end_s,
                                              .loss = round->test_loss,
                                              .accuracy = round->test_acc_ratio,
                                              .bound = NAN};
    }
    json_t *out = of.scored && of.losses ? strait_training_of(p, &of) : NULL;
    free(of.scored);
    free(of.losses);
    return out;
}
