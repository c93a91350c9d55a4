/* Models from the config.json that Hugging Face keeps beside their weights. */
#pragma once
#include "model_build.h"

/** Build the layers of a config.json: GPT-2, Llama (Mistral too), BERT and ViT, as the library
 *  itself builds them, so that parameter counts are exact.
 *  - gpt2: GPT2LMHeadModel; the head shares the embedding's weights unless tie_word_embeddings is
 *    false
 *  - llama, mistral: LlamaForCausalLM; the head has weights of its own unless tie_word_embeddings
 *    is true
 *  - bert: BertModel with its pooler, without the head of a task
 *  - vit: ViTForImageClassification where "architectures" says so, with a class for each entry of
 *    id2label (2 without); else ViTModel with its pooler
 *  Out:     out       times are 0, FLOPs are those of n_tokens a sample
 *  In:      path      of the config.json
 *           n_tokens  of a sample; 0: as many as the model has positions. ViT's follow from its
 *                     image
 *  Returns: 0, or -1 with *err INPUT naming the file and the key */
int strait_hf_config_load(struct strait_model **out, const char *path, size_t n_tokens,
                          struct strait_error *err);
