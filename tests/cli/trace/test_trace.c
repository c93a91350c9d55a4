/* strait trace from outside. */
#include <stdlib.h>
#include <string.h>
#include "tests/kit/data.h"
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static void expect(struct said s, int status, const char *out, const char *err)
{
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_CONTAINS(s.out, out);
    CU_ASSERT_CONTAINS(s.err, err);
    if (status != 0)
        CU_ASSERT_EQUAL(program_n_lines(s.err), 1);
    said_release(&s);
}

static void shown(void)
{
    program_set_up(&program);
    const char *ring = DATA("tests/data/ring.goal");
    expect(CALL("trace", "show", ring), 0, "nodes              2 compute, 3 send, 3 recv\n", "");
    expect(CALL("trace", "show", ring), 0, "missing:\n  latency, overhead", "");
    expect(CALL("trace", "show", DATA("experiments/traces/data-parallel.ti")), 0,
           "compute_s          0 s\n", "");
    expect(CALL("trace", "show", ring, "--json"), 0, "\"message_bytes\":3000000.0", "");
    expect(CALL("list", "traces", "--json"), 0, "{\"name\":\"goal\"", "");
    expect(CALL("trace", "show", ring, "--format", "gaol"), 2, "", "did you mean \"goal\"?");
    expect(CALL("trace", "show", DATA("experiments/traces/data-parallel.ti"), "--format", "goal"),
           2, "", "data-parallel.ti:1: expected \"num_ranks\"");
    expect(CALL("trace", "show"), 2, "", "expected a file, found none");
    expect(CALL("trace", "show", "/"), 2, "", "found a folder");
    expect(CALL("trace", "show", "/dev/null"), 2, "", "found something that is no file");
    program_write(&program, "empty", "");
    expect(CALL("trace", "show", "empty"), 2, "", "found an empty one");
    program_write(&program, "other", "hello\n");
    expect(CALL("trace", "show", "other"), 2, "", "expected a trace of a known format");
    program_write(&program, "table.csv", "# name: mine\n");
    expect(CALL("trace", "show", "table.csv"), 2, "",
           "found a layer table: name it as \"model\" in an experiment");
    program_tear_down(&program);
}

/* 3 messages of 1 MB and 3 ms at 1 Gbps and 20 ms: 3 x (10^6 + 96) / g + 0.063 s; what is written
 * runs. */
static void imported(void)
{
    program_set_up(&program);
    const char *ring = DATA("tests/data/ring.goal");
    expect(CALL("trace", "import", ring, "--out", "ring.json"), 0, "",
           "1 Gbps and 20 ms stand there to be replaced");
    expect(CALL("run", "ring.json", "--on", "fluid", "--json"), 0, "\"strategy\":\"replay\"", "");
    /* of no replay an interval was learned, and its model stands for nothing */
    expect(CALL("run", "ring.json", "--on", "fluid", "--json"), 0,
           "\"why\":\"no replay was held against a measurement\"", "");
    expect(CALL("trace", "import", ring, "--out", "ring.json"), 2, "", "ring.json");
    expect(CALL("trace", "import", ring, "--out", "ring.csv"), 2, "",
           "expected a trace with layers for a table, found goal");
    expect(CALL("trace", "export", ring), 0, "1 wait 0 1 0\n", "lost: ");
    expect(CALL("trace", "export", ring, "--format", "goal"), 2, "", "expected ti, found \"goal\"");
    program_tear_down(&program);
}

/* A product of 2 x 4 x 3 x 2 = 48 operations, for which a device of 1 MFLOP/s takes 48 us; a step
 * of 1 s is all of it but 1e-12 a node, since nothing is counted in its backward pass. */
static void without_times(void)
{
    program_set_up(&program);
    program_write(&program, "et.json",
                  "{\"schema\":\"1.0.1\",\"nodes\":["
                  "{\"name\":\"aten::addmm\",\"rf_id\":1,\"seq_id\":0,\"tid\":1,"
                  "\"input_shapes\":[[2],[4,3],[3,2]]},"
                  "{\"name\":\"AddmmBackward0\",\"rf_id\":3,\"seq_id\":0,\"tid\":2},"
                  "{\"name\":\"autograd::engine::evaluate_function: AddmmBackward0\",\"rf_id\":2,"
                  "\"tid\":2},{\"name\":\"torch::autograd::AccumulateGrad\",\"rf_id\":5,\"tid\":2,"
                  "\"input_shapes\":[[3,2]]},{\"name\":\"autograd::engine::evaluate_function: "
                  "torch::autograd::AccumulateGrad\",\"rf_id\":4,\"tid\":2}]}");
    expect(CALL("trace", "import", "et.json"), 2, "", "expected --rate, such as '30 TFLOP/s'");
    expect(CALL("trace", "import", "et.json", "--rate", "1 MFLOP/s"), 0,
           "0,Linear_0,weight,Linear,3x2,24,48.000000,48.000000,", "");
    expect(CALL("trace", "import", "et.json", "--step", "1 s"), 0, "3x2,24,999999.9999", "");
    expect(CALL("trace", "import", "et.json", "--step", "0 s"), 2, "", "above 0");
    expect(CALL("trace", "import", "et.json", "--rate", "1 Gbps"), 2, "", "--rate: ");
    expect(CALL("trace", "import", DATA("tests/data/kineto-cnn.json.gz"), "--rate", "1 GFLOP/s"), 2,
           "", "expected a model whose layers state their FLOPs");
    expect(CALL("trace", "import", DATA("tests/data/ring.goal"), "--step", "1 s"), 2, "",
           "expected a trace with layers for --rate or --step, found goal");
    program_tear_down(&program);
}

/* What PyTorch without Kineto exports: names and times. */
static void profile_without_layers(void)
{
    static const char why[] =
        "expected a trace that a table or an experiment can be made of, found "
        "kineto without gradients: no backward pass";
    program_set_up(&program);
    program_write(
        &program, "old.json",
        "[{\"name\":\"aten::addmm\",\"ph\":\"X\",\"ts\":1,\"dur\":2,\"tid\":1,\"pid\":\"CPU "
        "functions\",\"args\":{}},{\"name\":\"autograd::engine::evaluate_function: "
        "AddmmBackward0\",\"ph\":\"X\",\"ts\":3,\"dur\":2,\"tid\":1,\"pid\":\"CPU functions\","
        "\"args\":{}}]");
    expect(CALL("trace", "import", "old.json", "--out", "a.csv"), 2, "", why);
    expect(CALL("trace", "import", "old.json", "--out", "a.json"), 2, "", why);
    expect(CALL("trace", "show", "old.json"), 0, "strait.record of the Python", "");
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a profile of which no layers can be made says what to do", profile_without_layers},
    {"layers of a trace without times take what the user says", without_times},
    {"show says what is in a trace, and refuses what is none", shown},
    {"import writes an experiment that runs, export another trace", imported},
};
STRAIT_SUITE("cli/trace/trace", tests);
