/* Directions of a matrix in the sz codec: fewer bytes, the same values. */
#include <math.h>
#include "codecs/builtin.h"
#include "codecs/sz/matrix/matrix.h"
#include "codecs/sz/sz_kernels.h"
#include "tests/kit/suite.h"
#include "sz_fixture.h"

/* A value by chance in [-1, 1). */
static float chance(uint32_t i, uint32_t salt)
{
    uint32_t v = (i + 1) * 2654435761u ^ salt * 0x9e3779b9u;
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return (float)(v ^ v >> 16) / 2147483648.0f - 1;
}

/* Three directions of up to 300 together, and noise within 8, in units of `step`. */
static void fill(float *x, size_t n_rows, size_t n_columns, float step, uint32_t salt)
{
    for (size_t r = 0; r < n_rows; r++)
        for (size_t c = 0; c < n_columns; c++) {
            float sum = 8 * chance((uint32_t)(r * n_columns + c), salt);
            for (uint32_t j = 0; j < 3; j++)
                sum +=
                    100 * chance((uint32_t)r, salt + 10 + j) * chance((uint32_t)c, salt + 20 + j);
            x[r * n_columns + c] = sum * step;
        }
}

static size_t encoded_as(struct sz_fixture *f, const float *x, size_t n, size_t n_rows,
                         struct strait_bound bound)
{
    struct strait_error err = {0};
    const struct strait_request request = {.bound = bound, .n_rows = n_rows};
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(f->ops, f->state, f->bytes,
                                              f->ops->max_bytes(f->state, n), &f->len_bytes, x, n,
                                              request, &err),
                          0);
    return f->len_bytes;
}

static const struct strait_bound one = {STRAIT_BOUND_ABS, 0.5};

/* Noise of [-8, 8) in steps of 1 takes log2(16) = 4 bits; 0.1 more for rounding the directions,
 * their integers 3 (256 + 600) * 12 bits of 153,600 values, 0.2; and 0.3 where the sketch misses
 * up to 1/3 of the noise's square, 21, of a signal's 3300. The sum of three products of two
 * even variables times 100 has a standard deviation of 100 sqrt(3) / 3 = 58: 7.9 bits if it were
 * normal, 0.5 less at most as it is not. */
static void fewer_bytes(void)
{
    enum { ROWS = 256, COLUMNS = 600, N = ROWS * COLUMNS };
    struct sz_fixture plain, few;
    sz_fixture_with(&plain, N, 1, 0);
    sz_fixture_with(&few, N, 1, 4);
    float *x = new_floats(N);
    fill(x, ROWS, COLUMNS, 1, 1);
    const double bits = 8.0 * (double)encoded_as(&plain, x, N, ROWS, one) / N;
    const double left = 8.0 * (double)encoded_as(&few, x, N, ROWS, one) / N;
    CU_ASSERT(bits > 7.3 && bits < 8.2);
    CU_ASSERT(left > 4.0 && left < 4.6);
    sz_decoded(&plain, N);
    sz_decoded(&few, N);
    CU_ASSERT(equal_bits(plain.y, few.y, 4 * (size_t)N));
    /* A vector, and rows that do not divide it, are coded as before. */
    const size_t len = encoded_as(&plain, x, N, 0, one);
    CU_ASSERT_EQUAL(encoded_as(&few, x, N, 0, one), len);
    CU_ASSERT_EQUAL(encoded_as(&few, x, N, 257, one), len);
    CU_ASSERT(equal_bits(plain.bytes, few.bytes, len));
    free(x);
    sz_fixture_release(&plain);
    sz_fixture_release(&few);
}

/* Shapes around blocks, segments, sixteens, and the narrowest; bounds of each kind, and values that
 * are escapes. */
static void same_values(void)
{
    static const size_t shapes[][2] = {{128, 128}, {8, 2048},   {2048, 8},   {17, 1031},
                                       {257, 77},  {131, 1009}, {1009, 131}, {33, 4001}};
    static const struct strait_bound bounds[] = {{STRAIT_BOUND_ABS, 0.5},
                                                 {STRAIT_BOUND_RANGE, 1e-3},
                                                 {STRAIT_BOUND_RMS, 1e-4},
                                                 {STRAIT_BOUND_ABS, 300}};
    enum { MAX = 131 * 1009 };
    struct sz_fixture plain, few;
    sz_fixture_with(&plain, MAX, 1, 0);
    sz_fixture_with(&few, MAX, 3, 16);
    float *x = new_floats(MAX);
    unsigned n_shorter = 0;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++) {
            const size_t n = shapes[i][0] * shapes[i][1];
            fill(x, shapes[i][0], shapes[i][1], 1, (uint32_t)i);
            if (k == 3) { /* nothing else counts beside these, which are escapes */
                x[n / 3] = 3e9f;
                x[n - 1] = -1e20f;
            }
            const size_t before = encoded_as(&plain, x, n, shapes[i][0], bounds[k]);
            n_shorter += encoded_as(&few, x, n, shapes[i][0], bounds[k]) < before;
            sz_decoded(&plain, n);
            sz_decoded(&few, n);
            CU_ASSERT(equal_bits(plain.y, few.y, 4 * n));
        }
    CU_ASSERT(n_shorter >= 12); /* of 24; where 8 to 17 rows share directions, these cost more */
    free(x);
    sz_fixture_release(&plain);
    sz_fixture_release(&few);
}

/* Independent values have no directions: the bytes are those without. */
static void nothing_there(void)
{
    enum { ROWS = 200, COLUMNS = 300, N = ROWS * COLUMNS };
    struct sz_fixture plain, few;
    sz_fixture_with(&plain, N, 1, 0);
    sz_fixture_with(&few, N, 1, 8);
    float *x = new_floats(N);
    for (uint32_t i = 0; i < N; i++)
        x[i] = chance(i, 5);
    for (double range = 1e-2; range > 1e-6; range /= 10) {
        const struct strait_bound bound = {STRAIT_BOUND_RANGE, range};
        const size_t len = encoded_as(&plain, x, N, ROWS, bound);
        CU_ASSERT_EQUAL_FATAL(encoded_as(&few, x, N, ROWS, bound), len);
        CU_ASSERT(equal_bits(plain.bytes, few.bytes, len));
    }
    x[7] = NAN; /* nor are they looked for among values that are none */
    CU_ASSERT_EQUAL(encoded_as(&few, x, N, ROWS, one), encoded_as(&plain, x, N, ROWS, one));
    free(x);
    sz_fixture_release(&plain);
    sz_fixture_release(&few);
}

/* At every SIMD level; fine bounds have sums that are not exact. */
static void same_bytes(void)
{
    enum { ROWS = 150, COLUMNS = 1001, N = ROWS * COLUMNS };
    const double params[] = {1, 8};
    struct sz_fixture f;
    sz_fixture_with(&f, N, 1, 8);
    float *x = new_floats(N), *y = new_floats(N);
    for (double bound = 8; bound > 1e-3; bound /= 8) {
        fill(x, ROWS, COLUMNS, 1, 3);
        const struct strait_bound abs_bound = {STRAIT_BOUND_ABS, bound};
        for (int level = 0; level <= (int)strait_simd_best(); level++) {
            struct sz_fixture g = f;
            CU_ASSERT_EQUAL_FATAL(sz_open_at(&g.state, params, (enum strait_simd)level, NULL), 0);
            g.bytes = malloc(g.cap_bytes);
            g.y = y;
            const size_t len = encoded_as(&g, x, N, ROWS, abs_bound);
            if (level == 0) {
                memcpy(f.bytes, g.bytes, len);
                f.len_bytes = len;
                sz_decoded(&f, N);
            }
            CU_ASSERT_EQUAL(len, f.len_bytes);
            CU_ASSERT(equal_bits(g.bytes, f.bytes, f.len_bytes));
            sz_decoded(&g, N);
            CU_ASSERT(equal_bits(g.y, f.y, 4 * (size_t)N));
            f.ops->close(g.state);
            free(g.bytes);
        }
    }
    free(x);
    free(y);
    sz_fixture_release(&f);
}

/* The integers of two streams of one step are added whatever was subtracted from them. */
static void sums(void)
{
    enum { ROWS = 300, COLUMNS = 500, N = ROWS * COLUMNS };
    struct sz_fixture f;
    struct strait_error err = {0};
    sz_fixture_with(&f, N, 1, 4);
    float *x = new_floats(N), *ya = new_floats(N);
    unsigned char *a = malloc(f.cap_bytes), *b = malloc(f.cap_bytes);
    CU_ASSERT_FATAL(a && b);
    fill(x, ROWS, COLUMNS, 1, 1);
    const size_t a_bytes = encoded_as(&f, x, N, ROWS, one);
    memcpy(a, f.bytes, a_bytes);
    sz_decoded(&f, N);
    memcpy(ya, f.y, 4 * (size_t)N);
    fill(x, ROWS, COLUMNS, 1, 2);
    const size_t b_bytes = encoded_as(&f, x, N, 0, one); /* as a vector */
    memcpy(b, f.bytes, b_bytes);
    sz_decoded(&f, N);
    for (size_t i = 0; i < N; i++)
        x[i] = ya[i] + f.y[i]; /* steps of about 1: their sums are floats */
    CU_ASSERT(f.ops->summable(f.state, a, a_bytes, b, b_bytes));
    CU_ASSERT_EQUAL_FATAL(
        f.ops->add(f.state, f.bytes, f.cap_bytes, &f.len_bytes, a, a_bytes, b, b_bytes, N, &err),
        0);
    sz_decoded(&f, N);
    double off = 0;
    for (size_t i = 0; i < N; i++)
        off = fmax(off, fabs((double)f.y[i] - (double)x[i]));
    CU_ASSERT(off < 1e-4); /* of values below 700: two roundings of 2^-14 */
    free(a);
    free(b);
    free(x);
    free(ya);
    sz_fixture_release(&f);
}

/* The pieces of a stream are its bytes, and decode one by one. */
static void pieces(void)
{
    enum { ROWS = 700, COLUMNS = 500, N = ROWS * COLUMNS };
    struct sz_fixture f;
    struct strait_error err = {0};
    const struct strait_request request = {.bound = one, .n_rows = ROWS};
    sz_fixture_with(&f, N, 1, 4);
    const struct strait_codec_stream_ops *ops = f.ops->stream;
    float *x = new_floats(N);
    fill(x, ROWS, COLUMNS, 1, 9);
    const size_t len = encoded_as(&f, x, N, ROWS, one), cap = ops->piece_max_bytes(f.state, N);
    unsigned char *piece = malloc(cap);
    void *in, *out;
    CU_ASSERT_EQUAL_FATAL(ops->begin(f.state, &in, x, N, request, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ops->begin_decode(f.state, &out, f.y, N, &err), 0);
    size_t at = 0, n_done = 0, n_decoded = 0, piece_bytes;
    while (n_done < N) {
        CU_ASSERT_EQUAL_FATAL(ops->put(in, piece, cap, &piece_bytes, &n_done, &err), 0);
        CU_ASSERT_FATAL(at + piece_bytes <= len);
        CU_ASSERT(equal_bits(piece, f.bytes + at, piece_bytes));
        CU_ASSERT_EQUAL_FATAL(ops->get(out, &n_decoded, piece, piece_bytes, &err), 0);
        CU_ASSERT_EQUAL(n_decoded, n_done);
        at += piece_bytes;
    }
    CU_ASSERT_EQUAL(at, len);
    ops->end(in);
    ops->end(out);
    memcpy(x, f.y, 4 * (size_t)N);
    sz_decoded(&f, N);
    CU_ASSERT(equal_bits(x, f.y, 4 * (size_t)N));
    free(piece);
    free(x);
    sz_fixture_release(&f);
}

/* Any bytes are safe: each byte of the head and of the directions changed, and each cut. */
static void damaged(void)
{
    enum { ROWS = 64, COLUMNS = 300, N = ROWS * COLUMNS };
    struct sz_fixture f;
    unsigned n_refused = 0;
    sz_fixture_with(&f, N, 1, 4);
    float *x = new_floats(N);
    fill(x, ROWS, COLUMNS, 1, 4);
    const size_t len = encoded_as(&f, x, N, ROWS, one);
    for (size_t i = 0; i < 400; i++) {
        unsigned char *bytes = malloc(len), *cut = malloc(i + 1);
        CU_ASSERT_FATAL(bytes && cut);
        memcpy(bytes, f.bytes, len);
        bytes[i] ^= (unsigned char)(1u << i % 8);
        n_refused += f.ops->decode(f.state, f.y, N, bytes, len, NULL) != 0;
        memcpy(cut, f.bytes, i);
        CU_ASSERT_NOT_EQUAL(f.ops->decode(f.state, f.y, N, cut, i, NULL), 0);
        free(bytes);
        free(cut);
    }
    CU_ASSERT(n_refused > 8);
    free(x);
    sz_fixture_release(&f);
}

/* One direction of scale 1/4: the share of row r and column c is code_r code_c / 4 to the nearest
 * integer, ties to even. */
static void shares(void)
{
    enum { ROWS = 100, COLUMNS = 170, N = ROWS * COLUMNS };
    struct sz_matrix *m = calloc(1, sizeof(*m));
    CU_ASSERT_FATAL(m && sz_matrix_fits(N, ROWS) && !sz_matrix_fits(N, 99) &&
                    sz_matrix_shape(m, N, ROWS));
    for (int level = 0; level <= (int)strait_simd_best(); level++) {
        m->kernels = sz_matrix_kernels_at((enum strait_simd)level);
        for (int lower = 0; lower < level; lower++) /* each level has loops of its own */
            CU_ASSERT(sz_matrix_kernels_at((enum strait_simd)lower) != m->kernels);
        m->rank = 1;
        m->scale[0] = 0.25f;
        for (int i = 0; i < ROWS + COLUMNS; i++)
            m->code[i] = (float)(i < ROWS ? i - 50 : i - ROWS - 85);
        CU_ASSERT(sz_matrix_complete(m) && m->exact);
        float share[256], y[256];
        int32_t q[256], d[256];
        for (unsigned n = 1; n <= 256; n += 51) {
            const size_t at = 1000 + n;
            uint32_t sum = 0;
            for (unsigned i = 0; i < n; i++)
                y[i] = (float)(q[i] = (int32_t)(i * i));
            sz_matrix_share(m, share, at, n);
            const struct sz_sizes sizes = sz_matrix_subtract(m, d, q, at, n);
            sz_matrix_restore(m, y, at, n, 0.5f);
            for (unsigned i = 0; i < n; i++) {
                const int r = (int)((at + i) / COLUMNS) - 50, c = (int)((at + i) % COLUMNS) - 85;
                const double want = nearbyint(r * c / 4.0);
                CU_ASSERT_EQUAL((double)share[i], want);
                CU_ASSERT_EQUAL(d[i], q[i] - (int32_t)want);
                CU_ASSERT_EQUAL((double)y[i], 0.5 * (q[i] + want));
                sum += (uint32_t)abs(d[i]);
            }
            CU_ASSERT_EQUAL(sizes.sum, sum);
        }
    }
    m->scale[0] = 0.3f; /* no power of 2 */
    CU_ASSERT_FALSE(sz_matrix_complete(m));
    m->scale[0] = 1;
    m->code[0] = 4194304; /* 2^22 */
    CU_ASSERT_FALSE(sz_matrix_complete(m));
    m->code[0] = 0.5f;
    CU_ASSERT_FALSE(sz_matrix_complete(m));
    m->code[0] = 100000; /* times 85 is beyond 2^22 */
    CU_ASSERT_FALSE(sz_matrix_complete(m));
    sz_matrix_free(m);
}

/* Small networks' gradients, all of at least 16,384 values: 15 % fewer bytes at 1e-2 of the range
 * and 10 % at 1e-3, and none more on weights. */
static void recorded(void)
{
    struct strait_tensors *t = load_tensors();
    struct sz_fixture plain, few;
    sz_fixture_with(&plain, max_elems_of(t), 1, 0);
    sz_fixture_with(&few, max_elems_of(t), 1, 4);
    static const struct {
        const char *kind;
        double range, most;
    } goals[] = {{"grad", 1e-2, 0.85}, {"grad", 1e-3, 0.9}, {"param", 1e-2, 1}, {"param", 1e-3, 1}};
    for (size_t k = 0; k < sizeof(goals) / sizeof(goals[0]); k++) {
        size_t before = 0, after = 0;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            const struct strait_bound bound = {STRAIT_BOUND_RANGE, goals[k].range};
            if (strcmp(r->kind, goals[k].kind) != 0 || r->n_elems < 1024)
                continue;
            const size_t n_rows = r->n_dims >= 2 ? r->shape[0] : 0;
            before += encoded_as(&plain, r->values, r->n_elems, n_rows, bound);
            after += encoded_as(&few, r->values, r->n_elems, n_rows, bound);
        }
        CU_ASSERT(before > 0 && (double)after <= goals[k].most * (double)before);
    }
    sz_fixture_release(&plain);
    sz_fixture_release(&few);
    strait_tensors_free(t);
}

static const struct strait_test tests[] = {
    {"a matrix near three directions takes the bits of its noise", fewer_bytes},
    {"directions change no decoded value, whatever the shape and the bound", same_values},
    {"where there are no directions the bytes are those without", nothing_there},
    {"every SIMD level finds the same directions and writes the same bytes", same_bytes},
    {"streams with and without directions are added as integers", sums},
    {"the pieces of a matrix are the bytes of its stream", pieces},
    {"changed and cut streams with directions are refused or decoded, never more", damaged},
    {"a share is the nearest integer to the product of two factors", shares},
    {"recorded gradients take 15 % fewer bytes at 1e-2, 10 % at 1e-3", recorded},
};
STRAIT_SUITE("codecs/sz/sz_matrix", tests);
