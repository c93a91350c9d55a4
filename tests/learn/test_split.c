#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "learn/data/draws.h"
#include "learn/data/split.h"
#include "tests/kit/suite.h"

enum { N = 10000, LABELS = 10 };
static unsigned char labels[N];

static void make_labels(void)
{
    for (unsigned i = 0; i < N; i++)
        labels[i] = (unsigned char)(i % LABELS);
}

static void permutation(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 16, 17, 1000, 4096, 4097};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        for (uint64_t key = 1; key < 4; key++) {
            bool seen[4097] = {false};
            unsigned n_fixed = 0;
            for (uint32_t i = 0; i < sizes[s]; i++) {
                const uint32_t to = strait_permuted(key, sizes[s], i);
                CU_ASSERT_FATAL(to < sizes[s] && !seen[to]);
                seen[to] = true;
                n_fixed += to == i;
            }
            if (sizes[s] >= 1000)
                CU_ASSERT(n_fixed < 10); /* 1 expected, Poisson: above 9 once in 10^7 */
        }
}

static void everything_once(void)
{
    make_labels();
    for (int even = 0; even < 2; even++) {
        struct strait_split s;
        struct strait_error err = {0};
        CU_ASSERT_EQUAL_FATAL(
            strait_split_new(&s, labels, LABELS, N, 7, even ? INFINITY : 0.5, 20, 1, &err), 0);
        bool seen[N] = {false};
        CU_ASSERT_EQUAL(s.first[0], 0);
        CU_ASSERT_EQUAL_FATAL(s.first[7], N);
        uint32_t least = N, most = 0;
        for (int k = 0; k < 7; k++) {
            const uint32_t n = s.first[k + 1] - s.first[k];
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        for (uint32_t i = 0; i < N; i++) {
            CU_ASSERT_FATAL(s.examples[i] < N && !seen[s.examples[i]]);
            seen[s.examples[i]] = true;
        }
        CU_ASSERT(least >= 20);
        if (even)
            CU_ASSERT_EQUAL(most - least, 1); /* 10000 = 7 x 1428 + 4 */
        else
            CU_ASSERT(most > least + 100);
        strait_split_release(&s);
    }
}

/* A worker's share of one label under Dirichlet(alpha) over K workers has the mean 1/K and the
 * variance (1/K)(1 - 1/K) / (K alpha + 1). 300 seeds of 10 labels and 4 workers: the mean square of
 * (share - 1/4) lies within 15 % of it (its own spread over 3000 independent labels is some
 * 1.5/sqrt(3000) = 3 %, and cutting to whole examples adds below 1e-6). */
static void dirichlet(void)
{
    make_labels();
    static const double alphas[] = {0.5, 5};
    for (size_t a = 0; a < 2; a++) {
        double squares = 0, mean = 0;
        for (uint64_t seed = 0; seed < 300; seed++) {
            struct strait_split s;
            CU_ASSERT_EQUAL_FATAL(
                strait_split_new(&s, labels, LABELS, N, 4, alphas[a], 1, seed, NULL), 0);
            unsigned of_first[LABELS] = {0};
            for (uint32_t i = 0; i < s.first[1]; i++)
                of_first[labels[s.examples[i]]]++;
            for (unsigned c = 0; c < LABELS; c++) {
                const double share = of_first[c] / (double)(N / LABELS);
                mean += share / 3000;
                squares += (share - 0.25) * (share - 0.25) / 3000;
            }
            strait_split_release(&s);
        }
        const double variance = 0.25 * 0.75 / (4 * alphas[a] + 1);
        CU_ASSERT_DOUBLE_EQUAL(mean, 0.25, 5 * sqrt(variance / 3000));
        CU_ASSERT_DOUBLE_EQUAL(squares, variance, 0.15 * variance);
    }
}

/* Of worker 2's n examples, the first n places of its order are each example once, whatever the
 * batch, and so are the next n, in another order. */
static void batches(void)
{
    make_labels();
    struct strait_split s;
    CU_ASSERT_EQUAL_FATAL(strait_split_new(&s, labels, LABELS, N, 5, 0.5, 32, 3, NULL), 0);
    const uint32_t n = s.first[3] - s.first[2];
    unsigned char *times = calloc(2 * N, 1);
    uint32_t batch[32], first[32];
    for (uint64_t step = 0; step * 32 < 2 * (uint64_t)n; step++) {
        strait_split_batch(&s, 3, 2, step, 32, batch);
        for (uint64_t i = 0; i < 32 && step * 32 + i < 2 * (uint64_t)n; i++)
            times[(step * 32 + i >= n ? N : 0) + batch[i]]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(times[s.examples[s.first[2] + i]], 1);
        CU_ASSERT_EQUAL(times[N + s.examples[s.first[2] + i]], 1);
    }
    strait_split_batch(&s, 3, 2, 0, 32, first);
    strait_split_batch(&s, 4, 2, 0, 32, batch); /* another seed */
    CU_ASSERT(memcmp(batch, first, sizeof(batch)) != 0);
    strait_split_batch(&s, 3, 2, 0, 32, batch);
    CU_ASSERT(memcmp(batch, first, sizeof(batch)) == 0);
    free(times);
    strait_split_release(&s);
}

static void too_many(void)
{
    make_labels();
    struct strait_split s;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_split_new(&s, labels, LABELS, 40, 5, 0.01, 8, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    strait_check_contains(STRAIT_AT(false, "the error"), err.text, "raise alpha");
}

/* The mean and variance of Gamma(alpha, 1) are both alpha, those of a standard normal 0 and 1; the
 * variance of the sample variance is (kurtosis - 1) var^2 / n, with 3 + 6 / alpha for Gamma. */
static void moments(void)
{
    enum { DRAWS = 40000 };
    static const double alphas[] = {0.3, 1, 4};
    for (size_t a = 0; a < 3; a++) {
        struct strait_sequence s = strait_draws_at(9, "test", a, 0);
        double sum = 0, squares = 0;
        const double alpha = alphas[a];
        for (int i = 0; i < DRAWS; i++) {
            const double x = strait_draw_gamma(&s, alpha);
            sum += x;
            squares += (x - alpha) * (x - alpha);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / DRAWS, alpha, 5 * sqrt(alpha / DRAWS));
        CU_ASSERT_DOUBLE_EQUAL(squares / DRAWS, alpha, 5 * alpha * sqrt((2 + 6 / alpha) / DRAWS));
    }
    struct strait_sequence s = strait_draws_at(9, "test", 3, 0);
    double sum = 0, squares = 0, fourths = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = strait_draw_normal(&s);
        sum += x;
        squares += x * x;
        fourths += x * x * x * x;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / DRAWS, 0, 5 / sqrt(DRAWS));
    CU_ASSERT_DOUBLE_EQUAL(squares / DRAWS, 1, 5 * sqrt(2.0 / DRAWS));
    CU_ASSERT_DOUBLE_EQUAL(fourths / DRAWS, 3, 5 * sqrt(96.0 / DRAWS)); /* 105 - 9 */
}

static const struct strait_test tests[] = {
    {"the keyed order is a permutation", permutation},
    {"every example has one worker, and even splits differ by one", everything_once},
    {"shares of a label have the mean and variance of Dirichlet's", dirichlet},
    {"an epoch has every example once, and its order is the seed's own", batches},
    {"more workers than the data can feed are refused", too_many},
    {"normal and Gamma draws have their moments", moments},
};
STRAIT_SUITE("learn/split", tests);
