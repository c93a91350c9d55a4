/* The order of a rank that is looked at: which node waits for which is kept until the rank ends, so
 * that a dependency that leads back is no doubt by itself. */
#include <stdlib.h>

#include "goal.h"

bool strait_goal_order_add(struct strait_goal_order *o, uint32_t from, uint32_t to)
{
    if (o->n == o->cap) {
        const size_t cap = o->cap ? 2 * o->cap : 1024;
        uint32_t(*more)[2] = realloc(o->edges, cap * sizeof(*more));
        if (!more)
            return false;
        o->edges = more;
        o->cap = cap;
    }
    o->edges[o->n][0] = from;
    o->edges[o->n++][1] = to;
    return true;
}

/* Edges by the node that is waited for, of which first[i] is the first; the list is let go of. */
static bool sort_edges(uint32_t **first, uint32_t **to, struct strait_goal_order *o, size_t n_nodes)
{
    *first = calloc(n_nodes + 2, sizeof(**first));
    *to = malloc((o->n + 1) * sizeof(**to));
    if (!*first || !*to)
        return false;
    for (size_t i = 0; i < o->n; i++)
        (*first)[o->edges[i][0] + 2]++;
    for (size_t i = 2; i < n_nodes + 2; i++)
        (*first)[i] += (*first)[i - 1];
    for (size_t i = 0; i < o->n; i++)
        (*to)[(*first)[o->edges[i][0] + 1]++] = o->edges[i][1];
    strait_goal_order_release(o);
    return true;
}

int strait_goal_order_end(struct strait_goal_order *o, struct strait_program *g, size_t n_nodes,
                          const char *where, struct strait_error *err)
{
    uint32_t *first = NULL, *to = NULL;
    bool leads_on = true;
    for (size_t i = 0; i < o->n && leads_on; i++)
        leads_on = o->edges[i][0] < o->edges[i][1];
    int64_t n = (int64_t)n_nodes;
    if (!leads_on)
        n = sort_edges(&first, &to, o, n_nodes) ? strait_program_n_ending(first, to, 1, n_nodes)
                                                : -1;
    free(first);
    free(to);
    o->n = 0;
    if (n < 0)
        return strait_error_memory(err, where);
    g->look->is_doubtful = g->look->is_doubtful || (size_t)n < n_nodes;
    return 0;
}

void strait_goal_order_release(struct strait_goal_order *o)
{
    free(o->edges);
    *o = (struct strait_goal_order){0};
}
