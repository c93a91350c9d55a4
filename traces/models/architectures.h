/* Well-known architectures as layer tables built in code, with exact parameter counts. */
#pragma once
#include "model.h"
#include "model_build.h"

struct strait_architecture {
    const char *name, *source;
    void (*build)(struct strait_builder *b); /* adds layers with shapes and FLOPs a sample */
    unsigned batch;
    const char *device;
    /* Either a published throughput with its source... */
    double published_samples_per_s;
    const char *published_source;
    /* ...or a stated rate with its source. */
    double stated_flop_per_s;
    const char *stated_source;
};

/** The table, n of them, in the order of `strait list models`. */
const struct strait_architecture *strait_architectures(size_t *n);
/** Build one of them, with its compute times. */
int strait_architecture_load(struct strait_model **out, const struct strait_architecture *a,
                             struct strait_error *err);

/* arch_convolutional.c, arch_branched.c, arch_attention.c */
void strait_arch_resnet50(struct strait_builder *b);
void strait_arch_resnet152(struct strait_builder *b);
void strait_arch_vgg16(struct strait_builder *b);
void strait_arch_mobilenet_v2(struct strait_builder *b);
void strait_arch_densenet201(struct strait_builder *b);
void strait_arch_inception_v4(struct strait_builder *b);
void strait_arch_bert_base(struct strait_builder *b);
void strait_arch_bert_large(struct strait_builder *b);
void strait_arch_gpt2_small(struct strait_builder *b);
void strait_arch_vit_b16(struct strait_builder *b);
