/* Codecs that are other people's libraries: zstd, lz4, Blosc, fpzip and zfp. */
#include <stdlib.h>
#include "codecs/codec.h"
#include "codecs/foreign/pieces.h"
#include "codecs/lossless/planes.h"
#include "core/hash.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

static const char *const lossless[] = {"zstd", "lz4", "blosc", "fpzip"};
enum { N_LOSSLESS = sizeof(lossless) / sizeof(lossless[0]) };

struct rig {
    const struct strait_codec_ops *ops;
    void *state;
    size_t n, cap_bytes, len_bytes;
    float *x, *y;
    unsigned char *bytes;
};

/* params NULL: those that the codec falls back on. */
static void rig_open(struct rig *r, const char *name, size_t n, const double *params)
{
    struct strait_error err = {0};
    *r = (struct rig){.ops = strait_codec_find(name), .n = n};
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->ops);
    CU_ASSERT_EQUAL_FATAL(params ? strait_codec_open(r->ops, &r->state, params, &err)
                                 : strait_codec_open_default(r->ops, &r->state, &err),
                          0);
    r->cap_bytes = r->ops->max_bytes(r->state, n);
    r->x = malloc(4 * n + 1);
    r->y = malloc(4 * n + 1);
    r->bytes = malloc(r->cap_bytes);
    CU_ASSERT_FATAL(r->x && r->y && r->bytes);
}

static void rig_close(struct rig *r)
{
    r->ops->close(r->state);
    free(r->x);
    free(r->y);
    free(r->bytes);
}

static bool encode(struct rig *r, size_t n_rows)
{
    struct strait_error err = {0};
    const bool bounded = (r->ops->flags & STRAIT_CODEC_BOUNDED) != 0;
    const struct strait_request request = {
        .bound = {bounded ? STRAIT_BOUND_RANGE : STRAIT_BOUND_NONE, 1e-3}, .n_rows = n_rows};
    return strait_codec_encode(r->ops, r->state, r->bytes, r->cap_bytes, &r->len_bytes, r->x, r->n,
                               request, &err) == 0;
}

static bool decode(struct rig *r)
{
    struct strait_error err = {0};
    memset(r->y, 0x5a, 4 * r->n);
    const bool good = r->ops->decode(r->state, r->y, r->n, r->bytes, r->len_bytes, &err) == 0;
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    return good;
}

static void planes(void)
{
    static const uint32_t bits[2] = {0x04030201, 0x14131211};
    static const unsigned char expected[8] = {0x01, 0x11, 0x02, 0x12, 0x03, 0x13, 0x04, 0x14};
    float x[2], y[2];
    unsigned char sorted[8];
    memcpy(x, bits, sizeof(x));
    strait_planes_split(sorted, x, 2);
    CU_ASSERT_EQUAL(memcmp(sorted, expected, 8), 0);
    strait_planes_join(y, sorted, 2);
    CU_ASSERT_EQUAL(memcmp(y, bits, 8), 0);
}

/* Every value of every parameter that has names, the ends of every one that has not. */
static void round_trips(const char *name, const double *params)
{
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_BROKEN, TENSOR_HUGE,
                                             TENSOR_SPARSE};
    struct rig r;
    rig_open(&r, name, 70001, params);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        make_tensor(r.x, r.n, kinds[i], i);
        CU_ASSERT_FATAL(encode(&r, 0) && decode(&r));
        CU_ASSERT_EQUAL(memcmp(r.x, r.y, 4 * r.n), 0);
        CU_ASSERT(kinds[i] != TENSOR_SPARSE || r.len_bytes < 4 * r.n);
    }
    rig_close(&r);
}

static void every_parameter(void)
{
    for (size_t c = 0; c < N_LOSSLESS; c++) {
        const struct strait_codec_ops *ops = strait_codec_find(lossless[c]);
        for (unsigned p = 0; p < ops->n_params; p++) {
            double values[8];
            const struct strait_param *param = &ops->params[p];
            for (unsigned i = 0; i < ops->n_params; i++)
                values[i] = ops->params[i].fallback;
            const double step = param->choices ? 1 : param->max - param->min;
            for (values[p] = param->min; values[p] <= param->max; values[p] += step)
                round_trips(lossless[c], values);
        }
    }
}

static void refused_parameters(void)
{
    static const struct {
        const char *name;
        double params[3];
        const char *text;
    } cases[] = {{"zstd", {20}, "expected level from 1 to 19, found 20"},
                 {"lz4", {0, 1}, "expected level from 1 to 12, found 0"},
                 {"blosc", {5, 1, 1}, "expected compressor from 0 to 4, found 5"},
                 {"fpzip", {0, NAN}, "expected isolate from 0 to 1, found nan"},
                 {"zfp", {-1}, "expected verify from 0 to 1, found -1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        void *state;
        CU_ASSERT_EQUAL(
            strait_codec_open(strait_codec_find(cases[i].name), &state, cases[i].params, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
    }
}

/* What nothing can compress: id, 3 bytes of length, 1 byte for each piece of 2^16 or 2^18 values,
 * and the values; fpzip says in one more byte that it is a vector. */
static void stored_as_it_is(void)
{
    static const size_t extra_bytes[N_LOSSLESS] = {1 + 3 + 2, 1 + 3 + 2, 1 + 3 + 1, 1 + 3 + 1 + 1};
    for (size_t c = 0; c < N_LOSSLESS; c++) {
        struct rig r;
        rig_open(&r, lossless[c], 70001, NULL);
        make_tensor(r.x, r.n, TENSOR_BITS, 4);
        CU_ASSERT_FATAL(encode(&r, 0) && decode(&r));
        CU_ASSERT_EQUAL(r.len_bytes, 4 * r.n + extra_bytes[c]);
        CU_ASSERT_EQUAL(memcmp(r.x, r.y, 4 * r.n), 0);
        rig_close(&r);
    }
}

static void foreign_streams(void)
{
    static const char *const names[] = {"zstd", "lz4", "blosc", "fpzip", "zfp"};
    struct rig a, b;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            rig_open(&a, names[i], 3000, NULL);
            rig_open(&b, names[k], 3000, NULL);
            make_tensor(a.x, a.n, TENSOR_WEIGHTS, 1);
            CU_ASSERT_FATAL(encode(&a, 0) && a.len_bytes <= b.cap_bytes);
            memcpy(b.bytes, a.bytes, a.len_bytes);
            b.len_bytes = a.len_bytes;
            CU_ASSERT_EQUAL(decode(&b), i == k);
            rig_close(&a);
            rig_close(&b);
        }
}

/* lz4 tells its own kind of bytes: a receiver with other settings decodes them. */
static void settings_of_the_sender(void)
{
    static const double no[] = {1, 0}, byte[] = {12, 1};
    struct rig a, b;
    rig_open(&a, "lz4", 5000, no);
    rig_open(&b, "lz4", 5000, byte);
    make_tensor(a.x, a.n, TENSOR_SPARSE, 1);
    CU_ASSERT_FATAL(encode(&a, 0));
    memcpy(b.bytes, a.bytes, a.len_bytes);
    b.len_bytes = a.len_bytes;
    CU_ASSERT(decode(&b) && memcmp(a.x, b.y, 4 * a.n) == 0);
    rig_close(&a);
    rig_close(&b);
}

/* Rows and columns jump, but the sum has no mixed term: Lorenzo's prediction in two dimensions is
 * exact, in one it is off by up to 96 + 88. */
static void jumps(float *x, size_t n_rows, size_t n_cols)
{
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < n_cols; k++)
            x[i * n_cols + k] = (float)(i * i % 97) + (float)(k * k % 89);
}

static void rows_help_fpzip(void)
{
    struct rig flat, rows;
    static const double two_dimensions[] = {STRAIT_SHAPE_ROWS, 1};
    rig_open(&flat, "fpzip", 128 * 96, NULL);
    rig_open(&rows, "fpzip", 128 * 96, two_dimensions);
    jumps(flat.x, 128, 96);
    jumps(rows.x, 128, 96);
    CU_ASSERT(encode(&flat, 128) && encode(&rows, 128));
    CU_ASSERT(rows.len_bytes < flat.len_bytes / 4);
    CU_ASSERT(decode(&rows) && memcmp(rows.x, rows.y, 4 * rows.n) == 0);
    rig_close(&flat);
    rig_close(&rows);
}

/* Smooth along both: blocks of 4 x 4 have more to find than blocks of 4. */
static void rows_help_zfp(void)
{
    struct rig flat, rows;
    rig_open(&flat, "zfp", 512 * 64, NULL);
    rig_open(&rows, "zfp", 512 * 64, NULL);
    for (size_t i = 0; i < 512; i++)
        for (size_t k = 0; k < 64; k++)
            flat.x[64 * i + k] = rows.x[64 * i + k] =
                (float)(sin(0.02 * (double)i) + cos(0.05 * (double)k));
    CU_ASSERT(encode(&flat, 0) && encode(&rows, 512));
    CU_ASSERT(rows.len_bytes < flat.len_bytes);
    CU_ASSERT(decode(&rows));
    for (size_t i = 0; i < rows.n; i++)
        CU_ASSERT_FATAL(fabsf(rows.x[i] - rows.y[i]) <= 4.001e-3f); /* 1e-3 of a range up to 4 */
    /* Row length 64 stands behind id and 3 bytes of length: 63 does not divide, 2^20 is too long.
     */
    CU_ASSERT_EQUAL_FATAL(rows.bytes[4], 64);
    rows.bytes[4] = 63;
    CU_ASSERT_FALSE(decode(&rows));
    rows.bytes[4] = 0; /* a vector: other values, no harm */
    decode(&rows);
    rig_close(&flat);
    rig_close(&rows);
}

/* A wave of 1e-3 within 1e-6, and every 8192nd value 1e4 or NaN. libzfp has about 26 bits below a
 * block's largest value, 1.5e-4 of 1e4: the others of that block of four miss the bound, and are
 * corrected. Two such blocks a piece of 16384 values: 2 x 4 corrections of at most 3 + 4 bytes,
 * their number, the length's third byte, and two blocks of at most 4 x 40 bits, instead of 65536
 * raw bytes. */
static void zfp_is_corrected(void)
{
    enum { N = 1 << 16, PIECES = N >> 14, MORE = 2 * 4 * 7 + 1 + 1 + 2 * 20 };
    struct strait_error err = {0};
    const struct strait_request request = {.bound = {STRAIT_BOUND_ABS, 1e-6}};
    struct rig r;
    size_t clean_bytes = 0, n_wide = 0;
    rig_open(&r, "zfp", N, NULL);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < N; i++)
            r.x[i] = (float)(1e-3 * sin(0.01 * (double)i));
        for (size_t i = 100; i < N && round == 1; i += 8192)
            r.x[i] = i / 8192 % 2 == 0 ? 1e4f : NAN;
        CU_ASSERT_EQUAL_FATAL(strait_codec_encode(r.ops, r.state, r.bytes, r.cap_bytes,
                                                  &r.len_bytes, r.x, N, request, &err),
                              0);
        clean_bytes = round == 0 ? r.len_bytes : clean_bytes;
    }
    strait_test_context("%zu bytes, without outliers %zu", r.len_bytes, clean_bytes);
    CU_ASSERT(r.len_bytes > clean_bytes);
    CU_ASSERT(r.len_bytes <= clean_bytes + PIECES * MORE);
    CU_ASSERT_FATAL(decode(&r));
    for (size_t i = 0; i < N; i++)
        n_wide += isnan(r.x[i]) ? memcmp(&r.x[i], &r.y[i], 4) != 0
                                : !(fabs((double)r.x[i] - (double)r.y[i]) <= 1e-6);
    CU_ASSERT_EQUAL(n_wide, 0);
    r.bytes[r.len_bytes - 1] ^= 0xff; /* a value's last byte: another value, no harm */
    CU_ASSERT(decode(&r));
    strait_test_context("%s", "");
    rig_close(&r);
}

/* Rows longer than a piece, groups of rows longer than a piece, and ones too long for groups. */
static void long_rows(void)
{
    static const char *const names[] = {"zfp", "fpzip"};
    static const size_t shapes[][2] = {{3, 70000}, {5, 20000}, {9, 5000}, {2, 300000}, {70001, 2}};
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            static const double both_ones[] = {1, 1}; /* verify or isolate, and rows */
            struct rig r;
            rig_open(&r, names[c], shapes[i][0] * shapes[i][1], both_ones);
            make_tensor(r.x, r.n, TENSOR_WEIGHTS, i);
            CU_ASSERT_FATAL(encode(&r, shapes[i][0]) && decode(&r));
            double worst = 0;
            for (size_t k = 0; k < r.n; k++)
                worst = fmax(worst, fabs((double)r.x[k] - (double)r.y[k]));
            /* normal, 0.02: a range below 0.24 */
            CU_ASSERT(c == 0 ? worst > 0 && worst <= 0.24e-3 : worst <= 0);
            rig_close(&r);
        }
}

/* fpzip's piece begins behind id, 2 bytes of length, the row length and 2 bytes of its own. */
/* Rows that 96 values cannot have: of 5, of 1, of all, longer than that. Behind the codec's number
 * and one byte that counts values. */
static void rows_that_cannot_be(void)
{
    static const char *const names[] = {"fpzip", "zfp"};
    static const unsigned char n_cols[] = {0, 5, 1, 96, 97};
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof(n_cols); i++) {
            struct rig r;
            rig_open(&r, names[c], 96, NULL);
            make_tensor(r.x, r.n, TENSOR_WEIGHTS, 1);
            CU_ASSERT_FATAL(encode(&r, 0) && r.bytes[1] == 96 && r.bytes[2] == 0);
            r.bytes[2] = n_cols[i];
            strait_test_context("%s, rows of %d", names[c], n_cols[i]);
            CU_ASSERT_EQUAL(decode(&r), n_cols[i] == 0);
            rig_close(&r);
        }
}

static void crafted_fpzip(void)
{
    enum { AT = 1 + 2 + 1 + 2 };
    struct rig r;
    struct strait_sequence s = strait_sequence_at(3);
    rig_open(&r, "fpzip", 1000, NULL);
    make_tensor(r.x, r.n, TENSOR_SPARSE, 1);
    CU_ASSERT_FATAL(encode(&r, 0) && decode(&r));
    unsigned char *good = malloc(r.len_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(good);
    memcpy(good, r.bytes, r.len_bytes);
    for (size_t i = 0; i < 40; i++) {
        for (size_t k = AT + 8 + i; k < r.len_bytes; k++)
            r.bytes[k] = (unsigned char)strait_sequence_next(&s);
        CU_ASSERT_FALSE(decode(&r)); /* the checksum */
        const uint64_t sum = strait_checksum(r.bytes + AT + 8, r.len_bytes - AT - 8);
        for (unsigned k = 0; k < 8; k++)
            r.bytes[AT + k] = (unsigned char)(sum >> 8 * k);
        decode(&r); /* whatever it is, this program goes on */
        memcpy(r.bytes, good, r.len_bytes);
    }
    CU_ASSERT(decode(&r) && memcmp(r.x, r.y, 4 * r.n) == 0);
    free(good);
    rig_close(&r);
}

static const struct strait_test tests[] = {
    {"bytes of equal significance come together and apart", planes},
    {"every value of every parameter brings every bit back", every_parameter},
    {"a parameter out of its range is refused", refused_parameters},
    {"noise is stored as it is, with a few bytes around it", stored_as_it_is},
    {"a stream of another codec is refused", foreign_streams},
    {"a receiver does not need the settings of the sender", settings_of_the_sender},
    {"fpzip uses the rows of a matrix", rows_help_fpzip},
    {"zfp's few values beyond the bound are corrected, not whole pieces sent", zfp_is_corrected},
    {"zfp uses the rows of a matrix and checks what a stream says of them", rows_help_zfp},
    {"rows of any length come back", long_rows},
    {"a stream whose rows its values cannot have is refused", rows_that_cannot_be},
    {"a crafted fpzip stream harms neither the program nor the next stream", crafted_fpzip},
};
STRAIT_SUITE("codecs/foreign/adapters", tests);
