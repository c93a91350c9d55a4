/* The task char-transformer, for who evaluates its attention in other ways. */
#pragma once
#include "learn.h"
#include "learn/layers/gpt.h"

const struct learn_gpt *strait_char_transformer_shape(const struct strait_learn *l);
/** The words of n examples, context + 1 each. */
void strait_char_transformer_words(const struct strait_learn *l, unsigned char *words,
                                   const uint32_t *examples, size_t n, bool held_out);
long strait_char_transformer_held_out(const struct strait_learn *l);
