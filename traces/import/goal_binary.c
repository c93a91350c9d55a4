/* GOAL schedules as LogGOPSim's txt2bin writes them. Little-endian, without padding: the number
 * 4223 (8 bytes); then, as bytes from here on are counted, the ranks (4), the highest CPU and
 * network card (1 each), and of each rank where it begins and ends (8 each). A rank is its nodes
 * and roots (4 each), the roots, the nodes, and the numbers of the nodes that wait for each: for
 * its end, then for its beginning. */
#include <stdlib.h>
#include <string.h>

#include "goal.h"

enum { MAGIC = 4223, MAGIC_BYTES = 8, NODE_BYTES = 39, SEND = 1, RECV = 2, CALC = 3 };
static const double NS = 1e-9;

struct waiting { /* nodes that wait for one */
    uint32_t for_end, for_start;
};

struct reader {
    struct strait_import *in;
    struct strait_source *s;
    uint64_t (*spans)[2]; /* of each rank */
    int rank;
    struct waiting *waiting; /* of this rank's nodes */
    size_t cap_waiting;
    struct strait_goal_order order; /* of a rank that is looked at */
    uint32_t n_nodes;
    uint64_t n_waiting;
    bool has_nics;
};

static uint64_t number_of(const unsigned char *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static bool sniff(const char *head, size_t n)
{
    return n >= MAGIC_BYTES && number_of((const unsigned char *)head, MAGIC_BYTES) == MAGIC;
}

/* The next n bytes, valid until the next call; NULL with *err where the file is cut off. */
static const unsigned char *take(struct reader *r, size_t n, struct strait_error *err)
{
    if (strait_source_fill(r->s, n) < n) {
        strait_source_fail_byte(r->s, err, "expected %zu more bytes, found the end of the file", n);
        return NULL;
    }
    r->s->at += n;
    return r->s->buffer + r->s->at - n;
}

/* A number of so many bytes. 0, or -1 with *err. */
static int take_number(struct reader *r, uint64_t *value, size_t n, struct strait_error *err)
{
    const unsigned char *bytes = take(r, n, err);
    *value = bytes ? number_of(bytes, n) : 0;
    return bytes ? 0 : -1;
}

static int read_head(struct reader *r, struct strait_error *err)
{
    uint64_t n_ranks;
    if (!take(r, MAGIC_BYTES, err) || take_number(r, &n_ranks, 4, err) != 0 || !take(r, 2, err))
        return -1;
    if (n_ranks < 1 || n_ranks > STRAIT_PROGRAM_MAX_RANKS)
        return strait_source_fail_byte(r->s, err, "expected 1 to %d ranks, found %llu",
                                       STRAIT_PROGRAM_MAX_RANKS, (unsigned long long)n_ranks);
    r->spans = calloc(n_ranks, sizeof(*r->spans));
    if (!r->spans)
        return strait_error_memory(err, r->s->path);
    if (strait_import_graph_begin(r->in, (int)n_ranks, err) != 0)
        return -1;
    for (uint64_t i = 0; i < n_ranks; i++)
        for (int end = 0; end < 2; end++)
            if (take_number(r, &r->spans[i][end], 8, err) != 0)
                return -1;
    return 0;
}

/* One node from its bytes: what it does, and how many wait for it. */
static int read_node(struct reader *r, struct waiting *waiting, struct strait_error *err)
{
    const unsigned char *b = take(r, NODE_BYTES, err);
    if (!b)
        return -1;
    const unsigned type = b[4], cpu = b[21];
    const uint64_t peer = number_of(b + 5, 4), size = number_of(b + 9, 8),
                   tag = number_of(b + 17, 4);
    const bool is_message = type == SEND || type == RECV;
    *waiting = (struct waiting){(uint32_t)number_of(b + 23, 4), (uint32_t)number_of(b + 31, 4)};
    r->has_nics = r->has_nics || b[22] > 0;
    if (!is_message && type != CALC)
        return strait_source_fail_byte(r->s, err,
                                       "expected 1 (send), 2 (receive) or 3 (calc) as the kind of "
                                       "a node, found %u",
                                       type);
    if (cpu >= STRAIT_GOAL_MAX_CPUS)
        return strait_source_fail_byte(r->s, err, "expected a cpu from 0 to %d, found %u",
                                       STRAIT_GOAL_MAX_CPUS - 1, cpu);
    if (is_message && (peer >= (uint64_t)r->in->graph->n_ranks || (int)peer == r->rank))
        return strait_source_fail_byte(
            r->s, err,
            "expected another of %d ranks in a message of rank %d, found "
            "%lld",
            r->in->graph->n_ranks, r->rank, (long long)(int32_t)peer);
    if (is_message && (tag > INT32_MAX || size > (uint64_t)STRAIT_GOAL_MAX_BYTES))
        return strait_source_fail_byte(
            r->s, err, "expected a tag and at most %lld bytes, found %lld and %llu",
            (long long)STRAIT_GOAL_MAX_BYTES, (long long)(int32_t)tag, (unsigned long long)size);
    if (!is_message && (double)size > STRAIT_GOAL_MAX_NS)
        return strait_source_fail_byte(r->s, err, "expected at most 1e18 ns, found %llu",
                                       (unsigned long long)size);
    const struct strait_program_node node = {.kind = type == SEND   ? STRAIT_PROGRAM_SEND
                                                     : type == RECV ? STRAIT_PROGRAM_RECV
                                                                    : STRAIT_PROGRAM_COMPUTE,
                                             .unit = (uint8_t)(STRAIT_PROGRAM_CPU + cpu),
                                             .peer = is_message ? (int32_t)peer : -1,
                                             .tag = is_message ? (int32_t)tag : 0,
                                             .bytes = is_message ? size : 0,
                                             .time_s = is_message ? 0 : (double)size * NS};
    return strait_program_add(r->in->graph, r->rank, node, err) < 0 ? -1 : 0;
}

static int read_nodes(struct reader *r, struct strait_error *err)
{
    r->n_waiting = 0;
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        if (i == r->cap_waiting) { /* grows with what is there, not with what a file says */
            const size_t cap = r->cap_waiting ? 2 * r->cap_waiting : 1024;
            struct waiting *more = realloc(r->waiting, cap * sizeof(*more));
            if (!more)
                return strait_error_memory(err, r->s->path);
            r->waiting = more;
            r->cap_waiting = cap;
        }
        if (read_node(r, &r->waiting[i], err) != 0)
            return -1;
        r->n_waiting += (uint64_t)r->waiting[i].for_end + r->waiting[i].for_start;
    }
    return 0;
}

static int read_edges(struct reader *r, uint32_t from, uint32_t n, bool on_start,
                      struct strait_error *err)
{
    uint64_t to;
    for (uint32_t i = 0; i < n; i++) {
        if (take_number(r, &to, 4, err) != 0)
            return -1;
        if (to >= r->n_nodes)
            return strait_source_fail_byte(
                r->s, err,
                "expected a node below %lu that waits for node %lu of rank %d, found %lu",
                (unsigned long)r->n_nodes, (unsigned long)from, r->rank, (unsigned long)to);
        if (r->in->graph->look && !strait_goal_order_add(&r->order, from, (uint32_t)to))
            return strait_error_memory(err, r->s->path);
        if (!r->in->graph->look &&
            strait_program_edge_add(r->in->graph, r->rank, from, (uint32_t)to, on_start, err) != 0)
            return -1;
    }
    return 0;
}

static int read_rank(struct reader *r, struct strait_error *err)
{
    const uint64_t from = strait_source_offset(r->s) - MAGIC_BYTES;
    uint64_t n_nodes, n_roots;
    if (r->spans[r->rank][0] != from)
        return strait_source_fail_byte(r->s, err,
                                       "expected rank %d to begin at byte %llu, behind the rank "
                                       "before it, found %llu",
                                       r->rank, (unsigned long long)from + MAGIC_BYTES,
                                       (unsigned long long)r->spans[r->rank][0] + MAGIC_BYTES);
    if (take_number(r, &n_nodes, 4, err) != 0 || take_number(r, &n_roots, 4, err) != 0)
        return -1;
    r->n_nodes = (uint32_t)n_nodes;
    for (uint64_t i = 0; i < n_roots; i++) /* whose list follows from the edges */
        if (!take(r, 4, err))
            return -1;
    if (read_nodes(r, err) != 0)
        return -1;
    const uint64_t end = 8 + 4 * n_roots + NODE_BYTES * n_nodes + 4 * r->n_waiting;
    if (r->spans[r->rank][1] != from + end)
        return strait_source_fail_byte(
            r->s, err, "expected rank %d to end at byte %llu by its nodes, found %llu", r->rank,
            (unsigned long long)from + end + MAGIC_BYTES,
            (unsigned long long)r->spans[r->rank][1] + MAGIC_BYTES);
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (read_edges(r, i, r->waiting[i].for_end, false, err) != 0 ||
            read_edges(r, i, r->waiting[i].for_start, true, err) != 0)
            return -1;
    free(r->waiting); /* a single rank may have millions */
    r->waiting = NULL;
    r->cap_waiting = 0;
    return r->in->graph->look
               ? strait_goal_order_end(&r->order, r->in->graph, r->n_nodes, r->s->path, err)
               : 0;
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct reader r = {.in = in, .s = s};
    int status = read_head(&r, err);
    for (r.rank = 0; status == 0 && r.rank < in->graph->n_ranks; r.rank++)
        status = read_rank(&r, err);
    if (status == 0 && strait_source_fill(s, 1) > 0)
        status = strait_source_fail_byte(s, err, "expected the end of the file behind its ranks");
    free(r.spans);
    free(r.waiting);
    strait_goal_order_release(&r.order);
    strait_goal_remarks(in, r.has_nics);
    return status;
}

const struct strait_import_format strait_import_goal_binary = {
    .name = "goal-binary",
    .summary = "GOAL schedules as LogGOPSim's txt2bin writes them",
    .source = "LogGOPSim: Parser.hpp, Graph::serialize_mmap (github.com/spcl/LogGOPSim)",
    .sniff = sniff,
    .read = read_all,
};
