#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "core/buffer.h"

static const char *const kinds[] = {"compute", "sleep", "send", "recv", "collective", "nothing"};
static const char *const collectives[] = {"all_reduce", "all_gather", "reduce_scatter",
                                          "all_to_all", "broadcast",  "reduce",
                                          "gather",     "scatter",    "barrier"};
_Static_assert(sizeof(kinds) / sizeof(*kinds) == STRAIT_N_PROGRAM_KINDS, "a name each");
_Static_assert(sizeof(collectives) / sizeof(*collectives) == STRAIT_N_PROGRAM_COLLECTIVES,
               "a name each");

const char *strait_program_collective_name(enum strait_program_collective collective)
{
    return collectives[collective];
}

static struct strait_program_look *new_look(int n_ranks)
{
    struct strait_program_look *look = calloc(1, sizeof(*look));
    if (look &&
        !(look->calls = calloc((size_t)n_ranks * STRAIT_PROGRAM_MAX_NAMES, sizeof(*look->calls)))) {
        free(look);
        return NULL;
    }
    return look;
}

struct strait_program *strait_program_new(int n_ranks, bool is_look, struct strait_error *err)
{
    struct strait_program *g = calloc(1, sizeof(*g));
    if (g) {
        g->n_groups = 1;
        if ((g->ranks = calloc((size_t)n_ranks, sizeof(*g->ranks))))
            g->n_ranks = n_ranks;
        if (g->ranks && (!is_look || (g->look = new_look(n_ranks))))
            return g;
    }
    strait_program_free(g);
    strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a graph");
    return NULL;
}

void strait_program_free(struct strait_program *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->n_ranks; i++) {
        free(g->ranks[i].nodes);
        free(g->ranks[i].edges);
        free(g->ranks[i].first_edge);
        free(g->ranks[i].n_before);
    }
    for (int i = 0; i < g->n_groups; i++)
        free(g->groups[i].ranks);
    if (g->look)
        free(g->look->calls);
    free(g->look);
    free(g->ranks);
    free(g->sends);
    free(g);
}

static void count(struct strait_program_counts *c, const struct strait_program_node *n)
{
    c->nodes[n->kind]++;
    c->compute_s += n->kind == STRAIT_PROGRAM_COMPUTE ? n->time_s : 0;
    c->flop += n->flop;
    c->message_bytes += n->kind == STRAIT_PROGRAM_SEND ? (double)n->bytes : 0;
    if (n->kind == STRAIT_PROGRAM_COLLECTIVE) {
        c->calls[n->collective]++;
        c->call_bytes[n->collective] += (double)n->bytes;
    }
}

static void look_at(struct strait_program_look *look, int rank, const struct strait_program_node *n)
{
    const uint64_t here = (uint64_t)rank, there = (uint64_t)(uint32_t)n->peer;
    if (n->kind == STRAIT_PROGRAM_SEND || n->kind == STRAIT_PROGRAM_RECV) {
        const bool is_send = n->kind == STRAIT_PROGRAM_SEND;
        const uint64_t words[] = {is_send ? here << 32 | there : there << 32 | here,
                                  (uint64_t)(uint32_t)n->tag, n->bytes},
                       end = strait_checksum(words, 2 * sizeof(words[0])),
                       size = strait_checksum(words, sizeof(words));
        look->ends += is_send ? end : -end;
        look->sizes += is_send ? size : -size;
    } else if (n->kind == STRAIT_PROGRAM_COLLECTIVE) {
        uint64_t *calls = &look->calls[here * STRAIT_PROGRAM_MAX_NAMES + n->group];
        const uint64_t words[] = {*calls, n->collective, n->bytes, there};
        *calls = strait_checksum(words, sizeof(words)) | 1;
    }
}

int64_t strait_program_add(struct strait_program *g, int rank, struct strait_program_node node,
                           struct strait_error *err)
{
    struct strait_program_rank *r = &g->ranks[rank];
    count(&g->counts, &node);
    if (g->look) {
        look_at(g->look, rank, &node);
        return (int64_t)r->n_nodes++;
    }
    if (!strait_grow((void **)&r->nodes, &r->cap_nodes, r->n_nodes, sizeof(*r->nodes),
                     INT32_MAX - 1))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a graph");
    r->nodes[r->n_nodes] = node;
    return (int64_t)r->n_nodes++;
}

int strait_program_edge_add(struct strait_program *g, int rank, uint32_t from, uint32_t to,
                            bool on_start, struct strait_error *err)
{
    struct strait_program_rank *r = &g->ranks[rank];
    if (g->look) {
        g->look->is_doubtful = g->look->is_doubtful || from >= to;
        return 0;
    }
    if (!strait_grow((void **)&r->edges, &r->cap_edges, r->n_edges, sizeof(*r->edges),
                     INT32_MAX - 1))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a graph");
    r->edges[r->n_edges++] = (struct strait_program_edge){from, to, on_start};
    return 0;
}

int strait_program_group_n(const struct strait_program *g, int group)
{
    return group == STRAIT_PROGRAM_WORLD ? g->n_ranks : g->groups[group].n;
}

int strait_program_group_rank(const struct strait_program *g, int group, int i)
{
    return group == STRAIT_PROGRAM_WORLD ? i : g->groups[group].ranks[i];
}

static bool is_world(const struct strait_program *g, const int *ranks, int n)
{
    bool same = n == g->n_ranks;
    for (int i = 0; i < n && same; i++)
        same = ranks[i] == i;
    return same || n == 0;
}

int strait_program_group_of(struct strait_program *g, const char *name, const int *ranks, int n,
                            const char *where, struct strait_error *err)
{
    if (is_world(g, ranks, n))
        return STRAIT_PROGRAM_WORLD;
    for (int i = 1; i < g->n_groups; i++) {
        const struct strait_program_group *known = &g->groups[i];
        if (known->n == n && memcmp(known->ranks, ranks, (size_t)n * sizeof(*ranks)) == 0)
            return i;
    }
    if (g->n_groups == STRAIT_PROGRAM_MAX_GROUPS)
        return strait_refuse(err, where,
                             "expected at most %d process groups, found one more, \"%.40s\"",
                             STRAIT_PROGRAM_MAX_GROUPS - 1, name);
    struct strait_program_group *made = &g->groups[g->n_groups];
    if (!(made->ranks = malloc((size_t)n * sizeof(*ranks))))
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a graph");
    memcpy(made->ranks, ranks, (size_t)n * sizeof(*ranks));
    made->n = n;
    snprintf(made->name, sizeof(made->name), "%s", name);
    return g->n_groups++;
}

bool strait_program_sends(const struct strait_program *g, int src, int dst)
{
    const size_t bit = (size_t)src * (size_t)g->n_ranks + (size_t)dst;
    return g->sends[bit / 8] >> bit % 8 & 1;
}

json_t *strait_program_facts(const struct strait_program *g)
{
    const struct strait_program_counts *c = &g->counts;
    json_t *nodes = json_object(), *calls = json_object();
    bool whole = nodes && calls;
    for (int i = 0; i < STRAIT_N_PROGRAM_KINDS; i++)
        if (c->nodes[i] > 0)
            whole =
                json_object_set_new(nodes, kinds[i], json_integer((json_int_t)c->nodes[i])) == 0 &&
                whole;
    for (int i = 0; i < STRAIT_N_PROGRAM_COLLECTIVES; i++)
        if (c->calls[i] > 0)
            whole = json_object_set_new(calls, collectives[i],
                                        json_pack("{s:I, s:f}", "calls", (json_int_t)c->calls[i],
                                                  "bytes", c->call_bytes[i])) == 0 &&
                    whole;
    json_t *facts = json_pack("{s:i, s:o, s:f, s:o, s:f, s:f}", "ranks", g->n_ranks, "nodes", nodes,
                              "message_bytes", c->message_bytes, "collectives", calls, "compute_s",
                              c->compute_s, "flop", c->flop);
    if (facts && !whole) {
        json_decref(facts);
        facts = NULL;
    }
    return facts;
}
