/* The task char-transformer, for who evaluates its attention in other ways. */
#pragma once
#include "network.h"
#include "learn/layers/gpt.h"

const struct learn_gpt *strait_char_transformer_shape(const struct strait_learn *l);
