/* ZeRO (Rajbhandari et al., SC 2020): every rank keeps the optimiser's state of its own part of the
 * model (stage 1), sums gradients there (2), and keeps no other parameters either (3; PyTorch's
 * FSDP, Zhao et al., VLDB 2023). Stages 1 and 2 gather the parameters after the step; stage 3
 * gathers a unit of layers before its forward pass and again before its backward pass. What is
 * under way where, two units, prefetch 1:
 *
 *             forward 0   forward 1   backward 1   backward 0
 *   wire      gather 1    gather 1'   gather 0'    sum 1, sum 0     then each rank steps its part
 *
 * ZeRO++ (Wang et al., 2023) codes both: parameters with "download_codec" where their owner sends
 * them, gradients with "codec"; `sum` direct sends a part once to its owner instead of coding it
 * at every hop, and `again` site keeps a copy of the parameters in every site, so that the second
 * gather stays inside. The owner keeps its part uncoded.
 *
 * SDP4Bit (Jia et al., NeurIPS 2024): parameters as differences from what all have ("reference":
 * "last" of "download_codec"), gradients by `sum` two_level: first inside a node, with `inside_bits`
 * (8; 0: uncoded), then between the ranks that have the same place in their nodes. Only what others
 * are sent is coded; there, also what stays. Four ranks in nodes of two; part p is rank p's:
 *
 *             rank 0              rank 1              rank 2              rank 3
 *   start     a0 a1 a2 a3         b0 b1 b2 b3         c0 c1 c2 c3         d0 d1 d2 d3
 *   inside    ab0 ab2 > wire      ab1 ab3             cd0 cd2             cd1 cd3
 *   between   ab0 + cd0           ab1 + cd1           cd2 + ab2           cd3 + ab3
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "overlap.h"
#include "workloads/train/collectives/collectives.h"
#include "workloads/train/collectives/legal.h"

enum { GRADIENT = 0, WEIGHTS, INSIDE, TO_LANE, DONE, END = -1 }; /* channels; DONE has N_JOBS */
enum job { SUM, GATHER, AGAIN, N_JOBS };
enum { RING, DIRECT, TWO_LEVEL };
enum { BY_ALL, BY_SITE };
static const char *const sums[] = {"ring", "direct", "two_level", NULL};
static const char *const agains[] = {"all", "site", NULL};

struct unit { /* of consecutive layers; own: the part that this rank steps */
    struct strait_tensor *gradient[2], *own_gradient[2], *w, *own, *exact, *again;
};

struct zero {
    int n, *first; /* units, and their first layers */
    struct unit *units;
    struct strait_gradients gradients;
    struct strait_group reduce, gather, site;
    const char *down; /* the codec of parameters */
    int sum;
    bool by_site, coded;
};

/* Places are counted so that place i owns part i + 1, as in a ring; a direct sum is owned by its
 * place. */
static struct strait_group owners(struct strait_rank *r)
{
    const int n = strait_n_ranks(r);
    int *ranks = strait_alloc(r, (size_t)n, sizeof(*ranks));
    for (int i = 0; i < n; i++)
        ranks[i] = (i + n - 1) % n;
    return strait_group_of(r, ranks, n, GRADIENT);
}

static struct strait_group neighbours(struct strait_rank *r)
{
    const struct strait_network *network = strait_network(r);
    const int n = strait_n_ranks(r), here = strait_network_site(network, strait_me(r));
    int *ranks = strait_alloc(r, (size_t)n, sizeof(*ranks)), n_here = 0;
    for (int i = 0; i < n; i++)
        if (strait_network_site(network, i) == here)
            ranks[n_here++] = i;
    return strait_group_of(r, ranks, n_here, INSIDE);
}

/* Ranks of each site, where all have as many, one after another; else 0. */
static int site_ranks(const struct strait_network *network, int n)
{
    int here = 1;
    while (here < n && strait_network_site(network, here) == strait_network_site(network, 0))
        here++;
    for (int i = 0; i < n; i++)
        if (n % here != 0 ||
            strait_network_site(network, i) != strait_network_site(network, i / here * here) ||
            (i % here == 0 && i > 0 &&
             strait_network_site(network, i) == strait_network_site(network, i - 1)))
            return 0;
    return here;
}

static struct strait_tensor *own_part(struct strait_rank *r, struct strait_tensor *x)
{
    return strait_slice(r, x, (strait_me(r) + 1) % strait_n_ranks(r), strait_n_ranks(r));
}

/* All tensors that are coded or viewed; none is changed while others may read it: a rank writes its
 * part when all have given their share of its sum, and so have gathered before. */
static struct zero begin(struct strait_rank *r)
{
    const struct strait_layer_costs layers = strait_rank_layer_costs(r);
    const bool coded = !strait_sends_views(strait_codec(r, "down")) && strait_n_ranks(r) > 1;
    struct strait_fusion f = strait_rank_fusion(r);
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS), *exact = w,
                         *again = w;
    strait_fuse_forward(&f, &layers, strait_param(r, "unit"));
    if (coded)
        exact = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    if ((int)strait_param(r, "stage") == 3)
        again = strait_like(r, w);
    struct zero z = {.n = f.n_buckets,
                     .first = f.first,
                     .units = strait_alloc(r, (size_t)f.n_buckets, sizeof(struct unit)),
                     .gradients = strait_rank_gradients(r),
                     .reduce = owners(r),
                     .gather = strait_world(r, WEIGHTS),
                     .down = strait_n_ranks(r) > 1 ? "down" : "none",
                     .coded = coded,
                     .sum = (int)strait_param(r, "sum"),
                     .by_site = (int)strait_param(r, "again") == BY_SITE};
    if (z.sum == RING)
        z.reduce = strait_world(r, GRADIENT);
    if (z.sum != TWO_LEVEL)
        z.reduce.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    if (z.by_site)
        z.site = neighbours(r);
    for (int u = 0, lo = 0; u < z.n; u++) {
        struct unit *unit = &z.units[u];
        for (int turn = 0; turn < 2; turn++) {
            unit->gradient[turn] =
                strait_layers_of(r, &z.gradients, turn, z.first[u], z.first[u + 1]);
            unit->own_gradient[turn] = own_part(r, unit->gradient[turn]);
        }
        const int hi = lo + (int)strait_n_elems(unit->gradient[0]);
        unit->w = strait_range(r, w, (size_t)lo, (size_t)hi);
        unit->again = strait_range(r, again, (size_t)lo, (size_t)hi);
        unit->own = own_part(r, unit->w);
        unit->exact = own_part(r, strait_range(r, exact, (size_t)lo, (size_t)hi));
        lo = hi;
    }
    strait_owns(r, w);
    strait_learns(r, again);
    return z;
}

/* --- the lane that communicates ------------------------------------------------------------- */

/* Send x's part of rank `owner`, or add to it what another rank has of it. */
static void give(struct strait_rank *lane, struct strait_codec *c, struct strait_tensor *x, int to,
                 int owner)
{
    const int n = strait_n_ranks(lane);
    strait_send(lane, to, GRADIENT, owner,
                strait_encode(lane, c, NAN, strait_slice(lane, x, (owner + 1) % n, n)));
}

static void take(struct strait_rank *lane, struct strait_tensor *x, int from, int owner)
{
    const int n = strait_n_ranks(lane);
    struct strait_tensor *part = strait_slice(lane, x, (owner + 1) % n, n),
                         *theirs = strait_spare(lane, part);
    struct strait_message m = strait_recv(lane, from, GRADIENT);
    assert(m.tag == owner);
    strait_decode(lane, theirs, m.packet);
    strait_add(lane, part, theirs, 1);
}

/* Sites of `here` ranks each. Sum order of a part: its owner's site first, from the owner on; then
 * the next sites'. */
static void sum_by_two_levels(struct strait_rank *lane, struct strait_tensor *x)
{
    const int n = strait_n_ranks(lane), me = strait_me(lane),
              here = site_ranks(strait_network(lane), n), first = me / here * here;
    for (int k = 1; k < here; k++)
        for (int owner = (me + k) % here; owner < n; owner += here)
            give(lane, strait_codec(lane, "inside"), x, first + (me + k) % here, owner);
    for (int k = 1; k < here; k++)
        for (int owner = me % here; owner < n; owner += here)
            take(lane, x, first + (me + here - k) % here, owner);
    for (int k = here; k < n; k += here)
        give(lane, strait_codec(lane, "up"), x, (me + k) % n, (me + k) % n);
    for (int k = here; k < n; k += here)
        take(lane, x, (me + n - k) % n, me);
}

static void sum(struct strait_rank *lane, const struct zero *z, struct strait_tensor *x)
{
    strait_agree_on_statistics(lane, z->reduce, strait_codec(lane, "up"), x);
    if (z->sum == TWO_LEVEL)
        sum_by_two_levels(lane, x);
    else if (z->sum == DIRECT)
        strait_reduce_scatter_direct(lane, z->reduce, strait_codec(lane, "up"), x);
    else
        strait_reduce_scatter(lane, z->reduce, strait_codec(lane, "up"), x);
}

static void gather(struct strait_rank *lane, const struct zero *z, const struct unit *u,
                   bool is_again)
{
    struct strait_tensor *to = is_again ? u->again : u->w;
    if (is_again && z->by_site) {
        const int part = (z->site.me + 1) % z->site.n;
        strait_all_gather_packet(lane, z->site,
                                 strait_encode(lane, strait_codec(lane, "none"), NAN,
                                               strait_slice(lane, u->w, part, z->site.n)),
                                 to);
    } else if (z->gather.n > 1 || is_again) {
        strait_all_gather_packet(
            lane, z->gather, strait_encode(lane, strait_codec(lane, z->down), NAN, u->exact), to);
    }
}

static void communicate(struct strait_rank *lane, void *arg)
{
    struct zero *z = arg;
    for (int word, n_sums = 0; (word = strait_pend(lane, TO_LANE)) != END;) {
        const struct unit *u = &z->units[word / N_JOBS];
        const enum job job = (enum job)(word % N_JOBS);
        strait_launch(lane);
        if (job == SUM)
            sum(lane, z, u->gradient[n_sums++ / z->n % 2]);
        else
            gather(lane, z, u, job == AGAIN);
        strait_post(lane, DONE + (int)job, word / N_JOBS);
    }
}

/* --- a round -------------------------------------------------------------------------------- */

static void ask(struct strait_rank *r, enum job job, int unit)
{
    strait_post(r, TO_LANE, unit * N_JOBS + (int)job);
}

static void all(struct strait_rank *r, const struct zero *z, enum job job)
{
    for (int u = 0; u < z->n; u++)
        ask(r, job, u);
    for (int u = 0; u < z->n; u++)
        strait_pend(r, DONE + (int)job);
}

/* Wait for the i-th unit of a pass over them, and ask for those behind it. */
static void prefetched(struct strait_rank *r, const struct zero *z, enum job job, int i,
                       int *n_asked)
{
    const int ahead = (int)strait_param(r, "prefetch");
    for (; *n_asked < z->n && *n_asked <= i; (*n_asked)++)
        ask(r, job, job == AGAIN ? z->n - 1 - *n_asked : *n_asked);
    strait_pend(r, DONE + (int)job);
    for (; *n_asked < z->n && *n_asked <= i + ahead; (*n_asked)++)
        ask(r, job, job == AGAIN ? z->n - 1 - *n_asked : *n_asked);
}

static void forward(struct strait_rank *r, const struct zero *z, int stage)
{
    int n_asked = 0;
    for (int u = 0; u < z->n; u++) {
        if (stage == 3)
            prefetched(r, z, GATHER, u, &n_asked);
        for (int l = z->first[u]; l < z->first[u + 1]; l++)
            strait_forward(r, l);
    }
}

static void backward(struct strait_rank *r, const struct zero *z, int stage, int turn)
{
    int n_asked = 0;
    for (int u = z->n - 1; u >= 0; u--) {
        if (stage == 3)
            prefetched(r, z, AGAIN, z->n - 1 - u, &n_asked);
        for (int l = z->first[u + 1] - 1; l >= z->first[u]; l--)
            strait_backward_of(r, &z->gradients, turn, l);
        if (stage > 1)
            ask(r, SUM, u);
    }
    for (int u = z->n - 1; u >= 0 && stage == 1; u--)
        ask(r, SUM, u);
    for (int u = 0; u < z->n; u++)
        strait_pend(r, DONE + SUM);
}

/* The optimiser steps the owner's exact parameters. */
static void step(struct strait_rank *r, const struct zero *z, int turn)
{
    for (int u = 0; u < z->n; u++) {
        const struct unit *unit = &z->units[u];
        if (z->coded)
            strait_set(r, unit->own, unit->exact, 1);
        strait_step_shard(r, unit->own_gradient[turn], 1.0 / strait_n_ranks(r));
        if (z->coded)
            strait_set(r, unit->exact, unit->own, 1);
    }
}

static void zero(struct strait_rank *r)
{
    const int stage = (int)strait_param(r, "stage");
    struct zero z = begin(r);
    struct strait_rank *lane = strait_spawn(r, communicate, &z);
    for (int round = 0; strait_round(r); round++) {
        forward(r, &z, stage);
        backward(r, &z, stage, round % 2);
        step(r, &z, round % 2);
        if (stage < 3)
            all(r, &z, GATHER);
        else if (strait_is_last_round(r) && strait_experiment(r)->trains)
            all(r, &z, AGAIN); /* the trained model, as nobody has it */
    }
    strait_post(r, TO_LANE, END);
    strait_join(r, lane);
}

/* Next to each other around a site. */
static bool in_site(const struct strait_experiment *e, int src, int dst)
{
    const int site = strait_network_site(e->network, src);
    int next = (src + 1) % e->n_ranks;
    while (strait_network_site(e->network, next) != site)
        next = (next + 1) % e->n_ranks;
    return next == dst;
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const bool ring = dst == (src + 1) % e->n_ranks,
               again_by_site = (int)strait_experiment_param(e, "stage") == 3 &&
                               (int)strait_experiment_param(e, "again") == BY_SITE;
    switch (channel) {
    case GRADIENT:
        if ((int)strait_experiment_param(e, "sum") == TWO_LEVEL) {
            const int here = site_ranks(e->network, e->n_ranks);
            return src / here == dst / here || src % here == dst % here;
        }
        return ring || (int)strait_experiment_param(e, "sum") == DIRECT;
    case WEIGHTS:
        return ring;
    case STRAIT_AGREEING:
        return (int)strait_experiment_param(e, "sum") != TWO_LEVEL &&
               strait_codec_wants_statistics(&e->up.spec);
    default:
        return channel == INSIDE && again_by_site && in_site(e, src, dst);
    }
}

static bool needs_packets(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "sum") != RING;
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_codec_spec *down = &e->down.spec;
    const int how = (int)strait_experiment_param(e, "sum");
    if (strait_feedback_needed(down))
        return strait_refuse_at(err, e->file, "/download_codec",
                                "expected a codec whose sender remembers nothing, since a part is "
                                "sent again, found \"%s\"",
                                down->ops->name);
    if (e->trains && e->training.optimiser != STRAIT_SGD && e->training.optimiser != STRAIT_ADAM &&
        e->training.optimiser != STRAIT_ADAMW)
        return strait_refuse_at(
            err, e->file, "/training",
            "expected sgd, adam or adamw, since \"zero\" steps parts of tensors");
    if (how == TWO_LEVEL && site_ranks(e->network, e->n_ranks) == 0)
        return strait_refuse_at(
            err, e->file, "/strategy/sum",
            "expected \"ring\" or \"direct\", since sites have different numbers of ranks");
    if (how != TWO_LEVEL && strait_experiment_param(e, "inside_bits") > 0)
        return strait_refuse_at(err, e->file, "/strategy/inside_bits",
                                "expected 0, since only \"two_level\" sums inside sites, found %g",
                                strait_experiment_param(e, "inside_bits"));
    return strait_all_reduce_check(e, how == RING ? STRAIT_AR_RING : STRAIT_AR_ALL_TO_ALL,
                                   sums[how], err);
}

/* Parameters go to all who have the last ones. */
static bool refers(const struct strait_experiment *e, int direction)
{
    return direction == 1 && e->n_ranks > 1;
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"stage", "what is kept in parts: 1 the optimiser's state, 2 gradients too, 3 all (FSDP)",
     STRAIT_PARAM_INTEGER, .min = 1, .max = 3, .fallback = 3},
    {"unit", "bytes that the layers of a unit stay below", STRAIT_PARAM_BYTES, .min = 1,
     .max = 1e12, .fallback = 25 * 1048576.0},
    {"prefetch", "stage 3: units gathered ahead of the one that computes", STRAIT_PARAM_INTEGER,
     .min = 0, .max = 1e4, .fallback = 1},
    {"sum",
     "gradients by a ring, coded at every hop, directly to their owners, coded once, or first "
     "inside each site",
     STRAIT_PARAM_CHOICE, .min = 0, .max = TWO_LEVEL, .fallback = RING, .choices = sums},
    {"inside_bits", "of a value of \"codec\" inside a site, two_level; 0: uncoded there",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 32, .fallback = 0},
    {"again", "stage 3: before backward, parameters from all ranks or kept by each site",
     STRAIT_PARAM_CHOICE, .min = 0, .max = BY_SITE, .fallback = BY_ALL, .choices = agains},
    STRAIT_LAUNCH_PARAM,
};
const struct strait_strategy strait_strategy_zero = {
    .name = "zero",
    .summary = "ZeRO-1 to ZeRO-3 (FSDP): state, gradients and parameters kept in parts by ranks",
    .source = "Rajbhandari et al., SC 2020; Zhao et al., VLDB 2023; ZeRO++: Wang et al., 2023; "
              "SDP4Bit: Jia et al., NeurIPS 2024",
    .is_exact = true,
    .trains = true,
    .uplink_kind = "grad",
    .downlink_kind = "param",
    STRAIT_PARAMS(params),
    .check = check,
    .refers = refers,
    .uses_stream = uses_stream,
    .needs_packets = needs_packets,
    .period = strait_strategy_repeats,
    .rank_main = zero,
};
