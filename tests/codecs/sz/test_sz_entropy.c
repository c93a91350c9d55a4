/* Ratios of sz on fresh tensors against entropies computed apart from it. */
#include <stdio.h>
#include "tests/kit/suite.h"
#include "sz_fixture.h"

enum { MAX = 4000000 };

enum fresh_kind { GAUSS, ROWS_T, LAPLACE, SPARSE, CONV, N_FRESH };

static double laplace(struct strait_sequence *s)
{
    const double u = strait_sequence_unit(s) - 0.5;
    return (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u) + 1e-300);
}

/* Four degrees of freedom: the tails of gradients. */
static double student(struct strait_sequence *s)
{
    double squares = 0;
    const double z = normal(s);
    for (int k = 0; k < 4; k++) {
        const double v = normal(s);
        squares += v * v;
    }
    return z / sqrt(squares / 4);
}

static void make_fresh(float *x, size_t n, enum fresh_kind kind, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed * 977 + (uint64_t)kind);
    double scale = 1, before = 0;
    for (size_t i = 0; i < n; i++) {
        if (i % 768 == 0)
            scale = exp(normal(&s));
        switch (kind) {
        case GAUSS:
            x[i] = (float)(0.02 * normal(&s));
            break;
        case ROWS_T:
            x[i] = (float)(1e-3 * scale * student(&s));
            break;
        case LAPLACE:
            x[i] = (float)(3e-4 * laplace(&s));
            break;
        case SPARSE:
            x[i] = strait_sequence_unit(&s) < 0.8 ? 0.0f : (float)(1e-2 * laplace(&s));
            break;
        default: /* 3x3 kernels: nine neighbours alike */
            before = (i % 9 ? 0.9 * before : 0) + normal(&s) * (i % 9 ? 0.436 : 1);
            x[i] = (float)(0.01 * before);
        }
    }
}

static int by_integer(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Entropy of round(x / 2e) in bits for all of x, from runs of sorted integers; with the term of
 * Miller and Madow, (kinds - 1) / 2n nats, for what a sample of n makes look rarer than it is. */
static double order0_bits(int64_t *q, size_t *n_kinds, const float *x, size_t n, double bound)
{
    double bits = 0;
    size_t kinds = 0;
    for (size_t i = 0; i < n; i++)
        q[i] = llround((double)x[i] / (2 * bound));
    qsort(q, n, sizeof(*q), by_integer);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && q[end] == q[i]; end++)
            ;
        bits += (double)(end - i) * log2((double)n / (double)(end - i));
        kinds++;
    }
    *n_kinds = kinds;
    return bits + (double)(kinds - 1) / (2 * log(2));
}

struct worst {
    double share;
    size_t n;
    int kind;
    double bound;
};

/* Beside the entropy of its values a stream has a head, tables and lanes: 64 bytes are not counted.
 * Where one of 32 values is new the entropy is not known from the sample. */
enum { FREE_BYTES = 64, SEEN = 32 };

static void compare(struct sz_fixture *f, float *x, int64_t *q, size_t n, int kind, double range,
                    struct worst *worst)
{
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, range};
    const double absolute = strait_bound_absolute(bound, x, n);
    size_t n_kinds;
    const double least = order0_bits(q, &n_kinds, x, n, absolute);
    const double bytes = (double)sz_encoded(f, x, n, bound.kind, bound.value);
    const double share = 8 * (bytes - FREE_BYTES) / least;
    if (SEEN * n_kinds <= n && share > worst->share)
        *worst = (struct worst){.share = share, .n = n, .kind = kind, .bound = range};
    sz_decoded(f, n);
    double off = 0;
    for (size_t i = 0; i < n; i++)
        off = fmax(off, fabs((double)x[i] - (double)f->y[i]));
    CU_ASSERT(off <= absolute);
}

static void expect(const struct worst *worst, double most)
{
    CU_ASSERT(worst->share < most);
    if (!(worst->share < most))
        fprintf(stderr, "worst: %.4f of the entropy, kind %d, %zu values, bound %g\n", worst->share,
                worst->kind, worst->n, worst->bound);
}

static void fresh_tensors(void)
{
    static const size_t lengths[] = {20000, 27000, 65536, 150000, 600000};
    static const double bounds[] = {1e-1, 1e-2, 1e-3, 1e-4};
    struct sz_fixture f;
    float *x = new_floats(MAX);
    int64_t *q = malloc(8 * (size_t)MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    sz_fixture_init(&f, MAX, 1);
    for (int kind = 0; kind < N_FRESH; kind++) {
        struct worst worst = {0}, large = {0};
        for (size_t l = 0; l < 5; l++) {
            make_fresh(x, lengths[l], (enum fresh_kind)kind, 17 + l);
            for (size_t b = 0; b < 4; b++)
                compare(&f, x, q, lengths[l], kind, bounds[b], &worst);
        }
        make_fresh(x, MAX, (enum fresh_kind)kind, 5);
        compare(&f, x, q, MAX, kind, 1e-2, &large);
        /* Frequencies have 12 bits: the long tail beside many zeros takes more than its share. */
        expect(&worst, kind == SPARSE ? 1.03 : 1.02);
        expect(&large, kind == GAUSS ? 1.005 : 1.015);
    }
    free(q);
    free(x);
    sz_fixture_release(&f);
}

/* SZ3 3.3.2 with its default algorithm on the same recordings, raw over compressed bytes, as
 * measured; the bound is relative to the range. */
static const struct {
    double bound, ratio;
} sz3[] = {{1e-1, 38.5}, {1e-2, 10.40}, {1e-3, 5.37}, {1e-4, 3.07}, {1e-5, 1.58}, {1e-6, 1.30}};

static void recordings(void)
{
    struct strait_tensors *t = load_tensors();
    struct sz_fixture f;
    const size_t most = max_elems_of(t);
    int64_t *q = malloc(8 * most);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    sz_fixture_init(&f, most, 1);
    for (size_t b = 0; b < 6; b++) {
        const struct strait_bound bound = {STRAIT_BOUND_RANGE, sz3[b].bound};
        double raw = 0, got = 0, least = 0, got_weights = 0;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            if (r->n_elems < LARGE_ELEMS)
                continue;
            const double bits =
                8 * (double)sz_encoded(&f, r->values, r->n_elems, bound.kind, bound.value);
            raw += 32 * (double)r->n_elems;
            got += bits;
            if (strcmp(r->kind, "param") != 0 || sz3[b].bound > 1e-2 || sz3[b].bound < 1e-4)
                continue;
            got_weights += bits;
            size_t n_kinds;
            least += order0_bits(q, &n_kinds, r->values, r->n_elems,
                                 strait_bound_absolute(bound, r->values, r->n_elems));
        }
        CU_ASSERT(raw / got > sz3[b].ratio);
        CU_ASSERT(least <= 0 || got_weights < 1.005 * least);
    }
    free(q);
    sz_fixture_release(&f);
    strait_tensors_free(t);
}

static const struct strait_test tests[] = {
    {"fresh tensors come within 2 % of the entropy of their integers", fresh_tensors},
    {"recorded tensors are shorter than SZ3's, weights within 0.5 % of the entropy", recordings},
};
STRAIT_SUITE_WITH("codecs/sz/sz_entropy", tests, .slow_s = 4, .release = true);
