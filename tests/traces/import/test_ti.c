/* Time-independent traces: what actions become, written and read again, and what is refused. */
#include "import_text.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "traces/import/ti_write.h"

/* 10 elements are 10 bytes after a bare init, 80 after one with an argument, 40 as ints (type 1).
 */
static void sizes(void)
{
    static const struct {
        const char *init, *type;
        uint64_t bytes;
    } cases[] = {{"", "", 10}, {" 1", "", 80}, {"", " 1", 40}, {" 1", " 6", 10}, {"", " 14", 160}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        struct strait_import in;
        struct strait_error err;
        snprintf(text, sizeof(text), "0 init%s\n1 init%s\n0 send 1 0 10%s\n1 recv 0 0 10%s\n",
                 cases[i].init, cases[i].init, cases[i].type, cases[i].type);
        CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
        CU_ASSERT_EQUAL(in.graph->ranks[0].nodes[0].bytes, cases[i].bytes);
        strait_import_release(&in);
    }
}

/* A rank and one of the actions that a trace begins with; any other word is no trace. */
static void beginnings(void)
{
    static const char *const known[] = {"init",       "compute 5",   "send 1 0 5",
                                        "recv 1 0 5", "irecv 1 0 5", "bcast 7"},
                             *const unknown[] = {"hello", "reset 1", "Init", "sends 1"};
    char text[64];
    for (size_t i = 0; i < sizeof(known) / sizeof(*known) + sizeof(unknown) / sizeof(*unknown);
         i++) {
        struct strait_import in = {0};
        struct strait_error err;
        const bool is_known = i < sizeof(known) / sizeof(*known);
        const char *action = is_known ? known[i] : unknown[i - sizeof(known) / sizeof(*known)];
        snprintf(text, sizeof(text), "0 %s\n", action);
        strait_test_context("%s", text);
        if (import_text(&in, text, &err) == 0) /* half a message alone is refused: as of a trace */
            strait_import_release(&in);
        CU_ASSERT_EQUAL(strstr(err.text, "expected a trace of a known format") == NULL, is_known);
    }
}

/* 0 isend, compute, wait: the compute waits for nothing but what came before, the wait's node for
 * the compute and the request. */
static void requests(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "0 init\n1 init\n0 isend 1 4 10\n0 compute 5e3\n"
                                      "0 wait 0 1 4\n1 irecv 0 4 10\n1 waitall\n",
                                      &err),
                          0);
    const struct strait_program_rank *r = &in.graph->ranks[0];
    CU_ASSERT_EQUAL_FATAL(r->n_nodes, 3);
    CU_ASSERT_EQUAL(r->nodes[0].kind, STRAIT_PROGRAM_SEND);
    CU_ASSERT_EQUAL(r->nodes[1].kind, STRAIT_PROGRAM_COMPUTE);
    CU_ASSERT_DOUBLE_EQUAL(r->nodes[1].flop, 5000, 0);
    CU_ASSERT_EQUAL(r->nodes[2].kind, STRAIT_PROGRAM_NOTHING);
    CU_ASSERT_EQUAL(r->n_before[0], 0);
    CU_ASSERT_EQUAL(r->n_before[1], 0);
    CU_ASSERT_EQUAL(r->n_before[2], 2);
    strait_import_release(&in);
}

/* Whether rank 0's node `to` may begin only when `from` has ended. */
static bool waits(const struct strait_import *in, uint32_t to, uint32_t from)
{
    const struct strait_program_rank *r = &in->graph->ranks[0];
    bool found = false;
    for (size_t i = 0; i < r->n_edges; i++)
        found |= r->edges[i].from == from && r->edges[i].to == to && !r->edges[i].on_start;
    return found;
}

struct waiter {
    uint32_t to, n, from[4];
};

/* Rank 0 has so many nodes, and these wait for as many others. */
static void expect_waits(const struct strait_import *in, size_t n_nodes, const struct waiter *all,
                         size_t n)
{
    const struct strait_program_rank *r = &in->graph->ranks[0];
    CU_ASSERT_EQUAL_FATAL(r->n_nodes, n_nodes);
    for (size_t i = 0; i < n; i++) {
        strait_test_context("node %u", all[i].to);
        CU_ASSERT_EQUAL(r->n_before[all[i].to], all[i].n);
        for (size_t k = 0; k < all[i].n; k++)
            CU_ASSERT_TRUE(waits(in, all[i].to, all[i].from[k]));
    }
}

/* Of three open requests to rank 1 a wait for tag 4 takes the first of that tag (node 3 waits for
 * 0), the next wait for it the third (4 for 2), another finds none (5 for 4 alone), and waitall
 * takes all that are left and what was asked for since, sends too (8 for 1, 6 and 7, and for 5);
 * nothing is left for the last one (10). */
static void several_requests(void)
{
    static const struct waiter all[] = {{3, 1, {0}},          {4, 2, {2, 3}}, {5, 1, {4}},
                                        {8, 4, {1, 5, 6, 7}}, {9, 1, {8}},    {10, 1, {9}}};
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(&in,
                    "0 init\n1 init\n0 irecv 1 4 10\n0 irecv 1 5 10\n0 irecv 1 4 20\n0 wait 1 0 4\n"
                    "0 wait 1 0 4\n0 wait 1 0 4\n0 isend 1 6 10\n0 irecv 1 6 10\n0 waitall\n"
                    "0 compute 5\n0 waitall\n1 send 0 4 10\n1 send 0 5 10\n1 send 0 4 20\n"
                    "1 recv 0 6 10\n1 send 0 6 10\n",
                    &err),
        0);
    expect_waits(&in, 11, all, sizeof(all) / sizeof(*all));
    strait_import_release(&in);
}

/* As a program polls: the receives 0, 3 and 7 end at their last tests (nodes 1, 4 and 8; one for
 * tests in a row): the first since the next has its peer and tag, the others since the waitall names
 * one request, which is the send (6). The wait after a test waits itself (12 for 10). */
static void polled(void)
{
    static const struct waiter all[] = {{1, 1, {0}},    {2, 1, {1}},    {4, 2, {2, 3}},
                                        {8, 2, {5, 7}}, {9, 2, {8, 6}}, {12, 2, {11, 10}}};
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(&in,
                    "0 init\n1 init\n0 irecv 1 4 10\n0 test 1 0 4\n0 test 1 0 4\n0 compute 5\n"
                    "0 irecv 1 4 10\n0 test 1 0 4\n0 compute 6\n0 isend 1 6 10\n0 irecv 1 5 10\n"
                    "0 test 1 0 5\n0 waitall 1\n0 irecv 1 6 10\n0 test 1 0 6\n0 wait 1 0 6\n"
                    "1 send 0 4 10\n1 send 0 4 10\n1 send 0 5 10\n1 send 0 6 10\n1 recv 0 6 10\n",
                    &err),
        0);
    expect_waits(&in, 13, all, sizeof(all) / sizeof(*all));
    strait_import_release(&in);
}

/* Of three open requests the waitall names two, so that the third ended at its test (3 waits for
 * 2, and 5 for 0 and 1). */
static void polled_behind(void)
{
    static const struct waiter all[] = {{3, 1, {2}}, {4, 1, {3}}, {5, 3, {4, 0, 1}}};
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(&in,
                    "0 init\n1 init\n0 irecv 1 4 10\n0 irecv 1 5 10\n0 irecv 1 6 10\n0 test 1 0 6\n"
                    "0 compute 5\n0 waitall 2\n1 send 0 4 10\n1 send 0 5 10\n1 send 0 6 10\n",
                    &err),
        0);
    expect_waits(&in, 6, all, sizeof(all) / sizeof(*all));
    strait_import_release(&in);
}

/* Of both at once each end has its own bytes, by its own type; what follows waits for both. */
static void exchanged(void)
{
    static const struct waiter all[] = {{2, 2, {0, 1}}, {3, 1, {2}}, {4, 1, {3}}, {5, 1, {3}}};
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "0 init\n1 init\n0 sendRecv 10 1 20 1 1 6\n0 compute 5\n"
                                      "0 sendrecv 7 1 8 1\n1 sendRecv 20 0 10 0 6 1\n"
                                      "1 sendrecv 8 0 7 0\n",
                                      &err),
                          0);
    const struct strait_program_node *n = in.graph->ranks[0].nodes;
    expect_waits(&in, 7, all, sizeof(all) / sizeof(*all));
    CU_ASSERT(n[0].kind == STRAIT_PROGRAM_SEND && n[0].bytes == 40 && n[0].peer == 1);
    CU_ASSERT(n[1].kind == STRAIT_PROGRAM_RECV && n[1].bytes == 20 && n[1].peer == 1);
    CU_ASSERT(n[4].kind == STRAIT_PROGRAM_SEND && n[4].bytes == 7 && n[4].tag == 0);
    CU_ASSERT(n[5].kind == STRAIT_PROGRAM_RECV && n[5].bytes == 8 && n[5].tag == 0);
    strait_import_release(&in);
}

/* Nothing but tests until the end of the trace: the last one saw the end. */
static void polled_last(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "0 init\n1 init\n0 irecv 1 4 10\n0 test 1 0 4\n"
                                      "0 compute 5\n0 test 1 0 4\n1 send 0 4 10\n",
                                      &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(in.graph->ranks[0].n_nodes, 4);
    CU_ASSERT_FALSE(waits(&in, 1, 0));
    CU_ASSERT_TRUE(waits(&in, 3, 0));
    strait_import_release(&in);
}

/* Bytes as program.h says: all n shares of alltoall and reducescatter, one share of the others. */
static void collectives(void)
{
    static const struct {
        const char *action;
        int kind, root;
        uint64_t bytes;
    } cases[] = {
        {"barrier", STRAIT_PROGRAM_BARRIER, -1, 0},
        {"bcast 7 1", STRAIT_PROGRAM_BROADCAST, 1, 7},
        {"reduce 7 9 1 5", STRAIT_PROGRAM_REDUCE, 1, 28},
        {"allreduce 7 9", STRAIT_PROGRAM_ALL_REDUCE, -1, 7},
        {"alltoall 7 7", STRAIT_PROGRAM_ALL_TO_ALL, -1, 14},
        {"gather 7 7 1 6 6", STRAIT_PROGRAM_GATHER, 1, 7},
        {"scatter 7 7", STRAIT_PROGRAM_SCATTER, 0, 7},
        {"allgather 7 7 1 1", STRAIT_PROGRAM_ALL_GATHER, -1, 28},
        {"reducescatter 7 8 9 1", STRAIT_PROGRAM_REDUCE_SCATTER, -1, 60},
        {"reducescatter 0 8 9 1", STRAIT_PROGRAM_REDUCE_SCATTER, -1, 32},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        struct strait_import in;
        struct strait_error err;
        strait_test_context("%s", cases[i].action);
        snprintf(text, sizeof(text), "0 init\n1 init\n0 %s\n1 %s\n", cases[i].action,
                 cases[i].action);
        CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
        const struct strait_program_node *n = &in.graph->ranks[1].nodes[0];
        CU_ASSERT_EQUAL(n->collective, cases[i].kind);
        CU_ASSERT_EQUAL(n->peer, cases[i].root);
        CU_ASSERT_EQUAL(n->bytes, cases[i].bytes);
        CU_ASSERT_EQUAL(in.graph->groups[0].kinds, 1u << cases[i].kind);
        strait_import_release(&in);
    }
}

static void refused(void)
{
    static const struct refused_trace cases[] = {
        {"0 init\n5000 init\n", ":2", "expected a rank from 0 to 4095"},
        {"0 init\n2 init\n", "", "found nothing of rank 1"},
        {"1 init\n", "", "expected all ranks from 0 to 1, found nothing of rank 0"},
        {"0 init\nx init\n", ":2", "expected a rank"},
        {"0 init\n0 fly 3\n", ":2", "expected an action of SMPI's replay, found \"fly\""},
        {"0 init\n0 compute -1\n", ":2", "floating point operations as amount 1 of compute"},
        {"0 init\n0 compute\n", ":2", "found \"nothing\""},
        {"0 init\n0 compute inf\n", ":2", "floating point operations"},
        {"0 init\n0 sleep 1e400\n", ":2", "expected seconds"},
        {"0 init\n0 send 0 0 1\n", ":2", "expected another rank than 0 itself"},
        {"0 init\n0 send 3 0 1\n", ":2", "expected a rank of the trace as amount 1 of send"},
        {"0 init\n1 init\n0 send 1 0 1e30\n", ":3", "a number of elements"},
        {"0 init\n1 init\n0 send 1 0 1 99\n", ":3", "the number of a data type (0 to 27)"},
        {"0 init\n1 init\n0 send 1 0.5 1\n", ":3", "expected a tag"},
        {"0 init\n1 init\n0 sendRecv 1 0 1 1\n", ":3", "expected another rank than 0 itself"},
        {"0 init\n1 init\n0 sendRecv 1 1 1 0\n", ":3", "expected another rank than 0 itself"},
        {"0 init\n1 init\n0 sendRecv x 1 1 1\n", ":3", "a number of elements"},
        {"0 init\n1 init\n0 sendRecv 1 1 x 1\n", ":3", "a number of elements"},
        {"0 init\n1 init\n0 sendRecv 1 2 1 1\n", ":3", "a rank of the trace as amount 2"},
        {"0 init\n1 init\n0 sendRecv 1 1 1 2\n", ":3", "a rank of the trace as amount 4"},
        {"0 init\n1 init\n0 irecv -333 7 1\n", ":3", "found -333, any source"},
        {"0 init\n1 init\n0 recv 1 -444 1\n", ":3", "found -444, any tag"},
        {"0 init\n1 init\n0 test 1\n", ":3", "expected a rank of the trace as amount 2 of test"},
        {"0 init\n1 init\n0 reducescatter 5\n", ":3", "expected 2 numbers of elements"},
        {"0 init\n1 init\n0 barrier\n", "",
         "found call 0 barrier of 0 bytes on rank 0 and nothing"},
        {"0 init\n1 init\n0 bcast 5\n1 bcast 6\n", "",
         "found call 0 broadcast of 5 bytes on rank 0 and broadcast of 6 on rank 1"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

/* A list of files, beside it, is all ranks. */
static void listed(void)
{
    char folder[] = "/tmp/strait-ti-XXXXXX", path[64];
    struct strait_program *g;
    struct strait_error err = {0};
    static const char *const files[][2] = {{"a.txt", "0 init\n0 send 1 0 5\n"},
                                           {"b.ti", "1 init\n1 recv 0 0 5\n"},
                                           {"all.txt", "b.ti\na.txt\n"},
                                           {"one.txt", "a.txt\nnone.txt\n"}};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i][0]);
        FILE *f = fopen(path, "we");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fputs(files[i][1], f);
        fclose(f);
    }
    snprintf(path, sizeof(path), "%s/all.txt", folder);
    CU_ASSERT_EQUAL_FATAL(strait_import_graph(&g, path, &err), 0);
    CU_ASSERT_EQUAL(g->ranks[1].nodes[0].bytes, 5);
    strait_program_free(g);
    snprintf(path, sizeof(path), "%s/one.txt", folder);
    CU_ASSERT_EQUAL(strait_import_graph(&g, path, &err), -1);
    CU_ASSERT_CONTAINS(err.where, "none.txt");
    folder_remove(folder);
}

/* Written and read again: the same nodes but for waits, the same bytes and operations. */
static void written(void)
{
    struct strait_program *g;
    struct strait_import in;
    struct strait_error err = {0};
    json_t *lost = NULL;
    char *text;
    CU_ASSERT_EQUAL_FATAL(
        strait_import_graph(&g, DATA("experiments/traces/data-parallel.ti"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_ti_text(&text, &lost, g, 1e9, &err), 0);
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    json_t *a = strait_program_facts(g), *b = strait_program_facts(in.graph);
    json_object_del(json_object_get(a, "nodes"), "nothing");
    json_object_del(json_object_get(b, "nodes"), "nothing");
    CU_ASSERT_TRUE(json_equal(a, b));
    CU_ASSERT_EQUAL(json_array_size(lost), 1);
    json_decref(a);
    json_decref(b);
    json_decref(lost);
    free(text);
    strait_import_release(&in);
    strait_program_free(g);
}

/* 1 ms at 2e9 operations a second are 2e6; a receive is posted when it may be, and waited for
 * before the node that needs it. */
static void of_goal(void)
{
    struct strait_program *g;
    struct strait_error err = {0};
    char *text;
    CU_ASSERT_EQUAL_FATAL(strait_import_graph(&g, DATA("tests/data/ring.goal"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_ti_text(&text, NULL, g, 2e9, &err), 0);
    CU_ASSERT_STRING_EQUAL(text, "0 init\n0 irecv 2 2 1000000\n0 compute 2000000\n"
                                 "0 isend 1 0 1000000\n0 waitall\n0 finalize\n"
                                 "1 init\n1 irecv 0 0 1000000\n1 wait 0 1 0\n1 compute 4000000\n"
                                 "1 isend 2 0 1000000\n1 waitall\n1 finalize\n"
                                 "2 init\n2 irecv 1 0 1000000\n2 wait 1 2 0\n2 isend 0 2 1000000\n"
                                 "2 waitall\n2 finalize\n");
    free(text);
    strait_program_free(g);
}

/* What goes on beside computing is posted before it, as it was read. */
static void overlapped(void)
{
    static const char given[] = "0 init\n0 isend 1 1 10\n0 irecv 1 0 10\n0 compute 5\n"
                                "0 wait 1 0 0\n0 compute 6\n0 waitall\n0 finalize\n"
                                "1 init\n1 isend 0 0 10\n1 irecv 0 1 10\n1 compute 5\n"
                                "1 wait 0 1 1\n1 compute 6\n1 waitall\n1 finalize\n";
    struct strait_import in;
    struct strait_error err = {0};
    char *text = NULL;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, given, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_ti_text(&text, NULL, in.graph, 1e9, &err), 0);
    for (int rank = 0; rank < 2; rank++) {
        char first[32];
        snprintf(first, sizeof(first), "%d compute 5\n", rank);
        const char *begin = strstr(text, rank == 0 ? "0 init" : "1 init"),
                   *compute = begin ? strstr(begin, first) : NULL,
                   *send = begin ? strstr(begin, "isend") : NULL,
                   *recv = begin ? strstr(begin, "irecv") : NULL,
                   *wait = begin ? strstr(begin, " wait ") : NULL;
        CU_ASSERT_FATAL(compute && send && recv && wait);
        CU_ASSERT(send < compute && recv < compute && compute < wait);
    }
    free(text);
    strait_import_release(&in);
}

#define COLLECTIVES(rank)                                                                          \
    rank " init\n" rank " bcast 10 1\n" rank " reduce 20 30 1\n" rank " allreduce 7 9\n" rank      \
         " alltoall 5 5\n" rank " gather 3 3 1\n" rank " scatter 4 4 0\n" rank                     \
         " allgather 6 6\n" rank " reducescatter 3 2 50\n" rank " barrier\n" rank                  \
         " sleep 0.5\n" rank " compute 11\n"

/* Bytes and operations as they came: of an all-to-all each pair's share, of a reduce-scatter of 5
 * bytes 3 and 2. Roots stay. */
static void of_collectives(void)
{
    static const char given[] = COLLECTIVES("0") COLLECTIVES("1") "0 finalize\n1 finalize\n";
    struct strait_import in;
    struct strait_error err;
    char *text;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, given, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_ti_text(&text, NULL, in.graph, 1e9, &err), 0);
    CU_ASSERT_STRING_EQUAL(text, COLLECTIVES("0") "0 waitall\n0 finalize\n" COLLECTIVES(
                                     "1") "1 waitall\n1 finalize\n");
    free(text);
    strait_import_release(&in);
}

/* Two ranks that each wait for what the other sends after it cannot be written, nor end. */
static void knot(void)
{
    struct strait_import in;
    struct strait_error err;
    char *text;
    CU_ASSERT_EQUAL_FATAL(import_text(&in,
                                      "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\n"
                                      "b requires a\n}\nrank 1 {\na: recv 1b from 0\n"
                                      "b: send 1b to 0\nb requires a\n}\n",
                                      &err),
                          0);
    CU_ASSERT_EQUAL(strait_ti_text(&text, NULL, in.graph, 1e9, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected ranks that can all end, found 4 nodes of 4 that wait "
                           "for each other");
    strait_import_release(&in);
}

static void damaged(void)
{
    size_t n;
    char *text = folder_bytes("", DATA("experiments/traces/data-parallel.ti"), &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    expect_survives("ti", text, n);
    free(text);
}

static const struct strait_test tests[] = {
    {"a trace is known by its first action", beginnings},
    {"elements are bytes by their type, or by the argument of init", sizes},
    {"of several requests a wait takes the first of its peer and tag, waitall the rest",
     several_requests},
    {"a request that nothing waits for ended at its last test", polled},
    {"a request that was tested behind others ended there", polled_behind},
    {"the last test of a trace saw the end of what it tests", polled_last},
    {"a wait waits for its request, and what follows a request does not", requests},
    {"each collective has its bytes and its root", collectives},
    {"a sendRecv is both at once", exchanged},
    {"whatever is wrong is refused with its line", refused},
    {"a list of files is one trace", listed},
    {"a trace that is written and read again is the same", written},
    {"a GOAL schedule is written in an order that can end", of_goal},
    {"messages beside computing are written before it", overlapped},
    {"ranks that wait for each other are not written", knot},
    {"every collective is written as it came", of_collectives},
    {"any damage is read or refused as it was", damaged},
};
STRAIT_SUITE("traces/import/ti", tests);
