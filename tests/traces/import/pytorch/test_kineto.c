/* Kineto traces: layers with known times, kernels, a real profile, and damage. */
#include <math.h>
#include "tests/traces/import/import_text.h"
#include "tests/kit/data.h"
#include "traces/import/pull_json.h"

/* Two iterations of two layers on one thread, in microseconds from t. Forward: fc1 10 us, relu 2,
 * fc2 20, loss 3. Backward from t + 50: loss 4, fc2 30 with its bias at 35 and weight at 37, relu
 * 1, fc1 15 + extra with its weight at 60 + extra. The optimiser takes 5. `gpu`: a kernel of fc1's
 * forward. */
static void add_step(char *text, size_t cap, int t, int seq, int extra, bool gpu)
{
    const char *eval = "autograd::engine::evaluate_function: ",
               *acc = "torch::autograd::AccumulateGrad";
    const struct {
        const char *prefix, *name, *dims;
        int at, dur, seq, id;
    } ops[] = {
        {"", "aten::linear", "[[4, 3], [2, 3]]", 0, 10, seq, 1},
        {"", "aten::t", "[[2, 3]]", 1, 2, seq, 2},
        {"", "aten::relu", "[[4, 2]]", 12, 2, seq + 2, 3},
        {"", "aten::linear", "[[4, 2], [5, 2]]", 15, 20, seq + 3, 4},
        {"", "aten::addmm", "[]", 16, 18, seq + 4, 5},
        {"", "aten::cross_entropy_loss", "[]", 36, 3, seq + 5, 6},
        {eval, "NllLossBackward0", "[]", 50, 4, seq + 5, 7},
        {eval, "AddmmBackward0", "[]", 54, 28, seq + 4, 8},
        {eval, acc, "[]", 83, 2, -1, 9},
        {"", acc, "[[5]]", 84, 1, -1, 10},
        {eval, "TBackward0", "[]", 85, 1, seq + 3, 11},
        {eval, acc, "[]", 86, 1, -1, 12},
        {"", acc, "[[5, 2]]", 86, 1, -1, 13},
        {eval, "ReluBackward0", "[]", 88, 1, seq + 2, 14},
        {eval, "MmBackward0", "[]", 90, 15 + extra, seq, 15},
        {eval, acc, "[]", 108 + extra, 2, -1, 16},
        {"", acc, "[[2, 3]]", 109 + extra, 1, -1, 17},
    };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        size_t n = strlen(text);
        n += (size_t)snprintf(
            text + n, cap - n,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s%s\",\"pid\":1,\"tid\":2,"
            "\"ts\":%d,\"dur\":%d,\"args\":{\"External id\":%d,\"Input Dims\":%s",
            ops[i].prefix, ops[i].name, t + ops[i].at, ops[i].dur, 100 * seq + ops[i].id,
            ops[i].dims);
        if (ops[i].seq >= 0)
            n += (size_t)snprintf(text + n, cap - n, ",\"Sequence number\":%d", ops[i].seq);
        snprintf(text + n, cap - n, "}},\n");
    }
    size_t n = strlen(text);
    if (gpu)
        n += (size_t)snprintf(
            text + n, cap - n,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
            "\"ts\":%d,\"dur\":40,\"args\":{\"External id\":%d}},\n"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm2\",\"pid\":0,\"tid\":7,"
            "\"ts\":%d,\"dur\":70,\"args\":{\"External id\":%d}},\n"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\","
            "\"pid\":0,\"tid\":8,\"ts\":%d,\"dur\":500,\"args\":{\"Collective name\":"
            "\"allreduce\",\"In msg nelems\":21}},\n",
            t + 200, 100 * seq + 2, t + 300, 100 * seq + 8, t + 310);
    snprintf(
        text + n, cap - n,
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"Optimizer.step#SGD.step\",\"pid\":1,"
        "\"tid\":2,\"ts\":%d,\"dur\":5},\n",
        t + 400);
}

static char *trace(char *text, size_t cap, bool gpu)
{
    snprintf(text, cap,
             "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":1,\"world_size\":4,"
             "\"backend\":\"nccl\"},\"traceEvents\":[\n");
    add_step(text, cap, 1000, 0, 0, gpu);
    add_step(text, cap, 3000, 20, 10, gpu);
    add_step(text, cap, 2000, 10, 4, gpu);
    snprintf(text + strlen(text), cap - strlen(text),
             "{\"ph\":\"i\",\"name\":\"end\",\"ts\":1}],\"traceName\":\"x\"}\n");
    return text;
}

enum { CAP = 32768 };

/* Layer fc1 has relu's times, fc2 the loss' and those of AccumulateGrad. Backward of fc1: 1 + 15 +
 * extra
 * + 2 for extra 0, 4, 10: median 22, 90th percentile 28. fc2: 4 + 28 + 2 + 1 + 1 = 36. Ready from
 * 50: bias 35, weight 37, fc1's 60 + extra: 64 and 70. */
static void layers(void)
{
    static char text[CAP];
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, trace(text, CAP, false), &err), 0);
    CU_ASSERT_STRING_EQUAL(in.format->name, "kineto");
    const struct strait_model *m = in.model;
    CU_ASSERT_FATAL(m && m->n_layers == 2 && m->n_rows == 3);
    CU_ASSERT_EQUAL(m->batch, 4);
    CU_ASSERT_TRUE(m->on_cpu);
    CU_ASSERT_EQUAL(m->n_elems, 6 + 10 + 5);
    CU_ASSERT_STRING_EQUAL(m->rows[0].layer, "Linear_0");
    CU_ASSERT_STRING_EQUAL(m->rows[1].param, "weight");
    CU_ASSERT_STRING_EQUAL(m->rows[2].param, "bias");
    CU_ASSERT_DOUBLE_EQUAL(m->rows[0].fwd_s_p50, 12e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[1].fwd_s_p50, 23e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[0].bwd_s_p50, 22e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[0].bwd_s_p90, 28e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[1].bwd_s_p50, 36e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[2].ready_s_p50, 35e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[1].ready_s_p50, 37e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[0].ready_s_p50, 64e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[0].ready_s_p90, 70e-6, 1e-12);
    CU_ASSERT_EQUAL(m->rows[2].ready_order, 0);
    CU_ASSERT_EQUAL(m->rows[1].ready_order, 1);
    CU_ASSERT_EQUAL(m->rows[0].ready_order, 2);
    /* passes as a whole, with the gaps: 50 us, 60 us and extra, 5 us */
    CU_ASSERT_STRING_EQUAL(in.iters, "iter,fwd_us,bwd_us,opt_us\n0,50.000,60.000,5.000\n"
                                     "1,50.000,64.000,5.000\n2,50.000,70.000,5.000\n");
    strait_import_release(&in);
}

/* With kernels, times are theirs: 40 us for what fc1 started by its inner operation, 70 for fc2's
 * backward, whose gradients are ready as it ends. NCCL's count as collectives. */
static void kernels(void)
{
    static char text[CAP];
    struct strait_import in;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(import_text(&in, trace(text, CAP, true), &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(in.model);
    CU_ASSERT_FALSE(in.model->on_cpu);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[0].fwd_s_p50, 40e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[1].bwd_s_p50, 70e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[2].ready_s_p50, 70e-6, 1e-12);
    const json_t *calls = json_object_get(json_object_get(in.facts, "collectives"), "allreduce");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(calls, "calls")), 3);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(calls, "elements")), 63, 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(in.facts, "world_size")), 4);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(in.facts, "rank")), 1);
    strait_import_release(&in);
}

/* Older profiles: the kernel's External id is its correlation, here by chance that of an operation
 * of the same step (relu's and the loss' in the first), and the call that started it is inside of
 * fc1's forward and of fc2's backward. A call outside of all operations starts what counts for
 * none. Times as above. */
static void launched(void)
{
    static char text[CAP];
    struct strait_import in;
    struct strait_error err;
    trace(text, CAP, false);
    char *at = strstr(text, "{\"ph\":\"i\""), rest[128];
    snprintf(rest, sizeof(rest), "%s", at);
    for (int step = 0; step < 3; step++) {
        const struct {
            int launch, kernel, dur, id;
        } calls[] = {{3, 200, 40, 3}, {60, 300, 70, 6}, {45, 290, 900, 7}};
        for (int i = 0; i < 3; i++) {
            const int t = 1000 * (step + 1), id = 1000 * step + calls[i].id;
            at +=
                snprintf(at, CAP - (size_t)(at - text),
                         "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"
                         "\"ts\":%d,\"dur\":%d,\"args\":{\"External id\":%d,\"correlation\":%d}},\n"
                         "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                         "\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1,\"args\":{\"External id\":%d,"
                         "\"correlation\":%d}},\n",
                         t + calls[i].kernel, calls[i].dur, id, id, t + calls[i].launch, id, id);
        }
    }
    snprintf(at, CAP - (size_t)(at - text), "%s", rest);
    CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(in.model);
    CU_ASSERT_FALSE(in.model->on_cpu);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[0].fwd_s_p50, 40e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[1].fwd_s_p50, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(in.model->rows[1].bwd_s_p50, 70e-6, 1e-12);
    strait_import_release(&in);
}

/* tests/foreign/make_kineto.py: a convolution 4x1x3x3, a batch norm of 4, linear layers 16x2704 and
 * 10x16, each with a bias: 36 + 4 + 4 + 4 + 43264 + 16 + 160 + 10 values; five steps of batch 8. */
static void of_pytorch(void)
{
    struct strait_import in;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        strait_import_read(&in, DATA("tests/data/kineto-cnn.json.gz"), NULL, &err), 0);
    const struct strait_model *m = in.model;
    CU_ASSERT_FATAL(m && m->n_layers == 4 && m->n_rows == 8);
    CU_ASSERT_EQUAL(m->n_elems, 43498);
    CU_ASSERT_EQUAL(m->batch, 8);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(in.facts, "iterations")), 5);
    CU_ASSERT_STRING_EQUAL(m->rows[0].type, "Conv2d");
    CU_ASSERT_EQUAL(m->rows[4].shape[1], 2704);
    for (size_t i = 0; i < 8; i++) /* gradients come layer by layer from the last one */
        CU_ASSERT_EQUAL(m->rows[i].ready_order / 2, 3 - i / 2);
    strait_import_release(&in);
}

static void refused(void)
{
    static const struct refused_trace cases[] = {
        {"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":tru}]}", ": at byte 31", "found \"t\""},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1e999}]}", ": at byte 36",
         "expected microseconds"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"dur\":-4}]}", ": at byte 35", "does not end before"},
        {"{\"traceEvents\":[{\"ph\":\"X\"", ": at byte 25", "found the end of the file"},
        {"{\"traceEvents\":7}", ": at byte 16", "expected an array of events"},
        {"{\"traceEvents\":[1]}", ": at byte 17", "expected an event"},
        {"{\"traceEvents\":[{\"ph\" \"X\"}]}", ": at byte 22", "expected \":\" after a key"},
        {"{\"traceEvents\":[]} x", ": at byte 19", "expected the end of the file"},
        {"{\"traceEvents\":[{\"name\":\"\\q\"}]}", ": at byte 26", "expected an escape"},
        {"{\"traceEvents\":[{\"name\":\"a\nb\"}]}", ": at byte 26", "without control characters"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
}

static void damaged(void)
{
    static char text[CAP];
    snprintf(text, CAP, "{\"schemaVersion\":1,\"traceEvents\":[\n");
    add_step(text, CAP, 1000, 0, 0, true);
    snprintf(text + strlen(text), CAP - strlen(text), "{}]}");
    expect_survives("kineto", text, strlen(text));
}

/* A depth of 65 is refused, 64 is not; \u00e9 is two bytes of UTF-8, \u20ac three. */
static void pieces(void)
{
    static const char deep[] = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[";
    struct strait_source s;
    struct strait_pull_json p;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_source_of(&s, "deep", deep, 65, &err), 0);
    strait_pull_begin(&p, &s, false, &err);
    for (int i = 0; i < 64; i++)
        CU_ASSERT_EQUAL(strait_pull_next(&p), STRAIT_PULL_ARRAY);
    CU_ASSERT_EQUAL(strait_pull_next(&p), STRAIT_PULL_ERROR);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected at most 64 values inside of one another, found \"[\"");
    strait_pull_release(&p);
    strait_source_release(&s);
    static const char text[] = "{\"a\\u00e9\\u20ac\\n\": [-1.5e2, true, null, \"\"]}";
    static const enum strait_pull expected[] = {
        STRAIT_PULL_OBJECT,     STRAIT_PULL_KEY,  STRAIT_PULL_ARRAY,  STRAIT_PULL_NUMBER,
        STRAIT_PULL_TRUE,       STRAIT_PULL_NULL, STRAIT_PULL_STRING, STRAIT_PULL_ARRAY_END,
        STRAIT_PULL_OBJECT_END, STRAIT_PULL_END};
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_source_of(&s, "text", text, strlen(text), &err), 0);
    strait_pull_begin(&p, &s, false, &err);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        CU_ASSERT_EQUAL(strait_pull_next(&p), expected[i]);
        if (expected[i] == STRAIT_PULL_KEY)
            CU_ASSERT_STRING_EQUAL(p.text, "a\xc3\xa9\xe2\x82\xac\n");
        if (expected[i] == STRAIT_PULL_NUMBER)
            CU_ASSERT_DOUBLE_EQUAL(strait_pull_number(&p), -150, 0);
    }
    strait_pull_release(&p);
    strait_source_release(&s);
}

static const struct strait_test tests[] = {
    {"layers have the times of their operations, gradients the moment when they are ready", layers},
    {"with kernels, times are those of the accelerator", kernels},
    {"kernels of older profiles belong to what launched them", launched},
    {"a profile of PyTorch has the layers of its network", of_pytorch},
    {"whatever is wrong is refused with its byte", refused},
    {"any damage is read or refused as it was", damaged},
    {"JSON is read piece by piece", pieces},
};
STRAIT_SUITE("traces/import/pytorch/kineto", tests);
