/* Layers of convolutional architectures. FLOPs are those of convolutions and linear layers, 2 a
 * multiply-add, for one sample forward; normalisations, activations and pooling count nothing and
 * so take no time. */
#pragma once
#include "model_build.h"

/** A square convolution with an output of out x side x side; `groups` divides the inputs of each
 *  output. */
void strait_arch_conv(struct strait_builder *b, const char *name, size_t in, size_t out,
                      size_t kernel, size_t side, size_t groups, bool bias);
/** A convolution with a high x wide kernel, one group, no bias. */
void strait_arch_conv_of(struct strait_builder *b, const char *name, size_t in, size_t out,
                         size_t high, size_t wide, size_t side);
void strait_arch_batch_norm(struct strait_builder *b, const char *name, size_t n);
void strait_arch_linear(struct strait_builder *b, const char *name, size_t in, size_t out);
