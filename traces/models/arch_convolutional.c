/* ResNet-50 and -152, VGG-16 and MobileNetV2 as torchvision builds them, for 224x224 images. */
#include <stdio.h>
#include "arch_parts.h"
#include "architectures.h"

/* torchvision's Bottleneck: 1x1, 3x3 (which takes the stride), 1x1; the first of a stage projects
 * its input. side_in and side are the widths of the maps before and after the stride. */
static void bottleneck(struct strait_builder *b, unsigned stage, unsigned block, size_t in,
                       size_t mid, size_t side_in, size_t side)
{
    enum { EXPANSION = 4 };
    const struct {
        size_t in, out, kernel, side;
    } convs[] = {{in, mid, 1, side_in}, {mid, mid, 3, side}, {mid, mid * EXPANSION, 1, side}};
    char name[64];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "layer%u.%u.conv%u", stage, block, i + 1);
        strait_arch_conv(b, name, convs[i].in, convs[i].out, convs[i].kernel, convs[i].side, 1,
                         false);
        snprintf(name, sizeof name, "layer%u.%u.bn%u", stage, block, i + 1);
        strait_arch_batch_norm(b, name, convs[i].out);
    }
    if (block > 0)
        return;
    snprintf(name, sizeof name, "layer%u.0.downsample.0", stage);
    strait_arch_conv(b, name, in, mid * EXPANSION, 1, side, 1, false);
    snprintf(name, sizeof name, "layer%u.0.downsample.1", stage);
    strait_arch_batch_norm(b, name, mid * EXPANSION);
}

static void residual(struct strait_builder *b, const unsigned *n_blocks)
{
    strait_arch_conv(b, "conv1", 3, 64, 7, 112, 1, false);
    strait_arch_batch_norm(b, "bn1", 64);
    size_t in = 64, mid = 64, side_in = 56, side = 56;
    for (unsigned stage = 0; stage < 4; stage++) {
        for (unsigned block = 0; block < n_blocks[stage]; block++) {
            bottleneck(b, stage + 1, block, in, mid, side_in, side);
            in = mid * 4;
            side_in = side;
        }
        mid *= 2;
        side /= 2;
    }
    strait_arch_linear(b, "fc", 2048, 1000);
}

void strait_arch_resnet50(struct strait_builder *b)
{
    residual(b, (const unsigned[]){3, 4, 6, 3});
}

void strait_arch_resnet152(struct strait_builder *b)
{
    residual(b, (const unsigned[]){3, 8, 36, 3});
}

void strait_arch_vgg16(struct strait_builder *b)
{
    /* Configuration D; 0 is a pooling that halves the side. The index in "features" counts
     * activations and poolings as torchvision does. */
    static const size_t outs[] = {64, 64,  0,   128, 128, 0,   256, 256, 256,
                                  0,  512, 512, 512, 0,   512, 512, 512, 0};
    size_t in = 3, side = 224;
    unsigned index = 0;
    char name[64];
    for (size_t i = 0; i < sizeof outs / sizeof outs[0]; i++) {
        if (outs[i] == 0) {
            side /= 2;
            index += 1;
            continue;
        }
        snprintf(name, sizeof name, "features.%u", index);
        strait_arch_conv(b, name, in, outs[i], 3, side, 1, true);
        in = outs[i];
        index += 2;
    }
    strait_arch_linear(b, "classifier.0", 512 * 7 * 7, 4096);
    strait_arch_linear(b, "classifier.3", 4096, 4096);
    strait_arch_linear(b, "classifier.6", 4096, 1000);
}

/* torchvision's InvertedResidual: 1x1 expansion (none where the factor is 1), 3x3 depthwise with
 * the stride, 1x1 projection. */
static void inverted_residual(struct strait_builder *b, unsigned index, size_t in, size_t out,
                              size_t expand, size_t side_in, size_t side)
{
    const size_t hidden = in * expand;
    unsigned part = 0;
    char name[64];
    if (expand > 1) {
        snprintf(name, sizeof name, "features.%u.conv.%u.0", index, part);
        strait_arch_conv(b, name, in, hidden, 1, side_in, 1, false);
        snprintf(name, sizeof name, "features.%u.conv.%u.1", index, part++);
        strait_arch_batch_norm(b, name, hidden);
    }
    snprintf(name, sizeof name, "features.%u.conv.%u.0", index, part);
    strait_arch_conv(b, name, hidden, hidden, 3, side, hidden, false);
    snprintf(name, sizeof name, "features.%u.conv.%u.1", index, part++);
    strait_arch_batch_norm(b, name, hidden);
    snprintf(name, sizeof name, "features.%u.conv.%u", index, part++);
    strait_arch_conv(b, name, hidden, out, 1, side, 1, false);
    snprintf(name, sizeof name, "features.%u.conv.%u", index, part);
    strait_arch_batch_norm(b, name, out);
}

void strait_arch_mobilenet_v2(struct strait_builder *b)
{
    static const struct {
        size_t expand, out, n, stride; /* table 2 of the paper */
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    size_t in = 32, side = 112;
    unsigned index = 1;
    strait_arch_conv(b, "features.0.0", 3, 32, 3, side, 1, false);
    strait_arch_batch_norm(b, "features.0.1", 32);
    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
        for (size_t i = 0; i < stages[s].n; i++) {
            const size_t side_in = side;
            side /= i == 0 ? stages[s].stride : 1;
            inverted_residual(b, index++, in, stages[s].out, stages[s].expand, side_in, side);
            in = stages[s].out;
        }
    strait_arch_conv(b, "features.18.0", 320, 1280, 1, side, 1, false);
    strait_arch_batch_norm(b, "features.18.1", 1280);
    strait_arch_linear(b, "classifier.1", 1280, 1000);
}
