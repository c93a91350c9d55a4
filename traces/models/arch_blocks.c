/* Llama and ViT as Hugging Face builds them. */
#include <stdio.h>
#include "arch_tokens.h"

/* A matrix [out x in] with or without a bias, for so many tokens a sample. */
static void linear(struct strait_builder *b, const char *layer, const char *part, size_t in,
                   size_t out, bool bias, size_t n_tokens, double more_flop)
{
    const double flop = strait_arch_product_flop(n_tokens, in, out) + more_flop;
    char name[96];
    snprintf(name, sizeof name, "%s%s", layer, part);
    strait_arch_matrix(b, name, "Linear", out, in, flop);
    if (bias)
        strait_build_param(b, "bias", 1, &out);
}

static void rms_norm(struct strait_builder *b, const char *layer, const char *part, size_t width)
{
    char name[96];
    snprintf(name, sizeof name, "%s%s", layer, part);
    strait_build_layer(b, name, "RMSNorm", 0);
    strait_build_param(b, "weight", 1, &width);
}

void strait_arch_llama(struct strait_builder *b, const struct strait_transformer *t)
{
    const size_t n = t->n_tokens, width = t->width;
    const double head = strait_arch_product_flop(n, width, t->vocabulary);
    char layer[48];
    strait_arch_matrix(b, "embed_tokens", "Embedding", t->vocabulary, width, 0);
    for (size_t i = 0; i < t->n_blocks; i++) {
        snprintf(layer, sizeof layer, "layers.%zu.", i);
        rms_norm(b, layer, "input_layernorm", width);
        linear(b, layer, "self_attn.q_proj", width, t->query_width, t->attention_bias, n, 0);
        linear(b, layer, "self_attn.k_proj", width, t->key_width, t->attention_bias, n, 0);
        linear(b, layer, "self_attn.v_proj", width, t->key_width, t->attention_bias, n,
               strait_arch_attention_flop(n, t->query_width));
        linear(b, layer, "self_attn.o_proj", t->query_width, width, t->attention_bias, n, 0);
        rms_norm(b, layer, "post_attention_layernorm", width);
        linear(b, layer, "mlp.gate_proj", width, t->inner, t->mlp_bias, n, 0);
        linear(b, layer, "mlp.up_proj", width, t->inner, t->mlp_bias, n, 0);
        linear(b, layer, "mlp.down_proj", t->inner, width, t->mlp_bias, n, 0);
    }
    strait_build_layer(b, "norm", "RMSNorm", t->tied ? head : 0);
    strait_build_param(b, "weight", 1, &width);
    if (!t->tied)
        linear(b, "", "lm_head", width, t->vocabulary, false, n, 0);
}

static void vit_block(struct strait_builder *b, size_t i, const struct strait_transformer *t)
{
    const size_t n = t->n_tokens, width = t->width;
    char layer[48], name[96];
    snprintf(layer, sizeof layer, "encoder.layer.%zu.", i);
    snprintf(name, sizeof name, "%slayernorm_before", layer);
    strait_arch_layer_norm(b, name, width, 0);
    linear(b, layer, "attention.attention.query", width, width, t->attention_bias, n, 0);
    linear(b, layer, "attention.attention.key", width, width, t->attention_bias, n, 0);
    linear(b, layer, "attention.attention.value", width, width, t->attention_bias, n,
           strait_arch_attention_flop(n, width));
    linear(b, layer, "attention.output.dense", width, width, true, n, 0);
    snprintf(name, sizeof name, "%slayernorm_after", layer);
    strait_arch_layer_norm(b, name, width, 0);
    linear(b, layer, "intermediate.dense", width, t->inner, true, n, 0);
    linear(b, layer, "output.dense", t->inner, width, true, n, 0);
}

void strait_arch_vit(struct strait_builder *b, const struct strait_transformer *t)
{
    const size_t width = t->width, side = t->image / t->patch, token[] = {1, 1, width};
    const size_t positions[] = {1, side * side + 1, width};
    const size_t kernel[] = {width, t->n_channels, t->patch, t->patch};
    strait_build_layer(b, "embeddings", "Parameter", 0);
    strait_build_param(b, "cls_token", 3, token);
    strait_build_param(b, "position_embeddings", 3, positions);
    strait_build_layer(
        b, "embeddings.patch_embeddings.projection", "Conv2d",
        strait_arch_product_flop(side * side, t->n_channels * t->patch * t->patch, width));
    strait_build_param(b, "weight", 4, kernel);
    strait_build_param(b, "bias", 1, &width);
    for (size_t i = 0; i < t->n_blocks; i++)
        vit_block(b, i, t);
    strait_arch_layer_norm(b, "layernorm", width, 0);
    linear(b, "", t->n_labels > 0 ? "classifier" : "pooler.dense", width,
           t->n_labels > 0 ? t->n_labels : width, true, 1, 0);
}
