/* Actions of time-independent traces. Those of a rank follow one another; isend and irecv go on
 * until their wait. */
#include <stdlib.h>
#include <string.h>

#include "ti.h"

static const int64_t MAX_BYTES = (int64_t)1 << 50;
static const double MAX_FLOP = 1e24, MAX_S = 1e12;

/* Bytes of the data types by their number there: double, int, char, short, long, float, byte, long
 * long, signed and unsigned char, unsigned short, int, long, long long, long double, wchar_t, bool,
 * int8 to int64, uint8 to uint64, complex float, double, long double. */
static const int type_bytes[] = {8,  4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8,  8,
                                 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32};
enum { N_TYPES = sizeof(type_bytes) / sizeof(type_bytes[0]) };

/* --- nodes -------------------------------------------------------------------------------- */

/* Add a node that waits for the rank's last one; if it is waited for, it becomes the last one. */
static int64_t add(struct strait_ti *r, int rank, struct strait_program_node node,
                   bool is_waited_for, struct strait_error *err)
{
    struct strait_ti_rank *k = &r->ranks[rank];
    const int64_t at = strait_program_add(r->in->graph, rank, node, err);
    if (at >= 0 && k->last >= 0 &&
        strait_program_edge_add(r->in->graph, rank, (uint32_t)k->last, (uint32_t)at, false, err) !=
            0)
        return -1;
    if (at >= 0 && is_waited_for)
        k->last = at;
    return at;
}

static struct strait_ti_request *find(const struct strait_ti_open *open, int32_t peer, int32_t tag)
{
    for (size_t i = 0; i < open->n; i++)
        if (open->items[i].peer == peer && open->items[i].tag == tag)
            return &open->items[i];
    return NULL;
}

/* Node `at` waits for an open request, which is open no more. */
static int settle(struct strait_ti *r, int rank, int64_t at, struct strait_ti_open *open,
                  struct strait_ti_request *o, struct strait_error *err)
{
    const uint32_t node = o->node;
    const size_t i = (size_t)(o - open->items);
    open->n--;
    memmove(o, o + 1, (open->n - i) * sizeof(*o));
    return strait_program_edge_add(r->in->graph, rank, node, (uint32_t)at, false, err);
}

/* A request of the same peer and tag whose tests are over has ended before this one. */
static int remember(struct strait_ti *r, int rank, bool is_send, struct strait_ti_request request,
                    struct strait_error *err)
{
    struct strait_ti_open *open = &r->ranks[rank].open[is_send];
    if (r->in->graph->look) /* edges to its wait lead on, and are not kept */
        return 0;
    struct strait_ti_request *before = find(open, request.peer, request.tag);
    if (before && before->tested_at >= 0 &&
        settle(r, rank, before->tested_at, open, before, err) != 0)
        return -1;
    if (open->n == open->cap) {
        const size_t cap = open->cap ? 2 * open->cap : 16;
        struct strait_ti_request *more = realloc(open->items, cap * sizeof(*more));
        if (!more)
            return strait_error_memory(err, r->s->path);
        open->items = more;
        open->cap = cap;
    }
    open->items[open->n++] = request;
    return 0;
}

/* Requests whose last test saw their end: of the rank's open ones at most n. */
static int end_tested(struct strait_ti *r, int rank, size_t n, struct strait_error *err)
{
    for (int kind = 0; kind < 2; kind++) {
        struct strait_ti_open *open = &r->ranks[rank].open[kind];
        for (size_t i = 0; i < open->n && n > 0;) {
            if (open->items[i].tested_at < 0) {
                i++;
                continue;
            }
            if (settle(r, rank, open->items[i].tested_at, open, &open->items[i], err) != 0)
                return -1;
            n--;
        }
    }
    return 0;
}

int strait_ti_finish(struct strait_ti *r, struct strait_error *err)
{
    for (int rank = 0; rank < r->n_ranks; rank++)
        if (end_tested(r, rank, SIZE_MAX, err) != 0)
            return -1;
    return 0;
}

/* Node `at` waits for the first open request that matches; where none does, nothing is open. */
static int wait_for(struct strait_ti *r, int rank, int64_t at, struct strait_ti_open *open,
                    int32_t peer, int32_t tag, struct strait_error *err)
{
    struct strait_ti_request *o = find(open, peer, tag);
    return o ? settle(r, rank, at, open, o, err) : 0;
}

/* Node `at` waits for all open requests. If it names fewer, tests saw the end of some. */
static int wait_for_all(struct strait_ti *r, int rank, int64_t at, const struct strait_ti_line *l,
                        struct strait_error *err)
{
    struct strait_ti_open *open = r->ranks[rank].open;
    const size_t n_open = open[0].n + open[1].n;
    int64_t n;
    if (l->n_words > 0 && strait_source_integer(&n, l->words[0], NULL, 0, INT32_MAX) &&
        (size_t)n < n_open && end_tested(r, rank, n_open - (size_t)n, err) != 0)
        return -1;
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < open[kind].n; i++)
            if (strait_program_edge_add(r->in->graph, rank, open[kind].items[i].node, (uint32_t)at,
                                        false, err) != 0)
                return -1;
        open[kind].n = 0;
    }
    return 0;
}

/* --- actions ------------------------------------------------------------------------------ */

static int fail_word(const struct strait_ti *r, const struct strait_ti_line *l, int i,
                     const char *expected, struct strait_error *err)
{
    return strait_source_fail_line(r->s, err, "expected %s as amount %d of %s, found \"%.40s\"",
                                   expected, i + 1, l->action,
                                   i < l->n_words ? l->words[i] : "nothing");
}

static int read_rank_word(const struct strait_ti *r, int32_t *out, const struct strait_ti_line *l,
                          int i, struct strait_error *err)
{
    int64_t value;
    if (i >= l->n_words || !strait_source_integer(&value, l->words[i], NULL, 0, r->n_ranks - 1))
        return fail_word(r, l, i, "a rank of the trace", err);
    *out = (int32_t)value;
    return 0;
}

static int read_tag(const struct strait_ti *r, int32_t *out, const struct strait_ti_line *l, int i,
                    struct strait_error *err)
{
    int64_t value;
    if (i >= l->n_words || !strait_source_integer(&value, l->words[i], NULL, INT32_MIN, INT32_MAX))
        return fail_word(r, l, i, "a tag", err);
    *out = (int32_t)value;
    return 0;
}

/* Elements at word i of the type at word i_type, if it is there. */
static int read_bytes(struct strait_ti *r, uint64_t *out, const struct strait_ti_line *l, int i,
                      int i_type, struct strait_error *err)
{
    int64_t n, type = r->ranks[l->rank].default_type;
    if (i >= l->n_words || !strait_source_integer(&n, l->words[i], NULL, 0, MAX_BYTES / 32))
        return fail_word(r, l, i, "a number of elements", err);
    if (i_type < l->n_words &&
        !strait_source_integer(&type, l->words[i_type], NULL, 0, N_TYPES - 1))
        return fail_word(r, l, i_type, "the number of a data type (0 to 27)", err);
    *out = (uint64_t)n * (uint64_t)type_bytes[type];
    return 0;
}

static int read_flop(const struct strait_ti *r, double *out, const struct strait_ti_line *l, int i,
                     struct strait_error *err)
{
    return i < l->n_words && strait_source_number(out, l->words[i], NULL, 0, MAX_FLOP)
               ? 0
               : fail_word(r, l, i, "floating point operations", err);
}

/* MPI_ANY_SOURCE and MPI_ANY_TAG as SMPI numbers them. */
static int refuse_any(const struct strait_ti *r, const struct strait_ti_line *l,
                      struct strait_error *err)
{
    static const char *const any[] = {"-333", "-444"}, *const names[] = {"source", "tag"};
    for (int i = 0; i < 2 && i < l->n_words; i++)
        if (strcmp(l->words[i], any[i]) == 0)
            return strait_source_fail_line(r->s, err,
                                           "expected a %s, found %s, any %s: which message %s "
                                           "meets is not in the trace",
                                           names[i], any[i], names[i], l->action);
    return 0;
}

static int read_message(struct strait_ti *r, const struct strait_ti_line *l,
                        struct strait_error *err)
{
    const bool is_async = l->action[0] == 'i', is_send = l->action[is_async] == 's';
    struct strait_program_node node = {.kind = is_send ? STRAIT_PROGRAM_SEND : STRAIT_PROGRAM_RECV};
    if ((!is_send && refuse_any(r, l, err) != 0) || read_rank_word(r, &node.peer, l, 0, err) != 0 ||
        read_tag(r, &node.tag, l, 1, err) != 0 || read_bytes(r, &node.bytes, l, 2, 3, err) != 0)
        return -1;
    if (node.peer == l->rank)
        return strait_source_fail_line(r->s, err, "expected another rank than %d itself", l->rank);
    const int64_t at = add(r, l->rank, node, !is_async, err);
    if (at < 0 || !is_async)
        return at < 0 ? -1 : 0;
    return remember(r, l->rank, is_send,
                    (struct strait_ti_request){(uint32_t)at, node.peer, node.tag, -1}, err);
}

/* "wait src dst tag" or "waitall n". */
static int read_wait(struct strait_ti *r, const struct strait_ti_line *l, bool is_all,
                     struct strait_error *err)
{
    const struct strait_program_node nothing = {.kind = STRAIT_PROGRAM_NOTHING, .peer = -1};
    int32_t src = -1, dst = -1, tag = 0;
    if (!is_all && (read_rank_word(r, &src, l, 0, err) != 0 ||
                    read_rank_word(r, &dst, l, 1, err) != 0 || read_tag(r, &tag, l, 2, err) != 0))
        return -1;
    const int64_t at = add(r, l->rank, nothing, true, err);
    if (at >= 0 && is_all)
        return wait_for_all(r, l->rank, at, l, err);
    for (int is_send = 0; at >= 0 && is_send < 2; is_send++)
        if ((is_send ? src : dst) == l->rank &&
            wait_for(r, l->rank, at, &r->ranks[l->rank].open[is_send], is_send ? dst : src, tag,
                     err) != 0)
            return -1;
    return at < 0 ? -1 : 0;
}

/* "test src dst tag". Whether it saw the end is not in the trace: the request's last test did,
 * unless a wait follows. Tests that follow one another are one node. */
static int read_test(struct strait_ti *r, const struct strait_ti_line *l, struct strait_error *err)
{
    const struct strait_program_node nothing = {.kind = STRAIT_PROGRAM_NOTHING, .peer = -1};
    struct strait_ti_rank *k = &r->ranks[l->rank];
    int32_t src = -1, dst = -1, tag = 0;
    r->has_tests = true;
    if (read_rank_word(r, &src, l, 0, err) != 0 || read_rank_word(r, &dst, l, 1, err) != 0 ||
        read_tag(r, &tag, l, 2, err) != 0)
        return -1;
    if (k->last < 0 || k->last != k->test) {
        const int64_t at = add(r, l->rank, nothing, true, err);
        if (at < 0)
            return -1;
        k->test = at;
    }
    for (int is_send = 0; is_send < 2; is_send++) {
        struct strait_ti_request *o = (is_send ? src : dst) == l->rank
                                          ? find(&k->open[is_send], is_send ? dst : src, tag)
                                          : NULL;
        if (o)
            o->tested_at = k->test;
    }
    return 0;
}

/* "sendRecv sendcount dst recvcount src [type type]", both at once, tag 0. */
static int read_send_recv(struct strait_ti *r, const struct strait_ti_line *l,
                          struct strait_error *err)
{
    struct strait_program_node send = {.kind = STRAIT_PROGRAM_SEND},
                               recv = {.kind = STRAIT_PROGRAM_RECV};
    const struct strait_program_node nothing = {.kind = STRAIT_PROGRAM_NOTHING, .peer = -1};
    if (read_bytes(r, &send.bytes, l, 0, 4, err) != 0 ||
        read_rank_word(r, &send.peer, l, 1, err) != 0 ||
        read_bytes(r, &recv.bytes, l, 2, 5, err) != 0 ||
        read_rank_word(r, &recv.peer, l, 3, err) != 0)
        return -1;
    if (send.peer == l->rank || recv.peer == l->rank)
        return strait_source_fail_line(r->s, err, "expected another rank than %d itself", l->rank);
    const int64_t a = add(r, l->rank, send, false, err),
                  b = a < 0 ? -1 : add(r, l->rank, recv, false, err),
                  end = b < 0 ? -1 : add(r, l->rank, nothing, true, err);
    return end < 0 ||
                   strait_program_edge_add(r->in->graph, l->rank, (uint32_t)a, (uint32_t)end, false,
                                           err) != 0 ||
                   strait_program_edge_add(r->in->graph, l->rank, (uint32_t)b, (uint32_t)end, false,
                                           err) != 0
               ? -1
               : 0;
}

struct collective {
    const char *name;
    int kind, bytes_at, type_at, flop_at, root_at; /* -1: none */
};
/* Of gather and scatter the bytes are one share; of alltoall too, which becomes all n. */
static const struct collective table[] = {
    {"barrier", STRAIT_PROGRAM_BARRIER, -1, 0, -1, -1},
    {"bcast", STRAIT_PROGRAM_BROADCAST, 0, 2, -1, 1},
    {"reduce", STRAIT_PROGRAM_REDUCE, 0, 3, 1, 2},
    {"allreduce", STRAIT_PROGRAM_ALL_REDUCE, 0, 2, 1, -1},
    {"alltoall", STRAIT_PROGRAM_ALL_TO_ALL, 0, 2, -1, -1},
    {"gather", STRAIT_PROGRAM_GATHER, 0, 3, -1, 2},
    {"scatter", STRAIT_PROGRAM_SCATTER, 0, 3, -1, 2},
    {"allgather", STRAIT_PROGRAM_ALL_GATHER, 0, 2, -1, -1},
};

static int read_collective(struct strait_ti *r, const struct strait_ti_line *l,
                           const struct collective *c, struct strait_error *err)
{
    struct strait_program_node node = {.kind = STRAIT_PROGRAM_COLLECTIVE,
                                       .collective = (uint8_t)c->kind,
                                       .group = STRAIT_PROGRAM_WORLD,
                                       .peer = c->root_at >= 0 ? 0 : -1};
    if ((c->bytes_at >= 0 && read_bytes(r, &node.bytes, l, c->bytes_at, c->type_at, err) != 0) ||
        (c->flop_at >= 0 && read_flop(r, &node.flop, l, c->flop_at, err) != 0) ||
        (c->root_at >= 0 && c->root_at < l->n_words &&
         read_rank_word(r, &node.peer, l, c->root_at, err) != 0))
        return -1;
    if (c->kind == STRAIT_PROGRAM_ALL_TO_ALL)
        node.bytes *= (uint64_t)r->n_ranks;
    return add(r, l->rank, node, true, err) < 0 ? -1 : 0;
}

/* "reducescatter" and the elements of each rank, then operations and the type. */
static int read_reduce_scatter(struct strait_ti *r, const struct strait_ti_line *l,
                               struct strait_error *err)
{
    struct strait_program_node node = {
        .kind = STRAIT_PROGRAM_COLLECTIVE, .collective = STRAIT_PROGRAM_REDUCE_SCATTER, .peer = -1};
    int64_t n, total = 0, type = r->ranks[l->rank].default_type;
    char *rest = l->rest;
    for (int i = 0; i < r->n_ranks; i++) {
        const char *word = strait_source_word(&rest);
        if (!strait_source_integer(&n, word, NULL, 0, MAX_BYTES / 32 / STRAIT_PROGRAM_MAX_RANKS))
            return strait_source_fail_line(r->s, err,
                                           "expected %d numbers of elements after reducescatter, "
                                           "found \"%.40s\"",
                                           r->n_ranks, word ? word : "nothing");
        total += n;
    }
    const char *flop = strait_source_word(&rest), *type_word = strait_source_word(&rest);
    if (!strait_source_number(&node.flop, flop, NULL, 0, MAX_FLOP) ||
        (type_word && !strait_source_integer(&type, type_word, NULL, 0, N_TYPES - 1)))
        return strait_source_fail_line(r->s, err,
                                       "expected operations and a data type after the "
                                       "elements, found \"%.40s\"",
                                       flop ? flop : "nothing");
    node.bytes = (uint64_t)total * (uint64_t)type_bytes[type];
    return add(r, l->rank, node, true, err) < 0 ? -1 : 0;
}

static int read_time(struct strait_ti *r, const struct strait_ti_line *l, struct strait_error *err)
{
    struct strait_program_node node = {.peer = -1, .unit = STRAIT_PROGRAM_CPU};
    if (strcmp(l->action, "compute") == 0) {
        node.kind = STRAIT_PROGRAM_COMPUTE;
        if (read_flop(r, &node.flop, l, 0, err) != 0)
            return -1;
    } else {
        node.kind = STRAIT_PROGRAM_SLEEP;
        if (l->n_words < 1 || !strait_source_number(&node.time_s, l->words[0], NULL, 0, MAX_S))
            return fail_word(r, l, 0, "seconds", err);
    }
    return add(r, l->rank, node, true, err) < 0 ? -1 : 0;
}

/* A call is saved where the first letters differ. */
static bool is(const char *word, const char *name)
{
    return word[0] == name[0] && strcmp(word, name) == 0;
}

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (is(word, *names))
            return true;
    return false;
}

int strait_ti_action(struct strait_ti *r, const struct strait_ti_line *l, struct strait_error *err)
{
    static const char *const messages[] = {"send", "isend", "recv", "irecv", NULL},
                             *const skipped[] = {"finalize", "location", "comm_size", NULL};
    struct strait_ti_rank *k = &r->ranks[l->rank];
    if (is(l->action, "init")) {
        k->default_type = l->n_words > 0 ? STRAIT_TI_DOUBLE : STRAIT_TI_BYTE;
        r->has_doubles = r->has_doubles || l->n_words > 0;
        return 0;
    }
    if (is_one_of(l->action, skipped))
        return 0;
    if (is(l->action, "test"))
        return read_test(r, l, err);
    if (is(l->action, "compute") || is(l->action, "sleep"))
        return read_time(r, l, err);
    if (is_one_of(l->action, messages))
        return read_message(r, l, err);
    if (is(l->action, "sendRecv") || is(l->action, "sendrecv"))
        return read_send_recv(r, l, err);
    if (is(l->action, "reducescatter"))
        return read_reduce_scatter(r, l, err);
    if (is(l->action, "wait") || is(l->action, "waitall"))
        return read_wait(r, l, l->action[4] != '\0', err);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (is(l->action, table[i].name))
            return read_collective(r, l, &table[i], err);
    return strait_source_fail_line(
        r->s, err, "expected an action of SMPI's replay, found \"%.40s\"%s", l->action,
        l->action[0] && strchr("acgs", l->action[0])
            ? " (calls with unequal shares, scans and communicators of "
              "their own are not read)"
            : "");
}
