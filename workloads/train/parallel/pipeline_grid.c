#include "pipeline_grid.h"

#include <string.h>

#include "workloads/ask/experiment.h"

const char *const strait_pipeline_neighbours[] = {"stages", "replicas", "network", NULL};

struct strait_grid strait_pipeline_grid(const struct strait_experiment *e)
{
    const int asked = (int)strait_experiment_param(e, "stages"),
              n_tensor = strait_experiment_has_param(e, "tensor")
                             ? (int)strait_experiment_param(e, "tensor")
                             : 1,
              n_places = e->n_ranks / n_tensor;
    struct strait_grid g = {.n_tensor = n_tensor,
                            .n_stages = asked > 0      ? asked
                                        : n_places > 0 ? n_places
                                                       : 1,
                            .replicas_first = (int)strait_experiment_param(e, "neighbours") ==
                                              STRAIT_REPLICAS_FIRST};
    while (asked == 0 && ((size_t)g.n_stages > e->model->n_layers || n_places % g.n_stages != 0))
        g.n_stages--;
    g.n_replicas = n_places / g.n_stages;
    return g;
}

/* The paths between the first ranks of places; links behind their ports are shared by all ranks of
 * a place. Traffic is the caller's. In: ranks: of each place; NULL: as they are numbered. */
static struct strait_grid_traffic paths(struct strait_rank *r, const struct strait_grid *g,
                                        const int *ranks)
{
    _Static_assert((int)STRAIT_GRID_HOPS == (int)STRAIT_MAX_HOPS, "a path fits");
    const struct strait_network *net = strait_network(r);
    const size_t n = (size_t)strait_grid_places(g), n_links = (size_t)strait_network_n_links(net);
    double *delay_s = strait_alloc(r, n * n, sizeof(*delay_s)),
           *s_per_byte = strait_alloc(r, n_links, sizeof(*s_per_byte));
    int(*links)[STRAIT_GRID_HOPS] = strait_alloc(r, n * n, sizeof(*links));
    for (size_t i = 0; i < n * n; i++) {
        const int from = (int)(i / n) * g->n_tensor, to = (int)(i % n) * g->n_tensor,
                  src = ranks ? ranks[from] : from, dst = ranks ? ranks[to] : to;
        const int n_hops = src == dst ? 0 : strait_network_path(net, src, dst, links[i]);
        delay_s[i] = src == dst ? 0 : strait_path_delay_s(net, src, dst);
        for (int k = n_hops; k < STRAIT_GRID_HOPS; k++)
            links[i][k] = -1;
    }
    for (size_t i = 0; i < n_links; i++)
        s_per_byte[i] = (i < 2 * (size_t)net->n_ranks ? 1 : g->n_tensor) /
                        strait_goodput_bytes_per_s(net, strait_network_link(net, (int)i));
    return (struct strait_grid_traffic){.gradient_bytes = 4.0 * (double)strait_model(r)->n_elems /
                                                          g->n_stages / g->n_tensor,
                                        .n_micro = 1,
                                        .delay_s = delay_s,
                                        .links = (const int(*)[STRAIT_GRID_HOPS])links,
                                        .s_per_byte = s_per_byte,
                                        .load_s = strait_alloc(r, n_links, sizeof(double)),
                                        .n_links = (int)n_links};
}

static int *search(struct strait_rank *r, const struct strait_grid *g,
                   const struct strait_grid_traffic *traffic)
{
    const size_t n = (size_t)strait_grid_places(g);
    int *places = strait_alloc(r, n, sizeof(*places)), *scratch = strait_alloc(r, n, sizeof(int));
    strait_grid_search(places, scratch, g, traffic);
    return places;
}

void strait_pipeline_place(struct strait_rank *r, struct strait_grid *g)
{
    if ((int)strait_param(r, "neighbours") != STRAIT_BY_NETWORK)
        return;
    struct strait_grid_traffic traffic = paths(r, g, NULL);
    traffic.activation_bytes = strait_param(r, "activation") / g->n_tensor;
    traffic.n_micro = (int)strait_param(r, "microbatches");
    g->places = search(r, g, &traffic);
}

static const int *ring_places(struct strait_rank *r, const int *ranks, int n)
{
    const struct strait_grid g = {.n_tensor = 1, .n_stages = 1, .n_replicas = n};
    const struct strait_grid_traffic traffic = paths(r, &g, ranks);
    return search(r, &g, &traffic);
}

const int *strait_ring_order(struct strait_rank *r)
{
    return ring_places(r, NULL, strait_n_ranks(r));
}

void strait_ring_order_of(struct strait_rank *r, int *ranks, int n)
{
    const int *places = ring_places(r, ranks, n);
    int *ordered = strait_alloc(r, (size_t)n, sizeof(*ordered));
    for (int i = 0; i < n; i++)
        ordered[i] = ranks[places[i]];
    memcpy(ranks, ordered, (size_t)n * sizeof(*ranks));
}
