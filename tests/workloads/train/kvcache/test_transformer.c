/* The small transformer against the same one in double precision, and where its parameters come
 * from. */
#include "workloads/train/kvcache/transformer.h"

#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "traces/tensors.h"
#include "tests/kit/suite.h"

enum {
    WIDTH = STRAIT_GPT_WIDTH,
    N_HEADS = STRAIT_GPT_HEADS,
    HEAD = WIDTH / N_HEADS,
    HIDDEN = STRAIT_GPT_HIDDEN
};

static struct strait_transformer *transformer(struct strait_tensors **recorded)
{
    struct strait_error err = {0};
    struct strait_transformer *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(recorded, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&t, *recorded, 7, &err), 0);
    return t;
}

/* y[n_out] = bias + W' x of one token, in double. */
static void linear(double *y, const double *x, const float *w, const float *bias, int n_in,
                   int n_out)
{
    for (int o = 0; o < n_out; o++) {
        y[o] = bias ? (double)bias[o] : 0;
        for (int i = 0; i < n_in; i++)
            y[o] += x[i] * (double)w[i * n_out + o];
    }
}

static void layer_norm(double *y, const double *x, const float *scale)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < WIDTH; i++)
        mean += x[i] / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        variance += (x[i] - mean) * (x[i] - mean) / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        y[i] = (x[i] - mean) / sqrt(variance + 1e-5) * (double)scale[i];
}

enum { FEW = 70 }; /* tokens: positions begin again after 64 */

/* Attention of token t over all up to it, head by head, from the textbook. */
static void mix(double *y, double (*qkv)[3 * WIDTH], int t)
{
    for (int h = 0; h < N_HEADS; h++) {
        double weights[FEW], sum = 0;
        for (int k = 0; k <= t; k++) {
            double score = 0;
            for (int j = h * HEAD; j < (h + 1) * HEAD; j++)
                score += qkv[t][j] * qkv[k][WIDTH + j];
            weights[k] = exp(score / sqrt(HEAD));
            sum += weights[k];
        }
        for (int j = h * HEAD; j < (h + 1) * HEAD; j++) {
            y[j] = 0;
            for (int k = 0; k <= t; k++)
                y[j] += weights[k] / sum * qkv[k][2 * WIDTH + j];
        }
    }
}

static void finish(double *x, double (*qkv)[3 * WIDTH], int t, const struct strait_block *b)
{
    static double y[WIDTH], more[WIDTH], hidden[HIDDEN];
    mix(y, qkv, t);
    linear(more, y, b->proj, NULL, WIDTH, WIDTH);
    for (int j = 0; j < WIDTH; j++)
        x[j] += more[j];
    layer_norm(y, x, b->scale_2);
    linear(hidden, y, b->fc, b->fc_bias, WIDTH, HIDDEN);
    for (int j = 0; j < HIDDEN; j++)
        hidden[j] *= 0.5 * (1 + erf(hidden[j] / sqrt(2)));
    linear(more, hidden, b->out, NULL, HIDDEN, WIDTH);
    for (int j = 0; j < WIDTH; j++)
        x[j] += more[j];
}

/* The largest difference of one layer's keys, values and queries, over their rms. */
static double difference(const struct strait_cache *c, size_t layer, double (*qkv)[3 * WIDTH],
                         double (*early)[3 * WIDTH])
{
    const float *const arrays[] = {c->queries, c->keys, c->values};
    double most = 0, squares = 0;
    for (int t = 0; t < FEW; t++)
        for (int j = 0; j < WIDTH; j++) {
            const size_t at =
                strait_cache_at(c, layer, (size_t)(j / HEAD), (size_t)t) + (size_t)(j % HEAD);
            for (int k = 0; k < 3; k++) {
                const double x = qkv[t][k * WIDTH + j];
                most = fmax(most, fabs((double)arrays[k][at] - x));
                squares += x * x / (3 * FEW * WIDTH);
            }
            most = fmax(most, fabs((double)c->early_queries[at] - early[t][j]));
        }
    return most / sqrt(squares);
}

/* Float sums of up to 768 products through four layers: 1e-7 x sqrt(768) x some. */
static void as_in_double(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded;
    struct strait_cache c;
    static double x[FEW][WIDTH], normal[FEW][WIDTH], qkv[FEW][3 * WIDTH], early[FEW][3 * WIDTH];
    struct strait_transformer *t = transformer(&recorded);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_run(&c, t, FEW, 5, &err), 0);
    for (int i = 0; i < FEW; i++) {
        const int word = (int)(strait_random_unit(5, "word", (uint64_t)i, 0) * STRAIT_GPT_WORDS);
        for (int j = 0; j < WIDTH; j++)
            x[i][j] = (double)t->words[word * WIDTH + j] +
                      (double)t->positions[i % STRAIT_GPT_POSITIONS * WIDTH + j];
    }
    for (size_t layer = 0; layer < STRAIT_GPT_BLOCKS; layer++) {
        const struct strait_block *b = &t->blocks[layer];
        for (int i = 0; i < FEW; i++) {
            if (layer > 0)
                linear(early[i], normal[i], b->qkv, NULL, WIDTH, 3 * WIDTH);
            layer_norm(normal[i], x[i], b->scale_1);
            linear(qkv[i], normal[i], b->qkv, NULL, WIDTH, 3 * WIDTH);
        }
        CU_ASSERT(difference(&c, layer, qkv, layer > 0 ? early : qkv) < 2e-5);
        for (int i = 0; i < FEW; i++)
            finish(x[i], qkv, i, b);
    }
    strait_cache_release(&c);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

/* Words, positions, the first block's attention and scale, the third's network, the last one's
 * output, of 1,769,472 of blocks and 602,112 before them. What is not recorded has the rms of what
 * is, or 0.02, and follows the seed. */
static void parameters(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded, none = {0};
    struct strait_transformer *t = transformer(&recorded), *drawn;
    const struct strait_recording *qkv =
        strait_tensors_find(recorded, "gpt", "blocks.0.qkv.weight", "param", 200);
    CU_ASSERT_EQUAL(t->blocks[0].qkv[1], qkv->values[WIDTH]); /* output 1 of input 0 */
    CU_ASSERT_EQUAL(t->blocks[0].qkv[3 * WIDTH], qkv->values[1]);
    double squares = 0;
    for (int i = 0; i < 3 * WIDTH * WIDTH; i++)
        squares += (double)t->blocks[1].qkv[i] * (double)t->blocks[1].qkv[i];
    CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / (3 * WIDTH * WIDTH)), qkv->rms, 0.02 * qkv->rms);
    const double n_recorded = (STRAIT_GPT_WORDS + STRAIT_GPT_POSITIONS) * WIDTH + WIDTH +
                              3 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + HIDDEN;
    const double n = (STRAIT_GPT_WORDS + STRAIT_GPT_POSITIONS) * WIDTH +
                     4.0 * (2 * WIDTH + 4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + HIDDEN);
    CU_ASSERT_DOUBLE_EQUAL(t->recorded_ratio, n_recorded / n, 1e-12);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&drawn, &none, 7, &err), 0);
    CU_ASSERT_EQUAL(drawn->recorded_ratio, 0);
    CU_ASSERT_NOT_EQUAL(drawn->blocks[0].qkv[1], t->blocks[0].qkv[1]);
    CU_ASSERT_EQUAL(drawn->blocks[0].proj[5], t->blocks[0].proj[5]);
    strait_transformer_free(drawn);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&drawn, &none, 8, &err), 0);
    CU_ASSERT_NOT_EQUAL(drawn->blocks[0].proj[5], t->blocks[0].proj[5]);
    strait_transformer_free(drawn);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

static const struct strait_test tests[] = {
    {"recorded parameters are taken, others drawn by seed", parameters},
    {"the transformer's keys, values and queries are those in double precision", as_in_double},
};
STRAIT_SUITE("workloads/train/kvcache/transformer", tests);
