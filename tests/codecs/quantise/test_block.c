/* block and mx against their definitions: every code's value from the formats' texts, every value's
 * code by search among all of them, sizes by arithmetic. */
#include <math.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/quantise/minifloat.h"
#include "codecs/spec.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX_VALUES = 5000 };

/* --- formats ---------------------------------------------------------------------------------- */

static void formats_have_the_values_of_their_texts(void)
{
    static const float e2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    static const float e3m0[] = {0, 0x1p-6F, 0x1p-5F, 0x1p-4F, 0x1p-3F, 0.25F, 0.5F, 1};
    float v[256];
    strait_minifloat_values(v, &strait_e2m1);
    for (int k = 0; k < 8; k++) {
        CU_ASSERT_EQUAL(v[k], e2m1[k]);
        CU_ASSERT_EQUAL(v[8 + k], -e2m1[k]);
    }
    strait_minifloat_values(v, &strait_e3m0);
    for (int k = 0; k < 8; k++)
        CU_ASSERT_EQUAL(v[k], e3m0[k]);
    strait_minifloat_values(v, &strait_e4m3); /* bias 7; S.1111.111 alone is no number */
    CU_ASSERT_EQUAL(v[1], 0x1p-9F);
    CU_ASSERT_EQUAL(v[7], 0x1.Cp-7F);
    CU_ASSERT_EQUAL(v[8], 0x1p-6F);
    CU_ASSERT_EQUAL(v[0x38], 1);
    CU_ASSERT_EQUAL(v[0x7e], 448);
    CU_ASSERT(isnan(v[0x7f]) && isnan(v[0xff]));
    strait_minifloat_values(v, &strait_e5m2); /* bias 15; as IEEE's formats */
    CU_ASSERT_EQUAL(v[1], 0x1p-16F);
    CU_ASSERT_EQUAL(v[4], 0x1p-14F);
    CU_ASSERT_EQUAL(v[0x7b], 57344);
    CU_ASSERT(isinf(v[0x7c]) && isinf(v[0xfc]) && v[0xfc] < 0);
    CU_ASSERT(isnan(v[0x7d]));
    strait_minifloat_values(v, &strait_e3m2); /* bias 3 */
    CU_ASSERT_EQUAL(v[1], 0.0625F);
    CU_ASSERT_EQUAL(v[4], 0.25F);
    CU_ASSERT_EQUAL(v[31], 28);
    strait_minifloat_values(v, &strait_e2m3); /* bias 1 */
    CU_ASSERT_EQUAL(v[1], 0.125F);
    CU_ASSERT_EQUAL(v[8], 1);
    CU_ASSERT_EQUAL(v[31], 7.5F);
}

/* The nearest of all values; of two equally near ones that with the even code, or, where codes have
 * no fraction, the larger unless the smaller is 0; beyond the largest the largest. */
static unsigned nearest(float v, const float *values, unsigned n, bool *tie)
{
    const bool has_fraction = values[2] != 2 * values[1] || values[3] != 2 * values[2];
    unsigned best = 0;
    double best_gap = INFINITY;
    *tie = false;
    for (unsigned k = 0; k < n; k++) {
        const double gap = fabs((double)fabsf(v) - (double)values[k]);
        *tie = gap == best_gap || (*tie && gap > best_gap);
        if (gap < best_gap || (gap == best_gap && (has_fraction ? k % 2 == 0 : k > 1))) {
            best = k;
            best_gap = gap;
        }
    }
    return best;
}

static void codes_are_the_nearest(void)
{
    static const struct strait_minifloat *const all[] = {&strait_e4m3, &strait_e5m2, &strait_e3m2,
                                                         &strait_e2m3, &strait_e2m1, &strait_e3m0};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct strait_minifloat *f = all[i];
        const unsigned n = f->first_special > 0 ? f->first_special : 1u << (f->bits - 1);
        float values[256];
        int n_ties = 0;
        strait_minifloat_values(values, f);
        for (unsigned j = 0; j < 4000; j++) {
            /* magnitudes of all binades, one of two halfway between two values */
            const unsigned k = j % (n - 1);
            const double u = strait_random_unit(1, "block", i, j);
            const float v = j % 2 == 0 ? (values[k] + values[k + 1]) / 2
                                       : (float)(f->max * 1.2 * pow(2, -20 * u) * u);
            bool tie;
            const unsigned expected = nearest(v, values, n, &tie);
            strait_test_context("format %zu, value %a", i, v);
            CU_ASSERT_EQUAL(strait_minifloat_code(v, f), expected);
            CU_ASSERT_EQUAL(strait_minifloat_code(-v, f), expected | 1u << (f->bits - 1));
            n_ties += tie;
        }
        CU_ASSERT(n_ties > 1000);
    }
}

/* --- streams ---------------------------------------------------------------------------------- */

static float x[MAX_VALUES], y[MAX_VALUES];
static unsigned char stream[8 * MAX_VALUES];

/* Encode and decode n values with a spec ("mx:type=e2m1"). Returns: bytes */
static size_t there_and_back(const char *text, size_t n)
{
    struct strait_codec_spec spec;
    struct strait_error err = {0};
    void *state = NULL;
    size_t len = 0;
    strait_test_context("%s, %zu values", text, n);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, text, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(spec.ops, &state, spec.params, &err), 0);
    const size_t cap = spec.ops->max_bytes(state, n);
    CU_ASSERT_FATAL(cap <= sizeof(stream));
    CU_ASSERT_EQUAL(strait_codec_encode(spec.ops, state, stream, cap, &len, x, n,
                                        (struct strait_request){.n_rows = 0}, &err),
                    0);
    CU_ASSERT_EQUAL(spec.ops->decode(state, y, n, stream, len, &err), 0);
    spec.ops->close(state);
    return len;
}

static void draw(size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((strait_random_unit(2, "block", i, 0) - 0.5) *
                       pow(10, 4 * strait_random_unit(2, "block", i / 64, 1) - 2));
}

/* 8 bytes of head. 1000 values: block of 64: 16 scales of 4 bytes; mx: 32 of 1 byte. */
static void sizes(void)
{
    draw(1000);
    CU_ASSERT_EQUAL(there_and_back("block", 1000), 8 + 64 + 1000);
    CU_ASSERT_EQUAL(there_and_back("block:type=nf4", 1000), 8 + 64 + 500);
    CU_ASSERT_EQUAL(there_and_back("block:type=int4", 999), 8 + 64 + 500);
    CU_ASSERT_EQUAL(there_and_back("block:type=e4m3,block=0", 1000), 8 + 4 + 1000);
    CU_ASSERT_EQUAL(there_and_back("block:type=e3m0,block=100", 1000), 8 + 40 + 500);
    CU_ASSERT_EQUAL(there_and_back("mx", 1000), 8 + 32 + 1000);
    CU_ASSERT_EQUAL(there_and_back("mx:type=e3m2", 1000), 8 + 32 + 750);
    CU_ASSERT_EQUAL(there_and_back("mx:type=e2m1", 1000), 8 + 32 + 500);
    CU_ASSERT_EQUAL(there_and_back("mx:type=e2m1", 0), 8);
}

/* Of each block, in units of its largest magnitude m. Half a step: int8 m / 254, int4 m / 14; nf4
 * half of the widest gap, (1 - 0.69619) / 2 = 0.1519; e4m3: half of a 16th of the binade from 256
 * of 448: 16 / 448 = 0.0357; e5m2 half of an 8th of 32768 of 57344: 4096 / 57344 = 0.0715; e2m1
 * 1 / 6; e3m0 halfway from 0.5 to 1: 0.25. */
static void errors_of_blocks(void)
{
    static const struct {
        const char *text;
        size_t block;
        double most;
    } cases[] = {{"block:type=int8", 64, 1 / 253.9},
                 {"block:type=int8,block=100", 100, 1 / 253.9},
                 {"block:type=int4,block=7", 7, 1 / 13.99},
                 {"block:type=nf4", 64, 0.15191},
                 {"block:type=e4m3,block=0", MAX_VALUES, 0.03572},
                 {"block:type=e5m2", 64, 0.07143},
                 {"block:type=e2m1,block=4097", 4097, 0.16667},
                 {"block:type=e3m0", 64, 0.25001}};
    draw(MAX_VALUES);
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        double worst = 0;
        there_and_back(cases[c].text, MAX_VALUES);
        for (size_t from = 0; from < MAX_VALUES; from += cases[c].block) {
            const size_t end =
                from + cases[c].block < MAX_VALUES ? from + cases[c].block : MAX_VALUES;
            double m = 0;
            for (size_t i = from; i < end; i++)
                m = fmax(m, fabs((double)x[i]));
            for (size_t i = from; i < end; i++) {
                worst = fmax(worst, fabs((double)x[i] - (double)y[i]) / m);
                if (fabs((double)x[i]) == m)
                    CU_ASSERT_DOUBLE_EQUAL(y[i], x[i], 1e-6 * m); /* the largest is exact */
            }
        }
        CU_ASSERT(worst <= cases[c].most);
        CU_ASSERT(worst > 0.9 * cases[c].most); /* and no format is finer than it is */
    }
}

/* The OCP's text: X = 2^(floor(log2(max)) - emax), P = Q(v / X). In double, by search. */
static void values_of_mx(void)
{
    static const struct {
        const char *text;
        const struct strait_minifloat *as;
        int emax;
    } cases[] = {{"mx:type=e4m3", &strait_e4m3, 8}, {"mx:type=e5m2", &strait_e5m2, 15},
                 {"mx:type=e3m2", &strait_e3m2, 4}, {"mx:type=e2m3", &strait_e2m3, 2},
                 {"mx:type=e2m1", &strait_e2m1, 2}, {"mx:type=int8", NULL, 0}};
    draw(1000);
    for (size_t i = 320; i < 352; i++) /* a block that is 0, and one of denormals */
        x[i] = 0;
    for (size_t i = 352; i < 384; i++)
        x[i] = 0x1p-140F;
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        const struct strait_minifloat *f = cases[c].as;
        float values[256];
        if (f)
            strait_minifloat_values(values, f);
        const unsigned n = f && f->first_special > 0 ? f->first_special
                           : f                       ? 1u << (f->bits - 1)
                                                     : 0;
        there_and_back(cases[c].text, 1000);
        for (size_t from = 0; from < 1000; from += 32) {
            const size_t end = from + 32 < 1000 ? from + 32 : 1000;
            double m = 0;
            for (size_t i = from; i < end; i++)
                m = fmax(m, fabs((double)x[i]));
            const double scale =
                m > 0 ? pow(2, fmax(floor(log2(m)) - cases[c].emax, -127)) : ldexp(1, -127);
            for (size_t i = from; i < end; i++) {
                const double v = (double)x[i] / scale;
                bool tie;
                const double q = f ? (double)values[nearest((float)fabs(v), values, n, &tie)]
                                   : fmin(nearbyint(fabs(v) * 64), 127) / 64;
                CU_ASSERT_EQUAL((double)y[i], copysign(q, v) * scale);
            }
        }
    }
}

static void what_is_not_finite_counts_as_0(void)
{
    static const char *const all[] = {"block:type=int4", "block:type=nf4", "block:type=e4m3",
                                      "mx:type=e2m1", "mx:type=int8"};
    for (size_t c = 0; c < sizeof(all) / sizeof(*all); c++) {
        for (size_t i = 0; i < 64; i++)
            x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : 1;
        there_and_back(all[c], 64);
        for (size_t i = 0; i < 64; i++)
            CU_ASSERT_EQUAL(y[i], i % 3 == 2 ? 1 : 0);
    }
}

static const struct strait_test tests[] = {
    {"formats have the values of their texts", formats_have_the_values_of_their_texts},
    {"a value's code is the nearest, of two that with the even fraction", codes_are_the_nearest},
    {"sizes are those of arithmetic", sizes},
    {"errors of blocks are half of the widest gap", errors_of_blocks},
    {"mx is the OCP's definition", values_of_mx},
    {"what is not finite counts as 0", what_is_not_finite_counts_as_0},
};
STRAIT_SUITE("codecs/quantise/block", tests);
