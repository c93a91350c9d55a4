/* GOAL schedules: what they become, and every way in which they are refused. */
#include "import_text.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"

#define TWO "num_ranks 2\nrank 0 {\n"

/* calc 1000000 is 1 ms; rank 1 computes on its second stream; l2 of rank 0 is received by node 0.
 */
static void ring(void)
{
    struct strait_program *g;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_import_graph(&g, DATA("tests/data/ring.goal"), &err), 0);
    CU_ASSERT_EQUAL(g->n_ranks, 3);
    const struct strait_program_rank *r = g->ranks;
    CU_ASSERT_EQUAL_FATAL(r[0].n_nodes, 3);
    CU_ASSERT_EQUAL(r[0].nodes[0].kind, STRAIT_PROGRAM_COMPUTE);
    CU_ASSERT_DOUBLE_EQUAL(r[0].nodes[0].time_s, 1e-3, 1e-18);
    CU_ASSERT_EQUAL(r[0].nodes[0].unit, STRAIT_PROGRAM_CPU);
    CU_ASSERT_EQUAL(r[1].nodes[1].unit, STRAIT_PROGRAM_CPU + 1);
    CU_ASSERT_EQUAL(r[0].nodes[1].kind, STRAIT_PROGRAM_SEND);
    CU_ASSERT_EQUAL(r[0].nodes[1].bytes, 1000000);
    CU_ASSERT_EQUAL(r[0].nodes[1].peer, 1);
    CU_ASSERT_EQUAL(r[0].nodes[1].mate, 0);
    CU_ASSERT_EQUAL(r[2].nodes[1].mate, 2);
    CU_ASSERT_EQUAL_FATAL(r[0].n_edges, 1);
    CU_ASSERT_EQUAL(r[0].edges[0].from, 0);
    CU_ASSERT_EQUAL(r[0].edges[0].to, 1);
    CU_ASSERT_TRUE(strait_program_sends(g, 2, 0));
    CU_ASSERT_FALSE(strait_program_sends(g, 0, 2));
    strait_program_free(g);
}

/* Labels may be used before they are defined; the k-th send meets the k-th receive; irequires waits
 * for a beginning. */
static void order(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(&in,
                    "num_ranks 2\nrank 1 {\nb requires a\na: recv 7b from 0 tag 3\n"
                    "b: recv 8b from 0 tag 3\n}\n\nrank 0 {\nx: send 7b to 1 tag 3\n"
                    "y: send 8b to 1 tag 3 cpu 0 nic 1\ny irequires x\n}\n",
                    &err),
        0);
    const struct strait_program_rank *r = in.graph->ranks;
    CU_ASSERT_EQUAL(r[0].nodes[0].mate, 0);
    CU_ASSERT_EQUAL(r[0].nodes[1].mate, 1);
    CU_ASSERT_EQUAL(r[1].nodes[1].bytes, 8);
    CU_ASSERT_TRUE(r[0].edges[0].on_start);
    CU_ASSERT_FALSE(r[1].edges[0].on_start);
    CU_ASSERT_EQUAL(json_array_size(in.missing), 2); /* the second card, and L, o, g, G */
    strait_import_release(&in);
}

/* As Schedgen writes them, and as txt2bin takes them: between lines, behind operations, over several
 * lines, several in a line; what is inside is not read. */
static void comments(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(&in,
                    "num_ranks 1 // one\n/* before */ rank 0 { /* none\nz: calc 9\n*/\n"
                    "/* Iallreduce begin */\na: calc /* 7 */ 5 // a requires b\n"
                    "b: /**/ calc 6 /* x */ cpu 1 /* y\n*/ \nb requires a /* } */\n}\n",
                    &err),
        0);
    const struct strait_program_rank *r = in.graph->ranks;
    CU_ASSERT_EQUAL_FATAL(r->n_nodes, 2);
    CU_ASSERT_EQUAL(r->n_edges, 1);
    CU_ASSERT_DOUBLE_EQUAL(r->nodes[0].time_s, 5e-9, 1e-18);
    CU_ASSERT_EQUAL(r->nodes[1].unit, STRAIT_PROGRAM_CPU + 1);
    strait_import_release(&in);
}

/* What is in order is not kept, and read once; what leaves a doubt is kept and refused as it is:
 * a dependency that leads back, a message without its other end, one with too little room. */
static void looked_at(void)
{
    static const struct {
        const char *text;
        bool is_doubtful;
    } cases[] = {
        {"num_ranks 2\nrank 0 {\na: calc 1\nb: send 5b to 1 tag 2\nb requires a\n}\n"
         "rank 1 {\nc: recv 5b from 0 tag 2\n}\n",
         false},
        {"num_ranks 1\nrank 0 {\na requires b\na: calc 1\nb: calc 1\n}\n", false},
        {"num_ranks 1\nrank 0 {\na requires b\na: calc 1\nb: calc 1\nc: calc 1\nb requires c\n}\n",
         false},
        {"num_ranks 1\nrank 0 {\na requires b\na: calc 1\nb: calc 1\nb irequires a\n}\n", true},
        {"num_ranks 2\nrank 0 {\na requires b\na: calc 1\nb: calc 1\nb requires a\n}\nrank 1 "
         "{\n}\n",
         true},
        {"num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", true},
        {"num_ranks 1\nrank 0 {\na: calc 1\nb requires a\nb: calc 1\n}\n", false},
        {"num_ranks 2\nrank 0 {\na: send 5b to 1\n}\nrank 1 {\n}\n", true},
        {"num_ranks 2\nrank 0 {\na: send 5b to 1\n}\nrank 1 {\nb: recv 5b from 0 tag 1\n}\n", true},
        {"num_ranks 2\nrank 0 {\na: send 5b to 1\n}\nrank 1 {\nb: recv 6b from 0\n}\n", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_import in;
        struct strait_source s;
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].text);
        CU_ASSERT_EQUAL_FATAL(
            strait_source_of(&s, "trace", cases[i].text, strlen(cases[i].text), &err), 0);
        CU_ASSERT_EQUAL_FATAL(strait_import_source(&in, &s, NULL, true, &err), 0);
        CU_ASSERT_EQUAL(in.graph->look->is_doubtful, cases[i].is_doubtful);
        CU_ASSERT_PTR_NULL(in.graph->ranks[0].nodes);
        strait_import_release(&in);
        strait_source_release(&s);
    }
}

static void refused(void)
{
    static const struct refused_trace cases[] = {
        {"num_ranks 0\n", ":1", "expected \"num_ranks\" and 1 to 4096, found \"0\""},
        {"num_ranks 1e9\n", ":1", "1 to 4096"},
        {"num_ranks 2\nrank 2 {\n}\n", ":2", "a number from 0 to 1"},
        {"num_ranks 2\nrank 0 {\n}\n", ":4", "expected all of 2 ranks, found no rank 1"},
        {"num_ranks 2\nrank 0 {\n", ":3", "expected \"}\" after rank 0"},
        {"num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", ":4", "found rank 0 again"},
        {"num_ranks 1\nl1: calc 5\n", ":2", "expected \"rank\", found \"l1:\""},
        {TWO "l1: calc -5\n", ":3", "expected nanoseconds after calc, found \"-5\""},
        {TWO "l1: calc 1e99\n", ":3", "expected nanoseconds"},
        {TWO "l1: calc nan\n", ":3", "expected nanoseconds"},
        {TWO "l1: send 5 to 0\n", ":3", "expected another rank than 0 itself"},
        {TWO "l1: send 5b tag 0\n", ":3", "expected \"to\" and a rank, found none"},
        {TWO "l1: send 5kb to 1\n", ":3", "expected a size such as 100b"},
        {TWO "l1: recv 5b to 1\n", ":3", "expected from, tag, cpu or nic, found \"to\""},
        {TWO "l1: send 5b to 7\n", ":3", "from 0 to 1 after to, found \"7\""},
        {TWO "l1: send 5b to\n", ":3", "after to, found \"\""},
        {TWO "l1: calc 5 cpu 7\n", ":3", "from 0 to 6 after cpu"},
        {TWO "l1: jump 5\n", ":3", "expected send, recv or calc, found \"jump\""},
        {TWO "l1: calc 5\nl1: calc 6\n", ":4", "found \"l1\" again"},
        {TWO "l1 requires l2\nl1: calc 1\n}\n", ":5", "the label \"l2\" in rank 0, found none"},
        {TWO "l1 needs l2\n", ":3", "\"a requires b\""},
        {"num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n", "",
         "found 2 of its 2 nodes that wait for each other"},
        {"num_ranks 2\nrank 0 {\na: send 1b to 1\n}\nrank 1 {\n}\n", "",
         "from rank 0 to rank 1 with tag 0, found 1 sends and 0 receives"},
        {"num_ranks 2\nrank 0 {\na: send 9b to 1\n}\nrank 1 {\na: recv 8b from 0\n}\n", "",
         "expected rank 1 to receive the 9 bytes"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void damaged(void)
{
    size_t n;
    char *text = folder_bytes("", DATA("tests/data/ring.goal"), &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    expect_survives("goal", text, n);
    free(text);
}

/* --- as txt2bin writes them ----------------------------------------------------------------- */

static char *binary(const char *path, size_t *n)
{
    char *bytes = folder_bytes("", path, n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    return bytes;
}

/* The graph of a binary schedule, which LogGOPSim made of this text, is the text's. */
static void same_graph(const char *text, const char *path)
{
    size_t n;
    char *bytes = binary(path, &n);
    struct strait_import of_text, of_bytes;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&of_text, text, &err), 0);
    CU_ASSERT_EQUAL_FATAL(import_bytes(&of_bytes, bytes, n, &err), 0);
    CU_ASSERT_STRING_EQUAL(of_bytes.format->name, "goal-binary");
    CU_ASSERT_EQUAL(of_bytes.graph->n_ranks, of_text.graph->n_ranks);
    CU_ASSERT_EQUAL(of_bytes.graph->hash, of_text.graph->hash);
    CU_ASSERT_TRUE(json_equal(of_bytes.missing, of_text.missing));
    strait_import_release(&of_text);
    strait_import_release(&of_bytes);
    free(bytes);
}

static void binaries(void)
{
    char *ring_text = folder_text("", DATA("tests/data/ring.goal"));
    same_graph(ring_text, DATA("tests/data/ring.goal.bin"));
    free(ring_text);
    same_graph("num_ranks 2\nrank 0 {\nx: send 7b to 1 tag 3\n"
               "y: send 8b to 1 tag 3 cpu 1 nic 1\nz: calc 5 cpu 2\nz requires x\ny irequires x\n"
               "z requires y\n}\nrank 1 {\nb: recv 7b from 0 tag 3\na: recv 8b from 0 tag 3\n"
               "b2: calc 9\nb2 requires a\nb2 irequires b\n}\n",
               DATA("tests/data/order.goal.bin"));
}

/* One byte of the ring changed. Ranks from byte 8 on, where they begin from 14; rank 0 begins at 62
 * with 3 nodes and 2 roots, so that its first node stands at 78: 4 bytes, its kind, its partner. */
static void refused_binaries(void)
{
    static const struct {
        size_t at;
        unsigned char byte;
        const char *error;
    } cases[] = {{8, 0, "expected 1 to 4096 ranks, found 0"},
                 {14, 1, "expected rank 0 to begin at byte 62"},
                 {22, 1, "expected rank 0 to end at byte"},
                 {62, 200, "expected"},
                 {78 + 4, 9, "found 9"},
                 {78 + 21, 99, "expected a cpu from 0 to 6, found 99"},
                 {78 + 39 + 5, 3, "expected another of 3 ranks in a message of rank 0, found 3"},
                 {78 + 39 + 5, 0, "expected another of 3 ranks in a message of rank 0, found 0"}};
    size_t n;
    char *bytes = binary(DATA("tests/data/ring.goal.bin"), &n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_import in;
        struct strait_error err;
        const char before = bytes[cases[i].at];
        strait_test_context("byte %zu", cases[i].at);
        bytes[cases[i].at] = (char)cases[i].byte;
        CU_ASSERT_EQUAL(import_bytes(&in, bytes, n, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_CONTAINS(err.where, ": at byte ");
        CU_ASSERT_CONTAINS(err.text, cases[i].error);
        strait_import_release(&in);
        bytes[cases[i].at] = before;
    }
    expect_survives("goal, binary", bytes, n);
    free(bytes);
}

/* One rank, one calculation, which is its root: read whole, and cut off nowhere. */
static void whole_binary(void)
{
    static const unsigned char bytes[] = {
        0x7f, 0x10, 0, 0, 0, 0, 0, 0, 1,  0, 0, 0, 2, 1,       /* magic, ranks, sizes */
        22,   0,    0, 0, 0, 0, 0, 0, 73, 0, 0, 0, 0, 0, 0, 0, /* begins and ends, less 8 */
        1,    0,    0, 0, 1, 0, 0, 0, 0,  0, 0, 0,             /* nodes, roots, the root */
        0,    0,    0, 0, 3, 0, 0, 0, 0,  5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,    0,    0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL(sizeof(bytes), 81);
    CU_ASSERT_EQUAL_FATAL(import_bytes(&in, bytes, sizeof(bytes), &err), 0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "goal-binary");
    CU_ASSERT_EQUAL_FATAL(in.graph->ranks[0].n_nodes, 1);
    CU_ASSERT_DOUBLE_EQUAL(in.graph->ranks[0].nodes[0].time_s, 5e-9, 1e-18);
    strait_import_release(&in);
    for (size_t n = 14; n < sizeof(bytes); n++) {
        strait_test_context("%zu bytes", n);
        CU_ASSERT_EQUAL(import_bytes(&in, bytes, n, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        strait_import_release(&in);
    }
}

static const struct strait_test tests[] = {
    {"comments of both kinds are left out", comments},
    {"a ring of three ranks becomes its nodes, messages and dependencies", ring},
    {"labels may come late, messages meet in order, irequires waits for a beginning", order},
    {"a look keeps nothing of what is in order, and doubts the rest", looked_at},
    {"whatever is wrong is refused with its line", refused},
    {"binary schedules of LogGOPSim's txt2bin are those of the text", binaries},
    {"a binary schedule of one rank is read whole", whole_binary},
    {"a damaged binary schedule is refused with its byte", refused_binaries},
    {"any damage is read or refused as it was", damaged},
};
STRAIT_SUITE("traces/import/goal", tests);
