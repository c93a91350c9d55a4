/* GPT-2, BERT and ViT as Hugging Face and torchvision build them.
 *
 * FLOPs are those of matrix products, 2 a multiply-add, for one sample forward. The products of
 * attention itself (queries with keys, weights with values) have no parameters; they are counted
 * with the layer that makes the values, which backward reaches right after them. */
#include <stdio.h>
#include "architectures.h"

static double product_flop(size_t n_tokens, size_t in, size_t out)
{
    return 2.0 * (double)n_tokens * (double)in * (double)out;
}

/* FLOPs of queries with keys and weights with values: n_tokens x n_tokens x width multiply-adds
 * each. */
static double attention_flop(size_t n_tokens, size_t width)
{
    return 2 * product_flop(n_tokens, n_tokens, width);
}

static void matrix(struct strait_builder *b, const char *name, const char *type, size_t rows,
                   size_t cols, double flop)
{
    const size_t shape[] = {rows, cols};
    strait_build_layer(b, name, type, flop);
    strait_build_param(b, "weight", 2, shape);
}

/* weight[rows x cols] and bias[out]; Hugging Face's Conv1D stores its weight as in x out. */
static void linear(struct strait_builder *b, const char *name, const char *type, size_t rows,
                   size_t cols, size_t out, double flop)
{
    matrix(b, name, type, rows, cols, flop);
    strait_build_param(b, "bias", 1, &out);
}

static void layer_norm(struct strait_builder *b, const char *name, size_t width, double flop)
{
    strait_build_layer(b, name, "LayerNorm", flop);
    strait_build_param(b, "weight", 1, &width);
    strait_build_param(b, "bias", 1, &width);
}

void strait_arch_gpt2_small(struct strait_builder *b)
{
    enum { WIDTH = 768, VOCABULARY = 50257, TOKENS = 1024, BLOCKS = 12 };
    char name[64];
    matrix(b, "wte", "Embedding", VOCABULARY, WIDTH, 0);
    matrix(b, "wpe", "Embedding", TOKENS, WIDTH, 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "h.%u.ln_1", i);
        layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "h.%u.attn.c_attn", i);
        linear(b, name, "Conv1D", WIDTH, 3 * WIDTH, 3 * WIDTH,
               product_flop(TOKENS, WIDTH, 3 * WIDTH) + attention_flop(TOKENS, WIDTH));
        snprintf(name, sizeof name, "h.%u.attn.c_proj", i);
        linear(b, name, "Conv1D", WIDTH, WIDTH, WIDTH, product_flop(TOKENS, WIDTH, WIDTH));
        snprintf(name, sizeof name, "h.%u.ln_2", i);
        layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "h.%u.mlp.c_fc", i);
        linear(b, name, "Conv1D", WIDTH, 4 * WIDTH, 4 * WIDTH,
               product_flop(TOKENS, WIDTH, 4 * WIDTH));
        snprintf(name, sizeof name, "h.%u.mlp.c_proj", i);
        linear(b, name, "Conv1D", 4 * WIDTH, WIDTH, WIDTH, product_flop(TOKENS, 4 * WIDTH, WIDTH));
    }
    /* The output head shares wte's weights: its product comes right after this layer, its gradient
     * is complete only when backward has reached wte. */
    layer_norm(b, "ln_f", WIDTH, product_flop(TOKENS, WIDTH, VOCABULARY));
}

static void bert_block(struct strait_builder *b, unsigned i, size_t width, size_t n_tokens)
{
    static const char *const projections[] = {"query", "key", "value"};
    const size_t wide = 4 * width;
    char name[96];
    for (unsigned p = 0; p < 3; p++) {
        snprintf(name, sizeof name, "encoder.layer.%u.attention.self.%s", i, projections[p]);
        linear(b, name, "Linear", width, width, width,
               product_flop(n_tokens, width, width) +
                   (p == 2 ? attention_flop(n_tokens, width) : 0));
    }
    snprintf(name, sizeof name, "encoder.layer.%u.attention.output.dense", i);
    linear(b, name, "Linear", width, width, width, product_flop(n_tokens, width, width));
    snprintf(name, sizeof name, "encoder.layer.%u.attention.output.LayerNorm", i);
    layer_norm(b, name, width, 0);
    snprintf(name, sizeof name, "encoder.layer.%u.intermediate.dense", i);
    linear(b, name, "Linear", wide, width, wide, product_flop(n_tokens, width, wide));
    snprintf(name, sizeof name, "encoder.layer.%u.output.dense", i);
    linear(b, name, "Linear", width, wide, width, product_flop(n_tokens, wide, width));
    snprintf(name, sizeof name, "encoder.layer.%u.output.LayerNorm", i);
    layer_norm(b, name, width, 0);
}

static void bert(struct strait_builder *b, unsigned n_blocks, size_t width)
{
    enum { VOCABULARY = 30522, TOKENS = 512, SEGMENTS = 2 };
    matrix(b, "embeddings.word_embeddings", "Embedding", VOCABULARY, width, 0);
    matrix(b, "embeddings.position_embeddings", "Embedding", TOKENS, width, 0);
    matrix(b, "embeddings.token_type_embeddings", "Embedding", SEGMENTS, width, 0);
    layer_norm(b, "embeddings.LayerNorm", width, 0);
    for (unsigned i = 0; i < n_blocks; i++)
        bert_block(b, i, width, TOKENS);
    linear(b, "pooler.dense", "Linear", width, width, width, product_flop(1, width, width));
}

void strait_arch_bert_base(struct strait_builder *b)
{
    bert(b, 12, 768);
}

void strait_arch_bert_large(struct strait_builder *b)
{
    bert(b, 24, 1024);
}

void strait_arch_vit_b16(struct strait_builder *b)
{
    enum { WIDTH = 768, PATCH = 16, PATCHES = 14 * 14, TOKENS = PATCHES + 1, BLOCKS = 12 };
    const size_t token[] = {1, 1, WIDTH}, kernel[] = {WIDTH, 3, PATCH, PATCH};
    const size_t positions[] = {1, TOKENS, WIDTH}, in_projection[] = {3 * WIDTH, WIDTH};
    const size_t width = WIDTH, three = 3 * WIDTH, out_projection[] = {WIDTH, WIDTH};
    char name[96];
    strait_build_layer(b, "conv_proj", "Conv2d", product_flop(PATCHES, 3 * PATCH * PATCH, WIDTH));
    strait_build_param(b, "weight", 4, kernel);
    strait_build_param(b, "bias", 1, &width);
    strait_build_layer(b, "class_token", "Parameter", 0);
    strait_build_param(b, "class_token", 3, token);
    strait_build_layer(b, "encoder", "Parameter", 0);
    strait_build_param(b, "pos_embedding", 3, positions);
    for (unsigned i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.ln_1", i);
        layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.self_attention", i);
        strait_build_layer(b, name, "MultiheadAttention",
                           product_flop(TOKENS, WIDTH, 4 * WIDTH) + attention_flop(TOKENS, WIDTH));
        strait_build_param(b, "in_proj_weight", 2, in_projection);
        strait_build_param(b, "in_proj_bias", 1, &three);
        strait_build_param(b, "out_proj.weight", 2, out_projection);
        strait_build_param(b, "out_proj.bias", 1, &width);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.ln_2", i);
        layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.mlp.0", i);
        linear(b, name, "Linear", 4 * WIDTH, WIDTH, 4 * WIDTH,
               product_flop(TOKENS, WIDTH, 4 * WIDTH));
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.mlp.3", i);
        linear(b, name, "Linear", WIDTH, 4 * WIDTH, WIDTH, product_flop(TOKENS, 4 * WIDTH, WIDTH));
    }
    layer_norm(b, "encoder.ln", WIDTH, 0);
    linear(b, "heads.head", "Linear", 1000, WIDTH, 1000, product_flop(1, WIDTH, 1000));
}
