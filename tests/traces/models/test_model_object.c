/* Models by a few figures: published parameter counts of Hugging Face configurations, closed forms
 * of what is inferred, and what is refused. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "traces/models/layer_csv.h"
#include "traces/models/model_object.h"
#include "tests/kit/suite.h"

static struct strait_model *read_object(const char *text, struct strait_error *err)
{
    struct strait_object o;
    struct strait_model *m = NULL;
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "/model", json, err), 0);
    const int failed = strait_model_object_load(&m, &o, err);
    CU_ASSERT_EQUAL(failed == 0, m != NULL);
    json_decref(json);
    return m;
}

static struct strait_model *good(const char *text)
{
    struct strait_error err = {0};
    strait_test_context("%s", text);
    struct strait_model *m = read_object(text, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

/* A file in /tmp with this text; the caller unlinks it. */
static void write_file(char path[64], const char *text)
{
    strcpy(path, "/tmp/strait-config-XXXXXX");
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static struct strait_model *of_config(const char *config, const char *more,
                                      struct strait_error *err)
{
    char path[64], text[256];
    write_file(path, config);
    snprintf(text, sizeof(text), "{\"config\": \"%s\"%s}", path, more);
    struct strait_model *m = read_object(text, err);
    unlink(path);
    return m;
}

#define GPT2                                                                                       \
    "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 12, \"n_positions\": 1024,"          \
    "\"vocab_size\": 50257, \"n_head\": 12, \"n_inner\": null"
#define BERT                                                                                       \
    "{\"model_type\": \"bert\", \"hidden_size\": 768, \"num_hidden_layers\": 12,"                  \
    "\"intermediate_size\": 3072, \"max_position_embeddings\": 512, \"vocab_size\": 30522,"        \
    "\"type_vocab_size\": 2, \"architectures\": [\"BertForMaskedLM\"]"
#define LLAMA                                                                                      \
    "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 11008,"             \
    "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 32,"         \
    "\"max_position_embeddings\": 4096, \"vocab_size\": 32000"
#define MISTRAL                                                                                    \
    "{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336,"           \
    "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 8,"          \
    "\"head_dim\": null, \"max_position_embeddings\": 32768, \"vocab_size\": 32000"
#define VIT                                                                                        \
    "{\"model_type\": \"vit\", \"hidden_size\": 768, \"num_hidden_layers\": 12,"                   \
    "\"intermediate_size\": 3072, \"image_size\": 224, \"patch_size\": 16, \"num_channels\": 3"
#define STEP ", \"step\": \"1 s\""

/* As the models' pages and papers give them: gpt2, BERT-Base and Llama 2 7B, Mistral 7B v0.1
 * (7.24 B), ViT-Base on 1000 classes (86,567,656) and without a head (86,389,248 with the pooler).
 * An untied head of GPT-2 adds 50257 x 768 = 38,597,376. Two classes, the library's default, in
 * place of 1000 take 998 x 769 = 767,462 away. */
static void published_counts(void)
{
    static const struct {
        const char *config;
        size_t n_elems;
    } cases[] = {
        {GPT2 "}", 124439808},
        {GPT2 ", \"tie_word_embeddings\": false}", 124439808 + 38597376},
        {BERT "}", 109482240},
        {LLAMA "}", 6738415616},
        {LLAMA ", \"tie_word_embeddings\": true}", 6738415616 - 32000UL * 4096},
        {MISTRAL "}", 7241732096},
        {VIT ", \"architectures\": [\"ViTForImageClassification\"]}", 86567656 - 767462},
        {VIT ", \"architectures\": [\"ViTModel\"]}", 86389248},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].config);
        struct strait_model *m = of_config(cases[i].config, STEP, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL(m->n_elems, cases[i].n_elems);
        CU_ASSERT_EQUAL(m->family, STRAIT_FAMILY_ATTENTION);
        CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 1, 1e-12);
        CU_ASSERT_STRING_EQUAL(m->inferred, "");
        strait_model_free(m);
    }
}

/* What ships under a name is what its configuration says. */
static void as_shipped(void)
{
    static const char *const names[] = {"gpt2-small", "bert-base"}, *const configs[] = {GPT2 "}",
                                                                                        BERT "}"};
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        struct strait_model *shipped = NULL, *m = of_config(configs[i], STEP, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_EQUAL_FATAL(strait_model_load(&shipped, names[i], &err), 0);
        CU_ASSERT_EQUAL_FATAL(m->n_rows, shipped->n_rows);
        CU_ASSERT_EQUAL(m->fwd_flop_per_sample, shipped->fwd_flop_per_sample);
        CU_ASSERT_EQUAL(m->batch, 1); /* three times the forward pass in a step of 1 s */
        CU_ASSERT_DOUBLE_EQUAL(m->device_flop_per_s, 3 * m->fwd_flop_per_sample, 1);
        CU_ASSERT_STRING_EQUAL(m->inferred, "");
        for (size_t r = 0; r < m->n_rows; r++) {
            CU_ASSERT_STRING_EQUAL(m->rows[r].layer, shipped->rows[r].layer);
            CU_ASSERT_EQUAL(m->rows[r].n_elems, shipped->rows[r].n_elems);
            CU_ASSERT_EQUAL(m->rows[r].ready_order, shipped->rows[r].ready_order);
        }
        strait_model_free(m);
        strait_model_free(shipped);
    }
}

/* Multiply-adds of a Llama 2 7B sequence of 100 tokens: 100 x (32 blocks of 4 x 4096^2 + 3 x 4096 x
 * 11008 = 202,375,168, and the head of 131,072,000) = 660,707,737,600, and attention's 32 x 2 x
 * 100^2 x 4096 = 2,621,440,000. At 8 sequences and 1 PFLOP/s a step takes three times twice that
 * by 8. */
static void rate_of_a_config(void)
{
    struct strait_error err = {0};
    struct strait_model *m =
        of_config(LLAMA "}", ", \"tokens\": 100, \"batch\": 8, \"rate\": \"1000 TFLOP/s\"", &err);
    const double macs = 660707737600.0 + 2621440000.0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_EQUAL(m->fwd_flop_per_sample, 2 * macs);
    CU_ASSERT_EQUAL(m->batch, 8);
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 48 * macs / 1e15, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 2 * m->fwd_s, 1e-12);
    CU_ASSERT_STRING_EQUAL(m->inferred, "");
    strait_model_free(m);
    m = of_config(LLAMA "}", ", \"rate\": \"1000 TFLOP/s\"", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_CONTAINS(m->inferred, "all 4096 tokens");
    strait_model_free(m);
}

/* 350 M: 24 blocks, and the largest width d with 288 d^2 + 50258 d <= 350e6 is 1018, which leaves
 * 51,538,688 parameters: 50626 rows of 1018 and a norm of 1420. */
static void inferred(void)
{
    struct strait_model *m = good("{\"params\": \"350 M\", \"step\": \"0.8 s\"}");
    CU_ASSERT_EQUAL(m->device_flop_per_s, 0); /* a step says nothing of operations */
    CU_ASSERT_EQUAL(m->n_elems, 350000000);
    CU_ASSERT_EQUAL(m->n_layers, 24 * 4 + 2);
    CU_ASSERT_EQUAL(m->rows[0].shape[0], 50626);
    CU_ASSERT_EQUAL(m->rows[0].shape[1], 1018);
    CU_ASSERT_EQUAL(m->rows[97].n_elems, 1420);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 0.8 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 1.6 / 3, 1e-12);
    CU_ASSERT_EQUAL(m->rows[97].ready_order, 0); /* backward begins at the last */
    CU_ASSERT_EQUAL(m->fwd_flop_per_sample, 0);
    CU_ASSERT_CONTAINS(m->inferred, "24 transformer blocks of width 1018");
    strait_model_free(m);
    static const size_t counts[] = {1000, 1001, 99999, 1234567, 25557032, 124439808, 6738415616};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        char text[96];
        snprintf(text, sizeof(text), "{\"params\": %zu, \"layers\": 3, \"step\": \"1 s\"}",
                 counts[i]);
        m = good(text);
        CU_ASSERT_EQUAL(m->n_elems, counts[i]);
        CU_ASSERT_EQUAL(m->n_layers, 3 * 4 + 2);
        CU_ASSERT_AT_MOST(m->layers[0].n_elems, m->n_elems / 2 + 2 * m->rows[0].shape[1] +
                                                    36 * (2 * m->rows[0].shape[1] + 1));
        strait_model_free(m);
    }
}

/* 6 x 350e6 x 4096 tokens = 8.6016e12 operations; the same stated; a third is forward. */
static void rate_of_params(void)
{
    static const char *const texts[] = {
        "{\"params\": \"350 M\", \"tokens\": 4096, \"rate\": \"20 TFLOP/s\"}",
        "{\"params\": \"350 M\", \"flops\": \"8.6016 TFLOP\", \"batch\": 4, \"rate\": \"20 "
        "TFLOP/s\"}"};
    for (int i = 0; i < 2; i++) {
        struct strait_model *m = good(texts[i]);
        CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 8.6016 / 20, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 8.6016 / 60, 1e-9);
        CU_ASSERT_EQUAL(m->batch, i == 0 ? 1 : 4);
        CU_ASSERT_DOUBLE_EQUAL(3 * m->batch * m->fwd_flop_per_sample, 8.6016e12, 1e3);
        strait_model_free(m);
    }
}

/* resnet50 ships with 253.1 samples/s at batch 64. */
static void overrides(void)
{
    struct strait_model *m = good("{\"name\": \"resnet50\"}");
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 64 / 253.1, 1e-12);
    strait_model_free(m);
    m = good("{\"name\": \"resnet50\", \"batch\": 96}");
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 96 / 253.1, 1e-12);
    CU_ASSERT_EQUAL(m->batch, 96);
    strait_model_free(m);
    m = good("{\"name\": \"resnet50\", \"batch\": 96, \"step\": \"0.3 s\"}");
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 0.3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 0.1, 1e-12); /* a third of it, as before */
    CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_STATED_STEP);
    double last_s = 0;
    for (size_t i = 0; i < m->n_rows; i++)
        last_s = m->rows[i].ready_s_p50 > last_s ? m->rows[i].ready_s_p50 : last_s;
    CU_ASSERT_DOUBLE_EQUAL(last_s, 0.2, 1e-12); /* the last gradient ends backward */
    strait_model_free(m);
    /* a recording keeps its optimiser's part of the step */
    struct strait_model *recorded = good("{\"name\": \"cnn\"}");
    m = good("{\"name\": \"cnn\", \"step\": \"2 s\"}");
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->opt_s / 2, recorded->opt_s / strait_model_step_s(recorded), 1e-12);
    strait_model_free(m);
    m = good("{\"name\": \"cnn\", \"batch\": 128}"); /* its batch is 64 */
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 2 * recorded->fwd_s, 1e-12);
    CU_ASSERT_EQUAL(m->opt_s, recorded->opt_s);
    strait_model_free(m);
    strait_model_free(recorded);
}

/* A table that is written reads back: shapes and order exactly, times to a picosecond. */
static void written(void)
{
    static const char *const texts[] = {"{\"name\": \"resnet50\", \"step\": \"0.3 s\"}",
                                        "{\"params\": \"1.5 M\", \"step\": \"70 ms\"}"};
    for (int i = 0; i < 2; i++) {
        char path[64], csv[80];
        struct strait_error err = {0};
        struct strait_model *m = good(texts[i]), *again = NULL;
        char *text = strait_model_table_text(m);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        write_file(path, text);
        snprintf(csv, sizeof(csv), "%s", path);
        CU_ASSERT_EQUAL_FATAL(strait_layer_csv_load(&again, csv, &err), 0);
        unlink(path);
        CU_ASSERT_STRING_EQUAL(again->name, m->name);
        CU_ASSERT_STRING_EQUAL(again->timing_source, m->timing_source);
        CU_ASSERT_EQUAL(again->batch, m->batch);
        CU_ASSERT_EQUAL(again->on_cpu, m->on_cpu);
        CU_ASSERT_EQUAL(again->family, m->family);
        CU_ASSERT_EQUAL_FATAL(again->n_rows, m->n_rows);
        for (size_t r = 0; r < m->n_rows; r++) {
            CU_ASSERT_STRING_EQUAL(again->rows[r].layer, m->rows[r].layer);
            CU_ASSERT_STRING_EQUAL(again->rows[r].param, m->rows[r].param);
            CU_ASSERT_EQUAL(again->rows[r].n_dims, m->rows[r].n_dims);
            CU_ASSERT_EQUAL(again->rows[r].n_elems, m->rows[r].n_elems);
            CU_ASSERT_EQUAL(again->rows[r].ready_order, m->rows[r].ready_order);
            CU_ASSERT_DOUBLE_EQUAL(again->rows[r].ready_s_p50, m->rows[r].ready_s_p50, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(again->rows[r].bwd_s_p90, m->rows[r].bwd_s_p90, 1e-12);
        }
        free(text);
        strait_model_free(m);
        strait_model_free(again);
    }
}

static void refused(const char *text, const char *where, const char *why)
{
    struct strait_error err = {0};
    strait_test_context("%s", text);
    CU_ASSERT_PTR_NULL(read_object(text, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.where, where);
    CU_ASSERT_CONTAINS(err.text, why);
}

static void refusals(void)
{
    refused("{\"step\": \"1 s\"}", "x.json#/model", "one of \"name\", \"config\" and \"params\"");
    refused("{\"name\": \"cnn\", \"params\": 5000}", "x.json#/model", "expected one of");
    refused("{\"params\": \"1 M\"}", "x.json#/model", "a \"step\", or a \"rate\" with \"flops\"");
    refused("{\"params\": \"1 M\", \"rate\": \"1 TFLOP/s\"}", "x.json#/model", "\"tokens\"");
    refused("{\"params\": \"1 M\", \"rate\": \"1 TFLOP/s\", \"flops\": \"1 TFLOP\", \"tokens\": 1}",
            "x.json#/model", "a \"rate\" with");
    refused("{\"params\": \"1 M\", \"step\": \"1 s\", \"rate\": \"1 TFLOP/s\"}",
            "x.json#/model/step", "expected no \"rate\"");
    refused("{\"params\": 999, \"step\": \"1 s\"}", "x.json#/model/params", "at least 1000");
    refused("{\"params\": \"1 MB\", \"step\": \"1 s\"}", "x.json#/model/params", "\"350 M\"");
    refused("{\"params\": 1000, \"layers\": 900, \"step\": \"1 s\"}", "x.json#/model/layers",
            "expected at most 41 layers for 1000 parameters, found 900");
    refused("{\"params\": \"1 M\", \"step\": \"0 s\"}", "x.json#/model/step", "above 0");
    refused("{\"name\": \"resnet51\"}", "x.json#/model/name", "did you mean \"resnet");
    refused("{\"name\": \"resnet50\", \"tokens\": 5}", "x.json#/model", "unknown key \"tokens\"");
    refused("{\"name\": \"cnn\", \"rate\": \"1 TFLOP/s\"}", "x.json#/model/rate", "FLOPs");
    refused("{\"config\": \"/none.json\"}", "x.json#/model", "a \"step\" or a \"rate\"");
    refused("{\"config\": \"/none.json\", \"step\": \"1 s\"}", "x.json#/model/config",
            "/none.json: expected a JSON file");
}

/* Errors inside of a config.json name it and the key. */
static void bad_configs(void)
{
    static const struct {
        const char *config, *more, *key, *why;
    } cases[] = {
        {"{\"model_type\": \"gpt3\"}", STEP, "#/model_type", "did you mean \"gpt2\""},
        {"{}", STEP, "#/model_type", "expected"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 0}", STEP, "#/n_embd", "at least 1"},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 768}", STEP, "#/n_layer", "found nothing"},
        {LLAMA ", \"head_dim\": 0}", STEP, "#/head_dim", "at least 1"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 10, \"intermediate_size\": 1,"
         "\"num_hidden_layers\": 1, \"num_attention_heads\": 3}",
         STEP, "#/num_attention_heads", "a divisor of hidden_size 10, found 3"},
        {"{\"model_type\": \"vit\", \"hidden_size\": 8, \"num_hidden_layers\": 1,"
         "\"intermediate_size\": 8, \"image_size\": 30, \"patch_size\": 16}",
         STEP, "#/patch_size", "a divisor of image_size 30"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 12, \"intermediate_size\": 1,"
         "\"num_hidden_layers\": 1, \"num_attention_heads\": 6, \"num_key_value_heads\": 4}",
         STEP, "#/num_key_value_heads", "a divisor of num_attention_heads 6, found 4"},
        {GPT2 "}", STEP ", \"tokens\": 1025", "", "room for 1025 tokens a sample, found 1024"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].config);
        CU_ASSERT_PTR_NULL(of_config(cases[i].config, cases[i].more, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_CONTAINS(err.where, cases[i].key);
        CU_ASSERT_CONTAINS(err.text, cases[i].why);
    }
}

static const struct strait_test tests[] = {
    {"configurations have the published numbers of parameters", published_counts},
    {"configurations of shipped models give the shipped layers", as_shipped},
    {"a rate times a configuration by its multiply-adds", rate_of_a_config},
    {"layers are inferred from the number of parameters", inferred},
    {"a rate times inferred layers by the step's operations", rate_of_params},
    {"batch and step replace a shipped model's", overrides},
    {"a written table reads back", written},
    {"bad figures are refused by their key", refusals},
    {"bad configurations are refused by file and key", bad_configs},
};
STRAIT_SUITE("traces/models/model_object", tests);
