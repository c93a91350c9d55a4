/* Positions of ranks in hybrid parallelism: tensor-parallel ranks side by side form a place; places
 * form stages and replicas. Pure. */
#pragma once
#include <stdbool.h>

struct strait_grid {
    int n_tensor, n_stages, n_replicas;
    bool replicas_first; /* neighbouring places are replicas of a stage, else stages of a replica */
    const int *places;   /* of place i in that order, the i-th n_tensor ranks; NULL: i */
};

struct strait_grid_at {
    int tensor, stage, replica;
};

/* The bytes that a batch sends, and the paths from place to place, at from * n + to. */
enum { STRAIT_GRID_HOPS = 5 };
struct strait_grid_traffic {
    double activation_bytes, gradient_bytes; /* from stage to stage, and of a stage; of one tensor
                                                rank */
    int n_micro;                             /* the activation goes in so many parts */
    const double *delay_s;                   /* n x n */
    const int (*links)[STRAIT_GRID_HOPS];    /* n x n: links of each path, -1 after the last */
    const double *s_per_byte;                /* of each link; times n_tensor where all ranks of a
                                                place share it */
    double *load_s;                          /* scratch: as many */
    int n_links;
};

/** Places of a grid: stages x replicas. */
int strait_grid_places(const struct strait_grid *g);
/** The rank at a position, and the position of a rank; O(places) where places are given. */
int strait_grid_rank(const struct strait_grid *g, struct strait_grid_at at);
struct strait_grid_at strait_grid_at(const struct strait_grid *g, int rank);

/** What communication takes in a batch: 2 (s - 1) hops of a microbatch, the longest of all
 *  pipelines', and the others behind the busiest link; then the steps of all stages' rings at once.
 *  Source:  Yuan et al., DT-FM, NeurIPS 2022, section 3: pipeline and data-parallel cost; there
 *           each hop is alone on its path */
double strait_grid_s(const struct strait_grid *g, const struct strait_grid_traffic *t);
/** Places that make that short: from either order, swap two places or turn round those from one
 *  to another, what saves most, until nothing saves anything. Place 0 stays the first stage of the
 *  first replica. A local minimum (the paper: a genetic algorithm over such searches).
 *  Out:     places  of g: n_stages x n_replicas; g->places is not read
 *  In:      scratch as many
 *  Cost:    O(places^3) a step */
void strait_grid_search(int *places, int *scratch, const struct strait_grid *g,
                        const struct strait_grid_traffic *t);
