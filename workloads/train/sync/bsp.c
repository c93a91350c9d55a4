/* Bulk-synchronous data parallelism: forward, backward, all-reduce of the whole gradient, step
 * (Valiant, CACM 1990; the all-reduces: see collectives/). Nothing overlaps: the baseline for
 * schedules that overlap. */
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/experiment.h"
#include "workloads/train/collectives/legal.h"
#include "workloads/ask/strategy.h"

enum { WORLD = 0, INSIDE = 0, BETWEEN = 1 }; /* channels */
enum { BY_SITES = STRAIT_AR_NCCL + 1 };

/* Sites as in the strategy's parameters, else as in the network. */
struct layout {
    int site_size;
    const struct strait_network *network;
};

static int site_of(const void *arg, int rank)
{
    const struct layout *l = arg;
    return l->site_size > 0 ? rank / l->site_size : strait_network_site(l->network, rank);
}

static void bsp(struct strait_rank *r)
{
    const int how = (int)strait_param(r, "collective");
    struct strait_codec *codec = strait_codec(r, "up");
    struct strait_group world = strait_world(r, WORLD);
    struct strait_hierarchy sites = {0};
    world.skew_s = strait_param(r, "skew");
    world.agreement = how == STRAIT_AR_RING_ENCODED ? strait_agreement_of(r, codec, world.n)
                                                    : strait_statistics_of(r, codec);
    const struct layout layout = {(int)strait_param(r, "site_size"), r->run->network};
    if (how == BY_SITES)
        sites = strait_hierarchy_of(r, (struct strait_sites){strait_n_ranks(r), site_of, &layout},
                                    INSIDE, BETWEEN);
    sites.leaders.agreement = world.agreement;
    struct strait_tensor *gradient[2]; /* alternating: views of the other may still be read */
    for (int i = 0; i < 2; i++)
        gradient[i] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);

    for (int round = 0; strait_round(r); round++) {
        struct strait_tensor *x = gradient[round % 2];
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, x);
        strait_launch(r);
        if (how == BY_SITES)
            strait_all_reduce_by_sites(r, &sites, codec, x);
        else
            strait_all_reduce(r, world, codec, x, (enum strait_all_reduce)how);
        strait_step(r, x, 1.0 / strait_n_ranks(r));
    }
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int how = (int)strait_experiment_param(e, "collective");
    const struct layout layout = {(int)strait_experiment_param(e, "site_size"), e->network};
    const struct strait_sites sites = {e->n_ranks, site_of, &layout};
    if (channel == STRAIT_AGREEING && strait_codec_wants_statistics(&e->up.spec))
        return how == BY_SITES ? strait_hierarchy_agrees(sites, src, dst)
                               : strait_all_reduce_agrees((enum strait_all_reduce)how);
    if (channel == STRAIT_AGREEING)
        return how == STRAIT_AR_RING_ENCODED && strait_spec_agrees(&e->up.spec);
    if (how == STRAIT_AR_DOUBLE_TREE)
        return channel <= WORLD + 1 && strait_double_tree_uses(e->n_ranks, channel, src, dst);
    if (how == STRAIT_AR_GLOO)
        return strait_gloo_uses(e->n_ranks, channel, src, dst);
    if (how == STRAIT_AR_OPEN_MPI)
        return strait_open_mpi_uses(e->n_ranks, e->model->n_elems, channel, src, dst);
    if (how == STRAIT_AR_NCCL)
        return strait_nccl_uses(e->network, e->n_ranks, e->model->n_elems, channel, src, dst);
    if (how != BY_SITES)
        return channel == WORLD &&
               strait_all_reduce_uses((enum strait_all_reduce)how, e->n_ranks, src, dst);
    return (channel == INSIDE || channel == BETWEEN) &&
           strait_hierarchy_uses(sites, src, dst, channel == INSIDE);
}

static const char *const collectives[] = {
    "ring", "halving", "tree",     "all_to_all", "ring_encoded", "double_tree",
    "gloo", "pat",     "open_mpi", "nccl",       "hierarchical", NULL};

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const int how = (int)strait_experiment_param(e, "collective");
    return strait_all_reduce_check(
        e, how == BY_SITES ? STRAIT_AR_RING : (enum strait_all_reduce)how, collectives[how], err);
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"collective", "how the gradient is summed", STRAIT_PARAM_CHOICE, .min = 0, .max = BY_SITES,
     .fallback = STRAIT_AR_RING, .choices = collectives},
    {"site_size", "ranks a site of hierarchical; 0: as the network says, a star is one",
     STRAIT_PARAM_INTEGER, .min = 0, .max = 1e6},
    STRAIT_SKEW_PARAM,
    STRAIT_LAUNCH_PARAM,
    STRAIT_UPDATE_PARAM,
};

/* Which of a pair's two ways goes first depends on packets. */
static bool needs_packets(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "collective") == STRAIT_AR_OPEN_MPI;
}

const struct strait_strategy strait_strategy_bsp = {
    .name = "bsp",
    .summary = "data parallelism: one all-reduce after backward; a codec is paid at every hop",
    .source =
        "ring: Patarasuk and Yuan, JPDC 2009; halving: Thakur et al., IJHPCA 2005; "
        "double tree: Sanders et al., 2009; gloo: gloo/allreduce.cc; pat: Jeaugey, 2025; "
        "open_mpi: coll/tuned and pml/ob1 of 4.1.4; nccl: src/graph/tuning.cc; with a codec as "
        "C-Coll does (Huang et al., 2023)",
    .is_exact = true,
    .trains = true,
    .sums = true,
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .carrier = strait_library_carrier,
    .needs_packets = needs_packets,
    .period = strait_strategy_repeats,
    .rank_main = bsp,
};
