#include "stages.h"

#include "workloads/ask/experiment.h"
#include "workloads/train/plans/fragments.h"

const char *const strait_schedules[] = {"gpipe", "1f1b", NULL};

void strait_stages_cut(struct strait_rank *r, struct strait_stages *s)
{
    const struct strait_model *m = strait_model(r);
    size_t *ns = strait_alloc(r, m->n_layers, sizeof(*ns));
    const int n_cuts = s->grid.n_stages * s->n_chunks;
    int *first = strait_alloc(r, (size_t)n_cuts + 1, sizeof(*first));
    for (size_t l = 0; l < m->n_layers; l++)
        ns[l] = (size_t)(1e9 * (m->layers[l].fwd_s_p50 + m->layers[l].bwd_s_p50));
    strait_cut_fragments(first, n_cuts, ns, (int)m->n_layers);
    s->first = first;
}

struct strait_pass strait_stages_pass(const struct strait_stages *s, int direction, int i)
{
    const int n = s->grid.n_stages, turn = i / n % s->n_chunks;
    struct strait_pass pass = {.chunk = direction == STRAIT_FORWARD ? turn : s->n_chunks - 1 - turn,
                               .micro = s->n_chunks == 1 ? i : i / (n * s->n_chunks) * n + i % n};
    pass.first = s->first[pass.chunk * n + s->at.stage];
    pass.end = s->first[pass.chunk * n + s->at.stage + 1];
    return pass;
}

bool strait_stages_neighbour(const struct strait_stages *s, int chunk, int ahead, int *rank)
{
    const int n = s->grid.n_stages, other = chunk * n + s->at.stage + ahead;
    *rank = strait_grid_rank(&s->grid,
                             (struct strait_grid_at){s->at.tensor, (other + n) % n, s->at.replica});
    return other >= 0 && other < n * s->n_chunks;
}

/* Passes under way before the first backward pass: what warms the pipeline up, and one. */
static int most_under_way(struct strait_rank *r, const struct strait_stages *s)
{
    const int n = s->grid.n_stages, behind = n - 1 - s->at.stage;
    if ((int)strait_param(r, "schedule") == STRAIT_GPIPE)
        return s->n_micro * s->n_chunks;
    return 1 + (s->n_chunks == 1 ? behind : 2 * behind + (s->n_chunks - 1) * n);
}

/* Forward passes first, as long as there may be more under way. */
void strait_stages_run(struct strait_rank *r, const struct strait_stages *s,
                       void (*pass)(struct strait_rank *, void *, int direction,
                                    struct strait_pass),
                       void *arg)
{
    const int n = s->n_micro * s->n_chunks, most = most_under_way(r, s);
    for (int n_forward = 0, n_backward = 0; n_backward < n;)
        if (n_forward < n && n_forward - n_backward < most)
            pass(r, arg, STRAIT_FORWARD, strait_stages_pass(s, STRAIT_FORWARD, n_forward++));
        else
            pass(r, arg, STRAIT_BACKWARD, strait_stages_pass(s, STRAIT_BACKWARD, n_backward++));
}

struct strait_group strait_stages_replicas(struct strait_rank *r, const struct strait_stages *s,
                                           int channel)
{
    int *ranks = strait_alloc(r, (size_t)s->grid.n_replicas, sizeof(*ranks));
    for (int i = 0; i < s->grid.n_replicas; i++)
        ranks[i] =
            strait_grid_rank(&s->grid, (struct strait_grid_at){s->at.tensor, s->at.stage, i});
    return strait_group_of(r, ranks, s->grid.n_replicas, channel);
}
