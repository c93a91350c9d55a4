/* What approximate keys find on the keys, queries and values of the small transformer. */
#include "workloads/train/kvcache/kv_attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/random.h"
#include "traces/tensors.h"
#include "workloads/train/kvcache/transformer.h"
#include "tests/kit/suite.h"

enum { N_HEADS = STRAIT_GPT_HEADS, HEAD = STRAIT_GPT_WIDTH / N_HEADS, N = 512, N_QUERIES = 40 };

static struct strait_cache cache;

static void make_cache(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded;
    struct strait_transformer *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&recorded, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&t, recorded, 7, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_run(&cache, t, N, 7, &err), 0);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

static struct strait_key_quality quality_of(size_t k, size_t rank, unsigned bits)
{
    struct strait_error err = {0};
    struct strait_key_quality q;
    CU_ASSERT_EQUAL(strait_attention_quality(&q, &cache,
                                             (struct strait_key_choice){k, rank, bits, false},
                                             N_QUERIES, &err),
                    0);
    return q;
}

/* One query of one head over all keys up to its own, step by step; bits 0: no rounding. */
static void add_query(struct strait_key_quality *sum, size_t at, size_t token, size_t k,
                      unsigned bits)
{
    struct strait_error err = {0};
    static float rounded[N * HEAD], scores[N], guessed[N], all[HEAD], some[HEAD];
    static size_t truth[N], found[N];
    const float *query = cache.queries + at + token * HEAD;
    const size_t n = token + 1;
    memcpy(rounded, cache.keys + at, sizeof(rounded));
    if (bits > 0)
        strait_keys_quantise(rounded, cache.keys + at, N, HEAD, bits);
    strait_attention_scores(scores, cache.keys + at, query, n, HEAD);
    strait_attention_scores(guessed, rounded, query, n, HEAD);
    strait_attention_top(truth, k, scores, n, &err);
    strait_attention_top(found, k, guessed, n, &err);
    strait_attention_output(all, scores, cache.values + at, NULL, 0, n, HEAD);
    strait_attention_output(some, scores, cache.values + at, found, k, n, HEAD);
    sum->recall += strait_attention_recall(truth, found, k);
    sum->error += strait_attention_error(some, all, HEAD);
}

static void means(void)
{
    make_cache();
    const struct strait_key_quality found = quality_of(64, 0, 3);
    struct strait_key_quality sum = {0};
    for (size_t layer = 0; layer < STRAIT_GPT_BLOCKS; layer++)
        for (size_t head = 0; head < N_HEADS; head++)
            for (size_t token = N - N_QUERIES; token < N; token++)
                add_query(&sum, strait_cache_at(&cache, layer, head, 0), token, 64, 3);
    const double n = STRAIT_GPT_BLOCKS * N_HEADS * N_QUERIES;
    CU_ASSERT_DOUBLE_EQUAL(found.recall, sum.recall / n, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(found.error, sum.error / n, 1e-9);
    strait_cache_release(&cache);
}

static void exact_keys(void)
{
    make_cache();
    const struct strait_key_quality exact = quality_of(32, 0, 0);
    CU_ASSERT_EQUAL(exact.recall, 1);
    CU_ASSERT_EQUAL(exact.error, exact.error_of_true_k);
    CU_ASSERT(quality_of(32, HEAD, 0).recall > 0.99); /* all directions: rounding swaps near ties */
    CU_ASSERT(quality_of(N - N_QUERIES, 0, 0).error < exact.error / 3); /* almost all tokens */
    strait_cache_release(&cache);
}

static void more_is_better(void)
{
    make_cache();
    const struct strait_key_quality coarse = quality_of(64, 4, 0), fine = quality_of(64, 16, 0);
    const struct strait_key_quality few_bits = quality_of(64, 0, 2), bits = quality_of(64, 0, 4);
    const struct strait_key_quality few = quality_of(16, 0, 8), many = quality_of(256, 0, 8);
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
    strait_cache_release(&cache);
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

/* As many tokens as asked for, in their order; whoever is left out has no larger score than any that
 * is in, and of equal ones comes later. Scores of 8 values, so that many are equal. */
static void tops(void)
{
    enum { MAX = 90 };
    struct strait_sequence s = strait_sequence_at(strait_test_seed());
    for (size_t n = 1; n <= MAX; n = 3 * n / 2 + 1)
        for (size_t k = 0; k <= n + 1; k = 2 * k + 1) {
            float scores[MAX];
            size_t top[MAX + 1], at = 0, least = n;
            struct strait_error err = {0};
            strait_test_context("%zu of %zu", k, n);
            for (size_t i = 0; i < n; i++)
                scores[i] = (float)floor(8 * strait_sequence_unit(&s)) - 4;
            CU_ASSERT_EQUAL_FATAL(strait_attention_top(top, k, scores, n, &err), 0);
            const size_t n_top = k < n ? k : n;
            for (size_t i = 0; i < n_top; i++) {
                CU_ASSERT(top[i] < n && (i == 0 || top[i] > top[i - 1]));
                if (least == n || scores[top[i]] <= scores[least])
                    least = top[i]; /* of equal ones the last */
            }
            const double bar = n_top > 0 ? scores[least] : 0;
            for (size_t i = 0; i < n; i++) {
                if (at < n_top && top[at] == i)
                    at++;
                else if (n_top > 0)
                    CU_ASSERT(scores[i] < bar || (scores[i] == bar && i > least));
            }
            CU_ASSERT_EQUAL(at, n_top);
        }
}

static const struct strait_test tests[] = {
    {"weights, tops and steps are those worked out by hand", by_hand},
    {"the top are the largest, and of equal ones the first", tops},
    {"recall and error are means over layers, heads and queries", means},
    {"exact keys find the true tokens, and all tokens give the true output", exact_keys},
    {"more directions, bits and tokens come nearer on the transformer's keys", more_is_better},
};
STRAIT_SUITE_WITH("workloads/train/kvcache/kv_attention", tests, .release = true);
