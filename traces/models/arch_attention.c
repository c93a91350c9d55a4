/* GPT-2, BERT and ViT as Hugging Face and torchvision build them. */
#include <stdio.h>
#include "arch_tokens.h"
#include "architectures.h"

void strait_arch_gpt2(struct strait_builder *b, const struct strait_transformer *t)
{
    const size_t width = t->width, n_tokens = t->n_tokens;
    const double head = strait_arch_product_flop(n_tokens, width, t->vocabulary);
    char name[64];
    strait_arch_matrix(b, "wte", "Embedding", t->vocabulary, width, 0);
    strait_arch_matrix(b, "wpe", "Embedding", t->n_positions, width, 0);
    for (size_t i = 0; i < t->n_blocks; i++) {
        snprintf(name, sizeof name, "h.%zu.ln_1", i);
        strait_arch_layer_norm(b, name, width, 0);
        snprintf(name, sizeof name, "h.%zu.attn.c_attn", i);
        strait_arch_affine(b, name, "Conv1D", width, 3 * width, 3 * width,
                           strait_arch_product_flop(n_tokens, width, 3 * width) +
                               strait_arch_attention_flop(n_tokens, width));
        snprintf(name, sizeof name, "h.%zu.attn.c_proj", i);
        strait_arch_affine(b, name, "Conv1D", width, width, width,
                           strait_arch_product_flop(n_tokens, width, width));
        snprintf(name, sizeof name, "h.%zu.ln_2", i);
        strait_arch_layer_norm(b, name, width, 0);
        snprintf(name, sizeof name, "h.%zu.mlp.c_fc", i);
        strait_arch_affine(b, name, "Conv1D", width, t->inner, t->inner,
                           strait_arch_product_flop(n_tokens, width, t->inner));
        snprintf(name, sizeof name, "h.%zu.mlp.c_proj", i);
        strait_arch_affine(b, name, "Conv1D", t->inner, width, width,
                           strait_arch_product_flop(n_tokens, t->inner, width));
    }
    /* An output head that shares wte's weights: its product comes right after this layer, its
     * gradient is complete only when backward has reached wte. */
    strait_arch_layer_norm(b, "ln_f", width, t->tied ? head : 0);
    if (!t->tied)
        strait_arch_matrix(b, "lm_head", "Linear", t->vocabulary, width, head);
}

void strait_arch_gpt2_small(struct strait_builder *b)
{
    strait_arch_gpt2(b, &(struct strait_transformer){.n_blocks = 12,
                                                     .width = 768,
                                                     .inner = 3072,
                                                     .vocabulary = 50257,
                                                     .n_positions = 1024,
                                                     .n_tokens = 1024,
                                                     .tied = true});
}

static void bert_block(struct strait_builder *b, size_t i, const struct strait_transformer *t)
{
    static const char *const projections[] = {"query", "key", "value"};
    const size_t width = t->width, wide = t->inner, n_tokens = t->n_tokens;
    char name[96];
    for (unsigned p = 0; p < 3; p++) {
        snprintf(name, sizeof name, "encoder.layer.%zu.attention.self.%s", i, projections[p]);
        strait_arch_affine(b, name, "Linear", width, width, width,
                           strait_arch_product_flop(n_tokens, width, width) +
                               (p == 2 ? strait_arch_attention_flop(n_tokens, width) : 0));
    }
    snprintf(name, sizeof name, "encoder.layer.%zu.attention.output.dense", i);
    strait_arch_affine(b, name, "Linear", width, width, width,
                       strait_arch_product_flop(n_tokens, width, width));
    snprintf(name, sizeof name, "encoder.layer.%zu.attention.output.LayerNorm", i);
    strait_arch_layer_norm(b, name, width, 0);
    snprintf(name, sizeof name, "encoder.layer.%zu.intermediate.dense", i);
    strait_arch_affine(b, name, "Linear", wide, width, wide,
                       strait_arch_product_flop(n_tokens, width, wide));
    snprintf(name, sizeof name, "encoder.layer.%zu.output.dense", i);
    strait_arch_affine(b, name, "Linear", width, wide, width,
                       strait_arch_product_flop(n_tokens, wide, width));
    snprintf(name, sizeof name, "encoder.layer.%zu.output.LayerNorm", i);
    strait_arch_layer_norm(b, name, width, 0);
}

void strait_arch_bert(struct strait_builder *b, const struct strait_transformer *t)
{
    const size_t width = t->width;
    strait_arch_matrix(b, "embeddings.word_embeddings", "Embedding", t->vocabulary, width, 0);
    strait_arch_matrix(b, "embeddings.position_embeddings", "Embedding", t->n_positions, width, 0);
    strait_arch_matrix(b, "embeddings.token_type_embeddings", "Embedding", t->n_segments, width, 0);
    strait_arch_layer_norm(b, "embeddings.LayerNorm", width, 0);
    for (size_t i = 0; i < t->n_blocks; i++)
        bert_block(b, i, t);
    strait_arch_affine(b, "pooler.dense", "Linear", width, width, width,
                       strait_arch_product_flop(1, width, width));
}

static void bert(struct strait_builder *b, size_t n_blocks, size_t width)
{
    strait_arch_bert(b, &(struct strait_transformer){.n_blocks = n_blocks,
                                                     .width = width,
                                                     .inner = 4 * width,
                                                     .vocabulary = 30522,
                                                     .n_positions = 512,
                                                     .n_tokens = 512,
                                                     .n_segments = 2});
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
    strait_build_layer(b, "conv_proj", "Conv2d",
                       strait_arch_product_flop(PATCHES, 3 * PATCH * PATCH, WIDTH));
    strait_build_param(b, "weight", 4, kernel);
    strait_build_param(b, "bias", 1, &width);
    strait_build_layer(b, "class_token", "Parameter", 0);
    strait_build_param(b, "class_token", 3, token);
    strait_build_layer(b, "encoder", "Parameter", 0);
    strait_build_param(b, "pos_embedding", 3, positions);
    for (unsigned i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.ln_1", i);
        strait_arch_layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.self_attention", i);
        strait_build_layer(b, name, "MultiheadAttention",
                           strait_arch_product_flop(TOKENS, WIDTH, 4 * WIDTH) +
                               strait_arch_attention_flop(TOKENS, WIDTH));
        strait_build_param(b, "in_proj_weight", 2, in_projection);
        strait_build_param(b, "in_proj_bias", 1, &three);
        strait_build_param(b, "out_proj.weight", 2, out_projection);
        strait_build_param(b, "out_proj.bias", 1, &width);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.ln_2", i);
        strait_arch_layer_norm(b, name, WIDTH, 0);
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.mlp.0", i);
        strait_arch_affine(b, name, "Linear", 4 * WIDTH, WIDTH, 4 * WIDTH,
                           strait_arch_product_flop(TOKENS, WIDTH, 4 * WIDTH));
        snprintf(name, sizeof name, "encoder.layers.encoder_layer_%u.mlp.3", i);
        strait_arch_affine(b, name, "Linear", WIDTH, 4 * WIDTH, WIDTH,
                           strait_arch_product_flop(TOKENS, 4 * WIDTH, WIDTH));
    }
    strait_arch_layer_norm(b, "encoder.ln", WIDTH, 0);
    strait_arch_affine(b, "heads.head", "Linear", 1000, WIDTH, 1000,
                       strait_arch_product_flop(1, WIDTH, 1000));
}
