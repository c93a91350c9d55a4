/* The table of architectures, and where their compute times come from. */
#include "architectures.h"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

/* Half of the single-precision peak of 15.7 TFLOP/s in the data sheet of the NVIDIA V100 (SXM2). */
#define V100_HALF_PEAK 7.85e12
#define V100_SOURCE    "half of the 15.7 TFLOP/s single-precision peak of the NVIDIA V100 data sheet"

static const struct strait_architecture architectures[] = {
    {.name = "resnet50",
     .source = "torchvision resnet50: He et al. arXiv 1512.03385, 224x224 images, 1000 classes",
     .build = strait_arch_resnet50,
     .batch = 64,
     .device = "NVIDIA RTX 2080 Ti",
     .published_samples_per_s = 253.1,
     .published_source = "Shi et al. arXiv 2005.13247, results of 2020-05-29, float32"},
    {.name = "resnet152",
     .source = "torchvision resnet152: He et al. arXiv 1512.03385, 224x224 images, 1000 classes",
     .build = strait_arch_resnet152,
     .batch = 8,
     .device = "NVIDIA RTX 2080 Ti",
     .published_samples_per_s = 8 / 0.114,
     .published_source = "0.114 s of forward and backward, Shi et al. arXiv 2107.06533, float32"},
    {.name = "vgg16",
     .source = "torchvision vgg16: Simonyan and Zisserman arXiv 1409.1556, 224x224 images, 1000 "
               "classes",
     .build = strait_arch_vgg16,
     .batch = 32,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE},
    {.name = "mobilenet-v2",
     .source = "torchvision mobilenet_v2: Sandler et al. arXiv 1801.04381, 224x224 images, 1000 "
               "classes",
     .build = strait_arch_mobilenet_v2,
     .batch = 64,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE ", optimistic for depthwise convolutions"},
    {.name = "densenet201",
     .source = "torchvision densenet201: Huang et al. arXiv 1608.06993, 224x224 images, 1000 "
               "classes",
     .build = strait_arch_densenet201,
     .batch = 16,
     .device = "NVIDIA RTX 2080 Ti",
     .published_samples_per_s = 16 / 0.178,
     .published_source = "SPD-KFAC (ICDCS 2021), sources of its figures: forward and backward take "
                         "0.178 s at batch 16"},
    {.name = "inception-v4",
     .source = "timm inception_v4: Szegedy et al. arXiv 1602.07261, 299x299 images, 1000 classes",
     .build = strait_arch_inception_v4,
     .batch = 16,
     .device = "NVIDIA RTX 2080 Ti",
     .published_samples_per_s = 16 / 0.134,
     .published_source = "SPD-KFAC (ICDCS 2021), sources of its figures: forward and backward take "
                         "0.134 s at batch 16"},
    {.name = "vit-b16",
     .source = "torchvision vit_b_16: Dosovitskiy et al. arXiv 2010.11929, 224x224 images, 1000 "
               "classes",
     .build = strait_arch_vit_b16,
     .batch = 32,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE},
    {.name = "bert-base",
     .source = "Hugging Face BertModel bert-base-uncased with pooler: Devlin et al. arXiv "
               "1810.04805, sequences of 512 tokens",
     .build = strait_arch_bert_base,
     .batch = 8,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE},
    {.name = "bert-large",
     .source = "Hugging Face BertModel bert-large-uncased with pooler: Devlin et al. arXiv "
               "1810.04805, sequences of 512 tokens",
     .build = strait_arch_bert_large,
     .batch = 4,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE},
    {.name = "gpt2-small",
     .source = "Hugging Face GPT2LMHeadModel gpt2, tied head: Radford et al. 2019, sequences of "
               "1024 tokens",
     .build = strait_arch_gpt2_small,
     .batch = 4,
     .device = "NVIDIA V100",
     .stated_flop_per_s = V100_HALF_PEAK,
     .stated_source = V100_SOURCE},
};

const struct strait_architecture *strait_architectures(size_t *n)
{
    *n = sizeof architectures / sizeof architectures[0];
    return architectures;
}

static void time_by_throughput(struct strait_model *m, const struct strait_architecture *a)
{
    const double step_s = a->batch / a->published_samples_per_s;
    m->timing = STRAIT_TIMING_PUBLISHED;
    m->device_flop_per_s = 3 * m->fwd_flop_per_sample * a->published_samples_per_s;
    snprintf(m->timing_source, sizeof m->timing_source,
             "%g samples/s on one %s, batch %u: %s; a third of it forward",
             a->published_samples_per_s, a->device, a->batch, a->published_source);
    strait_model_spread_times(m, step_s / 3, step_s * 2 / 3);
}

static void time_by_flops(struct strait_model *m, const struct strait_architecture *a)
{
    const double fwd_s = a->batch * m->fwd_flop_per_sample / a->stated_flop_per_s;
    m->timing = STRAIT_TIMING_STATED_FLOPS;
    m->device_flop_per_s = a->stated_flop_per_s;
    snprintf(m->timing_source, sizeof m->timing_source,
             "%.4g GFLOP forward a sample x 3 x batch %u at %.4g TFLOP/s: %s; stated, not measured",
             m->fwd_flop_per_sample / 1e9, a->batch, a->stated_flop_per_s / 1e12, a->stated_source);
    strait_model_spread_times(m, fwd_s, 2 * fwd_s);
}

static int build(struct strait_model **out, const struct strait_architecture *a,
                 struct strait_error *err)
{
    struct strait_builder b;
    struct strait_model *m;
    strait_build_init(&b, a->name);
    a->build(&b);
    if (strait_build_finish(&m, &b, err) != 0)
        return -1;
    if (strait_model_set_source(m, a->source, err) != 0) {
        strait_model_free(m);
        return -1;
    }
    m->batch = a->batch;
    snprintf(m->device, sizeof m->device, "%s", a->device);
    assert(a->published_source || a->stated_source);
    if (a->published_source)
        time_by_throughput(m, a);
    else
        time_by_flops(m, a);
    *out = m;
    return 0;
}

/* What was built last: the points of a sweep ask for it several times each, and to copy it takes a
 * fiftieth of the time. Who finds it in use, if only by a thread that a fork has left behind,
 * builds. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const struct strait_architecture *a;
    struct strait_model *m;
} last;

int strait_architecture_load(struct strait_model **out, const struct strait_architecture *a,
                             struct strait_error *err)
{
    if (pthread_mutex_trylock(&last_lock) != 0)
        return build(out, a, err);
    int failed = 0;
    if (last.a != a) {
        strait_model_free(last.m);
        last.a = NULL;
        failed = build(&last.m, a, err);
        last.a = failed ? NULL : a;
        last.m = failed ? NULL : last.m;
    }
    if (!failed && !(*out = strait_model_copy(last.m)))
        failed = strait_error_memory(err, a->name);
    pthread_mutex_unlock(&last_lock);
    return failed;
}
