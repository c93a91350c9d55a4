/* Recorded programs while they are built: what is counted, what a look without nodes knows, and
 * groups of ranks. */
#include "traces/program.h"
#include <stdio.h>
#include "tests/kit/failing/scarce.h"
#include "tests/kit/suite.h"

enum { N = 3 };

static struct strait_program *program(bool is_look)
{
    struct strait_error err = {0};
    struct strait_program *g = strait_program_new(N, is_look, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    CU_ASSERT_EQUAL(g->n_ranks, N);
    CU_ASSERT_EQUAL(g->look != NULL, is_look);
    return g;
}

static void add(struct strait_program *g, int rank, struct strait_program_node node, int64_t index)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_program_add(g, rank, node, &err), index);
}

/* Each figure is of its own kinds of nodes. */
static void facts(void)
{
    for (int look = 0; look < 2; look++) {
        struct strait_program *g = program(look);
        add(g, 0, (struct strait_program_node){.kind = STRAIT_PROGRAM_COMPUTE, .time_s = 0.5}, 0);
        add(g, 0, (struct strait_program_node){.kind = STRAIT_PROGRAM_SLEEP, .time_s = 8}, 1);
        add(g, 1,
            (struct strait_program_node){
                .kind = STRAIT_PROGRAM_COMPUTE, .time_s = 0.25, .flop = 3, .bytes = 1},
            0);
        add(g, 1, (struct strait_program_node){.kind = STRAIT_PROGRAM_SEND, .peer = 2, .bytes = 70},
            1);
        add(g, 2, (struct strait_program_node){.kind = STRAIT_PROGRAM_RECV, .peer = 1, .bytes = 70},
            0);
        for (int i = 0; i < N; i++)
            add(g, i,
                (struct strait_program_node){.kind = STRAIT_PROGRAM_COLLECTIVE,
                                             .collective = STRAIT_PROGRAM_BROADCAST,
                                             .bytes = 100,
                                             .flop = 2},
                i < 2 ? 2 : 1);
        add(g, 2, (struct strait_program_node){.kind = STRAIT_PROGRAM_NOTHING}, 2);
        json_t *found = strait_program_facts(g);
        json_t *wanted =
            json_pack("{s:i, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:f, s:{s:{s:i, s:f}}, s:f, s:f}",
                      "ranks", N, "nodes", "compute", 2, "sleep", 1, "send", 1, "recv", 1,
                      "collective", 3, "nothing", 1, "message_bytes", 70., "collectives",
                      "broadcast", "calls", 3, "bytes", 300., "compute_s", 0.75, "flop", 9.);
        strait_test_context("look %d", look);
        CU_ASSERT(json_equal(found, wanted));
        CU_ASSERT_EQUAL(g->ranks[1].n_nodes, 3);
        CU_ASSERT_EQUAL(g->ranks[1].nodes == NULL, look);
        if (!look)
            CU_ASSERT(g->ranks[2].nodes[0].peer == 1 && g->ranks[2].nodes[0].bytes == 70);
        json_decref(found);
        json_decref(wanted);
        strait_program_free(g);
    }
    strait_program_free(NULL);
}

/* A message's two ends cancel out, and nothing else does. */
static void ends(void)
{
    static const struct {
        int src, dst, tag, there, bytes; /* received by dst from there, with tag and bytes */
        bool ends, sizes;                /* are the same */
    } cases[] = {{0, 1, 5, 0, 10, true, true},   {0, 1, 5, 0, 11, true, false},
                 {0, 1, 4, 0, 10, false, false}, {0, 1, 5, 2, 10, false, false},
                 {2, 1, 5, 0, 10, false, false}, {0, 2, 5, 1, 10, false, false},
                 {1, 0, 5, 1, 10, true, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_program *g = program(true);
        add(g, cases[i].src,
            (struct strait_program_node){
                .kind = STRAIT_PROGRAM_SEND, .peer = cases[i].dst, .tag = 5, .bytes = 10},
            0);
        CU_ASSERT(g->look->ends != 0 && g->look->sizes != 0);
        add(g, cases[i].dst,
            (struct strait_program_node){.kind = STRAIT_PROGRAM_RECV,
                                         .peer = cases[i].there,
                                         .tag = cases[i].tag,
                                         .bytes = (uint64_t)cases[i].bytes},
            0);
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(g->look->ends == 0, cases[i].ends);
        CU_ASSERT_EQUAL(g->look->sizes == 0, cases[i].sizes);
        strait_program_free(g);
    }
}

/* Calls of a group leave the same on each rank where they are the same, in their order. */
static void calls(void)
{
    static const struct strait_program_node all[] = {
        {.kind = STRAIT_PROGRAM_COLLECTIVE, .collective = 1, .bytes = 10, .group = 1, .peer = 0},
        {.kind = STRAIT_PROGRAM_COLLECTIVE, .collective = 2, .bytes = 10, .group = 1, .peer = 0},
        {.kind = STRAIT_PROGRAM_COLLECTIVE, .collective = 1, .bytes = 11, .group = 1, .peer = 0},
        {.kind = STRAIT_PROGRAM_COLLECTIVE, .collective = 1, .bytes = 10, .group = 1, .peer = 2},
        {.kind = STRAIT_PROGRAM_COLLECTIVE, .collective = 1, .bytes = 10, .group = 0, .peer = 0},
        {.kind = STRAIT_PROGRAM_COMPUTE, .group = 1}};
    enum { WIDTH = STRAIT_PROGRAM_MAX_NAMES };
    for (int i = 0; i < 6; i++) {
        struct strait_program *g = program(true);
        const uint64_t *found = g->look->calls;
        add(g, 0, all[0], 0);
        add(g, 2, all[i], 0);
        strait_test_context("node %d", i);
        CU_ASSERT_EQUAL(found[1] == found[2 * WIDTH + 1], i == 0);
        CU_ASSERT(found[1] != 0 && found[0] == 0 && found[WIDTH + 1] == 0);
        CU_ASSERT_EQUAL(found[2 * WIDTH] != 0, i == 4);
        if (i > 0 && i < 4) { /* the other order is another thing, the same order the same */
            add(g, 0, all[i], 1);
            add(g, 2, all[0], 1);
            CU_ASSERT(found[1] != found[2 * WIDTH + 1]);
            add(g, 1, all[0], 0);
            add(g, 1, all[i], 1);
            CU_ASSERT_EQUAL(found[WIDTH + 1], found[1]);
        }
        CU_ASSERT(g->look->ends == 0 && g->look->sizes == 0);
        strait_program_free(g);
    }
}

static void edges(void)
{
    struct strait_error err = {0};
    for (int look = 0; look < 2; look++) {
        struct strait_program *g = program(look);
        CU_ASSERT_EQUAL(strait_program_edge_add(g, 1, 3, 4, true, &err), 0);
        CU_ASSERT(!look || !g->look->is_doubtful);
        CU_ASSERT_EQUAL(strait_program_edge_add(g, 1, 5, 5, false, &err), 0);
        CU_ASSERT(!look || g->look->is_doubtful);
        CU_ASSERT_EQUAL(strait_program_edge_add(g, 1, 5, 6, false, &err), 0);
        CU_ASSERT(!look || g->look->is_doubtful); /* it stays */
        CU_ASSERT_EQUAL(g->ranks[1].n_edges, look ? 0 : 3);
        if (!look)
            CU_ASSERT(g->ranks[1].edges[0].from == 3 && g->ranks[1].edges[0].to == 4 &&
                      g->ranks[1].edges[0].on_start && !g->ranks[1].edges[1].on_start);
        strait_program_free(g);
    }
}

/* A list of ranks is one group, whatever its names; all in their order, or none, are the world. */
static void groups(void)
{
    struct strait_error err = {0};
    struct strait_program *g = program(false);
    static const int lists[][N] = {{0, 1, 2}, {0, 2}, {2, 0}, {0}, {0, 2, 1}, {1}, {2}};
    static const int n[] = {3, 2, 2, 1, 3, 1, 1};
    static const int wanted[] = {0, 1, 2, 3, 4, 5, -1};
    CU_ASSERT_EQUAL(strait_program_group_of(g, "all", NULL, 0, "f", &err), 0);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 7; i++) {
            char name[8];
            err = (struct strait_error){0};
            snprintf(name, sizeof(name), "%d.%d", i, again);
            strait_test_context("%s", name);
            CU_ASSERT_EQUAL(strait_program_group_of(g, name, lists[i], n[i], "f", &err), wanted[i]);
        }
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, "f");
    CU_ASSERT_STRING_EQUAL(err.text, "expected at most 5 process groups, found one more, \"6.1\"");
    CU_ASSERT_EQUAL(g->n_groups, 6);
    CU_ASSERT_STRING_EQUAL(g->groups[2].name, "2.0");
    CU_ASSERT_EQUAL(strait_program_group_n(g, 0), N);
    CU_ASSERT_EQUAL(strait_program_group_rank(g, 0, 2), 2);
    CU_ASSERT_EQUAL(strait_program_group_n(g, 2), 2);
    CU_ASSERT_EQUAL(strait_program_group_rank(g, 2, 0), 2);
    CU_ASSERT_EQUAL(strait_program_group_rank(g, 2, 1), 0);
    strait_program_free(g);
}

/* A message of 0 to 2 and one of 2 to 1, as `finish` matches them. */
static void sends(void)
{
    struct strait_error err = {0};
    struct strait_program *g = program(false);
    static const int ways[][2] = {{0, 2}, {2, 1}};
    for (int i = 0; i < 2; i++)
        for (int end = 0; end < 2; end++)
            CU_ASSERT(
                strait_program_add(g, ways[i][end],
                                   (struct strait_program_node){.kind = end ? STRAIT_PROGRAM_RECV
                                                                            : STRAIT_PROGRAM_SEND,
                                                                .peer = ways[i][1 - end],
                                                                .tag = 4,
                                                                .bytes = 9},
                                   &err) >= 0);
    CU_ASSERT_EQUAL(strait_program_finish(g, "f", &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    for (int src = 0; src < N; src++)
        for (int dst = 0; dst < N; dst++) {
            strait_test_context("%d to %d", src, dst);
            CU_ASSERT_EQUAL(strait_program_sends(g, src, dst),
                            (src == 0 && dst == 2) || (src == 2 && dst == 1));
        }
    CU_ASSERT_STRING_EQUAL(strait_program_collective_name(STRAIT_PROGRAM_ALL_TO_ALL), "all_to_all");
    CU_ASSERT_STRING_EQUAL(strait_program_collective_name(STRAIT_PROGRAM_BARRIER), "barrier");
    strait_program_free(g);
}

static int build(void *is_look, struct strait_error *err)
{
    static const int ranks[] = {1, 2};
    struct strait_program *g = strait_program_new(N, *(const bool *)is_look, err);
    const int failed =
        !g || strait_program_add(g, 0, (struct strait_program_node){.time_s = 1}, err) < 0 ||
        strait_program_add(g, 1, (struct strait_program_node){.time_s = 1}, err) < 0 ||
        strait_program_edge_add(g, 0, 0, 0, false, err) != 0 ||
        strait_program_group_of(g, "g", ranks, 2, "f", err) < 0;
    strait_program_free(g);
    return failed ? -1 : 0;
}

static void scarce(void)
{
    bool look = false;
    /* program, ranks, two lists of nodes, of edges, a group; and with a look itself and calls */
    CU_ASSERT_EQUAL(strait_scarce_each(build, &look), 6);
    look = true;
    CU_ASSERT_EQUAL(strait_scarce_each(build, &look), 5);
}

static const struct strait_test tests[] = {
    {"facts count nodes, bytes and seconds by kind", facts},
    {"the two ends of a message cancel out in a look", ends},
    {"the calls of a group are the same on each rank, or are not", calls},
    {"an edge that does not lead forward leaves a doubt", edges},
    {"a list of ranks is a group", groups},
    {"who sends to whom", sends},
    {"a program without memory is none", scarce},
};
STRAIT_SUITE("traces/program", tests);
