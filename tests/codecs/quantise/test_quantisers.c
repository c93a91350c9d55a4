/* The quantisers byte by byte: sizes by arithmetic, examples by hand, what is refused. */
#include <math.h>
#include "tests/kit/coder.h"

static const size_t lengths[] = {0, 1, 7, 8, 9, 127, 128, 129, 320, 321, 513, 1000, 4096, 10007};
enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* Bytes of the head, for each `per_elems` values (0: the tensor) `shared` bytes, and bits a value,
 * rounded up to bytes. */
struct sizes {
    const char *name;
    double params[4];
    size_t head_bytes, shared_bytes, per_elems, bits;
};

static const struct sizes fixed[] = {
    {"fp16", {0}, 1, 0, 0, 16},                  /* 2 n */
    {"bf16", {0}, 1, 0, 0, 16},                  /* 2 n */
    {"qsgd", {127, 0, 0}, 9, 4, 0, 8},           /* n log2(255) / 8 + 4 */
    {"qsgd", {127, 0, 1}, 9, 4, 0, 8},           /* n + 4: GRACE for Horovod */
    {"qsgd", {128, 0, 1}, 9, 4, 0, 16},          /* 2 n + 4 */
    {"qsgd", {127, 128, 1}, 9, 4, 128, 8},       /* n + 4 ceil(n / 128): GRACE distributed */
    {"qsgd", {127, 512, 1}, 9, 4, 512, 8},       /* n + 4 ceil(n / 512): DeepReduce */
    {"qsgd", {1, 128, 0}, 9, 4, 128, 2},         /* log2 3 is below 2 bits */
    {"qsgd", {7, 512, 0}, 9, 4, 512, 4},         /* log2 15 */
    {"qsgd", {128, 512, 0}, 9, 4, 512, 9},       /* log2 257 is above 8 bits */
    {"qsgd", {32767, 512, 0}, 9, 4, 512, 16},    /* log2 65535 */
    {"terngrad", {2.5, 1}, 3, 4, 0, 8},          /* n + 4 */
    {"terngrad", {2.5, 2}, 3, 4, 0, 2},          /* n / 4 + 4 */
    {"natural", {8}, 2, 0, 0, 8},                /* n */
    {"natural", {9}, 2, 0, 0, 9},                /* 9 n / 8 */
    {"u8bit", {0}, 2, 4, 0, 8},                  /* n + 4 */
    {"u8bit", {1}, 2, 4, 0, 8},                  /* n + 4 */
    {"sketchml", {64, 0}, 5, 4 * 64, 0, 6},      /* n log2(64) / 8 + 4 Q */
    {"sketchml", {64, 1}, 5, 4 * 64, 0, 8},      /* n + 4 Q */
    {"sketchml", {256, 0}, 5, 4 * 256, 0, 8},    /* n log2(256) / 8 + 4 Q */
    {"sketchml", {256, 1}, 5, 4 * 256, 0, 16},   /* 2 n + 4 Q */
    {"sketchml", {2, 0}, 5, 4 * 2, 0, 1},        /* n / 8 + 4 Q */
    {"sketchml", {1000, 0}, 5, 4 * 1000, 0, 10}, /* log2 1000 is below 10 bits */
};

/* Nothing special: i times a prime, mod 1009, around 0. */
static void make_values(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int)(i * 757 % 1009) - 504) / 4096;
}

static void check_size(struct coded *c, size_t n, size_t expected)
{
    float *x = malloc(4 * n + 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    make_values(x, n);
    coded_pass(c, x, n, 1);
    CU_ASSERT_EQUAL(c->len_bytes, expected);
    CU_ASSERT_EQUAL(c->ops->max_bytes(c->state, n), expected);
    CU_ASSERT_EQUAL(strait_codec_predict(c->ops, c->state, n, 0), expected);
    free(x);
}

static void sizes_by_arithmetic(void)
{
    for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++) {
        const struct sizes *s = &fixed[k];
        struct coded c = coded_open(s->name, s->params);
        for (size_t l = 0; l < N_LENGTHS; l++) {
            const size_t n = lengths[l];
            const size_t n_shared = s->per_elems > 0 ? (n + s->per_elems - 1) / s->per_elems
                                    : strcmp(s->name, "qsgd") == 0 ? n > 0
                                                                   : 1;
            check_size(&c, n, s->head_bytes + n_shared * s->shared_bytes + (n * s->bits + 7) / 8);
        }
        coded_close(&c);
    }
    struct coded c = coded_open("terngrad", (double[]){2.5, 0});
    for (size_t l = 0; l < N_LENGTHS; l++) /* five values a byte: n / 5 + 4 */
        check_size(&c, lengths[l], 7 + (lengths[l] + 4) / 5);
    coded_close(&c);
}

static void check_bytes(struct coded *c, const float *x, size_t n, const unsigned char *expected,
                        size_t len_bytes)
{
    for (uint64_t key = 0; key < 20; key++) { /* chosen so that chance has nothing to decide */
        coded_pass(c, x, n, key);
        CU_ASSERT_EQUAL_FATAL(c->len_bytes, len_bytes);
        CU_ASSERT(memcmp(c->bytes, expected, len_bytes) == 0);
    }
    coded_close(c);
}

static void halves_by_hand(void)
{
    static const float x[] = {1, -2, 65504, 0x1p-24f, 3.14159274f};
    /* 3.14159274 = 2 (1 + 584.5 / 1024), 584.495: fraction 584 = 0x248, exponent 16 << 10 */
    struct coded c = coded_open("fp16", NULL);
    check_bytes(&c, x, 5, (unsigned char[]){5, 0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0x48, 0x42}, 11);
    /* 65504 = 0x477fe000 rounds up to 0x4780; 2^-24 = 0x33800000; pi = 0x40490fdb */
    c = coded_open("bf16", NULL);
    check_bytes(&c, x, 5,
                (unsigned char[]){6, 0x80, 0x3f, 0, 0xc0, 0x80, 0x47, 0x80, 0x33, 0x49, 0x40}, 11);
}

static void halves_add_with_one_rounding(void)
{
    static const float x[] = {1, 2048, 60000, 0x1p-24f, INFINITY};
    static const float z[] = {2, 1, 10000, -0x1p-24f, 1};
    /* 2049 lies between 2048 and 2050: to the even fraction; 70000 is beyond 65520 */
    static const float sum_16[] = {3, 2048, INFINITY, 0, INFINITY};
    /* bf16 has 8 bits: 2049 -> 2048; 60000 -> 59904 = 234 * 256, 10000 -> 9984 = 156 * 64, their
     * sum 69888 = 136.5 * 512 lies between 136 and 137: to the even 136 * 512 */
    static const float sum_b16[] = {3, 2048, 69632, 0, INFINITY};
    for (int b = 0; b < 2; b++) {
        struct coded u = coded_open(b ? "bf16" : "fp16", NULL);
        struct coded v = coded_open(b ? "bf16" : "fp16", NULL);
        unsigned char out[11];
        float y[5];
        size_t len;
        coded_encode(&u, x, 5, 0);
        coded_encode(&v, z, 5, 0);
        CU_ASSERT(u.ops->summable(u.state, u.bytes, 11, v.bytes, 11));
        CU_ASSERT_FALSE(u.ops->summable(u.state, u.bytes, 11, v.bytes, 9));
        CU_ASSERT_EQUAL_FATAL(u.ops->add(u.state, out, 11, &len, u.bytes, 11, v.bytes, 11, 5, NULL),
                              0);
        CU_ASSERT_EQUAL(len, 11);
        CU_ASSERT_EQUAL(u.ops->decode(u.state, y, 5, out, len, NULL), 0);
        CU_ASSERT(memcmp(y, b ? sum_b16 : sum_16, sizeof(y)) == 0);
        CU_ASSERT_EQUAL(u.ops->add(u.state, out, 11, &len, u.bytes, 11, v.bytes, 10, 5, NULL), -1);
        v.bytes[0] ^= 3;
        CU_ASSERT_FALSE(u.ops->summable(u.state, u.bytes, 11, v.bytes, 11));
        CU_ASSERT_EQUAL(u.ops->add(u.state, out, 11, &len, u.bytes, 11, v.bytes, 11, 5, NULL), -1);
        coded_close(&u);
        coded_close(&v);
    }
}

/* 3, 4 and 5 make whole levels of their norm 5; codes of 4 bits are level + 5. The second bucket
 * has norm 2 and a single value. 5.0f = 0x40a00000, 2.0f = 0x40000000. */
static void qsgd_by_hand(void)
{
    static const float x[] = {-3, 4, -2};
    struct coded c = coded_open("qsgd", (double[]){5, 2, 0});
    check_bytes(&c, x, 3,
                (unsigned char[]){11, 0, 5, 0, 2, 0, 0, 0, 3, /**/ 0, 0, 0xa0, 0x40, 0, 0, 0, 0x40,
                                  /**/ 2 | 9 << 4, 0},
                19);
    c = coded_open("qsgd", (double[]){5, 2, 1});
    check_bytes(&c, x, 3, (unsigned char[]){11,        1, 5,    0,    2, 0, 0, 0,    3,
                                            /**/ 0,    0, 0xa0, 0x40, 0, 0, 0, 0x40,
                                            /**/ 0xfd, 4, 0xfb},
                20);
    c = coded_open("qsgd", (double[]){500, 0, 1}); /* 300 = 0x12c, -400 = 0xfe70 */
    check_bytes(&c, (float[]){3, -4}, 2,
                (unsigned char[]){11, 1, 0xf4, 1, 0, 0, 0, 0, 2, /**/ 0, 0, 0xa0, 0x40, /**/ 0x2c,
                                  1, 0x70, 0xfe},
                17);
}

/* All are -2, 0 or 2, so that nothing is left to chance. Six values take two bytes: digits 0, 1, 2
 * of the first are values 0, 2, 4, of the second values 1, 3, 5. */
static void terngrad_by_hand(void)
{
    static const float x[] = {2, -2, 0, 2, -2, 0};
    struct coded c = coded_open("terngrad", (double[]){0, 0});
    check_bytes(&c, x, 6,
                (unsigned char[]){12, 0, 6, 0, 0, 0, 0x40, 2 + 3 * 1 + 9 * 0, 0 + 3 * 2 + 9 * 1},
                9);
    c = coded_open("terngrad", (double[]){0, 1});
    check_bytes(&c, x, 6, (unsigned char[]){12, 1, 6, 0, 0, 0, 0x40, 1, 255, 0, 1, 255, 0}, 13);
    c = coded_open("terngrad", (double[]){0, 2});
    check_bytes(
        &c, x, 6,
        (unsigned char[]){12, 2, 6, 0, 0, 0, 0x40, 2 | 0 << 2 | 1 << 4 | 2 << 6, 0 | 1 << 2}, 9);
    /* Ten of 0 but one of 100: mean 10, variance 900, sigma 30, clipped at 2 * 30 = 60 */
    c = coded_open("terngrad", (double[]){2, 1});
    const float spike[10] = {0, 0, 0, 100};
    coded_pass(&c, spike, 10, 5);
    CU_ASSERT_EQUAL(c.y[3], 60);
    coded_close(&c);
    /* A constant has no spread and is not clipped to nothing. */
    c = coded_open("terngrad", NULL);
    coded_pass(&c, (float[]){0.7f, 0.7f, 0.7f}, 3, 5);
    CU_ASSERT(c.y[0] == 0.7f && c.y[1] == 0.7f && c.y[2] == 0.7f);
    coded_close(&c);
}

/* Powers of two are what they are: code 109 stands for 1, 127 for 2^18, the largest. */
static void natural_by_hand(void)
{
    static const float x[] = {1, -0.5f, 0, 0x1p18f, -1e30f, INFINITY, NAN, 0x1p-108f};
    struct coded c = coded_open("natural", (double[]){8});
    check_bytes(&c, x, 8, (unsigned char[]){17, 8, 109, 236, 0, 127, 255, 127, 0, 1}, 10);
    c = coded_open("natural", (double[]){8});
    coded_pass(&c, x, 8, 0);
    CU_ASSERT(c.y[0] == 1 && c.y[1] == -0.5f && c.y[2] == 0 && c.y[3] == 0x1p18f);
    CU_ASSERT(c.y[4] == -0x1p18f && c.y[7] == 0x1p-108f);
    coded_close(&c);
    /* Nine bits: 127 + exponent, and the sign as the ninth. 127 = 0x07f, 0x100 | 126 = 0x17e: bits
     * 0..8 and 9..17. */
    c = coded_open("natural", (double[]){9});
    check_bytes(&c, x, 2, (unsigned char[]){17, 9, 0x7f, 0x7e << 1 & 0xff, 0x17e >> 7}, 5);
}

/* Levels 95 .. 126 are 0.45 + 0.55 (i - 94.5) / 32: 97 is 0.49296875, 98 is 0.51015625. Level 63 is
 * 0.1 + 0.35 / 64 = 0.10546875, level 1 is 2.75e-6. Units are the largest magnitude, 2. */
static void u8bit_by_hand(void)
{
    static const float x[] = {2, -1, 1.016f, -0.2109375f, 0, 5.5e-6f, 2e-6f};
    struct coded c = coded_open("u8bit", (double[]){0});
    check_bytes(&c, x, 7,
                (unsigned char[]){18, 0, 0, 0, 0, 0x40, 127, 256 - 97, 98, 256 - 63, 0, 1, 0}, 13);
    c = coded_open("u8bit", (double[]){1});
    check_bytes(&c, x, 7,
                (unsigned char[]){18, 1, 0, 0, 0, 0x40, 127, 256 - 97, 97, 256 - 63, 0, 1, 0}, 13);
    c = coded_open("u8bit", (double[]){1});
    coded_pass(&c, x, 7, 0);
    /* The ends of the table as GRACE prints it: 0.99570298 and 2.75e-6. */
    CU_ASSERT(fabs((double)c.y[0] - 2 * 0.99570298) < 1e-6);
    CU_ASSERT(fabs((double)c.y[5] - 2 * 2.75e-6) < 1e-12);
    coded_close(&c);
}

/* The median of 1 2 3 4 is 2.5: means 1.5 and 3.5, one bit a value. 1.5f = 0x3fc00000, 3.5f =
 * 0x40600000. With four bins edges are 1.75, 2.5 and 3.25: each value has a bin of its own. */
static void sketchml_by_hand(void)
{
    static const float x[] = {4, 1, 2, 3};
    struct coded c = coded_open("sketchml", (double[]){2, 0});
    check_bytes(&c, x, 4,
                (unsigned char[]){22, 0, 2, 0, 4, 0, 0, 0xc0, 0x3f, 0, 0, 0x60, 0x40, 1 | 8}, 14);
    c = coded_open("sketchml", (double[]){4, 1});
    coded_pass(&c, x, 4, 0);
    CU_ASSERT(memcmp(c.y, x, sizeof(x)) == 0);
    CU_ASSERT(memcmp(c.bytes + 21, (unsigned char[]){3, 0, 1, 2}, 4) == 0);
    coded_close(&c);
}

/* k = 10: from 1 on whole; from 2^-5 on in units of 2^-15, 0.25 = 8192; from 2^-10 on in units of
 * 2^-12, 0.01 = 40.96; the rest is 0. 1.5f = 0x3fc00000. As published units are 2^-14 and 2^-6, and
 * 0.01 comes out as 0, which stands for 2^-7. */
static void inceptionn_by_hand(void)
{
    static const float x[] = {1.5f, 0.25f, -0.01f, 0.0005f, -NAN};
    struct coded c = coded_open("inceptionn", NULL);
    check_bytes(&c, x, 4,
                (unsigned char[]){23, 10, 4, 0, 0, 0, 3 | 2 << 2 | 1 << 4, 0, 0, 0xc0, 0x3f, 0,
                                  0x20, 0x80 | 40},
                14);
    c = coded_open("inceptionn", NULL);
    coded_pass(&c, x, 5, 0);
    CU_ASSERT(c.y[0] == 1.5f && c.y[1] == 0.25f && c.y[2] == -40 * 0x1p-12f && c.y[3] == 0);
    CU_ASSERT(memcmp(&c.y[4], &x[4], 4) == 0);
    CU_ASSERT_EQUAL(c.len_bytes, 6 + 2 + 4 * 2 + 2 + 1); /* head + n/4 + 4 n32 + 2 n16 + n8 */
    coded_close(&c);
    c = coded_open("inceptionn", (double[]){10, 1});
    coded_pass(&c, x, 4, 0);
    CU_ASSERT(c.y[0] == 1.5f && c.y[1] == 0.25f && c.y[2] == -0x1p-7f && c.y[3] == 0);
    CU_ASSERT_EQUAL(c.len_bytes, 14);
    coded_close(&c);
}

static void refused_parameters(void)
{
    static const struct {
        const char *name;
        double params[4];
        const char *expected;
    } cases[] = {
        {"qsgd", {0, 0, 0}, "expected levels from 1 to 32767, a whole number, found 0"},
        {"qsgd", {1.5, 0, 0}, "expected levels from 1 to 32767, a whole number, found 1.5"},
        {"qsgd", {1, -1, 0}, "expected bucket from 0 to 2.14748e+09, a whole number, found -1"},
        {"qsgd", {1, 0, 2}, "expected payload from 0 to 1, found 2"},
        {"terngrad", {-1, 0}, "expected clip from 0 to 1000, found -1"},
        {"terngrad", {NAN, 0}, "expected clip from 0 to 1000, found nan"},
        {"natural", {7}, "expected bits from 8 to 9, a whole number, found 7"},
        {"u8bit", {2}, "expected rounding from 0 to 1, found 2"},
        {"sketchml", {1, 0}, "expected quantiles from 2 to 32768, a whole number, found 1"},
        {"inceptionn", {15, 0}, "expected k from 1 to 14, a whole number, found 15"},
    };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct strait_error err = {0};
        void *state;
        const struct strait_codec_ops *ops = strait_codec_find(cases[k].name);
        CU_ASSERT_EQUAL(strait_codec_open(ops, &state, cases[k].params, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[k].name);
        CU_ASSERT_STRING_EQUAL(err.text, cases[k].expected);
    }
}

/* Streams say how they were made: a decoder with other settings reads them. */
static void streams_describe_themselves(void)
{
    enum { N = 1001 };
    float x[N];
    make_values(x, N);
    for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++) {
        struct coded c = coded_open(fixed[k].name, fixed[k].params);
        struct coded other = coded_open(fixed[k].name, NULL);
        float y[N];
        coded_pass(&c, x, N, 2);
        CU_ASSERT_EQUAL(c.ops->decode(other.state, y, N, c.bytes, c.len_bytes, NULL), 0);
        CU_ASSERT(memcmp(y, c.y, sizeof(y)) == 0);
        for (size_t i = 0; i < 5; i++) { /* a head that says what cannot be */
            struct strait_error err = {0};
            const unsigned char before = c.bytes[i];
            c.bytes[i] ^= 0x7f;
            if (c.ops->decode(c.state, y, N, c.bytes, c.len_bytes, &err) != 0)
                CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
            CU_ASSERT(i > 0 || err.code == STRAIT_ERR_INPUT);
            c.bytes[i] = before;
        }
        coded_close(&c);
        coded_close(&other);
    }
}

static const struct strait_test tests[] = {
    {"payloads are as long as arithmetic says", sizes_by_arithmetic},
    {"fp16 and bf16 by hand", halves_by_hand},
    {"fp16 and bf16 streams add up with one rounding", halves_add_with_one_rounding},
    {"QSGD by hand", qsgd_by_hand},
    {"TernGrad by hand", terngrad_by_hand},
    {"natural compression by hand", natural_by_hand},
    {"8-bit dynamic tree by hand", u8bit_by_hand},
    {"SketchML by hand", sketchml_by_hand},
    {"INCEPTIONN by hand", inceptionn_by_hand},
    {"a parameter out of range is refused by name", refused_parameters},
    {"streams describe themselves", streams_describe_themselves},
};
STRAIT_SUITE("codecs/quantise/quantisers", tests);
