/* DiLoCo over sites: inside a site ranks average their parameters every `local_steps` inner steps
 * by a ring on their own network, without codec; after `site_rounds` of these averages the sites'
 * first ranks average how far their sites have moved, by a ring with the codec, take the outer
 * Nesterov step of DiLoCo and pass the result on inside their sites. A site weighs by its ranks.
 *
 * Source: Douillard et al. 2023 between sites; inside, local SGD (Stich, ICLR 2019), with which
 * local_steps 1 is DiLoCo whose workers are data-parallel sites, as published. */
#include "workloads/ask/experiment.h"
#include "federated.h"
#include "workloads/train/collectives/legal.h"

enum { INSIDE = 0, BETWEEN, PASSED_ON }; /* channels: rings in sites, of leaders, trees in sites */

struct grouping {
    const struct strait_network *network;
    int size; /* ranks of a site; 0: the network's sites */
};

static int site_of(const void *arg, int rank)
{
    const struct grouping *g = arg;
    return g->size > 0 ? rank / g->size : strait_network_site(g->network, rank);
}

struct sites {
    struct strait_hierarchy tree; /* inside a site; leaders */
    struct strait_group ring;     /* inside a site */
    double weight;                /* of this site among them: ranks by their mean number */
};

static struct sites sites_of(struct strait_rank *r)
{
    const struct strait_experiment *e = strait_experiment(r);
    const struct grouping g = {e->network, (int)strait_param(r, "site_size")};
    const struct strait_sites sites = {e->n_ranks, site_of, &g};
    struct sites s = {.tree = strait_hierarchy_of(r, sites, PASSED_ON, BETWEEN)};
    s.ring = strait_group_of(r, s.tree.site.ranks, s.tree.site.n, INSIDE);
    s.tree.leaders.agreement = strait_statistics_of(r, strait_codec(r, "up"));
    if (s.tree.leaders.me >= 0)
        s.weight = (double)s.tree.site.n * s.tree.leaders.n / e->n_ranks;
    return s;
}

static void site_diloco(struct strait_rank *r)
{
    const int n_averages = (int)strait_param(r, "site_rounds");
    struct sites s = sites_of(r);
    struct strait_codec *plain = strait_codec(r, "none");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS),
                         *momentum = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                         *recorded = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS), *x[2],
                         *moved[2]; /* alternating, see strait_average */
    for (int i = 0; i < 2; i++) {
        x[i] = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
        moved[i] = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    }
    strait_learns(r, w);
    for (int round = 0, k = 0; strait_round(r); round++) {
        for (int i = 0; i < n_averages; i++, k++) {
            strait_train(r, x[k % 2], x[(k + 1) % 2], (int)strait_param(r, "local_steps"));
            strait_average(r, s.ring, plain, x[(k + 1) % 2]);
        }
        if (s.tree.leaders.me >= 0) {
            struct strait_tensor *g = moved[round % 2];
            strait_set_change(r, g, x[k % 2], w, recorded);
            strait_set(r, g, g, s.weight);
            strait_average(r, s.tree.leaders, strait_codec(r, "up"), g);
            strait_outer_step(r, w, momentum, g);
        }
        strait_broadcast(r, s.tree.site, 0, plain, w);
        k++; /* a part of the last average may still be under way */
        strait_set(r, x[k % 2], w, 1);
    }
}

/* Next to each other in the ring of their site. */
static bool in_ring(const struct grouping *g, int n_ranks, int src, int dst)
{
    const int site = site_of(g, src);
    int next = (src + 1) % n_ranks;
    while (site_of(g, next) != site)
        next = (next + 1) % n_ranks;
    return next == dst;
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const struct grouping g = {e->network, (int)strait_experiment_param(e, "site_size")};
    const struct strait_sites sites = {e->n_ranks, site_of, &g};
    if (channel == STRAIT_AGREEING)
        return strait_codec_wants_statistics(&e->up.spec) &&
               strait_hierarchy_agrees(sites, src, dst);
    if (channel == INSIDE)
        return in_ring(&g, e->n_ranks, src, dst);
    if (channel == PASSED_ON && dst < src) /* a tree's leaves come after its root, which sends */
        return false;
    return channel <= PASSED_ON && strait_hierarchy_uses(sites, src, dst, channel == PASSED_ON);
}

static const struct strait_param params[] = {
    {"rounds", "outer steps", STRAIT_PARAM_INTEGER, .min = 1, .max = 1e6, .fallback = 5},
    {"site_rounds", "averages inside the sites for each outer step", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e6, .fallback = 10},
    {"local_steps", "inner steps between two averages of a site", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e9, .fallback = 50},
    {"site_size", "ranks of a site; 0: the network's sites", STRAIT_PARAM_INTEGER, .min = 0,
     .max = 1e6},
    STRAIT_OUTER_PARAMS,
};
const struct strait_strategy strait_strategy_site_diloco = {
    .name = "site-diloco",
    .summary = "DiLoCo between sites, whose ranks average more often on their own network",
    .source = "Douillard et al., 2023 (arXiv 2311.08105); inside sites Stich, ICLR 2019",
    .trains = true,
    .uplink_kind = "update",
    STRAIT_PARAMS(params),
    .check = strait_ring_check,
    .uses_stream = uses_stream,
    .period = strait_strategy_repeats,
    .rank_main = site_diloco,
};
