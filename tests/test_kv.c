/* Decoding with an offloaded cache: times against closed forms, and what approximate keys find on
 * keys, queries and values of a small transformer's first block, with its recorded weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../core/random.h"
#include "../traces/tensors.h"
#include "../workloads/attention.h"
#include "harness.h"
#include "suite.h"

/* --- the strategies ------------------------------------------------------------------------ */

#define EXPERIMENT(strategy)                                                                       \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":1,\"strategy\":" strategy   \
    ",\"network\":{\"client\":{\"rate\":\"1 Gbps\"}}}"

static double total_s(const char *experiment, json_t *settings)
{
    json_t *again = json_deep_copy(settings); /* each run takes its own */
    struct strait_outcome o = strait_outcome_of(experiment, settings, "default", &strait_fluid,
                                                (struct strait_point_options){0});
    struct strait_outcome sim = strait_outcome_of(experiment, again, "default", &strait_sim,
                                                  (struct strait_point_options){0});
    const double found_s = o.total_s;
    CU_ASSERT_EQUAL(o.payload_bytes, 0);
    CU_ASSERT_EQUAL(o.n_messages, 0);
    CU_ASSERT_DOUBLE_EQUAL(sim.total_s, found_s, 1e-9 * found_s);
    strait_outcome_free(&o);
    strait_outcome_free(&sim);
    return found_s;
}

/* 3 tokens of 4 layers; a layer's cache is 2 x 1000 x 8 x 64 x 2 B = 2.048 MB, 2.048 ms at 1 GB/s.
 * The link never rests after the first one has come, or the accelerator does not. */
static void full(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvfull\",\"rounds\":3,\"tokens\":1000,\"layers\":4,\"kv_heads\":8,"
                   "\"head_dim\":64,\"link\":\"1 GB\",\"compute\":\"1 ms\"}");
    const double t = 2.048e-3;
    double c = 1e-3;
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, json_object()), t + 11 * t + c, 1e-9);
    c = 5e-3;
    json_t *slow = json_pack("{s:s}", "/strategy/compute", "5 ms");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, slow), t + 11 * c + c, 1e-9);
}

/* 100 of the 1000 tokens, rows of 2 x 64 x 2 = 256 B, half as fast at 256 B, a fifth of them there
 * already: 0.8 x 0.2048 MB at 0.5 GB/s. Scores read an eighth of 1.024 MB at 1 GB/s. */
static void approximate(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":3,\"tokens\":1000,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64,\"link\":\"1 GB\",\"compute\":\"1 ms\","
                   "\"top_k\":100,\"half_row\":\"256 B\",\"hits\":\"20 %\",\"memory\":\"1 GB\","
                   "\"keys_kept\":\"12.5 %\"}");
    const double rows = 0.8 * 0.2048e-3 / 0.5, score = 0.128e-3;
    double c = 1e-3;
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, json_object()), 12 * (score + rows + c), 1e-9);
    json_t *ahead = json_pack("{s:s}", "/strategy/speculate", "yes");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, ahead),
                           3 * (score + rows + 3 * (score + fmax(rows, c)) + c), 1e-9);
    c = 0.1e-3;
    json_t *quick =
        json_pack("{s:s, s:s}", "/strategy/speculate", "yes", "/strategy/compute", "100 us");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, quick),
                           3 * (score + rows + 3 * (score + fmax(rows, c)) + c), 1e-9);
}

/* --- the attention ------------------------------------------------------------------------- */

enum { WIDTH = 192, HEAD = 32, N_HEADS = 6, N = 512, N_POSITIONS = 64, N_WORDS = 3072 };

/* Of one block: row-major, N tokens by HEAD for each head. */
static float keys[N_HEADS][N * HEAD], values[N_HEADS][N * HEAD], queries[N_HEADS][N * HEAD];

static const float *recorded(const struct strait_tensors *t, const char *layer)
{
    const struct strait_recording *r = strait_tensors_find(t, "gpt", layer, "param", 200);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    return r->values;
}

/* x = LayerNorm(word + position) x weight; q, k, v = W x. Words are drawn; the rows of the head
 * stand for their embeddings. */
static void make_block(void)
{
    struct strait_error err = {0};
    struct strait_tensors *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    const float *word = recorded(t, "head.weight"), *position = recorded(t, "pos.weight");
    const float *scale = recorded(t, "blocks.0.ln1.weight"),
                *w = recorded(t, "blocks.0.qkv.weight");
    for (int i = 0; i < N; i++) {
        float x[WIDTH], mean = 0, variance = 0;
        const int of = (int)(strait_random_unit(7, "word", (uint64_t)i, 0) * N_WORDS);
        for (int j = 0; j < WIDTH; j++) {
            x[j] = word[of * WIDTH + j] + position[i % N_POSITIONS * WIDTH + j];
            mean += x[j] / WIDTH;
        }
        for (int j = 0; j < WIDTH; j++)
            variance += (x[j] - mean) * (x[j] - mean) / WIDTH;
        for (int j = 0; j < WIDTH; j++)
            x[j] = (x[j] - mean) / sqrtf(variance + 1e-5f) * scale[j];
        for (int row = 0; row < 3 * WIDTH; row++) {
            float sum = 0;
            for (int j = 0; j < WIDTH; j++)
                sum += w[row * WIDTH + j] * x[j];
            float *of_kind = row < WIDTH ? *queries : row < 2 * WIDTH ? *keys : *values;
            const int channel = row % WIDTH;
            of_kind[channel / HEAD * N * HEAD + i * HEAD + channel % HEAD] = sum;
        }
    }
    strait_tensors_free(t);
}

struct quality {
    double recall, error; /* means over heads and queries */
};

/* Of the tokens that approximate scores choose, against the exact ones; the output with the exact
 * scores of the chosen, against that of all. rank 0: no projection; bits 0: no rounding. */
static struct quality quality_of(size_t k, size_t rank, unsigned bits)
{
    struct quality q = {0};
    struct strait_error err = {0};
    static float small[N * HEAD], basis[HEAD * HEAD], projected[HEAD];
    static float scores[N], guessed[N], all[HEAD], some[HEAD];
    static size_t truth[N], found[N];
    const int n_queries = 40;
    for (int head = 0; head < N_HEADS; head++) {
        if (rank > 0)
            CU_ASSERT_EQUAL(strait_keys_low_rank(basis, small, keys[head], N, HEAD, rank, &err), 0);
        if (bits > 0)
            strait_keys_quantise(small, keys[head], N, HEAD, bits);
        for (int i = 0; i < n_queries; i++) {
            const float *query = queries[head] + (N - 1 - i) * HEAD;
            strait_attention_scores(scores, keys[head], query, N, HEAD);
            if (rank > 0)
                strait_query_project(projected, basis, query, HEAD, rank);
            strait_attention_scores(guessed, small, rank > 0 ? projected : query, N,
                                    rank > 0 ? rank : HEAD);
            strait_attention_top(truth, k, scores, N, &err);
            strait_attention_top(found, k, guessed, N, &err);
            strait_attention_output(all, scores, values[head], NULL, 0, N, HEAD);
            strait_attention_output(some, scores, values[head], found, k, N, HEAD);
            q.recall += strait_attention_recall(truth, found, k) / n_queries / N_HEADS;
            q.error += strait_attention_error(some, all, HEAD) / n_queries / N_HEADS;
        }
    }
    return q;
}

static void exact_keys(void)
{
    make_block();
    CU_ASSERT(quality_of(32, HEAD, 0).recall > 0.99); /* all directions: rounding swaps near ties */
    const struct quality whole = quality_of(N, 0, 8);
    CU_ASSERT_DOUBLE_EQUAL(whole.recall, 1, 1e-12); /* all tokens are the true ones */
    CU_ASSERT(whole.error < 1e-6);
}

static void more_is_better(void)
{
    make_block();
    const struct quality coarse = quality_of(64, 4, 0), fine = quality_of(64, 16, 0);
    const struct quality few_bits = quality_of(64, 0, 2), bits = quality_of(64, 0, 4);
    const struct quality few = quality_of(16, 0, 8), many = quality_of(256, 0, 8);
    printf("recall / error of 64 of %d tokens: rank 4 %.3f / %.3f, 16 %.3f / %.3f; 2 bits %.3f / "
           "%.3f, 4 bits %.3f / %.3f; 8 bits, 16 tokens %.3f, 256 tokens %.3f\n",
           N, coarse.recall, coarse.error, fine.recall, fine.error, few_bits.recall, few_bits.error,
           bits.recall, bits.error, few.error, many.error);
    const double by_chance = 64.0 / N;
    CU_ASSERT(coarse.recall > 2 * by_chance);
    CU_ASSERT(fine.recall > coarse.recall);
    CU_ASSERT(bits.recall > few_bits.recall);
    CU_ASSERT(bits.recall > 0.9);
    CU_ASSERT(many.error < few.error);
}

/* Three tokens by hand: scores 0, ln 2 and ln 5, so weights 1 : 2 : 5 of 8. */
static void by_hand(void)
{
    const float scores[] = {0, logf(2), logf(5)}, v[] = {8, 0, 0, 8, 16, 16};
    const size_t two[] = {0, 2};
    struct strait_error err = {0};
    size_t top[2];
    float out[2];
    strait_attention_output(out, scores, v, NULL, 0, 3, 2);
    CU_ASSERT_DOUBLE_EQUAL(out[0], 1 + 10, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(out[1], 2 + 10, 1e-5);
    strait_attention_output(out, scores, v, two, 2, 3, 2);
    CU_ASSERT_DOUBLE_EQUAL(out[0], (8 + 80) / 6.0, 1e-5);
    strait_attention_top(top, 2, scores, 3, &err);
    CU_ASSERT(top[0] == 1 && top[1] == 2);
    CU_ASSERT_EQUAL(strait_attention_recall(top, two, 2), 0.5);
    /* 2 bits: steps of a third of the channel's range */
    const float k[] = {0, 1, 3, 2.4f};
    float rounded[4];
    strait_keys_quantise(rounded, k, 4, 1, 2);
    CU_ASSERT(rounded[0] == 0 && rounded[1] == 1 && rounded[2] == 3 && rounded[3] == 2);
}

static const struct strait_test tests[] = {
    {"a whole cache streams one layer ahead of the computation", full},
    {"the chosen rows are fetched, after scoring or ahead of it", approximate},
    {"weights, tops and steps are those worked out by hand", by_hand},
    {"exact keys find the true tokens, and all tokens give the true output", exact_keys},
    {"more directions, bits and tokens come nearer on a transformer's own keys", more_is_better},
};
STRAIT_SUITE("workloads/kv", tests);
