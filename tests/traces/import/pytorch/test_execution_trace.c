/* Execution traces of PyTorch: layers whose times are the operations that can be counted by hand,
 * in the form of both generations of the format. */
#include <math.h>
#include <stdarg.h>
#include "tests/traces/import/import_text.h"
#include "traces/models/model.h"

enum { TEXT_BYTES = 1 << 16 };

/* One step of fc1 (3 to 2, with bias), relu and fc2 (2 to 5) on 4 samples, as the file has it: an
 * operation stands behind what is inside of it. From and to are shapes. */
static const struct {
    const char *name;
    int begins, sequence, scope, lane;
    const char *in, *out;
} nodes[] = {
    {"aten::t", 4, 0, 0, 1, "[[2,3]]", "[[3,2]]"},
    /* 2 x 4 x 3 x 2 = 48 */
    {"aten::addmm", 5, 1, 0, 1, "[[2],[4,3],[3,2],[],[]]", "[[4,2]]"},
    {"aten::linear", 3, 0, 0, 1, "[[4,3],[2,3],[2]]", "[[4,2]]"},
    {"aten::relu", 6, 2, 0, 1, "[[4,2]]", "[[4,2]]"},
    {"aten::t", 8, 3, 0, 1, "[[5,2]]", "[[2,5]]"},
    /* 2 x 4 x 2 x 5 = 80 */
    {"aten::mm", 9, 4, 0, 1, "[[4,2],[2,5]]", "[[4,5]]"},
    {"aten::linear", 7, 3, 0, 1, "[[4,2],[5,2],[]]", "[[4,5]]"},
    {"## forward ##", 2, -1, 7, 1, "[]", "[]"},
    /* 80 for the weight, 80 for the input */
    {"aten::mm", 12, -1, 0, 2, "[[2,4],[4,5]]", "[[2,5]]"},
    {"aten::mm", 13, -1, 0, 2, "[[4,5],[5,2]]", "[[4,2]]"},
    {"MmBackward0", 11, 4, 1, 2, "[[4,5]]", "[]"},
    {"autograd::engine::evaluate_function: MmBackward0", 10, -1, 0, 2, "[]", "[]"},
    {"TBackward0", 15, 3, 1, 2, "[[2,5]]", "[]"},
    {"autograd::engine::evaluate_function: TBackward0", 14, -1, 0, 2, "[]", "[]"},
    {"torch::autograd::AccumulateGrad", 17, -1, 1, 2, "[[5,2]]", "[]"},
    {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 16, -1, 0, 2, "[]",
     "[]"},
    {"ReluBackward0", 19, 2, 1, 2, "[[4,2]]", "[]"},
    {"autograd::engine::evaluate_function: ReluBackward0", 18, -1, 0, 2, "[]", "[]"},
    /* 48 for the weight; nobody asks for the input's gradient */
    {"aten::mm", 22, -1, 0, 2, "[[3,4],[4,2]]", "[[3,2]]"},
    {"AddmmBackward0", 21, 1, 1, 2, "[[4,2]]", "[]"},
    {"autograd::engine::evaluate_function: AddmmBackward0", 20, -1, 0, 2, "[]", "[]"},
    {"torch::autograd::AccumulateGrad", 24, -1, 1, 2, "[[2]]", "[]"},
    {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 23, -1, 0, 2, "[]",
     "[]"},
    {"TBackward0", 26, 0, 1, 2, "[[3,2]]", "[]"},
    {"autograd::engine::evaluate_function: TBackward0", 25, -1, 0, 2, "[]", "[]"},
    {"torch::autograd::AccumulateGrad", 28, -1, 1, 2, "[[2,3]]", "[]"},
    {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 27, -1, 0, 2, "[]",
     "[]"},
    {"record_param_comms", 30, -1, 0, 2, "[[[18]],[],[[],[]]]", "[]"},
    {"nccl:all_reduce", 29, -1, 7, 2, "[[18]]", "[]"},
    {"Optimizer.step#SGD.step", 31, -1, 7, 1, "[]", "[]"},
    {"ProfilerStep#4", 1, -1, 7, 1, "[]", "[]"},
};

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, TEXT_BYTES - n, format, args);
    va_end(args);
}

/* recent: attributes in a list of their own, and what was sent. */
static char *trace(bool recent)
{
    char *text = calloc(1, TEXT_BYTES);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    add(text, "{\"schema\": \"%s\", \"pid\": 1, \"nodes\": [",
        recent ? "1.1.0-chakra.0.0.4" : "1.0.1");
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        add(text, "%s\n{\"id\": %d, \"name\": \"%s\", \"%s\": 1, ", i > 0 ? "," : "",
            2 * nodes[i].begins, nodes[i].name, recent ? "ctrl_deps" : "parent");
        if (recent)
            add(text,
                "\"inputs\": {\"values\": [[1,2,0,6,4,\"cpu\"]], \"shapes\": %s, \"types\": []}, "
                "\"outputs\": {\"values\": [], \"shapes\": %s, \"types\": []}, \"attrs\": ["
                "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": %d}, {\"name\": \"seq_id\","
                "\"type\": \"int64\", \"value\": %d}, {\"name\": \"scope\", \"type\": \"uint64\", "
                "\"value\": %d}, {\"name\": \"tid\", \"type\": \"uint64\", \"value\": %d}, "
                "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"%s\"}%s]}",
                nodes[i].in, nodes[i].out, nodes[i].begins, nodes[i].sequence, nodes[i].scope,
                nodes[i].lane, nodes[i].name,
                nodes[i].begins != 30 ? ""
                                      : ", {\"name\": \"in_msg_nelems\", \"type\": \"uint64\", "
                                        "\"value\": 18}, {\"name\": \"pg_size\", \"type\": "
                                        "\"uint64\", \"value\": 2}");
        else
            add(text,
                "\"rf_id\": %d, \"seq_id\": %d, \"scope\": %d, \"tid\": %d, \"inputs\": [[1,2]], "
                "\"input_shapes\": %s, \"outputs\": [], \"output_shapes\": %s}",
                nodes[i].begins, nodes[i].sequence, nodes[i].scope, nodes[i].lane, nodes[i].in,
                nodes[i].out);
    }
    add(text, "], \"finish_ts\": 3}\n");
    return text;
}

/* Forward 48 and 80, backward 48 and 160 operations: 336 at 1 TFLOP/s. */
static void layers(void)
{
    for (int recent = 0; recent < 2; recent++) {
        struct strait_import in;
        struct strait_error err;
        char *text = trace(recent);
        CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
        CU_ASSERT_STRING_EQUAL(in.format->name, "pytorch-et");
        CU_ASSERT_EQUAL(json_number_value(json_object_get(in.facts, "flop")), 336);
        CU_ASSERT_PTR_NOT_NULL_FATAL(in.model);
        const struct strait_model *m = in.model;
        CU_ASSERT_EQUAL_FATAL(m->n_layers, 2);
        CU_ASSERT_EQUAL_FATAL(m->n_rows, 3);
        CU_ASSERT_DOUBLE_EQUAL(m->layers[0].fwd_s_p50, 48e-12, 1e-18);
        CU_ASSERT_DOUBLE_EQUAL(m->layers[1].fwd_s_p50, 80e-12, 1e-18);
        CU_ASSERT_DOUBLE_EQUAL(m->layers[0].bwd_s_p50, 48e-12, 1e-18);
        CU_ASSERT_DOUBLE_EQUAL(m->layers[1].bwd_s_p50, 160e-12, 1e-18);
        /* fc1's weight and bias, then fc2's weight, which is ready first */
        CU_ASSERT_EQUAL(m->rows[0].n_elems, 6);
        CU_ASSERT_EQUAL(m->rows[1].n_elems, 2);
        CU_ASSERT_EQUAL(m->rows[2].n_elems, 10);
        CU_ASSERT_EQUAL(m->rows[2].ready_order, 0);
        CU_ASSERT_EQUAL(m->rows[1].ready_order, 1);
        CU_ASSERT_EQUAL(m->rows[0].ready_order, 2);
        CU_ASSERT_DOUBLE_EQUAL(m->rows[2].ready_s_p50, 160e-12, 1e-18);
        CU_ASSERT_DOUBLE_EQUAL(m->rows[0].ready_s_p50, 208e-12, 1e-18);
        CU_ASSERT_EQUAL(m->batch, 4);
        CU_ASSERT_EQUAL(m->device_flop_per_s, 1e12);
        CU_ASSERT_PTR_NULL(in.iters);
        const json_t *sent =
            json_object_get(json_object_get(in.facts, "collectives"), "nccl:all_reduce");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(sent, "calls")), 1);
        CU_ASSERT_EQUAL(json_number_value(json_object_get(sent, "elements")), recent ? 18 : 0);
        strait_import_release(&in);
        free(text);
    }
}

/* A convolution of 3 channels to 8 by 3 x 3 over 2 pictures of 6 x 6 has 2 x 2 x 8 x 36 x 27 =
 * 31104 operations, its backward pass as many for each gradient that is asked for; attention of 2 x
 * 4 heads, 5 queries of 16 numbers and 7 keys 4 x 2 x 4 x 5 x 16 x 7 = 17920. */
static void counted(void)
{
    static const struct {
        const char *name, *in, *out;
        double flop;
    } cases[] = {
        {"aten::convolution", "[[2,3,6,6],[8,3,3,3]]", "[[2,8,6,6]]", 31104},
        {"aten::convolution_backward", "[[2,8,6,6],[2,3,6,6],[8,3,3,3]]", "[[2,3,6,6],[8,3,3,3]]",
         62208},
        {"aten::convolution_backward", "[[2,8,6,6],[2,3,6,6],[8,3,3,3]]", "[[],[8,3,3,3]]", 31104},
        {"aten::bmm", "[[6,4,3],[6,3,5]]", "[[6,4,5]]", 720},
        {"aten::baddbmm", "[[1],[6,4,3],[6,3,5]]", "[[6,4,5]]", 720},
        {"aten::_scaled_dot_product_flash_attention", "[[2,4,5,16],[2,4,7,16],[2,4,7,16]]", "[]",
         17920},
        {"aten::_scaled_dot_product_flash_attention_backward", "[[2,4,5,16],[2,4,5,16],[2,4,7,16]]",
         "[]", 44800},
        {"aten::mm", "[[],[]]", "[]", 0},
        {"aten::cudnn_convolution", "[[2,3,6,6],[8,3,3,3]]", "[[2,8,6,6]]", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        struct strait_import in;
        struct strait_error err;
        snprintf(text, sizeof(text),
                 "{\"schema\":\"1.0.1\",\"nodes\":[{\"name\":\"%s\",\"rf_id\":3,\"tid\":1,"
                 "\"input_shapes\":%s,\"output_shapes\":%s}]}",
                 cases[i].name, cases[i].in, cases[i].out);
        strait_test_context("%s", text);
        CU_ASSERT_EQUAL_FATAL(import_text(&in, text, &err), 0);
        CU_ASSERT_EQUAL(json_number_value(json_object_get(in.facts, "flop")), cases[i].flop);
        CU_ASSERT_PTR_NULL(in.model);
        strait_import_release(&in);
    }
}

static void damaged(void)
{
    static const struct refused_trace cases[] = {
        {"{\"schema\":\"1.0.1\",\"nodes\":{\"rf_id\":1}}", ": at byte 27", "an array of nodes"},
        {"{\"schema\":\"1.0.1\",\"nodes\":[{\"rf_id\":1e300}]}", ": at byte 42",
         "an rf_id that counts nodes"},
        {"{\"schema\":\"1.0.1\",\"nodes\":[{\"rf_id\":1,\"attrs\":3}]}", ": at byte 47",
         "an array of attributes"},
    };
    expect_refused(cases, sizeof(cases) / sizeof(cases[0]));
    char *text = trace(true);
    expect_survives("execution trace", text, strlen(text) < 3000 ? strlen(text) : 3000);
    free(text);
}

static const struct strait_test tests[] = {
    {"layers take the products inside of them, in both generations of the format", layers},
    {"products, convolutions and attention are counted as by hand", counted},
    {"any damage is read or refused as it was", damaged},
};
STRAIT_SUITE("traces/import/pytorch/execution_trace", tests);
