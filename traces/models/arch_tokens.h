/* Parts of models that work on tokens: matrices, normalisation and attention.
 *
 * FLOPs are those of matrix products, 2 a multiply-add, for one sample forward. The products of
 * attention itself (queries with keys, weights with values) have no parameters; they are counted
 * with the layer that makes the values, which backward reaches right after them. */
#pragma once
#include "model_build.h"

/* A model of equal blocks, as its config.json says it; unused sizes are 0. */
struct strait_transformer {
    size_t n_blocks, width, inner;             /* inner: width between the matrices of the MLP */
    size_t vocabulary, n_positions, n_tokens;  /* n_tokens: of a sample, for FLOPs */
    size_t n_segments;                         /* BERT's token types */
    size_t query_width, key_width;             /* Llama: heads x width of one */
    bool tied;                                 /* the head shares the embedding's weights */
    bool attention_bias, mlp_bias;             /* Llama, ViT */
    size_t image, patch, n_channels, n_labels; /* ViT; n_labels 0: a pooler in place of the head */
};

double strait_arch_product_flop(size_t n_tokens, size_t in, size_t out);
/** Queries with keys and weights with values: n_tokens x n_tokens x width multiply-adds each. */
double strait_arch_attention_flop(size_t n_tokens, size_t width);
void strait_arch_matrix(struct strait_builder *b, const char *name, const char *type, size_t rows,
                        size_t cols, double flop);
/** weight[rows x cols] and bias[out]; Hugging Face's Conv1D stores its weight as in x out. */
void strait_arch_affine(struct strait_builder *b, const char *name, const char *type, size_t rows,
                        size_t cols, size_t out, double flop);
void strait_arch_layer_norm(struct strait_builder *b, const char *name, size_t width, double flop);

/* arch_attention.c, arch_blocks.c */
void strait_arch_gpt2(struct strait_builder *b, const struct strait_transformer *t);
void strait_arch_bert(struct strait_builder *b, const struct strait_transformer *t);
void strait_arch_llama(struct strait_builder *b, const struct strait_transformer *t);
void strait_arch_vit(struct strait_builder *b, const struct strait_transformer *t);
