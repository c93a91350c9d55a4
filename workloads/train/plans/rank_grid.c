#include "rank_grid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int strait_grid_places(const struct strait_grid *g)
{
    return g->n_stages * g->n_replicas;
}

int strait_grid_rank(const struct strait_grid *g, struct strait_grid_at at)
{
    const int i = g->replicas_first ? at.stage * g->n_replicas + at.replica
                                    : at.replica * g->n_stages + at.stage;
    return (g->places ? g->places[i] : i) * g->n_tensor + at.tensor;
}

struct strait_grid_at strait_grid_at(const struct strait_grid *g, int rank)
{
    int i = rank / g->n_tensor;
    for (int k = 0; g->places && k < strait_grid_places(g); k++)
        if (g->places[k] == rank / g->n_tensor) {
            i = k;
            break;
        }
    assert(i < strait_grid_places(g));
    return (struct strait_grid_at){
        .tensor = rank % g->n_tensor,
        .stage = g->replicas_first ? i / g->n_replicas : i % g->n_stages,
        .replica = g->replicas_first ? i % g->n_replicas : i / g->n_stages,
    };
}

/* --- placement on a network ----------------------------------------------------------------- */

/* Put a hop on its links. Returns what it takes alone. */
static double load(const struct strait_grid *g, const struct strait_grid_traffic *t,
                   struct strait_grid_at from, struct strait_grid_at to, double n_bytes,
                   double *delay_s)
{
    const int n = strait_grid_places(g), pair = strait_grid_rank(g, from) / g->n_tensor * n +
                                                strait_grid_rank(g, to) / g->n_tensor;
    double alone_s = 0;
    for (int i = 0; i < STRAIT_GRID_HOPS && t->links[pair][i] >= 0; i++) {
        const int link = t->links[pair][i];
        t->load_s[link] += n_bytes * t->s_per_byte[link];
        alone_s = fmax(alone_s, n_bytes * t->s_per_byte[link]);
    }
    *delay_s = t->delay_s[pair];
    return alone_s;
}

static void clear(const struct strait_grid_traffic *t)
{
    memset(t->load_s, 0, (size_t)t->n_links * sizeof(*t->load_s));
}

static double busiest_s(const struct strait_grid_traffic *t)
{
    double most_s = 0;
    for (int i = 0; i < t->n_links; i++)
        most_s = fmax(most_s, t->load_s[i]);
    return most_s;
}

static double pipelines_s(const struct strait_grid *g, const struct strait_grid_traffic *t)
{
    double longest_s = 0, delay_s;
    clear(t);
    for (int i = 0; i < g->n_replicas; i++) {
        double hops_s = 0;
        for (int stage = 0; stage + 1 < g->n_stages; stage++) {
            const struct strait_grid_at here = {0, stage, i}, next = {0, stage + 1, i};
            hops_s += load(g, t, here, next, t->activation_bytes / t->n_micro, &delay_s) + delay_s;
            hops_s += load(g, t, next, here, t->activation_bytes / t->n_micro, &delay_s) + delay_s;
        }
        longest_s = fmax(longest_s, hops_s);
    }
    return longest_s + (t->n_micro - 1) * busiest_s(t);
}

static double rings_s(const struct strait_grid *g, const struct strait_grid_traffic *t)
{
    double farthest_s = 0, delay_s;
    clear(t);
    for (int stage = 0; stage < g->n_stages; stage++)
        for (int i = 0; i < g->n_replicas && g->n_replicas > 1; i++) {
            load(g, t, (struct strait_grid_at){0, stage, i},
                 (struct strait_grid_at){0, stage, (i + 1) % g->n_replicas},
                 t->gradient_bytes / g->n_replicas, &delay_s);
            farthest_s = fmax(farthest_s, delay_s);
        }
    return 2 * (g->n_replicas - 1) * (busiest_s(t) + farthest_s);
}

double strait_grid_s(const struct strait_grid *g, const struct strait_grid_traffic *t)
{
    return pipelines_s(g, t) + rings_s(g, t);
}

static void swap(int *a, int *b)
{
    const int was = *a;
    *a = *b;
    *b = was;
}

/* Swap two places, or turn round all from one to the other; done twice it is undone. */
static void move(int *places, int i, int k, bool turns)
{
    swap(&places[i], &places[k]);
    while (turns && ++i < --k)
        swap(&places[i], &places[k]);
}

/* Improve g's places; returns what they take. */
static double descend(int *places, struct strait_grid g, const struct strait_grid_traffic *t)
{
    const int n = strait_grid_places(&g);
    g.places = places;
    for (double now_s = strait_grid_s(&g, t);;) {
        struct {
            int i, k, turns;
            double s;
        } best = {-1, -1, 0, now_s * (1 - 1e-9)}; /* sums in another order are no gain */
        for (int i = 1; i < n; i++)
            for (int k = i + 1; k < n; k++)
                for (int turns = 0; turns < 2; turns++) {
                    move(places, i, k, turns);
                    const double s = strait_grid_s(&g, t);
                    move(places, i, k, turns);
                    if (s < best.s) {
                        best.i = i;
                        best.k = k;
                        best.turns = turns;
                        best.s = s;
                    }
                }
        if (best.i < 0)
            return now_s;
        move(places, best.i, best.k, best.turns);
        now_s = best.s;
    }
}

void strait_grid_search(int *places, int *scratch, const struct strait_grid *g,
                        const struct strait_grid_traffic *t)
{
    const int n = strait_grid_places(g);
    for (int i = 0; i < n; i++) {
        places[i] = i;                                                  /* as they come, */
        scratch[i] = i % g->n_stages * g->n_replicas + i / g->n_stages; /* or by columns */
        if (g->replicas_first)
            scratch[i] = i % g->n_replicas * g->n_stages + i / g->n_replicas;
    }
    if (descend(scratch, *g, t) < descend(places, *g, t))
        memcpy(places, scratch, (size_t)n * sizeof(*places));
}
