/* A graph that was read is made ready to run: messages get their other end, edges their order, and
 * what could never end is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "program.h"

/* One end of a message, to be sorted so that the k-th send meets the k-th receive. */
struct end {
    int32_t src, dst, tag;
    uint32_t at; /* node of its rank */
    bool is_recv;
};

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int c = compare(x->src, y->src);
    c = c ? c : compare(x->dst, y->dst);
    c = c ? c : compare(x->tag, y->tag);
    c = c ? c : compare(x->is_recv, y->is_recv);
    return c ? c : compare(x->at, y->at);
}

static bool same_stream(const struct end *a, const struct end *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag;
}

static struct end *ends_of(const struct strait_program *g, size_t *n)
{
    *n = 0;
    for (int r = 0; r < g->n_ranks; r++)
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++)
            *n += g->ranks[r].nodes[i].kind == STRAIT_PROGRAM_SEND ||
                  g->ranks[r].nodes[i].kind == STRAIT_PROGRAM_RECV;
    struct end *ends = malloc((*n + 1) * sizeof(*ends));
    size_t k = 0;
    for (int r = 0; ends && r < g->n_ranks; r++)
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++) {
            const struct strait_program_node *node = &g->ranks[r].nodes[i];
            if (node->kind == STRAIT_PROGRAM_SEND)
                ends[k++] = (struct end){r, node->peer, node->tag, (uint32_t)i, false};
            else if (node->kind == STRAIT_PROGRAM_RECV)
                ends[k++] = (struct end){node->peer, r, node->tag, (uint32_t)i, true};
        }
    return ends;
}

/* Ends of one (src, dst, tag): first the sends, then as many receives. */
static int match_stream(struct strait_program *g, const struct end *ends, size_t n,
                        const char *where, struct strait_error *err)
{
    size_t n_sends = 0;
    while (n_sends < n && !ends[n_sends].is_recv)
        n_sends++;
    if (2 * n_sends != n)
        return strait_refuse(err, where,
                             "expected as many receives as sends from rank %d to rank %d with tag "
                             "%d, found %zu sends and %zu receives",
                             ends->src, ends->dst, ends->tag, n_sends, n - n_sends);
    for (size_t i = 0; i < n_sends; i++) {
        struct strait_program_node *send = &g->ranks[ends->src].nodes[ends[i].at],
                                   *recv = &g->ranks[ends->dst].nodes[ends[n_sends + i].at];
        if (send->bytes > recv->bytes && recv->bytes > 0)
            return strait_refuse(err, where,
                                 "expected rank %d to receive the %llu bytes that rank %d sends "
                                 "with tag %d, found room for %llu",
                                 ends->dst, (unsigned long long)send->bytes, ends->src, ends->tag,
                                 (unsigned long long)recv->bytes);
        recv->bytes = send->bytes;
        send->mate = ends[n_sends + i].at;
    }
    const size_t bit = (size_t)ends->src * (size_t)g->n_ranks + (size_t)ends->dst;
    g->sends[bit / 8] |= (unsigned char)(1u << bit % 8);
    return 0;
}

static int match_messages(struct strait_program *g, const char *where, struct strait_error *err)
{
    size_t n;
    struct end *ends = ends_of(g, &n);
    int status = 0;
    if (!ends)
        return strait_error_memory(err, where);
    qsort(ends, n, sizeof(*ends), compare_ends);
    for (size_t i = 0, k; i < n && status == 0; i = k) {
        for (k = i + 1; k < n && same_stream(&ends[i], &ends[k]);)
            k++;
        status = match_stream(g, ends + i, k - i, where, err);
    }
    free(ends);
    return status;
}

/* --- order inside a rank ------------------------------------------------------------------ */

/* Sort edges by `from`, by counting; count what ends at each node. */
static int sort_edges(struct strait_program_rank *r, const char *where, struct strait_error *err)
{
    const size_t n = r->n_nodes;
    struct strait_program_edge *sorted = malloc((r->n_edges + 1) * sizeof(*sorted));
    r->first_edge = calloc(n + 2, sizeof(*r->first_edge));
    r->n_before = calloc(n + 1, sizeof(*r->n_before));
    if (!sorted || !r->first_edge || !r->n_before) {
        free(sorted);
        return strait_error_memory(err, where);
    }
    for (size_t i = 0; i < r->n_edges; i++) {
        r->first_edge[r->edges[i].from + 2]++;
        r->n_before[r->edges[i].to]++;
    }
    for (size_t i = 2; i < n + 2; i++)
        r->first_edge[i] += r->first_edge[i - 1];
    for (size_t i = 0; i < r->n_edges; i++)
        sorted[r->first_edge[r->edges[i].from + 1]++] = r->edges[i];
    free(r->edges);
    r->edges = sorted;
    return 0;
}

/* Kahn: take nodes that wait for nothing. */
int64_t strait_program_n_ending(const uint32_t *first, const uint32_t *to, size_t stride,
                                size_t n_nodes)
{
    uint32_t *left = calloc(n_nodes + 1, sizeof(*left)),
             *ready = malloc((n_nodes + 1) * sizeof(*ready));
    size_t n_ready = 0, n_done = 0;
    const bool has_memory = left && ready;
    for (size_t e = 0; has_memory && e < first[n_nodes]; e++)
        left[to[stride * e]]++;
    for (size_t i = 0; has_memory && i < n_nodes; i++)
        if (left[i] == 0)
            ready[n_ready++] = (uint32_t)i;
    for (; has_memory && n_done < n_ready; n_done++)
        for (uint32_t e = first[ready[n_done]]; e < first[ready[n_done] + 1]; e++)
            if (--left[to[stride * e]] == 0)
                ready[n_ready++] = to[stride * e];
    free(left);
    free(ready);
    return has_memory ? (int64_t)n_done : -1;
}

/* What is left waits for itself. */
static int check_cycles(const struct strait_program_rank *r, int rank, const char *where,
                        struct strait_error *err)
{
    const size_t stride = sizeof(*r->edges) / sizeof(r->edges->to);
    _Static_assert(sizeof(struct strait_program_edge) % sizeof(uint32_t) == 0, "a whole stride");
    const int64_t n = strait_program_n_ending(r->first_edge, r->edges ? &r->edges[0].to : NULL,
                                              stride, r->n_nodes);
    if (n < 0)
        return strait_error_memory(err, where);
    if ((size_t)n == r->n_nodes)
        return 0;
    return strait_refuse(err, where,
                         "expected rank %d without a circle of dependencies, found %zu of its %zu "
                         "nodes that wait for each other",
                         rank, r->n_nodes - (size_t)n, r->n_nodes);
}

/* --- collectives -------------------------------------------------------------------------- */

static const struct strait_program_node *next_collective(const struct strait_program_rank *r,
                                                         size_t *at, int group)
{
    for (; *at < r->n_nodes; (*at)++)
        if (r->nodes[*at].kind == STRAIT_PROGRAM_COLLECTIVE && r->nodes[*at].group == group)
            return &r->nodes[(*at)++];
    return NULL;
}

static const char *name_of(const struct strait_program_node *node)
{
    return node ? strait_program_collective_name((enum strait_program_collective)node->collective)
                : "nothing";
}

static bool agrees(const struct strait_program_node *a, const struct strait_program_node *b)
{
    return (!a && !b) ||
           (a && b && a->collective == b->collective && a->bytes == b->bytes && a->peer == b->peer);
}

/* The calls of a group, in the order of the trace, are those of its first rank. */
static int check_group(struct strait_program *g, int group, const char *where,
                       struct strait_error *err)
{
    const struct strait_program_rank *first = &g->ranks[strait_program_group_rank(g, group, 0)];
    for (int i = 0; i < strait_program_group_n(g, group); i++) {
        const int rank = strait_program_group_rank(g, group, i);
        const struct strait_program_node *a, *b;
        size_t at_a = 0, at_b = 0, n = 0;
        do {
            a = next_collective(first, &at_a, group);
            b = next_collective(&g->ranks[rank], &at_b, group);
            if (!agrees(a, b))
                return strait_refuse(
                    err, where,
                    "expected the same collectives on all ranks of a group, found call %zu %s of "
                    "%llu bytes on rank %d and %s of %llu on rank %d",
                    n, name_of(a), (unsigned long long)(a ? a->bytes : 0),
                    strait_program_group_rank(g, group, 0), name_of(b),
                    (unsigned long long)(b ? b->bytes : 0), rank);
            if (a)
                g->groups[group].kinds |= 1u << a->collective;
            n++;
        } while (a);
    }
    return 0;
}

static void hash_all(struct strait_program *g)
{
    uint64_t h = (uint64_t)g->n_ranks;
    for (int r = 0; r < g->n_ranks; r++) {
        const struct strait_program_rank *rank = &g->ranks[r];
        for (size_t i = 0; i < rank->n_nodes; i++) {
            const struct strait_program_node *n = &rank->nodes[i];
            uint64_t words[8] = {h,
                                 (uint64_t)n->kind | (uint64_t)n->collective << 8 |
                                     (uint64_t)n->unit << 16 | (uint64_t)n->group << 24,
                                 (uint64_t)(uint32_t)n->peer,
                                 (uint64_t)(uint32_t)n->tag,
                                 n->bytes,
                                 0,
                                 0,
                                 0};
            memcpy(&words[5], &n->time_s, sizeof(n->time_s));
            memcpy(&words[6], &n->flop, sizeof(n->flop));
            h = strait_checksum(words, sizeof(words));
        }
        for (size_t i = 0; i < rank->n_edges; i++) {
            const uint64_t words[3] = {h, rank->edges[i].from,
                                       (uint64_t)rank->edges[i].to << 1 | rank->edges[i].on_start};
            h = strait_checksum(words, sizeof(words));
        }
    }
    for (int i = 1; i < g->n_groups; i++)
        h ^=
            strait_checksum(g->groups[i].ranks, (size_t)g->groups[i].n * sizeof(int)) + (uint64_t)i;
    g->hash = h;
}

/* What was looked at is sound if messages cancel out and all ranks that call a group call the same;
 * group 0 is that of all ranks. */
static void judge(struct strait_program *g)
{
    struct strait_program_look *look = g->look;
    bool agree = look->ends == 0 && look->sizes == 0;
    for (size_t k = 0; k < STRAIT_PROGRAM_MAX_NAMES; k++) {
        uint64_t first = k == 0 ? look->calls[0] : 0;
        for (size_t r = 0; r < (size_t)g->n_ranks; r++) {
            const uint64_t calls = look->calls[r * STRAIT_PROGRAM_MAX_NAMES + k];
            first = first ? first : calls;
            agree = agree && (calls == first || (k > 0 && calls == 0));
        }
    }
    look->is_doubtful = look->is_doubtful || !agree;
}

int strait_program_finish(struct strait_program *g, const char *where, struct strait_error *err)
{
    const size_t n = (size_t)g->n_ranks;
    if (g->look) {
        judge(g);
        return 0;
    }
    if (!(g->sends = calloc(n * n / 8 + 1, 1)))
        return strait_error_memory(err, where);
    if (match_messages(g, where, err) != 0)
        return -1;
    for (int r = 0; r < g->n_ranks; r++)
        if (sort_edges(&g->ranks[r], where, err) != 0 ||
            check_cycles(&g->ranks[r], r, where, err) != 0)
            return -1;
    for (int i = 0; i < g->n_groups; i++)
        if (check_group(g, i, where, err) != 0)
            return -1;
    hash_all(g);
    return 0;
}
