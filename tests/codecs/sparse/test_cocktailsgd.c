/* cocktailsgd: bytes by arithmetic, values by hand, and every value against the definition, with
 * its own selection and its own halves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/sparse/sparse.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX = 100000, MAX_BYTES = 70000 };

static const struct strait_codec_ops *const ops = &strait_codec_cocktailsgd;
static unsigned char out[MAX_BYTES];

static size_t encode(void **state, const double *params, const float *x, size_t n, uint64_t key)
{
    struct strait_error err = {0};
    size_t len;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, state, params, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(ops, *state, out, sizeof(out), &len, x, n,
                                              (struct strait_request){.key = key}, &err),
                          0);
    return len;
}

/* Of 100000 values 10000 are sampled, 78 buckets of 128 are 9984; a fifth is 1996, 15 buckets are
 * 1920. 12 + 2 x 15 + 9984 / 8 + 1920 / 2 = 2250 bytes, 178 times less. Of 300: 30 sampled, 6
 * chosen, one bucket: 12 + 2 + 4 + 3. */
static void bytes(void)
{
    static const double params[] = {0.1, 0.2, 4, 128};
    static float x[MAX];
    static const struct {
        size_t n, bytes;
    } all[] = {{100000, 2250}, {300, 21}, {1, 12 + 2 + 1 + 1}, {0, 12}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        void *state;
        CU_ASSERT_EQUAL(encode(&state, params, x, all[i].n, 3), all[i].bytes);
        ops->close(state);
    }
}

/* All nine are sampled, three chosen: 4, -2 and 1 (scale 4; 8 units a scale): 4 is held to 7 units,
 * 3.5; -2 is 4 units less 1e-6 of its scale, -2; 1 is 2 units. */
static void by_hand(void)
{
    enum { N = 9, MASK = 14 };
    static const double params[] = {1, 0.4, 4, 3};
    static const float x[N] = {0.5f, 4, 0, -2, 0.25f, NAN, 1, -0.5f, 0},
                       want[N] = {0, 3.5f, 0, -2, 0, 0, 1, 0, 0};
    void *state;
    float y[N];
    const size_t len = encode(&state, params, x, N, 1);
    CU_ASSERT_EQUAL(len, MASK + 2 + 2);
    CU_ASSERT_EQUAL(ops->decode(state, y, N, out, len, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(y, want, sizeof(y)), 0);
    CU_ASSERT_EQUAL(out[MASK], 1u << 1 | 1u << 3 | 1u << 6);
    out[MASK] = 1u << 1; /* fewer than chosen */
    CU_ASSERT_EQUAL(ops->decode(state, y, N, out, len, NULL), -1);
    out[MASK] = 255; /* more: the first three */
    CU_ASSERT_EQUAL(ops->decode(state, y, N, out, len, NULL), 0);
    ops->close(state);
}

static const float *of;
static int by_magnitude(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const float p = fabsf(of[i]), q = fabsf(of[j]);
    return p > q ? -1 : p < q ? 1 : i < j ? -1 : 1;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    return i < j ? -1 : i > j;
}

/* To 11 bits, for magnitudes that are normal halves. */
static double half_of(double v)
{
    int e;
    const double m = frexp(v, &e);
    return ldexp(rint(ldexp(m, 11)), e - 11);
}

static void by_definition(void)
{
    enum { N = 20000, SAMPLED = 1920, CHOSEN = 384 }; /* 2000 and 384, of 128 */
    static const double params[] = {0.1, 0.2, 3, 128};
    static float x[N], y[N], want[N];
    static uint32_t sample[N], scratch[N];
    const struct strait_sparsifier_params p = {.ratio = (SAMPLED + 0.5) / N};
    struct strait_sequence s = strait_sequence_at(4);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(strait_sequence_unit(&s) - 0.5);
    void *state;
    const size_t len = encode(&state, params, x, N, 77);
    CU_ASSERT_EQUAL_FATAL(ops->decode(state, y, N, out, len, NULL), 0);
    CU_ASSERT_EQUAL(strait_sparsifier_randomk.choose(sample, x, N, &p, 77, scratch), SAMPLED);
    of = x;
    qsort(sample, SAMPLED, sizeof(*sample), by_magnitude);
    qsort(sample, CHOSEN, sizeof(*sample), ascending);
    for (size_t b = 0; b < CHOSEN; b += 128) {
        double scale = 0;
        for (size_t i = b; i < b + 128; i++)
            scale = fmax(scale, fabs((double)x[sample[i]]));
        scale = half_of(scale);
        for (size_t i = b; i < b + 128; i++) {
            double q = rint((double)x[sample[i]] / (scale + 1e-6) * 4);
            q = q > 3 ? 3 : q < -4 ? -4 : q;
            want[sample[i]] = (float)(q / 4 * scale);
        }
    }
    for (size_t i = 0; i < N; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)y[i], (double)want[i], 0);
    ops->close(state);
}

static const struct strait_test tests[] = {
    {"as many bytes as scales, mask and codes take", bytes},
    {"values by hand, and masks that do not fit", by_hand},
    {"every value is that of the definition", by_definition},
};
STRAIT_SUITE("codecs/sparse/cocktailsgd", tests);
