#include <math.h>
#include <stdio.h>
#include <string.h>
#include "traces/models/architectures.h"
#include "tests/kit/suite.h"

static struct strait_model *load(const char *name)
{
    struct strait_model *m = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, name, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static const struct strait_layer *find_layer(const struct strait_model *m, const char *name)
{
    for (size_t l = 0; l < m->n_layers; l++)
        if (strcmp(m->rows[m->layers[l].first_row].layer, name) == 0)
            return &m->layers[l];
    CU_FAIL_FATAL("no such layer");
    return NULL;
}

/* A model that was asked for before is not built again, but whoever gets it may change it. */
static void again(void)
{
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_model *first = load("gpt2-small"), *second = load("gpt2-small");
    const double step_s = strait_model_step_s(first), fwd_s = first->rows[7].fwd_s_p50;
    CU_ASSERT_EQUAL(first->n_rows, second->n_rows);
    CU_ASSERT_EQUAL(memcmp(first->rows, second->rows, first->n_rows * sizeof(*first->rows)), 0);
    CU_ASSERT_EQUAL(memcmp(first->layers, second->layers, first->n_layers * sizeof(*first->layers)),
                    0);
    CU_ASSERT_STRING_EQUAL(first->source, second->source);
    CU_ASSERT_STRING_EQUAL(first->timing_source, second->timing_source);
    CU_ASSERT_EQUAL(strait_model_set_step(first, 2 * step_s, &err), 0);
    first->source[0] = '?';
    struct strait_model *other = load("vgg16"), *third = load("gpt2-small");
    CU_ASSERT_EQUAL(other->n_rows, 32);
    CU_ASSERT_EQUAL(strait_model_step_s(second), step_s);
    CU_ASSERT_EQUAL(strait_model_step_s(third), step_s);
    CU_ASSERT_EQUAL(third->rows[7].fwd_s_p50, fwd_s);
    CU_ASSERT_STRING_EQUAL(third->source, second->source);
    CU_ASSERT_NOT_EQUAL(first->rows[7].fwd_s_p50, fwd_s);
    strait_model_free(first);
    strait_model_free(second);
    strait_model_free(other);
    strait_model_free(third);
}

static void parameter_counts_are_the_published_ones(void)
{
    /* torchvision's and Hugging Face's counts; rows are the tensors of the state dict that are
     * trained (161 for ResNet-50: 53 convolutions, 53 x 2 of normalisation, 2 of the classifier).
     */
    const struct {
        const char *name;
        size_t n_elems, n_rows;
    } expected[] = {{"resnet50", 25557032, 161},     {"vgg16", 138357544, 32},
                    {"bert-base", 109482240, 199},   {"bert-large", 335141888, 391},
                    {"gpt2-small", 124439808, 148},  {"vit-b16", 86567656, 152},
                    {"mobilenet-v2", 3504872, 158},  {"densenet201", 20013928, 604},
                    {"inception-v4", 42679816, 449}, {"resnet152", 60192808, 467}};
    size_t n;
    strait_architectures(&n);
    CU_ASSERT_EQUAL(n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < n; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_EQUAL(m->n_elems, expected[i].n_elems);
        CU_ASSERT_EQUAL(m->n_rows, expected[i].n_rows);
        strait_model_free(m);
    }
}

static void gpt2_small_is_the_model_of_498_megabytes(void)
{
    /* 124,439,808 x 4 = 497,759,232 bytes: 3.98 Gb */
    struct strait_model *m = load("gpt2-small");
    CU_ASSERT_EQUAL(m->n_elems * sizeof(float), 497759232);
    /* One block: two norms 2 x 1536, c_attn 768 x 2304 + 2304, c_proj 768 x 768 + 768,
     * c_fc 768 x 3072 + 3072, c_proj 3072 x 768 + 768 = 7,087,872 */
    size_t block = 0;
    for (size_t l = 0; l < m->n_layers; l++)
        if (strncmp(m->rows[m->layers[l].first_row].layer, "h.7.", 4) == 0)
            block += m->layers[l].n_elems;
    CU_ASSERT_EQUAL(block, 7087872);
    CU_ASSERT_EQUAL(find_layer(m, "wte")->n_elems, 50257 * 768);
    strait_model_free(m);
}

static void shapes_of_some_layers_are_the_published_ones(void)
{
    struct strait_model *m = load("resnet50");
    CU_ASSERT_EQUAL(find_layer(m, "conv1")->n_elems, 64 * 3 * 7 * 7);
    CU_ASSERT_EQUAL(find_layer(m, "layer4.0.downsample.0")->n_elems, 2048 * 1024);
    CU_ASSERT_EQUAL(find_layer(m, "layer3.5.conv2")->n_elems, 256 * 256 * 9);
    CU_ASSERT_EQUAL(find_layer(m, "fc")->n_elems, 2049000);
    strait_model_free(m);
    m = load("vgg16");
    CU_ASSERT_EQUAL(find_layer(m, "features.28")->n_elems, 512 * 512 * 9 + 512);
    CU_ASSERT_EQUAL(find_layer(m, "classifier.0")->n_elems, 25088 * 4096 + 4096);
    strait_model_free(m);
    m = load("mobilenet-v2");
    CU_ASSERT_EQUAL(find_layer(m, "features.17.conv.1.0")->n_elems, 960 * 9); /* depthwise */
    CU_ASSERT_EQUAL(find_layer(m, "features.18.0")->n_elems, 320 * 1280);
    strait_model_free(m);
    m = load("densenet201");
    /* 896 maps enter block 4; its last layer sees 31 x 32 more */
    CU_ASSERT_EQUAL(find_layer(m, "features.denseblock4.denselayer32.conv1")->n_elems, 128 * 1888);
    CU_ASSERT_EQUAL(find_layer(m, "features.transition3.conv")->n_elems, 1792 * 896);
    strait_model_free(m);
    m = load("inception-v4");
    CU_ASSERT_EQUAL(find_layer(m, "features.17.branch2.3.conv")->n_elems, 224 * 224 * 7);
    CU_ASSERT_EQUAL(find_layer(m, "features.21.branch2_2.conv")->n_elems, 512 * 448 * 3);
    strait_model_free(m);
    m = load("vit-b16");
    CU_ASSERT_EQUAL(find_layer(m, "encoder")->n_elems, 197 * 768);
    strait_model_free(m);
    m = load("bert-large");
    CU_ASSERT_EQUAL(find_layer(m, "embeddings.word_embeddings")->n_elems, 30522 * 1024);
    strait_model_free(m);
}

static void forward_operations_are_those_that_torchvision_lists(void)
{
    /* "GFLOPS" of torchvision's tables of weights, which count a multiply-add as one, rounded to
     * the last digit given here. */
    const struct {
        const char *name;
        double gmac, half_digit;
    } expected[] = {{"resnet50", 4.09, 0.005},
                    {"vgg16", 15.47, 0.005},
                    {"mobilenet-v2", 0.30, 0.005},
                    {"densenet201", 4.29, 0.005},
                    {"vit-b16", 17.56, 0.005}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_DOUBLE_EQUAL(m->fwd_flop_per_sample / 2e9, expected[i].gmac,
                               expected[i].half_digit);
        strait_model_free(m);
    }
}

static void forward_operations_of_transformers_are_the_closed_form(void)
{
    /* Multiply-adds: tokens x blocks x 12 width^2 for the matrices, blocks x 2 tokens^2 width for
     * attention. BERT-Base: 512 x 12 x 7,077,888 + 12 x 2 x 512^2 x 768 + pooler 768^2.
     * GPT-2: 1024 x 12 x 7,077,888 + 12 x 2 x 1024^2 x 768 + head 1024 x 768 x 50257. */
    struct strait_model *m = load("bert-base");
    CU_ASSERT_EQUAL(m->fwd_flop_per_sample / 2, 43486543872.0 + 4831838208.0 + 589824.0);
    strait_model_free(m);
    m = load("gpt2-small");
    CU_ASSERT_EQUAL(m->fwd_flop_per_sample / 2, 86973087744.0 + 19327352832.0 + 39523713024.0);
    strait_model_free(m);
}

static void the_step_of_resnet50_is_the_published_throughput(void)
{
    /* Batch 64 at 253.1 samples/s (arXiv 2005.13247): 64 / 253.1 = 0.252864480 s, a third forward.
     * ready of the last gradient: the whole backward pass. */
    struct strait_model *m = load("resnet50");
    CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_PUBLISHED);
    CU_ASSERT_EQUAL(m->batch, 64);
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 0.252864480, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 0.084288160, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(m->layers[0].ready_s_p50, 0.168576320, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(strstr(m->timing_source, "253.1 samples/s on one NVIDIA RTX 2080 Ti"));
    CU_ASSERT_FALSE(m->on_cpu);
    strait_model_free(m);
}

/* SPD-KFAC's figures: 16 samples forward and backward in 0.178 and 0.134 s. */
static void the_steps_of_branched_networks_are_the_published_ones(void)
{
    const struct {
        const char *name;
        double step_s;
    } expected[] = {{"densenet201", 0.178}, {"inception-v4", 0.134}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_PUBLISHED);
        CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), expected[i].step_s, 1e-9);
        strait_model_free(m);
    }
}

static void the_steps_of_the_others_follow_from_stated_operations(void)
{
    /* 3 x 2 x multiply-adds x batch / 7.85e12: GPT-2, batch 4: 6 x 145,824,153,600 x 4 / 7.85e12 =
     * 0.445832 s; BERT-Base, batch 8: 6 x 48,318,971,904 x 8 / 7.85e12 = 0.295454 s */
    const struct {
        const char *name;
        double step_s;
    } expected[] = {{"gpt2-small", 0.445832}, {"bert-base", 0.295454}};
    for (size_t i = 0; i < 2; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_STATED_FLOPS);
        CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), expected[i].step_s, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 2 * m->fwd_s, 1e-12);
        CU_ASSERT_PTR_NOT_NULL(strstr(m->timing_source, "stated, not measured"));
        CU_ASSERT_PTR_NOT_NULL(strstr(m->timing_source, "15.7 TFLOP/s"));
        strait_model_free(m);
    }
}

static void layers_sum_to_the_model(void)
{
    size_t n;
    const struct strait_architecture *a = strait_architectures(&n);
    for (size_t i = 0; i < n; i++) {
        struct strait_model *m = load(a[i].name);
        double fwd_s = 0, bwd_s = 0, last_ready_s = 0;
        size_t n_elems = 0, n_rows = 0;
        for (size_t l = m->n_layers; l-- > 0;) {
            fwd_s += m->layers[l].fwd_s_p50;
            bwd_s += m->layers[l].bwd_s_p50;
            n_elems += m->layers[l].n_elems;
            n_rows += m->layers[l].n_rows;
            CU_ASSERT_TRUE(m->layers[l].ready_s_p50 >= last_ready_s); /* from the last to first */
            last_ready_s = m->layers[l].ready_s_p50;
        }
        /* sums of some hundred doubles */
        CU_ASSERT_DOUBLE_EQUAL(fwd_s, m->fwd_s, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(bwd_s, m->bwd_s, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(last_ready_s, m->bwd_s, 1e-12);
        CU_ASSERT_EQUAL(n_elems, m->n_elems);
        CU_ASSERT_EQUAL(n_rows, m->n_rows);
        strait_model_free(m);
    }
}

static void a_device_twice_as_fast_halves_every_time(void)
{
    struct strait_model *m = load("gpt2-small");
    struct strait_error err = {.code = STRAIT_OK};
    const double ready_s = m->rows[40].ready_s_p90, layer_s = m->layers[9].bwd_s_p50;
    CU_ASSERT_EQUAL(strait_model_set_device_rate(m, 15.7e12, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 0.445832 / 2, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(m->rows[40].ready_s_p90, ready_s / 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->layers[9].bwd_s_p50, layer_s / 2, 1e-12);
    CU_ASSERT_PTR_NOT_NULL(strstr(m->timing_source, "15.7 TFLOP/s"));
    strait_model_free(m);
    /* ResNet-50: 6 x 4.0892e9 x 64 at 1 TFLOP/s = 1.570 s */
    m = load("resnet50");
    CU_ASSERT_EQUAL(strait_model_set_device_rate(m, 1e12, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 1.570, 0.001);
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        err = (struct strait_error){.code = STRAIT_OK};
        CU_ASSERT_EQUAL(strait_model_set_device_rate(m, bad[i], &err), -1);
        CU_ASSERT_EQUAL(strait_error_exit_status(&err), 2);
    }
    strait_model_free(m);
}

static void families_follow_from_the_layers(void)
{
    const struct {
        const char *name;
        enum strait_family family;
    } expected[] = {{"resnet50", STRAIT_FAMILY_CONVOLUTIONAL},
                    {"inception-v4", STRAIT_FAMILY_CONVOLUTIONAL},
                    {"mobilenet-v2", STRAIT_FAMILY_CONVOLUTIONAL},
                    {"vit-b16", STRAIT_FAMILY_ATTENTION}, /* although it begins with a Conv2d */
                    {"bert-large", STRAIT_FAMILY_ATTENTION},
                    {"gpt", STRAIT_FAMILY_ATTENTION},
                    {"cnn", STRAIT_FAMILY_CONVOLUTIONAL}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_EQUAL(m->family, expected[i].family);
        strait_model_free(m);
    }
}

/* Whose times they are, and at what batch: ResNet-50's are of Shi et al.'s RTX 2080 Ti at 64,
 * those without a publication of half a V100's peak. */
static void times_name_their_device(void)
{
    const struct {
        const char *name, *device;
        double batch;
    } expected[] = {{"resnet50", "NVIDIA RTX 2080 Ti", 64},
                    {"vgg16", "NVIDIA V100", 32},
                    {"mobilenet-v2", "NVIDIA V100", 64},
                    {"densenet201", "NVIDIA RTX 2080 Ti", 16}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_STRING_EQUAL(m->device, expected[i].device);
        CU_ASSERT_EQUAL(m->batch, expected[i].batch);
        CU_ASSERT_FALSE(m->on_cpu);
        strait_model_free(m);
    }
}

static const struct strait_test tests[] = {
    {"each asks for a model of its own", again},
    {"parameter counts are the published ones", parameter_counts_are_the_published_ones},
    {"GPT-2 small is the model of 498 MB", gpt2_small_is_the_model_of_498_megabytes},
    {"shapes of some layers are the published ones", shapes_of_some_layers_are_the_published_ones},
    {"forward operations are those that torchvision lists",
     forward_operations_are_those_that_torchvision_lists},
    {"forward operations of transformers are the closed form",
     forward_operations_of_transformers_are_the_closed_form},
    {"the step of ResNet-50 is the published throughput",
     the_step_of_resnet50_is_the_published_throughput},
    {"the steps of DenseNet-201 and Inception-v4 are the published ones",
     the_steps_of_branched_networks_are_the_published_ones},
    {"the steps of the others follow from stated operations",
     the_steps_of_the_others_follow_from_stated_operations},
    {"layers sum to the model", layers_sum_to_the_model},
    {"a device twice as fast halves every time", a_device_twice_as_fast_halves_every_time},
    {"times name their device and batch", times_name_their_device},
    {"families follow from the layers", families_follow_from_the_layers},
};
STRAIT_SUITE("traces/models/architectures", tests);
