/* Chakra execution traces: both encodings, groups by name, and damage. */
#include "import_text.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/harness.h"

/* tests/foreign/make_chakra.py: ids 7, 300, 301 (ranks 0 and 1), 302 (0 and 2), 303 (2). */
static void encoded(void)
{
    struct strait_program *g;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_import_graph(&g, DATA("tests/data/chakra/step.0.et"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(g->n_ranks, 3);
    CU_ASSERT_EQUAL_FATAL(g->n_groups, 2);
    CU_ASSERT_STRING_EQUAL(g->groups[1].name, "pair");
    CU_ASSERT_EQUAL(g->groups[1].n, 2);
    CU_ASSERT_EQUAL(g->groups[1].ranks[1], 1);
    const struct strait_program_rank *r = g->ranks;
    CU_ASSERT_EQUAL_FATAL(r[0].n_nodes, 4);
    CU_ASSERT_EQUAL_FATAL(r[1].n_nodes, 3);
    CU_ASSERT_EQUAL_FATAL(r[2].n_nodes, 4);
    CU_ASSERT_EQUAL(r[0].nodes[0].unit, STRAIT_PROGRAM_ACCEL);
    CU_ASSERT_DOUBLE_EQUAL(r[0].nodes[0].time_s, 1e-3, 1e-18);
    CU_ASSERT_EQUAL(r[1].nodes[1].collective, STRAIT_PROGRAM_ALL_REDUCE);
    CU_ASSERT_EQUAL(r[1].nodes[1].bytes, 3000000);
    CU_ASSERT_EQUAL(r[1].nodes[2].collective, STRAIT_PROGRAM_ALL_GATHER);
    CU_ASSERT_EQUAL(r[1].nodes[2].group, 1);
    CU_ASSERT_EQUAL(r[0].nodes[3].kind, STRAIT_PROGRAM_SEND);
    CU_ASSERT_EQUAL(r[0].nodes[3].peer, 2);
    CU_ASSERT_EQUAL(r[0].nodes[3].tag, 9);
    CU_ASSERT_EQUAL(r[0].nodes[3].bytes, 5000);
    CU_ASSERT_EQUAL(r[0].n_before[3], 2);
    CU_ASSERT_EQUAL(r[1].n_before[2], 1);
    CU_ASSERT_EQUAL(r[2].nodes[3].unit, STRAIT_PROGRAM_CPU);
    CU_ASSERT_EQUAL(r[2].nodes[2].bytes, 5000);
    strait_program_free(g);
}

/* Of a value in bytes nobody knows what it says: an earlier one stays. */
static void values(void)
{
    static const unsigned char bytes[] = {
        7,    0x0a, 5,    '0',  '.', '0', '.', '4', /* the version */
        46,   0x08, 5,    0x18, 4,                  /* node 5, a calculation */
        0x52, 12,   0x0a, 7,    'n', 'u', 'm', '_', 'o', 'p', 's', 0x48, 0xc0, 0x3e, /* 9: 8000 */
        0x52, 12,   0x0a, 7,    'n', 'u', 'm', '_', 'o', 'p', 's', 0xda, 0x01, 0,    /* 27: bytes */
        0x52, 12,   0x0a, 7,    'n', 'u', 'm', '_', 'o', 'p', 'x', 0x48, 0x81, 0x01}; /* another */
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL(sizeof(bytes), 8 + 1 + 46);
    CU_ASSERT_EQUAL(import_bytes(&in, bytes, sizeof(bytes), &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL_FATAL(in.graph->ranks[0].n_nodes, 1);
    CU_ASSERT_EQUAL(in.graph->ranks[0].nodes[0].flop, 8000);
    strait_import_release(&in);
}

/* The pair calls what the third rank does not: a look is in no doubt about it. */
static void looked_at(void)
{
    struct strait_import read, look;
    struct strait_error err = {0};
    const char *const path = DATA("tests/data/chakra/step.0.et");
    CU_ASSERT_EQUAL_FATAL(strait_import_read(&read, path, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_import_look(&look, path, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(look.graph->look);
    CU_ASSERT_FALSE(look.graph->look->is_doubtful);
    CU_ASSERT(json_equal(look.facts, read.facts));
    strait_import_release(&read);
    strait_import_release(&look);
}

/* The ring of three: 2 x 2 x 3 MB; the pair: 2 x 1000; the message: 5000. */
static void replayed(void)
{
    static const char text[] =
        "{\"schema\":\"strait-experiment/1\",\"trace\":\"tests/data/chakra/"
        "step.0.et\",\"clients\":3,"
        "\"strategy\":{\"name\":\"replay\"},\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":"
        "\"20 ms\"},\"server\":{\"rate\":\"100 Mbps\"}}}";
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        struct strait_outcome o = strait_outcome_of(text, json_object(), "default", backends[i],
                                                    (struct strait_trial_options){0});
        CU_ASSERT_EQUAL(o.payload_bytes, 12000000 + 2000 + 5000);
        total_s[i] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9);
    CU_ASSERT(total_s[0] > 4 * (1e6 * 8 / 100e6 + 0.02)); /* four steps of a third of 3 MB */
}

static void json(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(
            &in,
            "{\"version\": [1], \"workload_graph\": [{\"Id\": 5, \"Name\": \"a\", \"NodeType\":"
            " 4, \"is_cpu_op\": true, \"runtime\": 30, \"data_deps\": []},\n{\"Id\": 6,"
            "\"NodeType\": 4, \"is_cpu_op\": false, \"num_ops\": 8000, \"ctrlDeps\": [5]}]}",
            &err),
        0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "chakra-json");
    const struct strait_program_rank *r = &in.graph->ranks[0];
    CU_ASSERT_EQUAL_FATAL(r->n_nodes, 2);
    CU_ASSERT_DOUBLE_EQUAL(r->nodes[0].time_s, 30e-6, 1e-18);
    CU_ASSERT_EQUAL(r->nodes[0].unit, STRAIT_PROGRAM_CPU);
    CU_ASSERT_DOUBLE_EQUAL(r->nodes[1].flop, 8000, 0);
    CU_ASSERT_EQUAL(r->n_before[1], 1);
    strait_import_release(&in);
}

/* As Chakra's converter once wrote PyTorch's collectives: the call on the CPU, which takes its time;
 * the kernel is another node. */
static void calls(void)
{
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        import_text(
            &in,
            "{\"workload_graph\": [{\"Id\": 5, \"Name\": \"c10d::broadcast_\", \"NodeType\":"
            " 7, \"is_cpu_op\": true, \"runtime\": 85, \"data_deps\": []}]}",
            &err),
        0);
    const struct strait_program_rank *r = &in.graph->ranks[0];
    CU_ASSERT_EQUAL_FATAL(r->n_nodes, 1);
    CU_ASSERT_EQUAL(r->nodes[0].kind, STRAIT_PROGRAM_COMPUTE);
    CU_ASSERT_EQUAL(r->nodes[0].unit, STRAIT_PROGRAM_CPU);
    CU_ASSERT_DOUBLE_EQUAL(r->nodes[0].time_s, 85e-6, 1e-18);
    CU_ASSERT_PTR_NOT_NULL(strstr(json_string_value(json_array_get(in.inferred, 1)), "the call"));
    strait_import_release(&in);
}

#define NODES "{\"workload_graph\":["

static void refused(void)
{
    static const struct refused_trace cases[] = {
        {NODES "{\"Id\":1,\"NodeType\":9}]}", ": at byte 40",
         "a type from 1 to 7 of node 1, found 9"},
        {NODES "{\"Id\":1,\"NodeType\":4,\"data_deps\":[2]}]}", "",
         "expected node 2, which another one waits for, found none"},
        {NODES "{\"Id\":1,\"NodeType\":4},{\"Id\":1,\"NodeType\":4}]}", ": at byte 62",
         "expected each id once, found node 1 again"},
        {NODES "{\"Id\":1,\"NodeType\":7,\"comm_type\":12}]}", ": at byte 55",
         "a comm_type from 0"},
        {NODES "{\"Id\":1,\"NodeType\":7}]}", ": at byte 40",
         "a comm_type and a comm_size of node 1, a collective, found none"},
        {NODES "{\"Id\":1,\"NodeType\":5,\"comm_dst\":0}]}", ": at byte 53",
         "another rank as comm_dst"},
        {NODES "{\"Id\":1,\"NodeType\":4,\"runtime\":-1}]}", ": at byte 53", "a duration"},
        {NODES "{\"Id\":-1}]}", ": at byte 27", "an id up to 2^53"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void damaged(void)
{
    static const char *const files[] = {"tests/data/chakra/step.0.et",
                                        "tests/data/chakra/step.2.et"};
    for (size_t i = 0; i < 2; i++) {
        size_t n;
        char *bytes = folder_bytes("", DATA(files[i]), &n);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        expect_survives(files[i], bytes, n);
        free(bytes);
    }
}

/* Read alone the second rank's file would be that of a first one. */
static void of_another_rank(void)
{
    struct strait_program *g;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_import_graph(&g, DATA("tests/data/chakra/step.2.et"), &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.text, "expected the first rank's file, ");
    CU_ASSERT_CONTAINS(err.text, "step.0.et, which stands for those of all, found that of rank 2");
}

static const struct strait_test tests[] = {
    {"an attribute in bytes is no number", values},
    {"a collective on a CPU without a type is the call of another node", calls},
    {"a file of another rank than the first names the first", of_another_rank},
    {"what protoc encoded becomes nodes, groups and dependencies", encoded},
    {"a look at groups of some ranks keeps nothing", looked_at},
    {"a trace with a group of two ranks runs on both simulations", replayed},
    {"the JSON form is read alike", json},
    {"whatever is wrong is refused", refused},
    {"any damage is read or refused as it was", damaged},
};
STRAIT_SUITE("traces/import/chakra", tests);
