/* Random positions from a shared key: uniform, unbiased where scaled, and summable. */
#include "codecs/sparse/subset.h"
#include "sparse_bench.h"

/* Chi-square of how often each of n positions is among k, over n_keys keys. The counts of a subset
 * without replacement have variance T p (1 - p) and add up to T k, so (n - 1) / n times the sum
 * below has n - 1 degrees of freedom. */
static double inclusion_chi_square(size_t n, size_t k, uint64_t n_keys)
{
    uint32_t index[64], scratch[64];
    double count[64] = {0}, sum = 0;
    const double p = (double)k / (double)n, expected = (double)n_keys * p;
    for (uint64_t key = 0; key < n_keys; key++) {
        strait_random_subset(index, n, k, key, scratch);
        for (size_t i = 0; i < k; i++)
            count[index[i]]++;
    }
    for (size_t i = 0; i < n; i++)
        sum += (count[i] - expected) * (count[i] - expected);
    return sum / (expected * (1 - p)) * ((double)n - 1) / (double)n;
}

/* Quantiles at 0.0001 and 0.9999 for 49 degrees of freedom by Wilson and Hilferty: 20.3 and 94.8.
 * A right generator fails one of these with a probability of 0.0002. */
static void randomk_inclusion(void)
{
    static const size_t ks[] = {1, 5, 10, 25, 26, 40, 49};
    for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
        const double chi_square = inclusion_chi_square(50, ks[i], 20000);
        CU_ASSERT(chi_square > 20.3 && chi_square < 94.8);
    }
}

/* The 56 subsets of 3 of 8 equally often, and those of 5: 55 degrees of freedom, 24.2 and 102.9. */
static void randomk_subsets(void)
{
    for (size_t k = 3; k <= 5; k += 2) {
        static double count[256];
        uint32_t index[8], scratch[8];
        double chi_square = 0;
        memset(count, 0, sizeof(count));
        for (uint64_t key = 0; key < 56000; key++) {
            unsigned set = 0;
            strait_random_subset(index, 8, k, key, scratch);
            for (size_t i = 0; i < k; i++)
                set |= 1u << index[i];
            count[set]++;
        }
        for (unsigned set = 0; set < 256; set++)
            if (__builtin_popcount(set) == (int)k)
                chi_square += (count[set] - 1000) * (count[set] - 1000) / 1000;
        CU_ASSERT(chi_square > 24.2 && chi_square < 102.9);
    }
}

/* A decoded value is x n / k with probability k / n, so its mean over T keys has the variance
 * x^2 (n / k - 1) / T. 4.5 standard deviations at 50 positions: significance 0.0004. */
static void randomk_unbiased(void)
{
    enum { N = 50, N_KEYS = 4000 };
    struct bench b;
    double sum[N] = {0};
    bench_init(&b, &strait_codec_randomk, 0.2, 1, N);
    for (size_t i = 0; i < N; i++)
        b.x[i] = (float)i - 20;
    for (uint64_t key = 0; key < N_KEYS; key++) {
        encode(&b, key);
        decode(&b);
        for (size_t i = 0; i < N; i++)
            sum[i] += (double)b.y[i];
    }
    for (size_t i = 0; i < N; i++) {
        const double x = (double)b.x[i];
        CU_ASSERT_DOUBLE_EQUAL(sum[i] / N_KEYS, x, 4.5 * fabs(x) * sqrt(4.0 / N_KEYS));
    }
    bench_release(&b);
}

static void randomk_adds(void)
{
    const size_t n = 3000;
    struct bench a, b, sum;
    struct strait_error err = {0};
    bench_init(&a, &strait_codec_randomk, 0.1, 0, n);
    bench_init(&b, &strait_codec_randomk, 0.1, 0, n);
    bench_init(&sum, &strait_codec_randomk, 0.1, 0, n);
    make_tensor(a.x, n, TENSOR_BROKEN, 1);
    make_tensor(b.x, n, TENSOR_BROKEN, 2);
    encode(&a, 77);
    encode(&b, 77);
    CU_ASSERT(a.ops->summable(a.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes));
    CU_ASSERT_EQUAL_FATAL(sum.ops->add(sum.state, sum.bytes, sum.cap_bytes, &sum.len_bytes, a.bytes,
                                       a.len_bytes, b.bytes, b.len_bytes, n, &err),
                          0);
    decode(&a);
    decode(&b);
    decode(&sum);
    for (size_t i = 0; i < n; i++) {
        const float expected = a.y[i] + b.y[i];
        CU_ASSERT(isnan(expected) ? isnan(sum.y[i]) : sum.y[i] == expected);
    }
    encode(&b, 78); /* another key: other positions */
    CU_ASSERT_FALSE(a.ops->summable(a.state, a.bytes, a.len_bytes, b.bytes, b.len_bytes));
    CU_ASSERT_EQUAL(sum.ops->add(sum.state, sum.bytes, sum.cap_bytes, &sum.len_bytes, a.bytes,
                                 a.len_bytes, b.bytes, b.len_bytes, n, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_FALSE(a.ops->summable(a.state, a.bytes, 5, a.bytes, 5));
    bench_release(&a);
    bench_release(&b);
    bench_release(&sum);
}

static void damaged(void)
{
    check_damaged_summands(&strait_codec_randomk, 0.05, 0);
}

static const struct strait_test tests[] = {
    {"every position is included equally often", randomk_inclusion},
    {"every subset is drawn equally often", randomk_subsets},
    {"decoded values are unbiased where they are scaled", randomk_unbiased},
    {"streams of one key add up, of two they do not", randomk_adds},
    {"damaged summands do no harm", damaged},
};
STRAIT_SUITE("codecs/sparse/randomk", tests);
