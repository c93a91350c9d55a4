/* What theory says of the quantisers: the mean of stochastic ones, the error of all, on made-up and
 * on recorded tensors; and golden checksums of their streams.
 *
 * Statistics are of fixed keys, so that they come out the same on every run. */
#include <math.h>
#include <stdio.h>
#include "core/hash.h"
#include "core/random.h"
#include "traces/tensors.h"
#include "tests/kit/coder.h"
#include "tests/kit/tensor_kinds.h"

/* From integers alone: 24 random bits with a sign, scaled by another power of two every 100. */
static void make_golden(float *x, size_t n)
{
    struct strait_sequence s = strait_sequence_at(12345);
    int shift = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = strait_sequence_next(&s);
        if (i % 100 == 0)
            shift = (int)(bits % 12);
        x[i] = (float)((int32_t)(bits >> 40) - (1 << 23)) / (float)(1 << 23) / (float)(1 << shift);
    }
}

/* Of format and arithmetic on every compiler, and of both clones where a sanitizer's build runs the
 * portable one: a change here breaks the wire format. */
static void golden_streams(void)
{
    static const struct {
        const char *name;
        double params[4];
        uint64_t checksum;
    } cases[] = {
        {"fp16", {0}, 0xf2205c4f31774445u},           {"bf16", {0}, 0x9609af934ec29b07u},
        {"qsgd", {127, 512, 0}, 0x961423e8a8694830u}, {"qsgd", {127, 0, 1}, 0x708d9401b6388702u},
        {"qsgd", {128, 128, 1}, 0x1e4332dd663d4213u}, {"qsgd", {1, 0, 0}, 0x2f49b68a85fe2dd7u},
        {"qsgd", {7, 100, 0}, 0x09e874d9f4bdf279u},   {"qsgd", {1000, 512, 0}, 0x9e502e443d95b9bau},
        {"terngrad", {2.5, 0}, 0xa7a126c344429538u},  {"terngrad", {2.5, 1}, 0x6a29abbae4e072a8u},
        {"terngrad", {0, 2}, 0x2e5ebe2704d6ec6eu},    {"natural", {8}, 0x1becef6ee219af55u},
        {"natural", {9}, 0xbbb0f4de1ce990ecu},        {"u8bit", {0}, 0xc25779af971a99d6u},
        {"u8bit", {1}, 0x7396eaafbad0736au},          {"sketchml", {64, 0}, 0x929b6030765354fbu},
        {"sketchml", {64, 1}, 0xd276b64bf231a40au},   {"sketchml", {256, 1}, 0x8fd2f44cb4df17edu},
        {"inceptionn", {10, 0}, 0xf651bba6cefa5125u}, {"inceptionn", {10, 1}, 0x74f3633df81496a7u},
        {"inceptionn", {14, 0}, 0xca682482cc0f93c3u},
    };
    enum { N = 10007 };
    float x[N];
    make_golden(x, N);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct coded c = coded_open(cases[k].name, cases[k].params);
        coded_encode(&c, x, N, 99);
        const uint64_t found = strait_checksum(c.bytes, c.len_bytes);
        if (found != cases[k].checksum)
            fprintf(stderr, "%s, case %zu: 0x%016llx\n", cases[k].name, k,
                    (unsigned long long)found);
        CU_ASSERT_EQUAL(found, cases[k].checksum);
        coded_close(&c);
    }
}

enum { N_VALUES = 96, N_KEYS = 3000 };

/* A value that is rounded to one of two, with mean x, has variance (upper - x) (x - lower). */
typedef double (*variance_of)(double x, double unit);

static double variance_of_levels(double x, double unit)
{
    const double level = fabs(x) / unit, part = level - floor(level);
    return part * (1 - part) * unit * unit;
}

static double variance_of_powers(double x, double unit)
{
    int e;
    (void)unit;
    if (frexp(fabs(x), &e) == 0)
        return 0;
    return (ldexp(1, e) - fabs(x)) * (fabs(x) - ldexp(1, e - 1));
}

/* Deviates of the mean over keys, at most 5 each: 96 values are beyond that with probability
 * 96 * 5.7e-7 = 5.5e-5; the mean of their squares is 1 with a standard deviation of sqrt(2 / 96),
 * at most 5 of these. Values that hardly ever move (fewer than 30 times expected) are not yet
 * normal and only held to 8. Together over the five cases a right codec fails with about 4e-4. */
static void check_unbiased(const char *name, const double *params, double unit, variance_of v)
{
    struct coded c = coded_open(name, params);
    float x[N_VALUES];
    double sums[N_VALUES] = {0}, squares = 0, n = 0;
    make_golden(x, N_VALUES);
    for (uint64_t key = 0; key < N_KEYS; key++) {
        coded_pass(&c, x, N_VALUES, key);
        for (size_t i = 0; i < N_VALUES; i++)
            sums[i] += (double)c.y[i];
    }
    for (size_t i = 0; i < N_VALUES; i++) {
        const double variance = v((double)x[i], unit), error = sums[i] / N_KEYS - (double)x[i];
        if (variance < 1e-12 * (double)(x[i] * x[i])) {
            CU_ASSERT(fabs(error) <= 1e-6 * fabs((double)x[i]));
            continue;
        }
        const double z = error / sqrt(variance / N_KEYS);
        const double width = v == variance_of_powers ? fabs((double)x[i]) : unit;
        const double moves = N_KEYS * variance / (width * width);
        CU_ASSERT(fabs(z) < (moves > 30 ? 5 : 8));
        squares += z * z;
        n++;
    }
    CU_ASSERT_FATAL(n > 80);
    CU_ASSERT(fabs(squares / n - 1) < 5 * sqrt(2 / n));
    coded_close(&c);
}

static void unbiased(void)
{
    float x[N_VALUES];
    double sum = 0, max = 0;
    make_golden(x, N_VALUES);
    for (size_t i = 0; i < N_VALUES; i++) {
        sum += (double)x[i] * (double)x[i];
        max = fmax(max, fabs((double)x[i]));
    }
    check_unbiased("qsgd", (double[]){7, 0, 0}, sqrt(sum) / 7, variance_of_levels);
    check_unbiased("qsgd", (double[]){127, 0, 1}, sqrt(sum) / 127, variance_of_levels);
    check_unbiased("terngrad", (double[]){0, 0}, max, variance_of_levels);
    check_unbiased("natural", (double[]){8}, 0, variance_of_powers);
    check_unbiased("natural", (double[]){9}, 0, variance_of_powers);
}

/* Below the smallest power of two the mean is the value as well: 0.3 and 2^-108 come from 0 and
 * 2^-108 in the 8-bit form, 3 * 2^-128 from 0 and 2^-126 in the 9-bit one. */
static void unbiased_at_the_bottom(void)
{
    const float x[] = {0.3f * 0x1p-108f, -0.75f * 0x1p-126f};
    for (size_t k = 0; k < 2; k++) {
        struct coded c = coded_open("natural", (double[]){8 + (double)k});
        const double unit = k == 0 ? 0x1p-108 : 0x1p-126, p = fabs((double)x[k]) / unit;
        double ups = 0;
        for (uint64_t key = 0; key < N_KEYS; key++) {
            coded_pass(&c, &x[k], 1, key);
            CU_ASSERT(c.y[0] == 0 || fabs((double)c.y[0]) == unit);
            ups += c.y[0] != 0;
        }
        CU_ASSERT(fabs(ups - N_KEYS * p) < 5 * sqrt(N_KEYS * p * (1 - p)));
        coded_close(&c);
    }
}

/* Most that one value may be off, given the largest magnitude of the tensor. */
typedef double (*bound_of)(double x, double max);

static double bound_of_half(double x, double max)
{
    (void)max;
    return fmax(0x1p-11 * fabs(x), 0x1p-25);
}

static double bound_of_bfloat(double x, double max)
{
    (void)max;
    return fmax(0x1p-8 * fabs(x), 0x1p-134);
}

/* In decade 10^g steps are 3.5 and 5.5 times 10^g / 2^(g + 6), and 2.75 + 8.75 of that where it
 * meets the next; none is wider than the last ones, 0.55 / 32. Half of that. */
static double bound_of_u8bit(double x, double max)
{
    int g = -6;
    while (g < -1 && fabs(x) / max >= pow(10, g + 1))
        g++;
    return max * fmin(pow(10, g) / ldexp(1, g + 6) * 11.5, 0.0172) / 2;
}

static double bound_of_u8bit_down(double x, double max)
{
    return 2 * bound_of_u8bit(x, max);
}

static double bound_of_10(double x, double max)
{
    (void)x;
    (void)max;
    return 0x1p-10;
}

static double bound_of_14(double x, double max)
{
    (void)x;
    (void)max;
    return 0x1p-14;
}

static double bound_of_published_10(double x, double max)
{
    (void)x;
    (void)max;
    return 0x1p-6;
}

static void check_bound(const char *name, const double *params, bound_of bound)
{
    enum { N = 3000 };
    struct coded c = coded_open(name, params);
    float x[N];
    for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
        double max = 0;
        make_tensor(x, N, (enum tensor_kind)kind, 4);
        coded_pass(&c, x, N, 1);
        for (size_t i = 0; i < N; i++)
            if (isfinite(x[i]))
                max = fmax(max, fabs((double)x[i]));
        bool good = true;
        for (size_t i = 0; i < N; i++) {
            const bool overflows = strcmp(name, "fp16") == 0 && fabs((double)x[i]) >= 65520;
            const bool to_infinity =
                strcmp(name, "bf16") == 0 && isinf(c.y[i]) && fabs((double)x[i]) > 3.39e38;
            if (!isfinite(x[i]) || overflows || to_infinity)
                continue;
            good &= fabs((double)c.y[i] - (double)x[i]) <= bound((double)x[i], max);
        }
        CU_ASSERT(good);
    }
    coded_close(&c);
}

static void bounds_hold(void)
{
    check_bound("fp16", NULL, bound_of_half);
    check_bound("bf16", NULL, bound_of_bfloat);
    check_bound("u8bit", (double[]){0}, bound_of_u8bit);
    check_bound("u8bit", (double[]){1}, bound_of_u8bit_down);
    check_bound("inceptionn", (double[]){10, 0}, bound_of_10);
    check_bound("inceptionn", (double[]){14, 0}, bound_of_14);
    check_bound("inceptionn", (double[]){10, 1}, bound_of_published_10);
}

/* Distances of one tensor from what came back. */
struct distances {
    double squares, errors; /* sums of x^2 and of (x - y)^2 */
    double sum, sum_back, squares_back, sum_abs, max;
};

static struct distances distances_of(const float *x, const float *y, size_t n)
{
    struct distances d = {0};
    for (size_t i = 0; i < n; i++) {
        const double a = (double)x[i], b = (double)y[i];
        d.squares += a * a;
        d.errors += (a - b) * (a - b);
        d.sum += a;
        d.sum_back += b;
        d.squares_back += b * b;
        d.sum_abs += fabs(a);
        d.max = fmax(d.max, fabs(a));
    }
    return d;
}

typedef void (*law)(const struct distances *d, size_t n);

/* fp16 rounds to 2^-11 of the value, or to 2^-25 below 2^-14. */
static void law_of_half(const struct distances *d, size_t n)
{
    CU_ASSERT(sqrt(d->errors) <= 0x1p-11 * sqrt(d->squares) + 0x1p-25 * sqrt((double)n));
}

static void law_of_bfloat(const struct distances *d, size_t n)
{
    (void)n;
    CU_ASSERT(sqrt(d->errors) <= 0x1p-8 * sqrt(d->squares));
}

/* Alistarh et al., lemma 3.1: E |x - y|^2 <= min(d / L^2, sqrt(d) / L) |x|^2; with f (1 - f) <= 1/4
 * for the part f of a level, d / (4 L^2). No value is off by more than a level, so that the square
 * is never beyond d / L^2 and, for a thousand values and more, near its mean: 1.2 allows for that.
 */
static void law_of_qsgd(const struct distances *d, size_t n)
{
    const double each = 512.0 / (4 * 127 * 127);
    CU_ASSERT(d->errors <= (n > 1000 ? 1.2 : 4) * each * d->squares);
}

/* Horvath et al., theorem 1: E |x - y|^2 <= |x|^2 / 8; never more than |x|^2, as y is at most 2 x.
 */
static void law_of_natural(const struct distances *d, size_t n)
{
    CU_ASSERT(d->errors <= (n > 1000 ? 1.2 / 8 : 1) * d->squares);
}

/* Without clipping E (x - y)^2 = |x| (s - |x|), at most s^2. */
static void law_of_terngrad(const struct distances *d, size_t n)
{
    const double mean = d->max * d->sum_abs - d->squares, most = d->max * d->max;
    CU_ASSERT(fabs(d->errors - mean) <= 6 * sqrt(mean * most) + 1e-6 * d->squares + most);
    CU_ASSERT(d->errors <= (double)n * most);
}

/* Bin means are a projection: the sum stays, and |x|^2 = |y|^2 + |x - y|^2, but for the rounding of
 * means to float32. */
static void law_of_sketchml(const struct distances *d, size_t n)
{
    (void)n;
    CU_ASSERT(fabs(d->sum - d->sum_back) <= 1e-6 * d->sum_abs);
    CU_ASSERT(fabs(d->squares - d->squares_back - d->errors) <= 1e-6 * d->squares);
}

static void law_of_inceptionn(const struct distances *d, size_t n)
{
    CU_ASSERT(d->errors <= (double)n * 0x1p-20);
}

/* Dettmers' type errs by less than 6 % of a value from 10^-2 of the largest on: half a step of 5.5
 * or 11 % of it; below that by at most 5.5 / 2^5 / 2 of 10^-2. */
static void law_of_u8bit(const struct distances *d, size_t n)
{
    CU_ASSERT(sqrt(d->errors) <= 0.06 * sqrt(d->squares) + 0.0009 * d->max * sqrt((double)n));
}

static void recorded_gradients(void)
{
    static const struct {
        const char *name;
        double params[4];
        law law;
    } cases[] = {
        {"fp16", {0}, law_of_half},
        {"bf16", {0}, law_of_bfloat},
        {"qsgd", {127, 512, 0}, law_of_qsgd},
        {"natural", {8}, law_of_natural},
        {"natural", {9}, law_of_natural},
        {"terngrad", {0, 0}, law_of_terngrad},
        {"u8bit", {0}, law_of_u8bit},
        {"sketchml", {64, 0}, law_of_sketchml},
        {"sketchml", {256, 1}, law_of_sketchml},
        {"inceptionn", {10, 0}, law_of_inceptionn},
    };
    struct strait_error err = {0};
    struct strait_tensors *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct coded c = coded_open(cases[k].name, cases[k].params);
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            if (strcmp(r->kind, "grad") != 0)
                continue;
            coded_pass(&c, r->values, r->n_elems, i);
            const struct distances d = distances_of(r->values, c.y, r->n_elems);
            cases[k].law(&d, r->n_elems);
        }
        coded_close(&c);
    }
    strait_tensors_free(t);
}

/* Distinct values fill Q bins equally: exactly up to 2^16 values, and to 6 standard deviations of
 * both edges (2^-9 of the tensor each) beyond. */
static void bins_are_equally_full(void)
{
    static const size_t lengths[] = {1000, 65536, 300000};
    enum { Q = 64 };
    for (size_t l = 0; l < 3; l++) {
        const size_t n = lengths[l];
        struct coded c = coded_open("sketchml", (double[]){Q, 1});
        float *x = malloc(4 * n);
        size_t counts[Q] = {0};
        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        for (size_t i = 0; i < n; i++) /* 7919 is prime: all of 0 .. n - 1, in no order */
            x[i] = (float)(i * 7919 % n) - 1000.5f;
        coded_encode(&c, x, n, 0);
        for (size_t i = 0; i < n; i++)
            counts[c.bytes[5 + 4 * Q + i]]++;
        const double slack = n <= 65536 ? 1 : 6 * sqrt(2) * (double)n / 512;
        for (size_t b = 0; b < Q; b++)
            CU_ASSERT(fabs((double)counts[b] - (double)n / Q) <= slack);
        free(x);
        coded_close(&c);
    }
}

/* A bucket of one value has that value as its norm, so that it lies on the highest level, or by
 * rounding 2^-24 of it above or below: 0.002 to 0.004 levels of 32767. Of 200,000 values a quarter
 * lie above, and of those chance lifts about 3 in 1000 to a level that does not exist; without the
 * clamp they come back 1 / 32767 too large, 256 times the rounding of float. */
static void qsgd_stays_within_the_norm(void)
{
    enum { N = 200000 };
    static const double payloads[] = {0, 1};
    float *x = malloc(N * sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    struct strait_sequence s = strait_sequence_at(5);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(strait_sequence_unit(&s) + 0.5) * (i % 2 ? -1.0f : 1.0f);
    for (size_t p = 0; p < 2; p++) {
        struct coded c = coded_open("qsgd", (double[]){32767, 1, payloads[p]});
        coded_pass(&c, x, N, 9);
        size_t n_beyond = 0;
        for (size_t i = 0; i < N; i++)
            n_beyond += fabs((double)c.y[i]) > fabs((double)x[i]) * (1 + 0x1p-20);
        CU_ASSERT_EQUAL(n_beyond, 0);
        coded_close(&c);
    }
    free(x);
}

static const struct strait_test tests[] = {
    {"no value of QSGD comes back beyond its bucket's norm", qsgd_stays_within_the_norm},
    {"streams have their golden checksums", golden_streams},
    {"the mean over keys is the value", unbiased},
    {"the mean is the value below the smallest power of two too", unbiased_at_the_bottom},
    {"deterministic quantisers keep their error bounds on every kind of tensor", bounds_hold},
    {"recorded gradients come back as theory says", recorded_gradients},
    {"SketchML's bins are equally full", bins_are_equally_full},
};
STRAIT_SUITE("codecs/quantise/quantiser_laws", tests);
