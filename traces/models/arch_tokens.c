#include "arch_tokens.h"

double strait_arch_product_flop(size_t n_tokens, size_t in, size_t out)
{
    return 2.0 * (double)n_tokens * (double)in * (double)out;
}

double strait_arch_attention_flop(size_t n_tokens, size_t width)
{
    return 2 * strait_arch_product_flop(n_tokens, n_tokens, width);
}

void strait_arch_matrix(struct strait_builder *b, const char *name, const char *type, size_t rows,
                        size_t cols, double flop)
{
    const size_t shape[] = {rows, cols};
    strait_build_layer(b, name, type, flop);
    strait_build_param(b, "weight", 2, shape);
}

void strait_arch_affine(struct strait_builder *b, const char *name, const char *type, size_t rows,
                        size_t cols, size_t out, double flop)
{
    strait_arch_matrix(b, name, type, rows, cols, flop);
    strait_build_param(b, "bias", 1, &out);
}

void strait_arch_layer_norm(struct strait_builder *b, const char *name, size_t width, double flop)
{
    strait_build_layer(b, name, "LayerNorm", flop);
    strait_build_param(b, "weight", 1, &width);
    strait_build_param(b, "bias", 1, &width);
}
