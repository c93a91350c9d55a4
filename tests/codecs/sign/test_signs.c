/* The sign codecs: their bytes by hand, their sizes, their errors in closed form. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "core/hash.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX_ELEMS = 8192, MAX_BYTES = MAX_ELEMS + 64 };

/* A codec that is open with some parameters, the bytes of one tensor and what they decode to. */
struct desk {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len;
    float y[MAX_ELEMS];
};

static struct desk *desk_new(const char *name, double a, double b)
{
    struct desk *d = calloc(1, sizeof(*d));
    CU_ASSERT_FATAL(d != NULL);
    d->ops = strait_codec_find(name);
    CU_ASSERT_FATAL(d->ops != NULL);
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(d->ops, &d->state, (const double[]){a, b}, NULL), 0);
    return d;
}

static void desk_free(struct desk *d)
{
    d->ops->close(d->state);
    free(d);
}

static bool encode(struct desk *d, const float *x, size_t n)
{
    return strait_codec_encode(d->ops, d->state, d->bytes, MAX_BYTES, &d->len, x, n,
                               (struct strait_request){0}, NULL) == 0;
}

static bool decode(struct desk *d, size_t n)
{
    struct strait_error err = {0};
    const bool good = d->ops->decode(d->state, d->y, n, d->bytes, d->len, &err) == 0;
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    return good;
}

static void check_bytes(struct desk *d, const float *x, size_t n, const unsigned char *bytes,
                        size_t len)
{
    CU_ASSERT_FATAL(encode(d, x, n));
    CU_ASSERT_EQUAL_FATAL(d->len, len);
    CU_ASSERT(memcmp(d->bytes, bytes, len) == 0);
    CU_ASSERT(decode(d, n));
}

/* Values 0, 2, 3, 5, 6 and 8 are not below 0: 1 + 4 + 8 + 32 + 64 = 0x6d, then 1. */
static void signs_by_hand(void)
{
    static const float x[] = {1, -2, 0, -0.0f, -3, 4, 5, -6, 7, -8};
    static const float signs[] = {1, -1, 1, 1, -1, 1, 1, -1, 1, -1};
    static const unsigned char packed[] = {13, 0x6d, 0x01};
    static const unsigned char published[] = {13, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0};
    struct desk *d = desk_new("signsgd", 0, 0), *p = desk_new("signsgd", 1, 0);
    check_bytes(d, x, 10, packed, sizeof(packed));
    CU_ASSERT(memcmp(d->y, signs, sizeof(signs)) == 0);
    check_bytes(p, x, 10, published, sizeof(published));
    CU_ASSERT(memcmp(p->y, signs, sizeof(signs)) == 0);
    desk_free(d);
    desk_free(p);
}

static void broken_signs(void)
{
    const float x[] = {NAN, -NAN, INFINITY, -INFINITY, -FLT_MAX, -1e-45f, 1e-45f};
    static const unsigned char bytes[] = {13, 0x01 + 0x02 + 0x04 + 0x40};
    struct desk *d = desk_new("signsgd", 0, 0);
    check_bytes(d, x, 7, bytes, sizeof(bytes));
    desk_free(d);
}

/* (1 + 2 + 3 + 6) / 4 = 3 = 0x40400000; bits 0 and 2. */
static void scaled_signs_by_hand(void)
{
    static const float x[] = {1, -2, 3, -6}, y[] = {3, -3, 3, -3};
    static const unsigned char packed[] = {15, 0, 0, 0x40, 0x40, 0x05};
    static const unsigned char published[] = {15, 0, 0, 0x40, 0x40, 1, 0, 1, 0};
    struct desk *d = desk_new("efsignsgd", 0, 0), *p = desk_new("efsignsgd", 1, 0);
    check_bytes(d, x, 4, packed, sizeof(packed));
    CU_ASSERT(memcmp(d->y, y, sizeof(y)) == 0);
    check_bytes(p, x, 4, published, sizeof(published));
    CU_ASSERT(memcmp(p->y, y, sizeof(y)) == 0);
    desk_free(d);
    desk_free(p);
}

/* (-2 - 6) / 2 = -4 = 0xc0800000; (1 + 3 + 2) / 3 = 2 = 0x40000000; bits 0, 2 and 4. */
static void two_means_by_hand(void)
{
    static const float x[] = {1, -2, 3, -6, 2}, y[] = {2, -4, 2, -4, 2};
    static const unsigned char packed[] = {16, 0, 0, 0x80, 0xc0, 0, 0, 0, 0x40, 0x15};
    static const unsigned char published[] = {16, 0, 0, 0x80, 0xc0, 0, 0, 0, 0x40, 1, 0, 1, 0, 1};
    struct desk *d = desk_new("onebit", 0, 0), *p = desk_new("onebit", 1, 0);
    check_bytes(d, x, 5, packed, sizeof(packed));
    CU_ASSERT(memcmp(d->y, y, sizeof(y)) == 0);
    check_bytes(p, x, 5, published, sizeof(published));
    CU_ASSERT(memcmp(p->y, y, sizeof(y)) == 0);
    desk_free(d);
    desk_free(p);
}

/* With beta 1/2 and m = 0 before:
 *     g = 1, -1      m = 0.5, -0.5       signs + -
 *     g = -0.25, NaN m = 0.125, -0.25    signs + -, the gradient's own would be -
 *     g = -4, Inf    m = -1.9375, -0.125 signs - - */
static void momentum_by_hand(void)
{
    const float g[3][2] = {{1, -1}, {-0.25f, NAN}, {-4, INFINITY}};
    static const unsigned char bytes[3][2] = {{14, 0x01}, {14, 0x01}, {14, 0x00}};
    struct strait_error err = {0};
    struct desk *d = desk_new("signum", 0.5, 0);
    for (int round = 0; round < 3; round++)
        check_bytes(d, g[round], 2, bytes[round], 2);
    CU_ASSERT_EQUAL(strait_codec_encode(d->ops, d->state, d->bytes, MAX_BYTES, &d->len, g[0], 1,
                                        (struct strait_request){0}, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected 2 values as in the rounds before, found 1");
    desk_free(d);
}

/* The largest float for ever: 0.9 m + 0.1 g must not round into the infinities, where a momentum
 * would stay for good: 200 rounds of -g have to bring it below 0 (0.9^200 is 7e-10). */
static void momentum_stays_finite(void)
{
    const float up[] = {FLT_MAX}, down[] = {-FLT_MAX};
    struct desk *d = desk_new("signum", 0.9, 1);
    for (int round = 0; round < 400; round++)
        CU_ASSERT_FATAL(encode(d, up, 1) && d->bytes[1] == 1);
    for (int round = 0; round < 200; round++)
        CU_ASSERT_FATAL(encode(d, down, 1));
    CU_ASSERT_EQUAL(d->bytes[1], 0);
    desk_free(d);
}

static void sizes(void)
{
    static const struct {
        const char *name;
        size_t payload, head; /* which parameter, and bytes before the signs */
    } codecs[] = {{"signsgd", 0, 1}, {"signum", 1, 1}, {"efsignsgd", 0, 5}, {"onebit", 0, 9}};
    static const size_t lengths[][2] = {{0, 0},  {1, 1},  {7, 1},  {8, 1},      {9, 2},
                                        {16, 2}, {17, 3}, {64, 8}, {1000, 125}, {8001, 1001}};
    float *x = calloc(MAX_ELEMS, sizeof(*x));
    for (size_t c = 0; c < 4; c++)
        for (int published = 0; published < 2; published++)
            for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                const size_t n = lengths[i][0];
                struct desk *d = codecs[c].payload == 0 ? desk_new(codecs[c].name, published, 0)
                                                        : desk_new(codecs[c].name, 0.9, published);
                const size_t bytes = codecs[c].head + (published ? n : lengths[i][1]);
                CU_ASSERT(encode(d, x, n) && d->len == bytes);
                CU_ASSERT_EQUAL(d->ops->max_bytes(d->state, n), bytes);
                CU_ASSERT_EQUAL(strait_codec_predict(d->ops, d->state, n, 0), bytes);
                CU_ASSERT(decode(d, n));
                desk_free(d);
            }
    free(x);
}

/* Whole numbers from -100 to 100, the same everywhere. */
static void make_integers(float *x, size_t n, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(strait_sequence_next(&s) % 201) - 100);
}

/* 4096 whole numbers: the scale L / 4096 is a float exactly (L < 2^19), and n error^2 is a whole
 * number below 2^53, so that nothing is rounded. */
static void error_of_scaled_signs(void)
{
    const size_t n = 4096;
    struct desk *d = desk_new("efsignsgd", 0, 0);
    float *x = malloc(n * sizeof(*x));
    for (uint64_t seed = 0; seed < 20; seed++) {
        double l1 = 0, squares = 0, error = 0;
        make_integers(x, n, seed);
        CU_ASSERT_FATAL(encode(d, x, n) && decode(d, n));
        for (size_t i = 0; i < n; i++) {
            l1 += fabs((double)x[i]);
            squares += (double)x[i] * (double)x[i];
            error += ((double)x[i] - (double)d->y[i]) * ((double)x[i] - (double)d->y[i]);
        }
        CU_ASSERT_EQUAL(error, squares - l1 * l1 / (double)n);
        CU_ASSERT(error < squares);
    }
    free(x);
    desk_free(d);
}

/* ||x - y||^2 = ||x||^2 - n+ mean+^2 - n- mean-^2; the means are rounded to floats, which moves
 * them by 2^-24 of themselves and the error by the square of that: 1e-12 is ample. */
static void error_of_two_means(void)
{
    const size_t n = 5000;
    struct desk *d = desk_new("onebit", 0, 0);
    float *x = malloc(n * sizeof(*x));
    for (uint64_t seed = 0; seed < 20; seed++) {
        double sum[2] = {0}, count[2] = {0}, squares = 0, error = 0;
        make_integers(x, n, seed);
        for (size_t i = 0; i < n; i++)
            x[i] += x[i] > 30 ? 20 : 0; /* uneven sides */
        CU_ASSERT_FATAL(encode(d, x, n) && decode(d, n));
        for (size_t i = 0; i < n; i++) {
            sum[x[i] < 0] += (double)x[i];
            count[x[i] < 0]++;
            squares += (double)x[i] * (double)x[i];
            error += ((double)x[i] - (double)d->y[i]) * ((double)x[i] - (double)d->y[i]);
        }
        const double kept = sum[0] * sum[0] / count[0] + sum[1] * sum[1] / count[1];
        CU_ASSERT_DOUBLE_EQUAL(error, squares - kept, 1e-12 * squares);
    }
    free(x);
    desk_free(d);
}

/* NaN and infinities add 0 to a sum and 1 to its count: (1 + 3) / 4 = 1; (3 + 0) / 2, (1 + 0) / 2.
 * The largest floats give the largest float. */
static void broken_scales(void)
{
    const float x[] = {1, NAN, -3, -INFINITY}, huge[] = {FLT_MAX, -FLT_MAX, FLT_MAX};
    static const float y[] = {1, 1, -1, -1}, two[] = {0.5f, 0.5f, -1.5f, -1.5f};
    struct desk *d = desk_new("efsignsgd", 0, 0), *o = desk_new("onebit", 0, 0);
    CU_ASSERT_FATAL(encode(d, x, 4) && decode(d, 4) && encode(o, x, 4) && decode(o, 4));
    CU_ASSERT(memcmp(d->y, y, sizeof(y)) == 0);
    CU_ASSERT(memcmp(o->y, two, sizeof(two)) == 0);
    CU_ASSERT_FATAL(encode(d, huge, 3) && decode(d, 3) && encode(o, huge, 3) && decode(o, 3));
    CU_ASSERT(memcmp(d->y, huge, sizeof(huge)) == 0);
    CU_ASSERT(memcmp(o->y, huge, sizeof(huge)) == 0);
    desk_free(d);
    desk_free(o);
}

/* A sum is the same whatever stands where: 70 ones behind 8190 - 70 zeros, at every place. */
static void sums_at_every_place(void)
{
    float *x = calloc(MAX_ELEMS, sizeof(*x));
    struct desk *d = desk_new("onebit", 1, 0);
    for (size_t from = 0; from < 130; from++) {
        const size_t n = 200 + from % 71;
        memset(x, 0, MAX_ELEMS * sizeof(*x));
        for (size_t i = from; i < from + 70; i++)
            x[i] = i % 2 ? -3 : 5;
        CU_ASSERT_FATAL(encode(d, x, n) && decode(d, n));
        for (size_t i = 0; i < n; i++) /* 35 fives among the n - 35 that are not below 0 */
            CU_ASSERT_EQUAL(d->y[i], x[i] < 0 ? -3 : (float)(175.0 / (double)(n - 35)));
    }
    free(x);
    desk_free(d);
}

/* Each change alone makes the stream something else. */
static void other_streams(void)
{
    static const float x[] = {1, -1, 1, -1, 1, -1, 1, -1, 1, -1};
    static const char *const names[] = {"signsgd", "signum", "efsignsgd", "onebit"};
    for (size_t c = 0; c < 4; c++)
        for (int published = 0; published < 2; published++) {
            struct desk *d =
                c == 1 ? desk_new(names[c], 0, published) : desk_new(names[c], published, 0);
            CU_ASSERT_FATAL(encode(d, x, 10) && decode(d, 10));
            const size_t len = d->len;
            d->bytes[0]++; /* another codec */
            CU_ASSERT_FALSE(decode(d, 10));
            d->bytes[0]--;
            d->bytes[len - 1] |= 4; /* the third bit of the last byte is filling, or no sign */
            CU_ASSERT_FALSE(decode(d, 10));
            d->bytes[len - 1] &= 3;
            d->len = len - 1;
            CU_ASSERT_FALSE(decode(d, 10));
            d->len = 0;
            CU_ASSERT_FALSE(decode(d, 10));
            d->len = len;
            CU_ASSERT_FALSE(decode(d, 17)); /* 3 bytes or 17 */
            CU_ASSERT(decode(d, 10));
            desk_free(d);
        }
}

static void wrong_parameters(void)
{
    static const struct {
        const char *name;
        double values[2];
    } bad[] = {{"signsgd", {2, 0}},  {"signsgd", {0.5, 0}}, {"efsignsgd", {-1, 0}},
               {"onebit", {NAN, 0}}, {"signum", {1, 0}},    {"signum", {-0.1, 0}},
               {"signum", {NAN, 0}}, {"signum", {0.9, 2}}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct strait_error err = {0};
        void *state = NULL;
        CU_ASSERT_EQUAL(
            strait_codec_open(strait_codec_find(bad[i].name), &state, bad[i].values, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
}

/* The wire format, frozen: these numbers change only with a new wire id. */
static void golden(void)
{
    static const struct {
        const char *name;
        double params[2];
        uint64_t checksum;
    } cases[] = {
        {"signsgd", {0}, 0xcadb591999838714},     {"signsgd", {1}, 0x665c9d8c39b75073},
        {"signum", {0.9, 0}, 0xa89a76aea6c31506}, {"signum", {0.9, 1}, 0x08b96dc7b103aca6},
        {"efsignsgd", {0}, 0xc8154e6484837ad0},   {"efsignsgd", {1}, 0xe8fee74f1b4a3e63},
        {"onebit", {0}, 0xe88837740c3c84cd},      {"onebit", {1}, 0xf363d78ef04a36f7},
    };
    float x[4101];
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct desk *d = desk_new(cases[c].name, cases[c].params[0], cases[c].params[1]);
        make_integers(x, 4101, 77);
        for (int round = 0; round < 2; round++) /* the second shows a momentum */
            CU_ASSERT_FATAL(encode(d, x + round, 4100));
        CU_ASSERT_EQUAL(strait_checksum(d->bytes, d->len), cases[c].checksum);
        desk_free(d);
    }
}

static const struct strait_test tests[] = {
    {"signs are bits or bytes as written by hand", signs_by_hand},
    {"zero and NaN are positive, infinities keep their sign", broken_signs},
    {"scaled signs carry the mean magnitude", scaled_signs_by_hand},
    {"one-bit values carry the mean of either side", two_means_by_hand},
    {"signum sends the signs of its momentum", momentum_by_hand},
    {"a momentum of the largest floats stays finite", momentum_stays_finite},
    {"sizes are the published ones and a head", sizes},
    {"the error of scaled signs is ||x||^2 - ||x||_1^2 / n exactly", error_of_scaled_signs},
    {"the error of one-bit values is what the two means leave", error_of_two_means},
    {"values that are not finite count as 0 in a mean", broken_scales},
    {"means do not depend on where the values stand", sums_at_every_place},
    {"streams that are something else are refused", other_streams},
    {"parameters outside their range are refused", wrong_parameters},
    {"the wire format has not changed", golden},
};
STRAIT_SUITE("codecs/sign/signs", tests);
