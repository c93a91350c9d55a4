/* Convolutional architectures whose maps are concatenated: DenseNet-201 as torchvision builds it,
 * for 224x224 images, and Inception-v4 as pretrainedmodels and timm do, for 299x299. */
#include <stdio.h>
#include "arch_parts.h"
#include "architectures.h"

static void dense_layer(struct strait_builder *b, unsigned block, unsigned layer, size_t in,
                        size_t side)
{
    enum { BOTTLENECK = 128, GROWTH = 32 };
    char name[64], prefix[48];
    snprintf(prefix, sizeof prefix, "features.denseblock%u.denselayer%u", block, layer);
    snprintf(name, sizeof name, "%s.norm1", prefix);
    strait_arch_batch_norm(b, name, in);
    snprintf(name, sizeof name, "%s.conv1", prefix);
    strait_arch_conv(b, name, in, BOTTLENECK, 1, side, 1, false);
    snprintf(name, sizeof name, "%s.norm2", prefix);
    strait_arch_batch_norm(b, name, BOTTLENECK);
    snprintf(name, sizeof name, "%s.conv2", prefix);
    strait_arch_conv(b, name, BOTTLENECK, GROWTH, 3, side, 1, false);
}

void strait_arch_densenet201(struct strait_builder *b)
{
    static const unsigned n_layers[] = {6, 12, 48, 32}; /* table 1 of the paper */
    size_t n = 64, side = 56;
    char name[64];
    strait_arch_conv(b, "features.conv0", 3, n, 7, 112, 1, false);
    strait_arch_batch_norm(b, "features.norm0", n);
    for (unsigned block = 1; block <= 4; block++) {
        for (unsigned layer = 1; layer <= n_layers[block - 1]; layer++, n += 32)
            dense_layer(b, block, layer, n, side);
        if (block == 4)
            break;
        snprintf(name, sizeof name, "features.transition%u.norm", block);
        strait_arch_batch_norm(b, name, n);
        snprintf(name, sizeof name, "features.transition%u.conv", block);
        strait_arch_conv(b, name, n, n / 2, 1, side, 1, false);
        n /= 2;
        side /= 2;
    }
    strait_arch_batch_norm(b, "features.norm5", n);
    strait_arch_linear(b, "classifier", n, 1000);
}

/* A convolution with its normalisation: branch, inputs, outputs, kernel, side of the output. */
struct unit {
    const char *name;
    size_t in, out, high, wide, side;
};

static void units(struct strait_builder *b, unsigned index, const struct unit *of, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "features.%u.%sconv", index, of[i].name);
        strait_arch_conv_of(b, name, of[i].in, of[i].out, of[i].high, of[i].wide, of[i].side);
        snprintf(name, sizeof name, "features.%u.%sbn", index, of[i].name);
        strait_arch_batch_norm(b, name, of[i].out);
    }
}
#define UNITS(b, index, of) units(b, index, of, sizeof(of) / sizeof((of)[0]))

/* Figures 3 to 9 of the paper. */
void strait_arch_inception_v4(struct strait_builder *b)
{
    static const struct unit conv_1a[] = {{"", 3, 32, 3, 3, 149}},
                             conv_2a[] = {{"", 32, 32, 3, 3, 147}},
                             conv_2b[] = {{"", 32, 64, 3, 3, 147}},
                             mixed_3a[] = {{"conv.", 64, 96, 3, 3, 73}},
                             mixed_4a[] = {{"branch0.0.", 160, 64, 1, 1, 73},
                                           {"branch0.1.", 64, 96, 3, 3, 71},
                                           {"branch1.0.", 160, 64, 1, 1, 73},
                                           {"branch1.1.", 64, 64, 1, 7, 73},
                                           {"branch1.2.", 64, 64, 7, 1, 73},
                                           {"branch1.3.", 64, 96, 3, 3, 71}},
                             mixed_5a[] = {{"conv.", 192, 192, 3, 3, 35}};
    static const struct unit inception_a[] = {
        {"branch0.", 384, 96, 1, 1, 35},  {"branch1.0.", 384, 64, 1, 1, 35},
        {"branch1.1.", 64, 96, 3, 3, 35}, {"branch2.0.", 384, 64, 1, 1, 35},
        {"branch2.1.", 64, 96, 3, 3, 35}, {"branch2.2.", 96, 96, 3, 3, 35},
        {"branch3.1.", 384, 96, 1, 1, 35}};
    static const struct unit reduction_a[] = {{"branch0.", 384, 384, 3, 3, 17},
                                              {"branch1.0.", 384, 192, 1, 1, 35},
                                              {"branch1.1.", 192, 224, 3, 3, 35},
                                              {"branch1.2.", 224, 256, 3, 3, 17}};
    static const struct unit inception_b[] = {
        {"branch0.", 1024, 384, 1, 1, 17},   {"branch1.0.", 1024, 192, 1, 1, 17},
        {"branch1.1.", 192, 224, 1, 7, 17},  {"branch1.2.", 224, 256, 7, 1, 17},
        {"branch2.0.", 1024, 192, 1, 1, 17}, {"branch2.1.", 192, 192, 7, 1, 17},
        {"branch2.2.", 192, 224, 1, 7, 17},  {"branch2.3.", 224, 224, 7, 1, 17},
        {"branch2.4.", 224, 256, 1, 7, 17},  {"branch3.1.", 1024, 128, 1, 1, 17}};
    static const struct unit reduction_b[] = {
        {"branch0.0.", 1024, 192, 1, 1, 17}, {"branch0.1.", 192, 192, 3, 3, 8},
        {"branch1.0.", 1024, 256, 1, 1, 17}, {"branch1.1.", 256, 256, 1, 7, 17},
        {"branch1.2.", 256, 320, 7, 1, 17},  {"branch1.3.", 320, 320, 3, 3, 8}};
    static const struct unit inception_c[] = {
        {"branch0.", 1536, 256, 1, 1, 8},   {"branch1_0.", 1536, 384, 1, 1, 8},
        {"branch1_1a.", 384, 256, 1, 3, 8}, {"branch1_1b.", 384, 256, 3, 1, 8},
        {"branch2_0.", 1536, 384, 1, 1, 8}, {"branch2_1.", 384, 448, 3, 1, 8},
        {"branch2_2.", 448, 512, 1, 3, 8},  {"branch2_3a.", 512, 256, 1, 3, 8},
        {"branch2_3b.", 512, 256, 3, 1, 8}, {"branch3.1.", 1536, 256, 1, 1, 8}};
    unsigned index = 0;
    UNITS(b, index++, conv_1a);
    UNITS(b, index++, conv_2a);
    UNITS(b, index++, conv_2b);
    UNITS(b, index++, mixed_3a);
    UNITS(b, index++, mixed_4a);
    UNITS(b, index++, mixed_5a);
    for (int i = 0; i < 4; i++)
        UNITS(b, index++, inception_a);
    UNITS(b, index++, reduction_a);
    for (int i = 0; i < 7; i++)
        UNITS(b, index++, inception_b);
    UNITS(b, index++, reduction_b);
    for (int i = 0; i < 3; i++)
        UNITS(b, index++, inception_c);
    strait_arch_linear(b, "last_linear", 1536, 1000);
}
