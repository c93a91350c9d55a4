/* What sz promises beyond the conformance suite: ratios, closed-form entropies, stable bytes. */
#include <stdlib.h>
#include "codecs/codec.h"
#include "core/hash.h"
#include "traces/tensors.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { LARGE_ELEMS = 20000 }; /* the tensors that the reference figures are over */

struct coder {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char *bytes;
    size_t cap_bytes;
};

static void coder_init(struct coder *c, size_t max_elems)
{
    struct strait_error err = {0};
    c->ops = strait_codec_find("sz");
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(c->ops, &c->state, &err), 0);
    c->cap_bytes = c->ops->max_bytes(c->state, max_elems);
    c->bytes = malloc(c->cap_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c->bytes);
}

static void coder_release(struct coder *c)
{
    c->ops->close(c->state);
    free(c->bytes);
}

static size_t encoded_bytes(struct coder *c, const float *x, size_t n, enum strait_bound_kind kind,
                            double value)
{
    struct strait_error err = {0};
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(c->ops, c->state, c->bytes, c->cap_bytes, &len, x, n,
                                              (struct strait_request){.bound = {kind, value}},
                                              &err),
                          0);
    return len;
}

static struct strait_tensors *load(void)
{
    struct strait_tensors *t = NULL;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    return t;
}

static size_t max_elems(const struct strait_tensors *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n_recordings; i++)
        most = t->recordings[i].n_elems > most ? t->recordings[i].n_elems : most;
    return most;
}

/* Sum of raw over sum of encoded bytes of the large recordings; kind NULL: of every kind. */
static double ratio_of(struct coder *c, const struct strait_tensors *t, const char *tensors,
                       enum strait_bound_kind kind, double value)
{
    double raw = 0, encoded = 0;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        if (r->n_elems < LARGE_ELEMS || (tensors && strcmp(r->kind, tensors) != 0))
            continue;
        raw += 4 * (double)r->n_elems;
        encoded += (double)encoded_bytes(c, r->values, r->n_elems, kind, value);
    }
    return raw / encoded;
}

/* Measured with the prototype behind this design on the same 43 recordings. */
static const struct {
    const char *kind; /* NULL: all */
    enum strait_bound_kind bound;
    double value, ratio;
} reference[] = {
    {NULL, STRAIT_BOUND_RANGE, 1e-1, 50.2},     {NULL, STRAIT_BOUND_RANGE, 1e-2, 11.53},
    {NULL, STRAIT_BOUND_RANGE, 1e-3, 5.95},     {NULL, STRAIT_BOUND_RANGE, 1e-4, 3.89},
    {NULL, STRAIT_BOUND_RANGE, 1e-5, 2.88},     {NULL, STRAIT_BOUND_RANGE, 1e-6, 2.28},
    {"param", STRAIT_BOUND_RANGE, 1e-1, 24.95}, {"param", STRAIT_BOUND_RANGE, 1e-2, 7.31},
    {"param", STRAIT_BOUND_RANGE, 1e-3, 4.15},  {"param", STRAIT_BOUND_RANGE, 1e-4, 2.90},
    {"grad", STRAIT_BOUND_RANGE, 1e-1, 150.4},  {"grad", STRAIT_BOUND_RANGE, 1e-2, 19.9},
    {"grad", STRAIT_BOUND_RANGE, 1e-3, 8.90},   {"grad", STRAIT_BOUND_RANGE, 1e-4, 5.31},
    {"update", STRAIT_BOUND_RANGE, 1e-1, 81.9}, {"update", STRAIT_BOUND_RANGE, 1e-2, 12.4},
    {"update", STRAIT_BOUND_RANGE, 1e-3, 5.90}, {"update", STRAIT_BOUND_RANGE, 1e-4, 3.79},
    {"param", STRAIT_BOUND_ABS, 1e-3, 5.59},    {"grad", STRAIT_BOUND_ABS, 1e-5, 8.23},
    {"update", STRAIT_BOUND_ABS, 1e-4, 6.61},
};

static void ratios(void)
{
    struct strait_tensors *t = load();
    struct coder c;
    coder_init(&c, max_elems(t));
    for (size_t i = 0; i < sizeof(reference) / sizeof(reference[0]); i++) {
        const double ratio =
            ratio_of(&c, t, reference[i].kind, reference[i].bound, reference[i].value);
        CU_ASSERT(ratio > 0.99 * reference[i].ratio);
        CU_ASSERT(ratio < 1.10 * reference[i].ratio); /* more would be another measurement */
    }
    coder_release(&c);
    strait_tensors_free(t);
}

/* Bits of round(x / 2e) under its own frequencies: what no coder without context goes below. */
static double entropy_bits(const float *x, size_t n, double bound)
{
    enum { BINS = 1 << 16 };
    unsigned *count = calloc(BINS, sizeof(*count));
    double bits = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    for (size_t i = 0; i < n; i++) {
        const long q = lround((double)x[i] / (2 * bound)) + BINS / 2;
        CU_ASSERT_FATAL(q >= 0 && q < BINS);
        count[q]++;
    }
    for (size_t i = 0; i < BINS; i++)
        if (count[i] > 0)
            bits += count[i] * log2((double)n / count[i]);
    free(count);
    return bits;
}

static void near_entropy(void)
{
    static const double bounds[] = {1e-1, 1e-2, 1e-3, 1e-4};
    struct strait_tensors *t = load();
    struct coder c;
    coder_init(&c, max_elems(t));
    for (size_t b = 0; b < 4; b++) {
        double least = 0, got = 0;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            if (r->n_elems < LARGE_ELEMS || strcmp(r->kind, "param") != 0)
                continue;
            const struct strait_bound bound = {STRAIT_BOUND_RANGE, bounds[b]};
            least += entropy_bits(r->values, r->n_elems,
                                  strait_bound_absolute(bound, r->values, r->n_elems));
            got += 8 * (double)encoded_bytes(&c, r->values, r->n_elems, bound.kind, bound.value);
        }
        CU_ASSERT(got < 1.005 * least);
        CU_ASSERT(got > 0.97 * least); /* rows of different scale give a little */
    }
    coder_release(&c);
    strait_tensors_free(t);
}

static double bits_a_value(struct coder *c, enum tensor_kind kind, double value)
{
    enum { N = 100000 };
    float *x = malloc(N * sizeof(*x));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    make_tensor(x, N, kind, 4);
    const double bits = 8 * (double)encoded_bytes(c, x, N, STRAIT_BOUND_ABS, value) / N;
    free(x);
    return bits;
}

/* A normal of spread s in steps of 2e has log2(s sqrt(2 pi e) / 2e) bits. */
static double normal_bits(double spread, double bound)
{
    return log2(spread * 4.132731354122493 / (2 * bound));
}

static void closed_forms(void)
{
    struct coder c;
    coder_init(&c, 100000);
    /* 0.02 in steps of 2e-4: log2(413.3) = 8.69 bits. */
    CU_ASSERT_DOUBLE_EQUAL(bits_a_value(&c, TENSOR_WEIGHTS, 1e-4), normal_bits(0.02, 1e-4), 0.03);
    /* 1 + 0.01 z costs what 0.01 z costs. */
    CU_ASSERT_DOUBLE_EQUAL(bits_a_value(&c, TENSOR_ONES, 1e-5), normal_bits(0.01, 1e-5), 0.03);
    /* A walk costs its steps; each is a difference of two roundings, of variance (2e)^2 / 12. */
    const double step = sqrt(1e-4 + 2 * 4e-6 / 12);
    CU_ASSERT_DOUBLE_EQUAL(bits_a_value(&c, TENSOR_WALK, 1e-3), normal_bits(step, 1e-3), 0.05);
    /* Nine of ten 0, a normal otherwise: 0.469 bits which, and a tenth of log2(2066) = 11.01. */
    CU_ASSERT_DOUBLE_EQUAL(bits_a_value(&c, TENSOR_SPARSE, 1e-3), 0.469 + 0.1 * 11.012, 0.05);
    coder_release(&c);
}

static void small_outputs(void)
{
    enum { N = 100000 };
    struct coder c;
    float *x = malloc(N * sizeof(*x));
    coder_init(&c, N);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    make_tensor(x, N, TENSOR_CONSTANT, 1);
    CU_ASSERT(encoded_bytes(&c, x, N, STRAIT_BOUND_ABS, 0) <= 8); /* mode, length, one float */
    make_tensor(x, N, TENSOR_ZEROS, 1);
    CU_ASSERT(encoded_bytes(&c, x, N, STRAIT_BOUND_RANGE, 1e-3) <= 8);
    make_tensor(x, N, TENSOR_WEIGHTS, 1);
    CU_ASSERT(encoded_bytes(&c, x, N, STRAIT_BOUND_RANGE, 0.5) <=
              8); /* half the range: one value */
    CU_ASSERT_EQUAL(encoded_bytes(&c, x, N, STRAIT_BOUND_ABS, 0), 4 * N + 4); /* raw */
    make_tensor(x, N, TENSOR_BITS, 1);
    CU_ASSERT_EQUAL(encoded_bytes(&c, x, N, STRAIT_BOUND_ABS, 1e-30), 4 * N + 4);
    /* One value of 100,000 is not 0: its block, and all others as one run of zeros. */
    memset(x, 0, N * sizeof(*x));
    x[54321] = 1;
    CU_ASSERT(encoded_bytes(&c, x, N, STRAIT_BOUND_RANGE, 1e-3) < 100);
    free(x);
    coder_release(&c);
}

/* 8,000 values in steps of 1e-3 of the range and 4 of 1e25: the four escape, nothing else pays. */
static void few_outliers(void)
{
    enum { N = 8000 };
    static float x[N];
    struct coder c;
    coder_init(&c, N);
    make_tensor(x, N, TENSOR_WEIGHTS, 7);
    const size_t before = encoded_bytes(&c, x, N, STRAIT_BOUND_ABS, 1e-4);
    for (size_t i = 0; i < 4; i++)
        x[1000 + 1500 * i] = i % 2 ? 1e25f : -1e25f;
    const size_t after = encoded_bytes(&c, x, N, STRAIT_BOUND_ABS, 1e-4);
    CU_ASSERT(after < before + 4 * 4 + 40); /* the floats, and a symbol in the tables */
    coder_release(&c);
}

/* Values from integers alone, so that no mathematical library has a say. */
static void make_exact(float *x, size_t n, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (int32_t)(strait_sequence_next(&s) >> 44) - (1 << 19);
        x[i] = (float)sum * (i / 4096 % 3 == 1 ? 0x1p-30f : 0x1p-24f);
        if (i % 3001 == 17)
            x[i] = i % 2 ? INFINITY : 3e7f;
    }
}

/* Version 2 of the stream: since version 1 the step follows from the bound alone, and segments of
 * 2^17 values hand their tables on, so that streams can be added and sent by pieces. */
static void same_everywhere(void)
{
    static const struct {
        size_t n;
        enum strait_bound_kind kind;
        double value;
        uint64_t checksum;
    } cases[] = {
        {300, STRAIT_BOUND_ABS, 1e-4, 0x5f98201c570d9b0d},
        {5000, STRAIT_BOUND_ABS, 1e-3, 0x0e5abafff802d584},
        {150000, STRAIT_BOUND_ABS, 1e-2, 0x56a42af603c993d3},
        {150000, STRAIT_BOUND_ABS, 1e-4, 0x551f9316a664248a},
        {150000, STRAIT_BOUND_ABS, 1e-6, 0x1f1586d2dbad0bb6},
        {150000, STRAIT_BOUND_RANGE, 1e-9, 0x23102226e6da8218},
        {1200000, STRAIT_BOUND_ABS, 1e-3, 0x1c8d9bda9b312154},
        {400, STRAIT_BOUND_POINTWISE, 1e-2, 0x8d04a0d55db9ea54},
        {150000, STRAIT_BOUND_POINTWISE, 1e-1, 0x7068068e1d8cc10d},
        {150000, STRAIT_BOUND_POINTWISE, 1e-4, 0x443b81321b7ed4de},
        {600000, STRAIT_BOUND_RATIO, 6, 0x2173df65a653123b},
    };
    enum { MAX = 1200000 };
    struct coder c;
    float *x = malloc(MAX * sizeof(*x));
    coder_init(&c, MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_exact(x, cases[i].n, i);
        const size_t len = encoded_bytes(&c, x, cases[i].n, cases[i].kind, cases[i].value);
        CU_ASSERT_EQUAL(strait_checksum(c.bytes, len), cases[i].checksum);
    }
    free(x);
    coder_release(&c);
}

/* The recordings are data of this repository: their streams are the same on every machine too. */
static void recordings_everywhere(void)
{
    static const struct {
        double bound;
        uint64_t checksum;
    } cases[] = {
        {1e-1, 0x04aed49c4f554314}, {1e-3, 0x84e474c932c59876}, {1e-5, 0xa4d33052d86314e0}};
    struct strait_tensors *t = load();
    struct coder c;
    coder_init(&c, max_elems(t));
    for (size_t b = 0; b < 3; b++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            for (unsigned k = 0; k < 2; k++) { /* range, then rms: both take a path in double */
                const size_t len =
                    encoded_bytes(&c, r->values, r->n_elems,
                                  k ? STRAIT_BOUND_RMS : STRAIT_BOUND_RANGE, cases[b].bound);
                sum = sum * 31 + strait_checksum(c.bytes, len);
            }
        }
        CU_ASSERT_EQUAL(sum, cases[b].checksum);
    }
    coder_release(&c);
    strait_tensors_free(t);
}

/* Bytes of version 1 of the stream, decoded here for ever: a constant and small integers. */
static void old_streams(void)
{
    /* CONST, 3 values, 1.5. FIXED, 4 values, step 0.5, least -1 (zigzag 1), width 3: -1 0 2 5. */
    static const unsigned char constant[] = {1, 3, 0, 0, 0xc0, 0x3f};
    static const unsigned char fixed[] = {2, 4, 0, 0, 0, 0x3f, 1, 3, 0xc8, 0x0c};
    struct strait_error err = {0};
    struct coder c;
    float y[4];
    coder_init(&c, 4);
    CU_ASSERT_EQUAL(c.ops->decode(c.state, y, 3, constant, sizeof(constant), &err), 0);
    CU_ASSERT(y[0] == 1.5f && y[1] == 1.5f && y[2] == 1.5f);
    /* codes above the least 0 1 3 6, three bits each, lowest first: 000 100 110 011 */
    CU_ASSERT_EQUAL(c.ops->decode(c.state, y, 4, fixed, sizeof(fixed), &err), 0);
    CU_ASSERT(y[0] == -0.5f && y[1] == 0.0f && y[2] == 1.0f && y[3] == 2.5f);
    coder_release(&c);
}

static const struct strait_test tests[] = {
    {"ratios on the recorded tensors are within 1 % of the reference or better", ratios},
    {"on weights the stream is within 0.5 % of the entropy of the integers", near_entropy},
    {"normal values, a walk, a centre and zeros cost what the closed forms say", closed_forms},
    {"constants, zeros and single values cost next to nothing, raw is the ceiling", small_outputs},
    {"a few outliers cost only themselves", few_outliers},
    {"made-up values give the bytes that every build gives", same_everywhere},
    {"recorded values give the bytes that every build gives", recordings_everywhere},
    {"streams written by hand decode", old_streams},
};
STRAIT_SUITE("codecs/sz/sz", tests);
