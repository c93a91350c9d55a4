/* Chakra's nodes as a graph: kinds, sizes, dependencies by id, and groups by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chakra.h"

static const double MAX_BYTES = 1125899906842624.0, MAX_US = 1e15; /* 2^50 bytes; 30 years */

void strait_chakra_node_begin(struct strait_chakra_node *n)
{
    uint64_t *deps = n->deps;
    const size_t cap = n->cap_deps;
    *n = (struct strait_chakra_node){.comm_type = -1,
                                     .comm_size = -1,
                                     .comm_src = -1,
                                     .comm_dst = -1,
                                     .comm_tag = 0,
                                     .deps = deps,
                                     .cap_deps = cap};
}

bool strait_chakra_depend(struct strait_chakra_node *n, uint64_t id)
{
    if (n->n_deps == n->cap_deps) {
        const size_t cap = n->cap_deps ? 2 * n->cap_deps : 16;
        uint64_t *more = realloc(n->deps, cap * sizeof(*more));
        if (!more)
            return false;
        n->deps = more;
        n->cap_deps = cap;
    }
    n->deps[n->n_deps++] = id;
    return true;
}

void strait_chakra_attribute(struct strait_chakra_node *n, const char *name, double value,
                             const char *text)
{
    const struct {
        const char *name;
        double *to;
    } numbers[] = {{"comm_type", &n->comm_type}, {"comm_size", &n->comm_size},
                   {"comm_src", &n->comm_src},   {"comm_dst", &n->comm_dst},
                   {"comm_tag", &n->comm_tag},   {"num_ops", &n->n_ops},
                   {"runtime", &n->duration_us}, {"NodeType", &n->kind},
                   {"comm_root", &n->root},      {"root", &n->root}};
    if (strcmp(name, "is_cpu_op") == 0)
        n->is_cpu = value != 0;
    if (strcmp(name, "pg_name") == 0 && text)
        snprintf(n->group, sizeof(n->group), "%.63s", text);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(name, numbers[i].name) == 0)
            *numbers[i].to = value;
}

/* --- one node ----------------------------------------------------------------------------- */

static int64_t item_of(struct strait_labels *l, const void *label, size_t len)
{
    const int64_t item = strait_labels_find(l, label, len);
    return item >= 0 || !strait_labels_put(l, label, len, 0) ? item : (int64_t)l->n - 1;
}

static bool is_whole(double x, double max)
{
    return x >= 0 && x <= max && x == floor(x);
}

static int refuse(struct strait_chakra *c, struct strait_source *s, struct strait_error *err,
                  const char *expected, double found)
{
    return strait_source_fail_byte(s, err, "expected %s of node %llu, found %g", expected,
                                   (unsigned long long)c->node.id, found);
}

/* Chakra's types in its order; a reduce-scatter by blocks is one. */
static const int collectives[] = {STRAIT_PROGRAM_ALL_REDUCE,     STRAIT_PROGRAM_REDUCE,
                                  STRAIT_PROGRAM_ALL_GATHER,     STRAIT_PROGRAM_GATHER,
                                  STRAIT_PROGRAM_SCATTER,        STRAIT_PROGRAM_BROADCAST,
                                  STRAIT_PROGRAM_ALL_TO_ALL,     STRAIT_PROGRAM_REDUCE_SCATTER,
                                  STRAIT_PROGRAM_REDUCE_SCATTER, STRAIT_PROGRAM_BARRIER};
enum { N_TYPES = sizeof(collectives) / sizeof(collectives[0]) };

static int fill_collective(struct strait_chakra *c, struct strait_source *s,
                           struct strait_program_node *out, struct strait_error *err)
{
    const struct strait_chakra_node *n = &c->node;
    if (n->comm_type == -1)
        return strait_source_fail_byte(s, err,
                                       "expected a comm_type and a comm_size of node %llu, a "
                                       "collective, found none",
                                       (unsigned long long)n->id);
    if (!is_whole(n->comm_type, N_TYPES - 1))
        return refuse(c, s, err, "a comm_type from 0 to 9", n->comm_type);
    out->kind = STRAIT_PROGRAM_COLLECTIVE;
    out->collective = (uint8_t)collectives[(int)n->comm_type];
    if (out->collective != STRAIT_PROGRAM_BARRIER && !is_whole(n->comm_size, MAX_BYTES))
        return refuse(c, s, err, "a comm_size in bytes", n->comm_size);
    out->bytes = out->collective == STRAIT_PROGRAM_BARRIER ? 0 : (uint64_t)n->comm_size;
    const bool has_root =
        out->collective == STRAIT_PROGRAM_REDUCE || out->collective == STRAIT_PROGRAM_GATHER ||
        out->collective == STRAIT_PROGRAM_SCATTER || out->collective == STRAIT_PROGRAM_BROADCAST;
    if (has_root && !is_whole(n->root, c->n_ranks - 1))
        return refuse(c, s, err, "a root among the ranks", n->root);
    out->peer = has_root ? (int32_t)n->root : -1;
    const int64_t group = item_of(&c->groups, n->group, strlen(n->group));
    if (group < 0 || group > UINT8_MAX)
        return refuse(c, s, err, "at most 255 process groups", (double)group);
    out->group = (uint8_t)group; /* its name's number, until all ranks are read */
    return 0;
}

static int fill_message(struct strait_chakra *c, struct strait_source *s,
                        struct strait_program_node *out, struct strait_error *err)
{
    const struct strait_chakra_node *n = &c->node;
    const bool is_send = n->kind == STRAIT_CHAKRA_SEND;
    const double peer = is_send ? n->comm_dst : n->comm_src;
    out->kind = is_send ? STRAIT_PROGRAM_SEND : STRAIT_PROGRAM_RECV;
    if (!is_whole(peer, c->n_ranks - 1) || (int)peer == c->rank)
        return refuse(c, s, err, is_send ? "another rank as comm_dst" : "another rank as comm_src",
                      peer);
    if (!is_whole(n->comm_size, MAX_BYTES))
        return refuse(c, s, err, "a comm_size in bytes", n->comm_size);
    if (!is_whole(n->comm_tag, INT32_MAX))
        return refuse(c, s, err, "a comm_tag", n->comm_tag);
    out->peer = (int32_t)peer;
    out->tag = (int32_t)n->comm_tag;
    out->bytes = (uint64_t)n->comm_size;
    return 0;
}

static int fill_compute(const struct strait_chakra_node *n, struct strait_program_node *out)
{
    out->kind = STRAIT_PROGRAM_COMPUTE;
    out->unit = n->is_cpu ? STRAIT_PROGRAM_CPU : STRAIT_PROGRAM_ACCEL;
    out->time_s = n->duration_us * 1e-6;
    out->flop = n->duration_us > 0 ? 0 : n->n_ops;
    return 0;
}

static int fill(struct strait_chakra *c, struct strait_source *s, struct strait_program_node *out,
                struct strait_error *err)
{
    const struct strait_chakra_node *n = &c->node;
    *out = (struct strait_program_node){.kind = STRAIT_PROGRAM_NOTHING, .peer = -1};
    if (!(n->duration_us >= 0 && n->duration_us <= MAX_US) || !(n->n_ops >= 0 && n->n_ops <= 1e24))
        return refuse(c, s, err, "a duration and a count of operations", n->duration_us);
    switch (is_whole(n->kind, 100) ? (int)n->kind : 0) {
    case STRAIT_CHAKRA_COLLECTIVE:
        if (n->is_cpu && n->comm_type == -1) { /* the call, whose kernel is another node */
            c->n_calls++;
            return fill_compute(n, out);
        }
        c->n_comm++;
        return fill_collective(c, s, out, err);
    case STRAIT_CHAKRA_SEND:
    case STRAIT_CHAKRA_RECV:
        c->n_comm++;
        return fill_message(c, s, out, err);
    case STRAIT_CHAKRA_MEM_LOAD:
    case STRAIT_CHAKRA_MEM_STORE:
        c->n_memory++; /* fall through */
    case STRAIT_CHAKRA_COMP:
        return fill_compute(n, out);
    case STRAIT_CHAKRA_METADATA:
        return 0;
    default:
        c->n_unknown++;
        return refuse(c, s, err, "a type from 1 to 7", n->kind);
    }
}

int strait_chakra_add(struct strait_chakra *c, struct strait_source *s, struct strait_error *err)
{
    struct strait_program_node node;
    if (fill(c, s, &node, err) != 0)
        return -1;
    const int64_t item = item_of(&c->ids, &c->node.id, sizeof(c->node.id));
    if (item < 0)
        return strait_error_memory(err, s->path);
    if (c->ids.items[item].value > 0)
        return strait_source_fail_byte(s, err, "expected each id once, found node %llu again",
                                       (unsigned long long)c->node.id);
    const int64_t at = strait_program_add(c->in->graph, c->rank, node, err);
    if (at < 0)
        return -1;
    c->ids.items[item].value = (uint32_t)at + 1;
    for (size_t i = 0; i < c->node.n_deps; i++) {
        const int64_t from = item_of(&c->ids, &c->node.deps[i], sizeof(c->node.deps[i]));
        if (from < 0)
            return strait_error_memory(err, s->path);
        const uint32_t before = c->ids.items[from].value - 1; /* the largest: not there yet */
        if (strait_program_edge_add(c->in->graph, c->rank,
                                    c->in->graph->look ? before : (uint32_t)from, (uint32_t)at,
                                    false, err) != 0)
            return -1;
    }
    return 0;
}

/* --- ranks and groups --------------------------------------------------------------------- */

/* Edges come from items of the id table until the rank ends. */
static int end_rank(struct strait_chakra *c, const char *path, struct strait_error *err)
{
    struct strait_program_rank *rank = &c->in->graph->ranks[c->rank];
    for (size_t i = 0; i < c->ids.n; i++) {
        uint64_t id;
        memcpy(&id, c->ids.bytes + c->ids.items[i].at, sizeof(id));
        if (c->ids.items[i].value == 0)
            return strait_refuse(err, path,
                                 "expected node %llu, which another one waits for, found none",
                                 (unsigned long long)id);
    }
    for (size_t i = 0; i < rank->n_edges; i++)
        rank->edges[i].from = c->ids.items[rank->edges[i].from].value - 1;
    strait_labels_clear(&c->ids);
    return 0;
}

static bool calls(const struct strait_program *g, int rank, uint8_t group)
{
    const struct strait_program_rank *r = &g->ranks[rank];
    if (g->look)
        return g->look->calls[(size_t)rank * STRAIT_PROGRAM_MAX_NAMES + group] != 0;
    for (size_t i = 0; i < r->n_nodes; i++)
        if (r->nodes[i].kind == STRAIT_PROGRAM_COLLECTIVE && r->nodes[i].group == group)
            return true;
    return false;
}

/* The members of a group are the ranks that call it; without a name it is all ranks. */
static int find_groups(struct strait_chakra *c, struct strait_error *err)
{
    struct strait_program *g = c->in->graph;
    int index[STRAIT_PROGRAM_MAX_NAMES] = {0},
        *members = malloc((size_t)g->n_ranks * sizeof(*members));
    bool is_used[STRAIT_PROGRAM_MAX_GROUPS] = {false};
    int status = members ? 0 : strait_error_memory(err, c->in->path);
    for (size_t k = 0; k < c->groups.n && status == 0; k++) {
        char name[64];
        int n = 0;
        snprintf(name, sizeof(name), "%.*s", (int)c->groups.items[k].len,
                 c->groups.bytes + c->groups.items[k].at);
        for (int r = 0; r < g->n_ranks; r++)
            if (calls(g, r, (uint8_t)k))
                members[n++] = r;
        index[k] = *name ? strait_program_group_of(g, name, members, n, c->in->path, err)
                         : STRAIT_PROGRAM_WORLD;
        status = index[k] < 0 ? -1 : 0;
        if (g->look && n > 0 &&
            status == 0) { /* in which order two names were called is not kept */
            g->look->is_doubtful = g->look->is_doubtful || is_used[index[k]];
            is_used[index[k]] = true;
        }
        if (*name && n < g->n_ranks)
            strait_import_inferred(c->in, "process group \"%s\": the %d ranks that call it", name,
                                   n);
    }
    for (int r = 0; r < g->n_ranks && status == 0 && !g->look; r++)
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++)
            if (g->ranks[r].nodes[i].kind == STRAIT_PROGRAM_COLLECTIVE)
                g->ranks[r].nodes[i].group = (uint8_t)index[g->ranks[r].nodes[i].group];
    free(members);
    return status;
}

/* "x.0.et" > "x.7.et". False: there is no ".0." in the name. */
static bool name_of_rank(char *out, size_t cap, const char *path, int rank)
{
    const char *slash = strrchr(path, '/'), *zero = NULL;
    for (const char *c = slash ? slash : path; (c = strstr(c, ".0.")); c++)
        zero = c;
    if (!zero)
        return false;
    snprintf(out, cap, "%.*s.%d.%s", (int)(zero - path), path, rank, zero + 3);
    return true;
}

static int count_ranks(const char *path)
{
    char name[4096];
    int n = 1;
    while (n < STRAIT_PROGRAM_MAX_RANKS && name_of_rank(name, sizeof(name), path, n) &&
           access(name, R_OK) == 0)
        n++;
    return n;
}

/* The number of "x.7.et", and the first rank's file beside it; 0: there is none. */
static long rank_of_name(char *first, size_t cap, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *c = slash ? slash : path; (c = strchr(c, '.')); c++) {
        char *end;
        const long rank = strtol(c + 1, &end, 10);
        if (c[1] < '1' || c[1] > '9' || *end != '.')
            continue;
        snprintf(first, cap, "%.*s.0%s", (int)(c - path), path, end);
        if (access(first, R_OK) == 0)
            return rank;
    }
    return 0;
}

static void say(struct strait_chakra *c)
{
    struct strait_import *in = c->in;
    strait_import_fact(in, "files", json_integer(c->n_ranks));
    strait_import_inferred(in, "a node without is_cpu_op computes on the accelerator");
    if (c->n_memory > 0)
        strait_import_inferred(in, "loads and stores take their durations on the accelerator");
    if (c->n_calls > 0)
        strait_import_inferred(in, "a collective on a CPU without comm_type is the call of another "
                                   "node and takes its duration");
    if (c->n_ranks == 1 && c->n_comm > 0) {
        strait_import_missing(in,
                              "the other ranks: a name with \".0.\" stands for the files of all");
        strait_program_free(in->graph);
        in->graph = NULL;
    }
}

int strait_chakra_read(struct strait_import *in, struct strait_source *s,
                       int (*read)(struct strait_chakra *c, struct strait_source *s,
                                   struct strait_error *err),
                       struct strait_error *err)
{
    struct strait_chakra c = {.in = in, .n_ranks = count_ranks(in->path)};
    char name[4096];
    const long alone = c.n_ranks == 1 ? rank_of_name(name, sizeof(name), in->path) : 0;
    if (alone > 0)
        return strait_refuse(err, in->path,
                             "expected the first rank's file, %s, which stands for those of all, "
                             "found that of rank %ld",
                             name, alone);
    int status = strait_import_graph_begin(in, c.n_ranks, err);
    if (status == 0 && item_of(&c.groups, "", 0) != 0) /* group 0: all ranks */
        status = strait_error_memory(err, s->path);
    for (; c.rank < c.n_ranks && status == 0; c.rank++) {
        struct strait_source next = {0}, *from = s;
        if (c.rank > 0) {
            name_of_rank(name, sizeof(name), in->path, c.rank);
            status = strait_source_open(&next, name, err);
            from = &next;
        }
        status =
            status != 0 || read(&c, from, err) != 0 || end_rank(&c, from->path, err) != 0 ? -1 : 0;
        strait_source_release(&next);
    }
    if (status == 0)
        status = find_groups(&c, err);
    if (status == 0)
        say(&c);
    strait_labels_release(&c.ids);
    strait_labels_release(&c.groups);
    free(c.node.deps);
    return status;
}
