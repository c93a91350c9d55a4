#include "arch_parts.h"

static void add_conv(struct strait_builder *b, const char *name, const size_t shape[4], size_t side)
{
    const size_t macs = shape[0] * shape[1] * shape[2] * shape[3] * side * side;
    strait_build_layer(b, name, "Conv2d", 2.0 * (double)macs);
    strait_build_param(b, "weight", 4, shape);
}

void strait_arch_conv(struct strait_builder *b, const char *name, size_t in, size_t out,
                      size_t kernel, size_t side, size_t groups, bool bias)
{
    add_conv(b, name, (const size_t[]){out, in / groups, kernel, kernel}, side);
    if (bias)
        strait_build_param(b, "bias", 1, &out);
}

void strait_arch_conv_of(struct strait_builder *b, const char *name, size_t in, size_t out,
                         size_t high, size_t wide, size_t side)
{
    add_conv(b, name, (const size_t[]){out, in, high, wide}, side);
}

void strait_arch_batch_norm(struct strait_builder *b, const char *name, size_t n)
{
    strait_build_layer(b, name, "BatchNorm2d", 0);
    strait_build_param(b, "weight", 1, &n);
    strait_build_param(b, "bias", 1, &n);
}

void strait_arch_linear(struct strait_builder *b, const char *name, size_t in, size_t out)
{
    const size_t shape[] = {out, in};
    strait_build_layer(b, name, "Linear", 2.0 * (double)(in * out));
    strait_build_param(b, "weight", 2, shape);
    strait_build_param(b, "bias", 1, &out);
}
