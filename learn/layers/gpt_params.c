/* The parameters of a transformer: their order, shapes and first values. */
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/data/draws.h"

enum { HEADER_PARAMS = 2, BLOCK_PARAMS = 12 };

/* One block's parameters in its order. */
static const struct {
    const char *layer, *param, *type;
    unsigned rows, columns; /* in widths; columns 0: a vector */
    bool residual;          /* its output is added to the stream */
} block_params[BLOCK_PARAMS] = {
    {"ln1", "weight", "LayerNorm", 1, 0, false}, {"ln1", "bias", "LayerNorm", 1, 0, false},
    {"qkv", "weight", "Linear", 3, 1, false},    {"qkv", "bias", "Linear", 3, 0, false},
    {"proj", "weight", "Linear", 1, 1, true},    {"proj", "bias", "Linear", 1, 0, false},
    {"ln2", "weight", "LayerNorm", 1, 0, false}, {"ln2", "bias", "LayerNorm", 1, 0, false},
    {"fc", "weight", "Linear", 4, 1, false},     {"fc", "bias", "Linear", 4, 0, false},
    {"out", "weight", "Linear", 1, 4, true},     {"out", "bias", "Linear", 1, 0, false},
};

static struct learn_gpt_param param_of(const char *layer, const char *param, const char *type,
                                       size_t rows, size_t columns)
{
    struct learn_gpt_param p = {.param = param, .type = type, .shape = {rows, columns}};
    snprintf(p.layer, sizeof(p.layer), "%s", layer);
    return p;
}

static struct learn_gpt_param param_at(const struct learn_gpt *t, size_t i)
{
    const size_t d = t->width, in_blocks = i - HEADER_PARAMS;
    if (i == 0)
        return param_of("tok", "weight", "Embedding", t->words, d);
    if (i == 1)
        return param_of("pos", "weight", "Embedding", t->context, d);
    if (in_blocks < t->layers * BLOCK_PARAMS) {
        const size_t k = in_blocks % BLOCK_PARAMS;
        struct learn_gpt_param p = param_of("", block_params[k].param, block_params[k].type,
                                            block_params[k].rows * d, block_params[k].columns * d);
        snprintf(p.layer, sizeof(p.layer), "blocks.%zu.%s", in_blocks / BLOCK_PARAMS,
                 block_params[k].layer);
        return p;
    }
    switch (in_blocks - t->layers * BLOCK_PARAMS) {
    case 0:
        return param_of("ln_f", "weight", "LayerNorm", d, 0);
    case 1:
        return param_of("ln_f", "bias", "LayerNorm", d, 0);
    default:
        return param_of("head", "weight", "Linear", t->words, d);
    }
}

size_t learn_gpt_params(struct learn_gpt_param *out, const struct learn_gpt *t)
{
    const size_t n = HEADER_PARAMS + t->layers * BLOCK_PARAMS + (t->tied ? 2 : 3);
    for (size_t i = 0; out && i < n; i++)
        out[i] = param_at(t, i);
    return n;
}

static size_t elems_of(struct learn_gpt_param p)
{
    return p.shape[0] * (p.shape[1] ? p.shape[1] : 1);
}

size_t learn_gpt_n_elems(const struct learn_gpt *t)
{
    size_t sum = 0;
    for (size_t i = 0; i < learn_gpt_params(NULL, t); i++)
        sum += elems_of(param_at(t, i));
    return sum;
}

static double deviation_of(const struct learn_gpt *t, size_t i)
{
    const size_t k = i - HEADER_PARAMS;
    const bool residual = i >= HEADER_PARAMS && k < t->layers * BLOCK_PARAMS &&
                          block_params[k % BLOCK_PARAMS].residual;
    return residual ? 0.02 / sqrt(2 * (double)t->layers) : 0.02;
}

void learn_gpt_init(const struct learn_gpt *t, float *w, uint64_t seed)
{
    for (size_t i = 0; i < learn_gpt_params(NULL, t); i++) {
        const struct learn_gpt_param p = param_at(t, i);
        const size_t n = elems_of(p);
        struct strait_sequence s = strait_draws_at(seed, "initial weights", i, 0);
        const bool scale = strcmp(p.type, "LayerNorm") == 0 && strcmp(p.param, "weight") == 0;
        for (size_t j = 0; j < n; j++)
            w[j] = p.shape[1] ? (float)(deviation_of(t, i) * strait_draw_normal(&s))
                              : (scale ? 1.0f : 0.0f);
        w += n;
    }
}
