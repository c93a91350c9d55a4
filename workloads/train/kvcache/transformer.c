#include "transformer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

enum {
    WIDTH = STRAIT_GPT_WIDTH,
    HEAD = WIDTH / STRAIT_GPT_HEADS,
    HIDDEN = STRAIT_GPT_HIDDEN,
    BLOCK = 2 * WIDTH + 3 * WIDTH * WIDTH + WIDTH * WIDTH + 2 * WIDTH * HIDDEN + HIDDEN,
    ALL = (STRAIT_GPT_WORDS + STRAIT_GPT_POSITIONS) * WIDTH + STRAIT_GPT_BLOCKS * BLOCK,
    STEP = 200
};
static const double DEFAULT_RMS = 0.02; /* GPT-2's initialisation */

/* --- parameters ------------------------------------------------------------------------------ */

static const struct strait_recording *find(const struct strait_tensors *t, const char *layer,
                                           size_t n_elems)
{
    const struct strait_recording *r = strait_tensors_find(t, "gpt", layer, "param", STEP);
    return r && r->n_elems == n_elems ? r : NULL;
}

/* A recorded parameter of this kind in any block; NULL: none. */
static const struct strait_recording *find_alike(const struct strait_tensors *t, const char *name,
                                                 size_t n_elems)
{
    const struct strait_recording *r = NULL;
    char layer[128];
    for (int b = 0; b < STRAIT_GPT_BLOCKS && !r; b++) {
        snprintf(layer, sizeof(layer), "blocks.%d.%s", b, name);
        r = find(t, layer, n_elems);
    }
    return r;
}

static double rms_of(const struct strait_recording *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n_elems; i++)
        sum += (double)r->values[i] * (double)r->values[i];
    return sqrt(sum / (double)r->n_elems);
}

/* Normal numbers by Box and Muller, one of each pair. */
static void draw(float *x, size_t n, double rms, uint64_t seed, const char *layer)
{
    struct strait_sequence s = strait_sequence_at(strait_random_bits(seed, layer, 0, 0));
    for (size_t i = 0; i < n; i++) {
        const double radius = sqrt(-2 * log(1 - strait_sequence_unit(&s)));
        x[i] = (float)(rms * radius * cos(2 * acos(-1.0) * strait_sequence_unit(&s)));
    }
}

struct filling {
    struct strait_transformer *t;
    const struct strait_tensors *recorded;
    uint64_t seed;
    float *next;
    size_t n_recorded;
};

/* Fill the next values: [out][in] as recorded becomes [in][out]; n_in 1: unchanged. */
static float *take(struct filling *f, const char *layer, const char *name, size_t n_in,
                   size_t n_out, double otherwise)
{
    float *x = f->next;
    const size_t n = n_in * n_out;
    const struct strait_recording *r = find(f->recorded, layer, n);
    f->next += n;
    if (r) {
        for (size_t o = 0; o < n_out; o++)
            for (size_t i = 0; i < n_in; i++)
                x[i * n_out + o] = r->values[o * n_in + i];
        f->n_recorded += n;
        return x;
    }
    const struct strait_recording *alike = name ? find_alike(f->recorded, name, n) : NULL;
    if (n_in > 1 || !name)
        draw(x, n, alike ? rms_of(alike) : DEFAULT_RMS, f->seed, layer);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = (float)otherwise;
    return x;
}

static float *take_of_block(struct filling *f, int block, const char *name, size_t n_in,
                            size_t n_out, double otherwise)
{
    char layer[128];
    snprintf(layer, sizeof(layer), "blocks.%d.%s", block, name);
    return take(f, layer, name, n_in, n_out, otherwise);
}

int strait_transformer_new(struct strait_transformer **out, const struct strait_tensors *recorded,
                           uint64_t seed, struct strait_error *err)
{
    struct strait_transformer *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (t)
        t->memory = malloc(ALL * sizeof(*t->memory));
    if (!t || !t->memory) {
        free(t);
        return strait_error_memory(err, "transformer");
    }
    struct filling f = {t, recorded, seed, t->memory, 0};
    t->words = take(&f, "head.weight", NULL, 1, (size_t)STRAIT_GPT_WORDS * WIDTH, 0);
    t->positions = take(&f, "pos.weight", NULL, 1, (size_t)STRAIT_GPT_POSITIONS * WIDTH, 0);
    for (int b = 0; b < STRAIT_GPT_BLOCKS; b++) {
        struct strait_block *block = &t->blocks[b];
        block->scale_1 = take_of_block(&f, b, "ln1.weight", 1, WIDTH, 1);
        block->qkv = take_of_block(&f, b, "qkv.weight", WIDTH, 3 * WIDTH, 0);
        block->proj = take_of_block(&f, b, "proj.weight", WIDTH, WIDTH, 0);
        block->scale_2 = take_of_block(&f, b, "ln2.weight", 1, WIDTH, 1);
        block->fc = take_of_block(&f, b, "fc.weight", WIDTH, HIDDEN, 0);
        block->fc_bias = take_of_block(&f, b, "fc.bias", 1, HIDDEN, 0);
        block->out = take_of_block(&f, b, "out.weight", HIDDEN, WIDTH, 0);
    }
    t->recorded_ratio = (double)f.n_recorded / ALL;
    *out = t;
    return 0;
}

void strait_transformer_free(struct strait_transformer *t)
{
    if (!t)
        return;
    free(t->memory);
    free(t);
}

/* --- forward --------------------------------------------------------------------------------- */

/* y[n][n_out] += x[n][n_in] w. Four tokens at a time share each read of w, and the innermost loop
 * carries no sum, so that compilers vectorise it. */
static void multiply(float *restrict y, const float *restrict x, const float *restrict w, size_t n,
                     size_t n_in, size_t n_out)
{
    for (size_t t = 0; t < n; t += 4) {
        const size_t some = n - t < 4 ? n - t : 4;
        for (size_t i = 0; i < n_in; i++) {
            const float *row = w + i * n_out;
            if (some < 4) {
                for (size_t k = t; k < n; k++)
                    for (size_t j = 0; j < n_out; j++)
                        y[k * n_out + j] += x[k * n_in + i] * row[j];
                continue;
            }
            const float *from = x + t * n_in + i;
            const float a = from[0], b = from[n_in], c = from[2 * n_in], d = from[3 * n_in];
            float *to = y + t * n_out;
            for (size_t j = 0; j < n_out; j++) {
                to[j] += a * row[j];
                to[n_out + j] += b * row[j];
                to[2 * n_out + j] += c * row[j];
                to[3 * n_out + j] += d * row[j];
            }
        }
    }
}

static void normalise(float *y, const float *x, const float *scale, size_t n)
{
    for (size_t t = 0; t < n; t++, x += WIDTH, y += WIDTH) {
        double mean = 0, variance = 0;
        for (int j = 0; j < WIDTH; j++)
            mean += (double)x[j] / WIDTH;
        for (int j = 0; j < WIDTH; j++)
            variance += ((double)x[j] - mean) * ((double)x[j] - mean) / WIDTH;
        const double over = 1 / sqrt(variance + 1e-5);
        for (int j = 0; j < WIDTH; j++)
            y[j] = (float)(((double)x[j] - mean) * over * (double)scale[j]);
    }
}

static float gelu(float x)
{
    return 0.5f * x * (1 + erff(x * (float)sqrt(0.5)));
}

/* Rearrange one third of [token][3 width] by heads: [head][token][HEAD]. */
static void by_heads(float *out, const float *qkv, int third, size_t n)
{
    for (size_t t = 0; t < n; t++)
        for (int j = 0; j < WIDTH; j++)
            out[((size_t)(j / HEAD) * n + t) * HEAD + (size_t)(j % HEAD)] =
                qkv[t * 3 * WIDTH + (size_t)(third * WIDTH + j)];
}

/* y[token][width] of one layer of the cache. */
static void attend(float *y, float *scores, const struct strait_cache *c, size_t layer)
{
    for (size_t h = 0; h < c->n_heads; h++) {
        const size_t at = strait_cache_at(c, layer, h, 0);
        for (size_t t = 0; t < c->n_tokens; t++) {
            strait_attention_scores(scores, c->keys + at, c->queries + at + t * HEAD, t + 1, HEAD);
            strait_attention_output(y + t * WIDTH + h * HEAD, scores, c->values + at, NULL, 0,
                                    t + 1, HEAD);
        }
    }
}

struct room {
    float *x, *normal, *before, *qkv, *mixed, *hidden, *scores;
};

/* Keys, values and queries of a layer; also queries computed from the previous layer's input. */
static void fill_layer(struct strait_cache *c, const struct strait_block *b, size_t layer,
                       struct room *m)
{
    const size_t n = c->n_tokens, at = strait_cache_at(c, layer, 0, 0);
    float *last = m->before;
    m->before = m->normal;
    m->normal = last;
    normalise(m->normal, m->x, b->scale_1, n);
    memset(m->qkv, 0, n * 3 * WIDTH * sizeof(*m->qkv));
    multiply(m->qkv, layer > 0 ? m->before : m->normal, b->qkv, n, WIDTH, 3 * WIDTH);
    by_heads(c->early_queries + at, m->qkv, 0, n);
    memset(m->qkv, 0, n * 3 * WIDTH * sizeof(*m->qkv));
    multiply(m->qkv, m->normal, b->qkv, n, WIDTH, 3 * WIDTH);
    by_heads(c->queries + at, m->qkv, 0, n);
    by_heads(c->keys + at, m->qkv, 1, n);
    by_heads(c->values + at, m->qkv, 2, n);
}

static void finish_layer(const struct strait_cache *c, const struct strait_block *b, size_t layer,
                         struct room *m)
{
    const size_t n = c->n_tokens;
    attend(m->mixed, m->scores, c, layer);
    multiply(m->x, m->mixed, b->proj, n, WIDTH, WIDTH);
    normalise(m->mixed, m->x, b->scale_2, n);
    for (size_t t = 0; t < n; t++)
        memcpy(m->hidden + t * HIDDEN, b->fc_bias, HIDDEN * sizeof(*m->hidden));
    multiply(m->hidden, m->mixed, b->fc, n, WIDTH, HIDDEN);
    for (size_t i = 0; i < n * HIDDEN; i++)
        m->hidden[i] = gelu(m->hidden[i]);
    multiply(m->x, m->hidden, b->out, n, HIDDEN, WIDTH);
}

static void embed(float *x, const struct strait_transformer *t, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++, x += WIDTH) {
        const size_t word =
            (size_t)(strait_random_unit(seed, "word", (uint64_t)i, 0) * STRAIT_GPT_WORDS);
        for (int j = 0; j < WIDTH; j++)
            x[j] = t->words[word * WIDTH + (size_t)j] +
                   t->positions[i % STRAIT_GPT_POSITIONS * WIDTH + (size_t)j];
    }
}

int strait_transformer_run(struct strait_cache *out, const struct strait_transformer *t,
                           size_t n_tokens, uint64_t seed, struct strait_error *err)
{
    const size_t n = n_tokens;
    if (strait_cache_init(out, STRAIT_GPT_BLOCKS, STRAIT_GPT_HEADS, HEAD, n, err) != 0)
        return -1;
    float *memory = malloc((n * (4 * WIDTH + 3 * WIDTH + HIDDEN) + n + 1) * sizeof(*memory));
    if (!memory)
        return strait_error_memory(err, "transformer");
    struct room m = {.x = memory};
    m.normal = m.x + n * WIDTH;
    m.before = m.normal + n * WIDTH;
    m.mixed = m.before + n * WIDTH;
    m.qkv = m.mixed + n * WIDTH;
    m.hidden = m.qkv + n * 3 * WIDTH;
    m.scores = m.hidden + n * HIDDEN;
    embed(m.x, t, n, seed);
    for (size_t layer = 0; layer < STRAIT_GPT_BLOCKS; layer++) {
        fill_layer(out, &t->blocks[layer], layer, &m);
        if (layer + 1 < STRAIT_GPT_BLOCKS) /* the output after the last keys is not needed */
            finish_layer(out, &t->blocks[layer], layer, &m);
    }
    free(memory);
    return 0;
}
