/* GOAL, the group operation assembly language of LogGOPSim and ATLAHS: of each rank its sends,
 * receives and computations with labels, and which waits for which. */
#include <stdlib.h>
#include <string.h>

#include "goal.h"
#include "labels.h"

static const double NS = 1e-9;

struct reader {
    struct strait_import *in;
    struct strait_source *s;
    struct strait_labels labels; /* of this rank; value: node + 1, 0: not defined yet */
    int rank;                    /* -1: between ranks */
    bool *seen;                  /* ranks */
    bool has_nics, in_comment;
    struct strait_goal_order order; /* of a rank that is looked at */
};

static bool sniff(const char *head, size_t n)
{
    (void)n;
    return strncmp(head + strspn(head, " \t\r\n"), "num_ranks", 9) == 0;
}

/* Item of a label; one that is not defined yet is added with the value 0. -1: memory ran out. */
static int64_t item_of(struct reader *r, const char *label, struct strait_error *err)
{
    const int64_t item = strait_labels_find(&r->labels, label, strlen(label));
    if (item >= 0)
        return item;
    if (strait_labels_put(&r->labels, label, strlen(label), 0))
        return (int64_t)r->labels.n - 1;
    return strait_error_memory(err, r->s->path);
}

/* "to 1", "tag 0", "cpu 0", "nic 0" in any order behind an operation. */
static int read_options(struct reader *r, struct strait_program_node *node, const char *partner,
                        char *rest, struct strait_error *err)
{
    const char *key;
    bool has_peer = partner == NULL;
    while ((key = strait_source_word(&rest))) {
        const char *text = strait_source_word(&rest);
        const bool is_peer = partner && strcmp(key, partner) == 0, is_tag = strcmp(key, "tag") == 0,
                   is_cpu = strcmp(key, "cpu") == 0, is_nic = strcmp(key, "nic") == 0;
        const int64_t max = is_peer  ? r->in->graph->n_ranks - 1
                            : is_cpu ? STRAIT_GOAL_MAX_CPUS - 1
                                     : INT32_MAX;
        int64_t value;
        if (!is_peer && !is_cpu && !is_nic && !(is_tag && partner))
            return strait_source_fail_line(r->s, err,
                                           "expected %s%stag, cpu or nic, found \"%.40s\"",
                                           partner ? partner : "", partner ? ", " : "", key);
        if (!strait_source_integer(&value, text, NULL, 0, max))
            return strait_source_fail_line(r->s, err,
                                           "expected a whole number from 0 to %lld after %s, found "
                                           "\"%.40s\"",
                                           (long long)max, key, text ? text : "");
        if (is_peer) {
            node->peer = (int32_t)value;
            has_peer = true;
        }
        node->tag = is_tag ? (int32_t)value : node->tag;
        node->unit = is_cpu ? (uint8_t)(STRAIT_PROGRAM_CPU + value) : node->unit;
        r->has_nics = r->has_nics || (is_nic && value > 0);
    }
    if (!has_peer)
        return strait_source_fail_line(r->s, err, "expected \"%s\" and a rank, found none",
                                       partner);
    return node->peer == r->rank && partner
               ? strait_source_fail_line(r->s, err, "expected another rank than %d itself", r->rank)
               : 0;
}

static int read_operation(struct reader *r, struct strait_program_node *node, char *rest,
                          struct strait_error *err)
{
    const char *name = strait_source_word(&rest), *amount = strait_source_word(&rest);
    int64_t bytes;
    *node = (struct strait_program_node){.peer = -1, .unit = STRAIT_PROGRAM_CPU};
    if (name && strcmp(name, "calc") == 0) {
        if (!strait_source_number(&node->time_s, amount, NULL, 0, STRAIT_GOAL_MAX_NS))
            return strait_source_fail_line(r->s, err,
                                           "expected nanoseconds after calc, found \"%.40s\"",
                                           amount ? amount : "");
        node->time_s *= NS;
        node->kind = STRAIT_PROGRAM_COMPUTE;
        return read_options(r, node, NULL, rest, err);
    }
    const bool is_send = name && strcmp(name, "send") == 0;
    if (!is_send && !(name && strcmp(name, "recv") == 0))
        return strait_source_fail_line(r->s, err, "expected send, recv or calc, found \"%.40s\"",
                                       name ? name : "");
    if (!strait_source_integer(&bytes, amount, "b", 0, STRAIT_GOAL_MAX_BYTES))
        return strait_source_fail_line(r->s, err, "expected a size such as 100b, found \"%.40s\"",
                                       amount ? amount : "");
    node->bytes = (uint64_t)bytes;
    node->kind = is_send ? STRAIT_PROGRAM_SEND : STRAIT_PROGRAM_RECV;
    return read_options(r, node, is_send ? "to" : "from", rest, err);
}

/* "l1: send ..." */
static int define(struct reader *r, const char *label, char *rest, struct strait_error *err)
{
    struct strait_program_node node;
    int64_t item;
    if (read_operation(r, &node, rest, err) != 0 || (item = item_of(r, label, err)) < 0)
        return -1;
    if (r->labels.items[item].value > 0)
        return strait_source_fail_line(r->s, err, "expected each label once, found \"%.40s\" again",
                                       label);
    const int64_t at = strait_program_add(r->in->graph, r->rank, node, err);
    r->labels.items[item].value = (uint32_t)(at + 1);
    return at < 0 ? -1 : 0;
}

/* Edges name items of the label table until the rank ends; those that are not kept always do: each
 * item is one node. */
static int depend(struct reader *r, const char *waits, const char *how, const char *of,
                  struct strait_error *err)
{
    const int64_t from = item_of(r, of, err), to = from < 0 ? -1 : item_of(r, waits, err);
    if (from < 0 || to < 0)
        return -1;
    if (r->in->graph->look)
        return strait_goal_order_add(&r->order, (uint32_t)from, (uint32_t)to)
                   ? 0
                   : strait_error_memory(err, r->s->path);
    return strait_program_edge_add(r->in->graph, r->rank, (uint32_t)from, (uint32_t)to,
                                   strcmp(how, "irequires") == 0, err);
}

static int end_rank(struct reader *r, struct strait_error *err)
{
    struct strait_program_rank *rank = &r->in->graph->ranks[r->rank];
    const struct strait_labels *l = &r->labels;
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].value == 0)
            return strait_source_fail_line(
                r->s, err, "expected a definition of the label \"%.*s\" in rank %d, found none",
                l->items[i].len < 40 ? (int)l->items[i].len : 40, l->bytes + l->items[i].at,
                r->rank);
    for (size_t i = 0; i < rank->n_edges; i++) {
        rank->edges[i].from = l->items[rank->edges[i].from].value - 1;
        rank->edges[i].to = l->items[rank->edges[i].to].value - 1;
    }
    if (r->in->graph->look &&
        strait_goal_order_end(&r->order, r->in->graph, rank->n_nodes, r->s->path, err) != 0)
        return -1;
    strait_labels_clear(&r->labels);
    r->rank = -1;
    return 0;
}

static int begin_rank(struct reader *r, char *rest, struct strait_error *err)
{
    const char *number = strait_source_word(&rest), *brace = strait_source_word(&rest);
    int64_t rank;
    if (!strait_source_integer(&rank, number, NULL, 0, r->in->graph->n_ranks - 1) || !brace ||
        strcmp(brace, "{") != 0)
        return strait_source_fail_line(r->s, err,
                                       "expected \"rank\", a number from 0 to %d and \"{\", found "
                                       "\"%.40s\"",
                                       r->in->graph->n_ranks - 1, number ? number : "");
    if (r->seen[rank])
        return strait_source_fail_line(r->s, err, "expected each rank once, found rank %lld again",
                                       (long long)rank);
    r->seen[rank] = true;
    r->rank = (int)rank;
    return 0;
}

/* Comments become spaces: to the end of the line, or to a mark that may be on a later one. */
static void blank_comments(struct reader *r, char *line)
{
    char *at = line, *end = line;
    while (end) {
        if (!r->in_comment)
            while ((at = strchr(at, '/')) && at[1] != '/' && at[1] != '*')
                at++;
        if (!at)
            return;
        const bool is_line = !r->in_comment && at[1] == '/';
        end = is_line ? NULL : strstr(at + (r->in_comment ? 0 : 2), "*/");
        r->in_comment = !is_line && !end;
        if (end) {
            memset(at, ' ', (size_t)(end + 2 - at));
            at = end + 2;
        }
    }
    *at = '\0';
}

static int read_line(struct reader *r, char *line, struct strait_error *err)
{
    blank_comments(r, line);
    char *rest = line, *word = strait_source_word(&rest);
    if (!word)
        return 0;
    if (r->rank < 0) {
        if (strcmp(word, "rank") == 0)
            return begin_rank(r, rest, err);
        return strait_source_fail_line(r->s, err, "expected \"rank\", found \"%.40s\"", word);
    }
    if (strcmp(word, "}") == 0)
        return end_rank(r, err);
    const size_t len = strlen(word);
    if (len > 1 && word[len - 1] == ':') {
        word[len - 1] = '\0';
        return define(r, word, rest, err);
    }
    const char *how = strait_source_word(&rest), *of = strait_source_word(&rest);
    if (!how || !of || (strcmp(how, "requires") != 0 && strcmp(how, "irequires") != 0))
        return strait_source_fail_line(r->s, err,
                                       "expected a label with a colon, \"a requires b\", \"a "
                                       "irequires b\" or \"}\", found \"%.40s\"",
                                       word);
    return depend(r, word, how, of, err);
}

static int read_head(struct reader *r, struct strait_error *err)
{
    char *line, *rest, *word = NULL;
    int64_t n_ranks;
    int more = 1;
    while (!word && (more = strait_source_line(r->s, &line, err)) > 0) {
        blank_comments(r, line);
        rest = line;
        word = strait_source_word(&rest);
    }
    if (more < 0)
        return -1;
    const char *number = word ? strait_source_word(&rest) : NULL;
    if (!word || strcmp(word, "num_ranks") != 0 ||
        !strait_source_integer(&n_ranks, number, NULL, 1, STRAIT_PROGRAM_MAX_RANKS))
        return strait_source_fail_line(r->s, err,
                                       "expected \"num_ranks\" and 1 to %d, found \"%.40s\"",
                                       STRAIT_PROGRAM_MAX_RANKS,
                                       number ? number
                                       : word ? word
                                              : "");
    if (strait_import_graph_begin(r->in, (int)n_ranks, err) != 0)
        return -1;
    if (!(r->seen = calloc((size_t)n_ranks, sizeof(*r->seen))))
        return strait_error_memory(err, r->s->path);
    return 0;
}

static int read_ranks(struct reader *r, struct strait_error *err)
{
    char *line;
    int more;
    while ((more = strait_source_line(r->s, &line, err)) > 0)
        if (read_line(r, line, err) != 0)
            return -1;
    if (more < 0)
        return -1;
    if (r->rank >= 0)
        return strait_source_fail_line(r->s, err,
                                       "expected \"}\" after rank %d, found the end of "
                                       "the file",
                                       r->rank);
    for (int i = 0; i < r->in->graph->n_ranks; i++)
        if (!r->seen[i])
            return strait_source_fail_line(r->s, err, "expected all of %d ranks, found no rank %d",
                                           r->in->graph->n_ranks, i);
    return 0;
}

void strait_goal_remarks(struct strait_import *in, bool has_nics)
{
    strait_import_inferred(in, "calc is in nanoseconds, as LogGOPSim takes it");
    strait_import_inferred(in, "collectives are the messages that they were made of");
    if (has_nics)
        strait_import_missing(in, "a second network card: every rank has one port");
    strait_import_missing(in, "latency, overhead and bandwidth (L, o, g, G): the experiment's "
                              "network says them");
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct reader r = {.in = in, .s = s, .rank = -1};
    const int status = read_head(&r, err) != 0 ? -1 : read_ranks(&r, err);
    strait_labels_release(&r.labels);
    free(r.seen);
    strait_goal_order_release(&r.order);
    strait_goal_remarks(in, r.has_nics);
    return status;
}

const struct strait_import_format strait_import_goal = {
    .name = "goal",
    .summary = "GOAL schedules of LogGOPSim and ATLAHS, text",
    .source = "Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009",
    .sniff = sniff,
    .read = read_all,
};
