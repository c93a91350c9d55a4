#include "inferred.h"
#include <math.h>
#include <stdio.h>
#include "arch_tokens.h"
#include "core/units.h"

enum { BLOCK_WIDTHS = 12 }; /* 3 + 1 of attention, 4 + 4 of the MLP, in width^2 */

/* Brown et al. arXiv 2005.14165, table 2.1: parameters and blocks of GPT-3's sizes. */
static const struct {
    double n_params;
    size_t n_blocks;
} gpt3[] = {{125e6, 12}, {350e6, 24}, {760e6, 24}, {1.3e9, 24},
            {2.7e9, 32}, {6.7e9, 32}, {13e9, 40},  {175e9, 96}};

/* Nearest by ratio. */
static size_t blocks_of(double n_params)
{
    size_t best = 0;
    for (size_t i = 1; i < sizeof gpt3 / sizeof gpt3[0]; i++)
        if (fabs(log(gpt3[i].n_params / n_params)) < fabs(log(gpt3[best].n_params / n_params)))
            best = i;
    return gpt3[best].n_blocks;
}

/* The largest width with 12 blocks width^2 + (vocabulary + 1) width <= n_params, and at most half
 * of the parameters outside of the blocks. */
static size_t width_of(double n_params, double n_blocks, double vocabulary)
{
    const double a = BLOCK_WIDTHS * n_blocks, b = vocabulary + 1;
    const double whole = (sqrt(b * b + 4 * a * n_params) - b) / (2 * a);
    const double half = sqrt(n_params / 2 / a);
    return (size_t)fmax(1, floor(fmax(whole, half)));
}

static void add_blocks(struct strait_builder *b, size_t n_blocks, size_t width)
{
    static const struct {
        const char *name;
        size_t rows, cols;
    } parts[] = {{"attn.qkv", 3, 1}, {"attn.out", 1, 1}, {"mlp.in", 4, 1}, {"mlp.out", 1, 4}};
    char name[64];
    for (size_t i = 0; i < n_blocks; i++)
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            const size_t rows = parts[p].rows * width, cols = parts[p].cols * width;
            snprintf(name, sizeof name, "blocks.%zu.%s", i, parts[p].name);
            strait_arch_matrix(b, name, "Linear", rows, cols,
                               strait_arch_product_flop(1, rows, cols));
        }
}

int strait_inferred_model(struct strait_model **out, size_t n_params, size_t n_blocks,
                          size_t vocabulary, struct strait_error *err)
{
    struct strait_builder b;
    char name[64], count[32];
    const size_t blocks = n_blocks > 0 ? n_blocks : blocks_of((double)n_params);
    const size_t width = width_of((double)n_params, (double)blocks, (double)vocabulary);
    const size_t in_blocks = BLOCK_WIDTHS * blocks * width * width;
    *out = NULL;
    if (in_blocks + 2 * width > n_params)
        return strait_refuse(err, NULL, "expected at most %zu layers for %zu parameters, found %zu",
                             n_params / (2 * BLOCK_WIDTHS), n_params, blocks);
    const size_t rows = (n_params - in_blocks) / width - 1;
    const size_t norm = n_params - in_blocks - rows * width;
    strait_quantity_format(count, sizeof count, STRAIT_UNIT_COUNT, (double)n_params);
    snprintf(name, sizeof name, "transformer, %s", count);
    strait_build_init(&b, name);
    strait_arch_matrix(&b, "embedding", "Embedding", rows, width, 0);
    add_blocks(&b, blocks, width);
    strait_build_layer(&b, "norm", "RMSNorm", strait_arch_product_flop(1, rows, width));
    strait_build_param(&b, "weight", 1, &norm);
    if (strait_build_finish(out, &b, err) != 0)
        return -1;
    snprintf((*out)->inferred, sizeof(*out)->inferred,
             "layers are inferred from %s parameters: %zu transformer blocks of width %zu, an "
             "embedding of %zu rows",
             count, blocks, width, rows);
    return strait_model_set_source(*out, (*out)->inferred, err);
}
