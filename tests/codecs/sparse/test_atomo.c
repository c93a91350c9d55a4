/* atomo: levels by hand, and how many are sent. That the mean is the tensor, and its bytes, are
 * promises, tested with those of all codecs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

static const struct strait_codec_ops *const ops = &strait_codec_atomo;

static void coded(float *y, const float *x, size_t n, double ratio, uint64_t key)
{
    const double params[] = {ratio, 1};
    struct strait_error err = {0};
    void *state;
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &state, params, &err), 0);
    const size_t cap = ops->max_bytes(state, n);
    unsigned char *out = malloc(cap);
    CU_ASSERT_FATAL(out != NULL);
    CU_ASSERT_EQUAL(strait_codec_encode(ops, state, out, cap, &len, x, n,
                                        (struct strait_request){.key = key}, &err),
                    0);
    CU_ASSERT_EQUAL(len, 10 + 8 * strait_get32(out + 6)); /* a position and a value each */
    CU_ASSERT_EQUAL(ops->decode(state, y, n, out, len, &err), 0);
    free(out);
    ops->close(state);
}

/* A budget of 3 for 10, 4, -2, 1, 1: all by 18 / 3 = 6 would keep 10 more than once, so it is kept
 * for certain; the others have 2 for 8: 4, which is the second; then -2, 1 and 1 have 1 for 4: kept
 * as 4 with probabilities 1/2, 1/4 and 1/4. NaN is sent beside that. */
static void by_hand(void)
{
    enum { N = 6, KEYS = 4000 };
    static const float x[N] = {10, 1, 4, NAN, -2, 1};
    unsigned n_kept[N] = {0};
    for (uint64_t key = 0; key < KEYS; key++) {
        float y[N];
        coded(y, x, N, 0.5, key);
        for (size_t i = 0; i < N; i++) {
            n_kept[i] += !(fabsf(y[i]) <= 0);
            CU_ASSERT(i == 0   ? y[i] >= 10 && y[i] <= 10
                      : i == 3 ? isnan(y[i])
                               : fabsf(y[i]) <= 0 || (fabsf(y[i]) >= 4 && fabsf(y[i]) <= 4));
            CU_ASSERT(!(y[i] < 0) || i == 4);
        }
    }
    CU_ASSERT_EQUAL(n_kept[0], KEYS);
    CU_ASSERT_EQUAL(n_kept[2], KEYS);
    CU_ASSERT_EQUAL(n_kept[3], KEYS);
    /* binomial: standard deviations of 32 and 27, keys fixed */
    CU_ASSERT_DOUBLE_EQUAL(n_kept[4], KEYS / 2, 5 * 32);
    CU_ASSERT_DOUBLE_EQUAL(n_kept[1], KEYS / 4, 5 * 27);
    CU_ASSERT_DOUBLE_EQUAL(n_kept[5], KEYS / 4, 5 * 27);
}

/* 20000 values of one size: probabilities of 0.05, 1000 kept with a standard deviation of 31. With
 * a budget of all of them nothing is drawn; zeros send nothing. */
static void budgets(void)
{
    enum { N = 20000 };
    static float x[N], y[N];
    unsigned n_kept = 0;
    coded(y, x, N, 0.05, 1);
    for (size_t i = 0; i < N; i++) {
        CU_ASSERT(fabsf(y[i]) <= 0);
        x[i] = i % 2 == 0 ? 3 : -3;
    }
    coded(y, x, N, 0.05, 1);
    for (size_t i = 0; i < N; i++) {
        n_kept += fabsf(y[i]) > 0;
        CU_ASSERT(fabsf(y[i]) <= 0 || fabsf(y[i] - 20 * x[i]) <= 1e-5f * 60);
    }
    CU_ASSERT_DOUBLE_EQUAL(n_kept, 1000, 5 * 31);
    coded(y, x, N, 1, 1);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
}

static const struct strait_test tests[] = {
    {"probabilities and what is sent, by hand", by_hand},
    {"as many as the budget on average, all, and none", budgets},
};
STRAIT_SUITE("codecs/sparse/atomo", tests);
