/* A graph as time-independent traces. Ranks there do one thing after another, so an order is chosen
 * in which all ranks can go on: nodes are taken as they become ready, all ranks together, messages
 * without delay, and those first that are posted without a wait, so that they go on beside what
 * computes. A receive is posted when it may be and waited for before the first node that needs it;
 * sends are waited for at the end. Tags are the numbers of the receiving nodes, so that no two
 * requests are alike. */
#include "ti_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

struct rank {
    const struct strait_program_rank *trace;
    FILE *out;
    char *text;
    size_t len;
    uint32_t *left;      /* of each node: what it waits for */
    uint32_t *head;      /* of each node: edges from receives that it must wait for, a list */
    uint32_t *next_edge; /* of each edge: the next of that list */
    bool *is_open, *has_come, *was_waited_for, *may_call;
    size_t next_call, n_ended;
};

struct place {
    int rank;
    uint32_t node;
};

struct writer {
    const struct strait_program *g;
    struct rank *ranks;
    double flop_per_s;
    struct place *posts, *ready; /* stacks: the order decides only how much goes on at once */
    size_t n_posts, n_ready;
    size_t n_calls[STRAIT_PROGRAM_MAX_RANKS]; /* collectives that rank has begun */
};

static void release(struct writer *w, int rank, uint32_t node)
{
    struct rank *r = &w->ranks[rank];
    const int kind = r->trace->nodes[node].kind;
    if (--r->left[node] > 0)
        return;
    if ((kind == STRAIT_PROGRAM_SEND || kind == STRAIT_PROGRAM_RECV) && r->head[node] == NONE)
        w->posts[w->n_posts++] = (struct place){rank, node};
    else
        w->ready[w->n_ready++] = (struct place){rank, node};
}

static void follow(struct writer *w, int rank, uint32_t node, bool on_start)
{
    struct rank *r = &w->ranks[rank];
    const bool is_recv = r->trace->nodes[node].kind == STRAIT_PROGRAM_RECV;
    for (uint32_t e = r->trace->first_edge[node]; e < r->trace->first_edge[node + 1]; e++) {
        const struct strait_program_edge *edge = &r->trace->edges[e];
        if (edge->on_start != on_start)
            continue;
        if (is_recv && !on_start) {
            r->next_edge[e] = r->head[edge->to];
            r->head[edge->to] = e;
        }
        release(w, rank, edge->to);
    }
}

static void end(struct writer *w, int rank, uint32_t node)
{
    w->ranks[rank].n_ended++;
    follow(w, rank, node, false);
}

static void end_receive(struct writer *w, int rank, uint32_t node)
{
    if (w->ranks[rank].is_open[node] && w->ranks[rank].has_come[node])
        end(w, rank, node);
}

static void put_waits(struct rank *r, int rank, uint32_t node)
{
    for (uint32_t e = r->head[node]; e != NONE; e = r->next_edge[e]) {
        const uint32_t from = r->trace->edges[e].from;
        if (!r->was_waited_for[from])
            fprintf(r->out, "%d wait %d %d %u\n", rank, r->trace->nodes[from].peer, rank, from);
        r->was_waited_for[from] = true;
    }
}

static double flop_of(const struct writer *w, const struct strait_program_node *n)
{
    return n->flop + (n->kind == STRAIT_PROGRAM_SLEEP ? 0 : n->time_s * w->flop_per_s);
}

static void put_collective(const struct writer *w, FILE *out, int rank,
                           const struct strait_program_node *n)
{
    const unsigned long long bytes = n->bytes, share = bytes / (unsigned)w->g->n_ranks;
    const double flop = flop_of(w, n);
    switch ((enum strait_program_collective)n->collective) {
    case STRAIT_PROGRAM_ALL_REDUCE:
        fprintf(out, "%d allreduce %llu %.17g\n", rank, bytes, flop);
        break;
    case STRAIT_PROGRAM_ALL_GATHER:
        fprintf(out, "%d allgather %llu %llu\n", rank, bytes, bytes);
        break;
    case STRAIT_PROGRAM_REDUCE_SCATTER:
        fprintf(out, "%d reducescatter", rank);
        for (int i = 0; i < w->g->n_ranks; i++) /* the first has the rest */
            fprintf(out, " %llu", i == 0 ? bytes - share * (unsigned)(w->g->n_ranks - 1) : share);
        fprintf(out, " %.17g\n", flop);
        break;
    case STRAIT_PROGRAM_ALL_TO_ALL:
        fprintf(out, "%d alltoall %llu %llu\n", rank, share, share);
        break;
    case STRAIT_PROGRAM_BROADCAST:
        fprintf(out, "%d bcast %llu %d\n", rank, bytes, n->peer < 0 ? 0 : n->peer);
        break;
    case STRAIT_PROGRAM_REDUCE:
        fprintf(out, "%d reduce %llu %.17g %d\n", rank, bytes, flop, n->peer < 0 ? 0 : n->peer);
        break;
    case STRAIT_PROGRAM_GATHER:
    case STRAIT_PROGRAM_SCATTER:
        fprintf(out, "%d %s %llu %llu %d\n", rank,
                n->collective == STRAIT_PROGRAM_GATHER ? "gather" : "scatter", bytes, bytes,
                n->peer < 0 ? 0 : n->peer);
        break;
    case STRAIT_PROGRAM_BARRIER:
    case STRAIT_N_PROGRAM_COLLECTIVES:
        fprintf(out, "%d barrier\n", rank);
        break;
    }
}

/* The k-th call of all ranks ends when the last of them has begun it. */
static void end_calls(struct writer *w, size_t call)
{
    for (int i = 0; i < w->g->n_ranks; i++)
        if (w->n_calls[i] <= call)
            return;
    for (int i = 0; i < w->g->n_ranks; i++) {
        const struct strait_program_rank *t = w->ranks[i].trace;
        size_t k = 0;
        for (uint32_t at = 0; at < t->n_nodes; at++)
            if (t->nodes[at].kind == STRAIT_PROGRAM_COLLECTIVE && k++ == call)
                end(w, i, at);
    }
}

static void call(struct writer *w, int rank)
{
    struct rank *r = &w->ranks[rank];
    for (; r->next_call < r->trace->n_nodes; r->next_call++) {
        const struct strait_program_node *n = &r->trace->nodes[r->next_call];
        if (n->kind != STRAIT_PROGRAM_COLLECTIVE)
            continue;
        if (!r->may_call[r->next_call])
            return;
        put_waits(r, rank, (uint32_t)r->next_call);
        put_collective(w, r->out, rank, n);
        end_calls(w, w->n_calls[rank]++);
    }
}

static void start(struct writer *w, int rank, uint32_t node)
{
    struct rank *r = &w->ranks[rank];
    const struct strait_program_node *n = &r->trace->nodes[node];
    follow(w, rank, node, true);
    if (n->kind == STRAIT_PROGRAM_COLLECTIVE) {
        r->may_call[node] = true;
        call(w, rank);
        return;
    }
    put_waits(r, rank, node);
    switch ((enum strait_program_kind)n->kind) {
    case STRAIT_PROGRAM_COMPUTE:
        fprintf(r->out, "%d compute %.17g\n", rank, flop_of(w, n));
        break;
    case STRAIT_PROGRAM_SLEEP:
        fprintf(r->out, "%d sleep %.17g\n", rank, n->time_s);
        break;
    case STRAIT_PROGRAM_SEND:
        fprintf(r->out, "%d isend %d %u %llu\n", rank, n->peer, n->mate,
                (unsigned long long)n->bytes);
        w->ranks[n->peer].has_come[n->mate] = true;
        end_receive(w, n->peer, n->mate);
        break;
    case STRAIT_PROGRAM_RECV:
        fprintf(r->out, "%d irecv %d %u %llu\n", rank, n->peer, node, (unsigned long long)n->bytes);
        r->is_open[node] = true;
        end_receive(w, rank, node);
        return;
    case STRAIT_PROGRAM_COLLECTIVE:
    case STRAIT_PROGRAM_NOTHING:
    case STRAIT_N_PROGRAM_KINDS:
        break;
    }
    end(w, rank, node);
}

/* --- begin and end ------------------------------------------------------------------------ */

static bool begin_rank(struct rank *r, const struct strait_program_rank *trace, int rank)
{
    const size_t n = trace->n_nodes + 1;
    r->trace = trace;
    r->out = open_memstream(&r->text, &r->len);
    r->left = malloc(n * sizeof(*r->left));
    r->head = malloc(n * sizeof(*r->head));
    r->next_edge = malloc((trace->n_edges + 1) * sizeof(*r->next_edge));
    r->is_open = calloc(n, 4);
    if (!r->out || !r->left || !r->head || !r->next_edge || !r->is_open)
        return false;
    r->has_come = r->is_open + n;
    r->was_waited_for = r->has_come + n;
    r->may_call = r->was_waited_for + n;
    for (size_t i = 0; i < trace->n_nodes; i++) {
        r->left[i] = trace->n_before[i] + 1;
        r->head[i] = NONE;
    }
    fprintf(r->out, "%d init\n", rank);
    return true;
}

static void end_rank(struct rank *r)
{
    if (r->out)
        fclose(r->out);
    free(r->text);
    free(r->left);
    free(r->head);
    free(r->next_edge);
    free(r->is_open);
}

static char *joined(struct writer *w)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (int i = 0; out && i < w->g->n_ranks; i++) {
        fprintf(w->ranks[i].out, "%d waitall\n%d finalize\n", i, i);
        fclose(w->ranks[i].out);
        w->ranks[i].out = NULL;
        fputs(w->ranks[i].text, out);
    }
    if (out && fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static int write_all(char **text, struct writer *w, struct strait_error *err)
{
    size_t n_nodes = 0, n_ended = 0;
    for (int i = 0; i < w->g->n_ranks; i++) {
        n_nodes += w->g->ranks[i].n_nodes;
        if (!begin_rank(&w->ranks[i], &w->g->ranks[i], i))
            return strait_error_memory(err, "trace");
    }
    if (!(w->ready = malloc((n_nodes + 1) * sizeof(*w->ready))) ||
        !(w->posts = malloc((n_nodes + 1) * sizeof(*w->posts))))
        return strait_error_memory(err, "trace");
    for (int i = w->g->n_ranks; i-- > 0;)
        for (size_t k = w->g->ranks[i].n_nodes; k-- > 0;)
            release(w, i, (uint32_t)k);
    while (w->n_posts + w->n_ready > 0) {
        const struct place p = w->n_posts > 0 ? w->posts[--w->n_posts] : w->ready[--w->n_ready];
        start(w, p.rank, p.node);
    }
    for (int i = 0; i < w->g->n_ranks; i++)
        n_ended += w->ranks[i].n_ended;
    if (n_ended < n_nodes)
        return strait_refuse(
            err, "trace",
            "expected ranks that can all end, found %zu nodes of %zu that wait for each other",
            n_nodes - n_ended, n_nodes);
    *text = joined(w);
    return *text ? 0 : strait_error_memory(err, "trace");
}

static json_t *losses(const struct strait_program *g)
{
    json_t *lost = json_array();
    unsigned units = 0;
    bool has_starts = false;
    for (int r = 0; r < g->n_ranks; r++) {
        for (size_t i = 0; i < g->ranks[r].n_nodes; i++)
            if (g->ranks[r].nodes[i].kind == STRAIT_PROGRAM_COMPUTE)
                units |= 1u << g->ranks[r].nodes[i].unit;
        for (size_t i = 0; i < g->ranks[r].n_edges; i++)
            has_starts = has_starts || g->ranks[r].edges[i].on_start;
    }
    json_array_append_new(lost, json_string("a rank does one thing after another: computing beside "
                                            "computing or beside a collective is lost"));
    if (units & (units - 1))
        json_array_append_new(lost, json_string("ranks compute on several units: here on one"));
    if (has_starts)
        json_array_append_new(lost,
                              json_string("what may begin with another node begins after it"));
    return lost;
}

int strait_ti_text(char **text, json_t **lost, const struct strait_program *g, double flop_per_s,
                   struct strait_error *err)
{
    struct writer *w = calloc(1, sizeof(*w));
    *text = NULL;
    if (g->n_groups > 1)
        strait_refuse(err, "trace",
                      "expected collectives of all ranks, which is what this format has, found one "
                      "of the group \"%s\"",
                      g->groups[1].name);
    else if (!w || !(w->ranks = calloc((size_t)g->n_ranks, sizeof(*w->ranks))))
        strait_error_memory(err, "trace");
    else {
        w->g = g;
        w->flop_per_s = flop_per_s;
        if (write_all(text, w, err) == 0 && lost)
            *lost = losses(g);
        for (int i = 0; i < g->n_ranks; i++)
            end_rank(&w->ranks[i]);
        free(w->posts);
        free(w->ready);
        free(w->ranks);
    }
    free(w);
    return *text ? 0 : -1;
}
