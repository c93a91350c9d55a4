/* Deep Gradient Compression (Lin, Han, Mao, Wang and Dally, ICLR 2018) as a whole: every rank clips
 * its gradient to clip / sqrt(n), adds it to its momentum and to what it has not sent yet (the
 * memory of the codec `dgc`), sends what a sampled threshold chooses, and steps along the mean of
 * all. In the first epochs more is sent: a quarter, a sixteenth, ... until it is the codec's ratio.
 * Sizes differ between ranks and are exchanged first. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codecs/sparse/dgc.h"
#include "gathered.h"
#include "workloads/ask/experiment.h"

struct clipping {
    float *x;
    size_t n;
    double limit;
};

static void clip_now(void *arg)
{
    const struct clipping *c = arg;
    strait_dgc_clip(c->x, c->n, strait_dgc_square_sum(c->x, c->n), c->limit);
}

/* Charged as a pass that reads, like an addition, and one that writes. */
static void clip(struct strait_rank *r, struct strait_tensor *x)
{
    const double limit = strait_param(r, "clip");
    struct clipping c = {strait_values(r, x), strait_n_elems(x), limit / sqrt(strait_n_ranks(r))};
    if (limit > 0)
        strait_work(r, STRAIT_SPAN_AGGREGATE, STRAIT_CPU,
                    4.0 * (double)c.n * (strait_add_s_per_byte(r) + strait_copy_s_per_byte(r)),
                    c.x ? clip_now : NULL, &c);
}

static bool is_plain(const struct strait_codec_spec *spec)
{
    return strcmp(spec->ops->name, "none") == 0;
}

/* The share that is sent in this step: the codec's ratio is its first parameter. */
static void warm_up(struct strait_rank *r, struct strait_codec *codec, int round)
{
    const struct strait_codec_spec *spec = &strait_experiment(r)->up.spec;
    const int epoch_steps = (int)strait_param(r, "epoch_steps");
    if (!is_plain(spec) && epoch_steps > 0)
        strait_set_share(codec,
                         strait_dgc_warm_up(spec->params[0], (unsigned)(round / epoch_steps)));
}

static void dgc(struct strait_rank *r)
{
    struct strait_gathering g = strait_gathering_of(r);
    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = g.gradient[round % 2];
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, x);
        clip(r, x);
        warm_up(r, g.codec, round);
        strait_gather_sum(r, &g, x);
        strait_step(r, g.sum, 1.0 / strait_n_ranks(r));
    }
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_codec_spec *spec = &e->up.spec;
    if (strcmp(spec->ops->name, "dgc") != 0 && !is_plain(spec))
        return strait_refuse_at(err, e->file, "/codec",
                                "expected \"dgc\", or \"none\", found \"%s\"", spec->ops->name);
    if (e->trains && e->training.momentum > 0 && spec->memory.momentum > 0 &&
        e->training.momentum != spec->memory.momentum)
        return strait_refuse_at(
            err, e->file, "/training/momentum",
            "expected the codec's momentum %g, which takes its place, or 0, found %g",
            spec->memory.momentum, e->training.momentum);
    return 0;
}

/* While it warms up no round is like the one before. */
static int period(const struct strait_experiment *e)
{
    return strait_experiment_param(e, "epoch_steps") > 0 ? 0 : strait_strategy_repeats(e);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"clip", "norm to which gradients are clipped, on one of n ranks by its sqrt(n)-th; 0: none",
     STRAIT_PARAM_NUMBER, .min = 0, .max = 1e12},
    {"epoch_steps", "steps of an epoch: of the first one a quarter is sent, ...; 0: no warm-up",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e9},
    STRAIT_LIBRARY_PARAMS,
};
const struct strait_strategy strait_strategy_dgc = {
    .name = "dgc",
    .summary = "DGC: clipped gradients, momentum at the sender, the largest gathered, with warm-up",
    .source = "Lin et al., ICLR 2018",
    .trains = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = strait_gathering_uses_stream,
    .carrier = strait_library_carrier,
    .needs_packets = strait_library_needs_packets,
    .period = period,
    .rank_main = dgc,
};
