#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/bundle.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

/* A small model: two matrices, a bias between them, nothing at all, a LayerNorm weight. */
enum { N_SLICES = 5, N_VALUES = 6000 + 64 + 2000 + 0 + 96 };
static const struct {
    unsigned n_dims;
    size_t n_elems;
    enum tensor_kind kind;
} layers[N_SLICES] = {{2, 6000, TENSOR_WEIGHTS},
                      {1, 64, TENSOR_BROKEN},
                      {4, 2000, TENSOR_ROWS},
                      {1, 0, TENSOR_ZEROS},
                      {1, 96, TENSOR_ONES}};

struct model {
    struct strait_bundle bundle;
    float x[N_VALUES], y[N_VALUES];
    struct strait_slice from[N_SLICES], to[N_SLICES];
    unsigned char *bytes;
    size_t cap_bytes, len_bytes, raw_bytes;
};

static void model_init(struct model *m, const char *lossy, struct strait_bound bound)
{
    struct strait_error err = {0};
    size_t at = 0;
    memset(m, 0, sizeof(*m));
    m->bundle = (struct strait_bundle){.lossy.ops = strait_codec_find(lossy),
                                       .lossless.ops = strait_codec_find("zstd"),
                                       .bound = bound};
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_open_default(m->bundle.lossy.ops, &m->bundle.lossy.state, &err), 0);
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_open_default(m->bundle.lossless.ops, &m->bundle.lossless.state, &err), 0);
    for (size_t i = 0; i < N_SLICES; i++) {
        const size_t n = layers[i].n_elems;
        const bool is_lossy = strait_slice_lossy(layers[i].n_dims, n, STRAIT_BUNDLE_CUTOFF_ELEMS);
        make_tensor(m->x + at, n, layers[i].kind, i);
        m->from[i] = (struct strait_slice){.x = m->x + at, .n_elems = n, .lossy = is_lossy};
        m->to[i] = (struct strait_slice){.x = m->y + at, .n_elems = n, .lossy = is_lossy};
        at += n;
    }
    CU_ASSERT_EQUAL_FATAL(at, N_VALUES);
    m->cap_bytes = strait_bundle_max_bytes(&m->bundle, m->from, N_SLICES);
    m->bytes = malloc(m->cap_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->bytes);
}

static void model_release(struct model *m)
{
    m->bundle.lossy.ops->close(m->bundle.lossy.state);
    m->bundle.lossless.ops->close(m->bundle.lossless.state);
    free(m->bytes);
}

static int encode(struct model *m, struct strait_error *err)
{
    return strait_bundle_encode(&m->bundle, m->bytes, m->cap_bytes, &m->len_bytes, &m->raw_bytes,
                                m->from, N_SLICES, err);
}

static int decode(struct model *m, size_t len, struct strait_error *err)
{
    unsigned char *copy = malloc(len + 1); /* of its own length, for the sanitizer */
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, m->bytes, len);
    const int result = strait_bundle_decode(&m->bundle, m->to, N_SLICES, copy, len, err);
    free(copy);
    return result;
}

static void rule(void)
{
    CU_ASSERT(strait_slice_lossy(2, 1025, 1024));
    CU_ASSERT_FALSE(strait_slice_lossy(2, 1024, 1024));
    CU_ASSERT_FALSE(strait_slice_lossy(1, 1000000, 1024));
    CU_ASSERT_FALSE(strait_slice_lossy(0, 1, 0));
    CU_ASSERT(strait_slice_lossy(4, 1, 0));
}

/* Each matrix within 1e-3 of its own range: the ranges differ by a factor of 20. */
static void each_its_bound(void)
{
    struct model m;
    struct strait_error err = {0};
    model_init(&m, "sz", (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3});
    CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
    CU_ASSERT_EQUAL(m.raw_bytes, 4 * N_VALUES);
    CU_ASSERT(m.len_bytes <= m.cap_bytes);
    CU_ASSERT_EQUAL_FATAL(decode(&m, m.len_bytes, &err), 0);
    for (size_t i = 0; i < N_SLICES; i++) {
        const struct strait_slice *a = &m.from[i], *b = &m.to[i];
        if (!a->lossy) {
            CU_ASSERT_EQUAL(memcmp(a->x, b->x, 4 * a->n_elems), 0);
            continue;
        }
        float least = INFINITY, most = -INFINITY;
        double worst = 0;
        for (size_t k = 0; k < a->n_elems; k++) {
            least = fminf(least, a->x[k]);
            most = fmaxf(most, a->x[k]);
            worst = fmax(worst, fabs((double)a->x[k] - (double)b->x[k]));
        }
        CU_ASSERT(worst <= 1e-3 * ((double)most - (double)least));
        CU_ASSERT(worst > 0.9e-3 * ((double)most - (double)least)); /* its own, not the smaller */
    }
    model_release(&m);
}

static void lossless_throughout(void)
{
    static const char *const names[] = {"none", "zstd"};
    for (size_t i = 0; i < 2; i++) {
        struct model m;
        struct strait_error err = {0};
        model_init(&m, names[i], (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3});
        CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&m, m.len_bytes, &err), 0);
        CU_ASSERT_EQUAL(memcmp(m.x, m.y, sizeof(m.x)), 0);
        model_release(&m);
    }
}

/* The heads can be walked by what bundle.h says: id, 7 bytes length. */
static void heads(void)
{
    struct model m;
    struct strait_error err = {0};
    size_t at = 0;
    model_init(&m, "sz", (struct strait_bound){STRAIT_BOUND_ABS, 1e-4});
    CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
    for (size_t i = 0; i < N_SLICES; i++) {
        uint64_t len = 0;
        CU_ASSERT_FATAL(at + STRAIT_BUNDLE_SLICE_BYTES <= m.len_bytes);
        CU_ASSERT_EQUAL(m.bytes[at], m.from[i].lossy ? 3 : 2);
        for (unsigned k = 7; k >= 1; k--)
            len = len << 8 | m.bytes[at + k];
        at += STRAIT_BUNDLE_SLICE_BYTES + (size_t)len;
    }
    CU_ASSERT_EQUAL(at, m.len_bytes);
    model_release(&m);
}

static void refusals(void)
{
    struct model m;
    struct strait_error err = {0};
    model_init(&m, "sz", (struct strait_bound){STRAIT_BOUND_ABS, 1e-4});
    m.cap_bytes--;
    CU_ASSERT_EQUAL(encode(&m, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    m.cap_bytes++;
    m.bundle.bound.kind = STRAIT_BOUND_NONE;
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(encode(&m, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    m.bundle.bound.kind = STRAIT_BOUND_ABS;
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
    m.to[0].lossy = false; /* the receiver asks for another codec than was sent */
    CU_ASSERT_EQUAL(decode(&m, m.len_bytes, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "bundle#/0");
    CU_ASSERT_STRING_EQUAL(err.text, "expected codec 2 (zstd), found 3");
    model_release(&m);
}

static void damaged(void)
{
    struct model m;
    struct strait_error err = {0};
    struct strait_sequence s = strait_sequence_at(5);
    model_init(&m, "sz", (struct strait_bound){STRAIT_BOUND_RANGE, 1e-2});
    CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
    for (size_t cut = 0; cut < m.len_bytes; cut += 1 + cut / 20) {
        struct strait_error why = {0};
        CU_ASSERT_EQUAL(decode(&m, cut, &why), -1);
        CU_ASSERT_EQUAL(why.code, STRAIT_ERR_INPUT);
    }
    for (size_t k = 0; k < 400; k++) {
        const size_t at = strait_sequence_next(&s) % m.len_bytes;
        m.bytes[at] ^= (unsigned char)(1u << k % 8);
        decode(&m, m.len_bytes, NULL);
        m.bytes[at] ^= (unsigned char)(1u << k % 8);
    }
    for (size_t k = 0; k < 8; k++) { /* a length of nearly 2^56, and all other heads of the first */
        m.bytes[k] ^= 0xff;
        CU_ASSERT_EQUAL(decode(&m, m.len_bytes, NULL), -1);
        m.bytes[k] ^= 0xff;
    }
    CU_ASSERT_EQUAL(decode(&m, m.len_bytes, &err), 0);
    model_release(&m);
}

static void none_at_all(void)
{
    struct model m;
    struct strait_error err = {0};
    model_init(&m, "sz", (struct strait_bound){STRAIT_BOUND_ABS, 1e-4});
    size_t len = 1;
    CU_ASSERT_EQUAL(strait_bundle_encode(&m.bundle, m.bytes, 0, &len, NULL, m.from, 0, &err), 0);
    CU_ASSERT_EQUAL(len, 0);
    CU_ASSERT_EQUAL(strait_bundle_decode(&m.bundle, m.to, 0, m.bytes, 0, &err), 0);
    model_release(&m);
}

/* x and its double, added: 3 x within the errors of two encodings, of three where the streams share
 * no step; where nothing is lossy the float sum bit by bit. Streams cut short are refused. */
static void sums(void)
{
    static const struct strait_bound bounds[] = {{STRAIT_BOUND_ABS, 1e-4},
                                                 {STRAIT_BOUND_RANGE, 1e-4}};
    for (size_t b = 0; b < 2; b++) {
        struct model m;
        struct strait_error err = {0};
        model_init(&m, "sz", bounds[b]);
        unsigned char *first = malloc(m.cap_bytes), *sum = malloc(m.cap_bytes);
        float *scratch = calloc(2 * 6000, sizeof(*scratch));
        CU_ASSERT_FATAL(first && sum && scratch);
        CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
        const size_t first_bytes = m.len_bytes;
        size_t sum_bytes = 0;
        memcpy(first, m.bytes, first_bytes);
        for (size_t i = 0; i < N_VALUES; i++)
            m.x[i] *= 2;
        CU_ASSERT_EQUAL_FATAL(encode(&m, &err), 0);
        for (size_t len = 0; len < first_bytes; len += 97)
            CU_ASSERT_EQUAL(strait_bundle_add(&m.bundle, sum, m.cap_bytes, &sum_bytes, m.from,
                                              N_SLICES, first, len, m.bytes, m.len_bytes, scratch,
                                              NULL),
                            -1);
        CU_ASSERT_EQUAL(strait_bundle_add(&m.bundle, sum, m.cap_bytes - 1, &sum_bytes, m.from,
                                          N_SLICES, first, first_bytes, m.bytes, m.len_bytes,
                                          scratch, NULL),
                        -1);
        CU_ASSERT_EQUAL_FATAL(strait_bundle_add(&m.bundle, sum, m.cap_bytes, &sum_bytes, m.from,
                                                N_SLICES, first, first_bytes, m.bytes, m.len_bytes,
                                                scratch, &err),
                              0);
        memcpy(m.bytes, sum, sum_bytes);
        CU_ASSERT_EQUAL_FATAL(decode(&m, sum_bytes, &err), 0);
        for (size_t k = 0; k < N_SLICES; k++) {
            const float *x = m.from[k].x, *y = m.to[k].x; /* x is the double by now */
            const size_t n = m.from[k].n_elems;
            const double e = m.from[k].lossy ? strait_bound_absolute(bounds[b], x, n) : 0;
            double worst = 0;
            for (size_t i = 0; i < n; i++) {
                const float plain = x[i] / 2 + x[i];
                if (isfinite(plain))
                    worst = fmax(worst, fabs((double)y[i] - (double)plain) -
                                            (m.from[k].lossy ? fabs((double)plain) * 0x1p-22 : 0));
                else
                    CU_ASSERT(isnan(plain) ? isnan(y[i]) : memcmp(&plain, &y[i], 4) == 0);
            }
            /* abs: 2 e. range: of x / 2, of x, and of their sum: (1/2 + 1 + 3/2) e */
            CU_ASSERT(worst <= (b == 0 ? 2 : 3) * e * (1 + 1e-6));
            CU_ASSERT(!m.from[k].lossy || worst > e / 2);
        }
        free(first);
        free(sum);
        free(scratch);
        model_release(&m);
    }
}

static const struct strait_test tests[] = {
    {"large matrices are lossy, small and one-dimensional tensors are not", rule},
    {"every matrix keeps its own bound, every other tensor every bit", each_its_bound},
    {"a lossless codec serves all tensors", lossless_throughout},
    {"the payload has the heads that the layout says", heads},
    {"too little room, a foreign bound and a foreign codec are refused", refusals},
    {"damaged payloads do no harm", damaged},
    {"no tensors are no bytes", none_at_all},
    {"payloads add up, encoded where the codec can and decoded where not", sums},
};
STRAIT_SUITE("codecs/bundle", tests);
