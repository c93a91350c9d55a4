/* Value codecs, the order that some of them need, and the arithmetic under the fits. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "codecs/deepreduce/least_squares.h"
#include "codecs/deepreduce/rank_order.h"
#include "codecs/kit/stable_math.h"
#include "codecs/deepreduce/value_codec.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

static const struct strait_value_params packed = {1e-3, 127, false}, published = {1e-3, 127, true};

/* One value codec that is open, with values and bytes. */
struct bench {
    struct strait_value_coder c;
    float *v, *y;
    unsigned char *bytes;
    size_t n, len;
};

static bool bench_init(struct bench *b, const struct strait_value_codec *codec,
                       struct strait_value_params params, size_t n)
{
    struct strait_error err = {0};
    *b = (struct bench){.n = n};
    if (strait_value_codec_unavailable(codec))
        return false;
    CU_ASSERT_EQUAL_FATAL(strait_value_coder_open(&b->c, codec, params, &err), 0);
    b->v = malloc(4 * n + 4);
    b->y = malloc(4 * n + 4);
    CU_ASSERT_FATAL(b->v && b->y);
    return true;
}

static void bench_release(struct bench *b)
{
    strait_value_coder_close(&b->c);
    free(b->v);
    free(b->y);
    free(b->bytes);
}

static void sort_values(struct bench *b)
{
    struct strait_rank_order order = {
        .place = malloc(4 * b->n + 4), .sign = malloc(b->n + 1), .signs = b->c.codec->magnitudes};
    uint64_t *pairs = malloc(16 * b->n + 8);
    CU_ASSERT_FATAL(order.place && order.sign && pairs);
    strait_rank_order_of(&order, b->y, b->v, b->n, pairs);
    memcpy(b->v, b->y, 4 * b->n);
    free(order.place);
    free(order.sign);
    free(pairs);
}

/* Bytes of exactly the length, so that a sanitizer sees a read beyond them. */
static void encode(struct bench *b)
{
    const size_t cap = b->c.codec->max_bytes(&b->c, b->n);
    struct strait_error err = {0};
    unsigned char *room = malloc(cap + 1);
    struct strait_writer w = {.p = room, .end = room + cap};
    CU_ASSERT_FATAL(room != NULL);
    CU_ASSERT_EQUAL_FATAL(b->c.codec->encode(&b->c, &w, b->v, b->n, 5, &err), 0);
    CU_ASSERT_FATAL(!w.full);
    b->len = (size_t)(w.p - room);
    free(b->bytes);
    b->bytes = malloc(b->len + 1);
    CU_ASSERT_FATAL(b->bytes != NULL);
    memcpy(b->bytes, room, b->len);
    free(room);
}

static bool decode(struct bench *b, const unsigned char *bytes, size_t len)
{
    struct strait_error err = {0};
    unsigned char *copy = malloc(len + (len == 0));
    CU_ASSERT_FATAL(copy != NULL);
    memcpy(copy, bytes, len);
    const bool good = b->c.codec->decode(&b->c, b->y, b->n, copy, len, &err) == 0;
    CU_ASSERT_EQUAL(good, err.code == STRAIT_OK);
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    free(copy);
    return good;
}

static double error_of(const struct bench *b) /* largest |x - y| */
{
    double worst = 0;
    for (size_t i = 0; i < b->n; i++)
        worst = fmax(worst, fabs((double)b->v[i] - (double)b->y[i]));
    return worst;
}

static void all_codecs_all_lengths(void)
{
    size_t n_codecs;
    const struct strait_value_codec *const *codecs = strait_value_codecs(&n_codecs);
    static const size_t lengths[] = {0,  1,  2,  3,  4,   5,   6,   7,   8,   9,    10,
                                     11, 12, 13, 17, 127, 128, 511, 512, 513, 1024, 5000};
    for (size_t c = 0; c < n_codecs; c++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int kind = 0; kind < 2 * N_TENSOR_KINDS; kind++) {
                struct bench b;
                if (!bench_init(&b, codecs[c], kind % 2 ? published : packed, lengths[l]))
                    continue;
                make_tensor(b.v, b.n, (enum tensor_kind)(kind / 2), l);
                if (codecs[c]->permutes)
                    sort_values(&b);
                encode(&b);
                CU_ASSERT_FATAL(decode(&b, b.bytes, b.len));
                if (codecs[c]->permutes)
                    for (size_t i = 0; i < b.n; i++)
                        CU_ASSERT_FATAL(isfinite(b.y[i]));
                if (codecs[c] == &strait_value_raw || codecs[c] == &strait_value_deflate)
                    CU_ASSERT(b.n == 0 || memcmp(b.v, b.y, 4 * b.n) == 0);
                bench_release(&b);
            }
}

/* sz keeps 1e-3 of the range, fp16 half a unit in 11 bits. */
static void errors_of_codecs(void)
{
    struct bench b;
    CU_ASSERT_FATAL(bench_init(&b, &strait_value_sz, packed, 4000));
    make_tensor(b.v, b.n, TENSOR_WEIGHTS, 1);
    float low = b.v[0], high = b.v[0];
    for (size_t i = 0; i < b.n; i++) {
        low = fminf(low, b.v[i]);
        high = fmaxf(high, b.v[i]);
    }
    encode(&b);
    CU_ASSERT(decode(&b, b.bytes, b.len));
    CU_ASSERT(error_of(&b) <= 1e-3 * ((double)high - (double)low));
    bench_release(&b);
    if (!bench_init(&b, &strait_value_fp16, packed, 4000))
        return;
    for (size_t i = 0; i < b.n; i++)
        b.v[i] = 1 + (float)i / 4000;
    encode(&b);
    CU_ASSERT(decode(&b, b.bytes, b.len) && error_of(&b) <= 0x1p-11);
    bench_release(&b);
}

/* A quintic on each side of 0, sampled: one polynomial a side has no error but that of float32
 * coefficients, a few 2^-24 of the largest. 100 values of each sign give 2 + 200/64 = 5 pieces of
 * 6 coefficients: 1 + 5 (1 + 24) bytes; published, 100/5 = 20 is not more than 30, so there are 2
 * pieces: 8 (6 * 2 + 1). */
static void polynomials_are_found(void)
{
    for (int form = 0; form < 2; form++) {
        struct bench b;
        CU_ASSERT_FATAL(bench_init(&b, &strait_value_polyfit, form ? published : packed, 200));
        for (size_t i = 0; i < 200; i++) {
            const double t = (i < 100 ? 99.0 - (double)i : (double)i - 100.0) / 99;
            const double y = 0.5 + 0.3 * t + 0.1 * t * t + t * t * t * t * t;
            b.v[i] = (float)(i < 100 ? y : -y);
        }
        encode(&b);
        CU_ASSERT_EQUAL(b.len, form ? 8 * (6 * 2 + 1) : 1 + 5 * (1 + 24));
        CU_ASSERT(decode(&b, b.bytes, b.len));
        CU_ASSERT(error_of(&b) < 16 * 1.9 * 0x1p-24);
        bench_release(&b);
    }
}

/* The published cuts: of 1000 values of each sign 1/5, 1/10 and 1/30 are more than 30, so 4 pieces
 * a side: 8 (6 * 8 + 1) bytes. */
static void published_pieces(void)
{
    struct bench b;
    CU_ASSERT_FATAL(bench_init(&b, &strait_value_polyfit, published, 2000));
    for (size_t i = 0; i < 2000; i++)
        b.v[i] = 1000 - (float)i - 0.5f;
    encode(&b);
    CU_ASSERT_EQUAL(b.len, 392);
    CU_ASSERT(decode(&b, b.bytes, b.len) && error_of(&b) < 1e-3);
    bench_release(&b);
}

/* Sums of two exponentials come back: float32 numbers are good to 6e-8, exponents of up to 30 times
 * that; packed 16 bytes, published 32. */
static void exponentials_are_found(void)
{
    static const double cases[][4] = {{3, -2, 1, -9}, {0.5, -1, 4, -30}, {1, -0.1, 2, -5}};
    for (size_t c = 0; c < 6; c++) {
        struct bench b;
        const double *k = cases[c / 2];
        CU_ASSERT_FATAL(bench_init(&b, &strait_value_dexp, c % 2 ? published : packed, 2000));
        for (size_t i = 0; i < b.n; i++) {
            const double x = (double)i / (double)(b.n - 1);
            b.v[i] = (float)(k[0] * exp(k[1] * x) + k[2] * exp(k[3] * x));
        }
        encode(&b);
        CU_ASSERT_EQUAL(b.len, c % 2 ? 32 : 16);
        CU_ASSERT(decode(&b, b.bytes, b.len));
        /* The integrals are sums of trapezia of width h = 1/1999: errors of (30 h)^2 / 12. */
        CU_ASSERT(error_of(&b) < 2e-3 * (double)b.v[0]);
        bench_release(&b);
    }
}

/* One value 10^30 times the others: the integral equation has no good answer there. */
static void outliers_are_fitted(void)
{
    struct bench b;
    CU_ASSERT_FATAL(bench_init(&b, &strait_value_dexp, packed, 1000));
    for (size_t i = 0; i < b.n; i++)
        b.v[i] = i == 0 ? 1e30f : 1.0f;
    encode(&b);
    CU_ASSERT(decode(&b, b.bytes, b.len));
    CU_ASSERT(fabs((double)b.y[0] - 1e30) < 1e25 && (double)b.y[999] < 1e25);
    bench_release(&b);
}

static void hostile_bytes(void)
{
    size_t n_codecs;
    const struct strait_value_codec *const *codecs = strait_value_codecs(&n_codecs);
    for (size_t c = 0; c < n_codecs; c++)
        for (int form = 0; form < 2; form++) {
            struct bench b;
            if (!bench_init(&b, codecs[c], form ? published : packed, 700))
                continue;
            make_tensor(b.v, b.n, TENSOR_WEIGHTS, c);
            if (codecs[c]->permutes)
                sort_values(&b);
            encode(&b);
            struct strait_sequence s = strait_sequence_at(c);
            unsigned char *copy = malloc(b.len + 1);
            CU_ASSERT_FATAL(copy != NULL);
            for (size_t cut = 0; cut < b.len; cut += 1 + cut / 16)
                CU_ASSERT_FALSE(decode(&b, b.bytes, cut));
            memcpy(copy, b.bytes, b.len);
            copy[b.len] = 0;
            CU_ASSERT_FALSE(decode(&b, copy, b.len + 1));
            for (int turn = 0; turn < 500; turn++) {
                memcpy(copy, b.bytes, b.len);
                if (turn % 2)
                    copy[strait_sequence_next(&s) % b.len] ^=
                        (unsigned char)(1u << strait_sequence_next(&s) % 8);
                else
                    for (size_t i = strait_sequence_next(&s) % 8; i < b.len; i++)
                        copy[i] = (unsigned char)strait_sequence_next(&s);
                decode(&b, copy, b.len);
            }
            CU_ASSERT(decode(&b, b.bytes, b.len));
            free(copy);
            bench_release(&b);
        }
}

static void order_of_values(void)
{
    static const float v[] = {1, -2, 0.5f, INFINITY, -0.25f, NAN, -INFINITY, 1};
    static const uint32_t by_value[] = {3, 0, 7, 2, 5, 4, 1, 6};
    static const uint32_t by_size[] = {3, 6, 1, 0, 7, 2, 4, 5};
    uint32_t place[8];
    unsigned char sign[8];
    uint64_t pairs[16];
    float sorted[8];
    struct strait_rank_order order = {.place = place, .sign = sign};
    strait_rank_order_of(&order, sorted, v, 8, pairs);
    CU_ASSERT(memcmp(place, by_value, sizeof(place)) == 0);
    CU_ASSERT(sorted[0] >= FLT_MAX && sorted[7] <= -FLT_MAX && sorted[4] >= 0 && sorted[4] <= 0);
    order.signs = true;
    strait_rank_order_of(&order, sorted, v, 8, pairs);
    CU_ASSERT(memcmp(place, by_size, sizeof(place)) == 0);
    CU_ASSERT(sign[0] == 0 && sign[1] == 1 && sign[2] == 1 && sign[3] == 0 && sign[6] == 1);
    CU_ASSERT(sorted[1] >= FLT_MAX && sorted[2] >= 2 && sorted[7] <= 0);
}

/* 5 of 300 places: 9 bits each, with signs 10: 45 and 50 bits, 6 and 7 bytes; 4 and 8 bytes each
 * in the other forms. */
static void order_as_bytes(void)
{
    static const enum strait_rank_form forms[] = {STRAIT_RANK_PACKED, STRAIT_RANK_INT32,
                                                  STRAIT_RANK_INT64};
    static const size_t bytes_of[] = {6, 7, 20, 20, 40, 40};
    for (size_t c = 0; c < 6; c++) {
        uint32_t place[] = {299, 0, 17, 256, 3}, read_place[5];
        unsigned char sign[] = {1, 0, 0, 1, 1}, read_sign[5], bytes[64], seen[38];
        const struct strait_rank_order order = {place, 5, c % 2 == 1, sign};
        struct strait_rank_order read = {read_place, 5, c % 2 == 1, read_sign};
        struct strait_writer w = {.p = bytes, .end = bytes + sizeof(bytes)};
        strait_rank_order_write(&w, &order, 300, forms[c / 2]);
        CU_ASSERT_EQUAL(w.p - bytes, (ptrdiff_t)bytes_of[c]);
        CU_ASSERT_EQUAL(strait_rank_order_bytes(5, 300, c % 2 == 1, forms[c / 2]), bytes_of[c]);
        struct strait_reader r = {.p = bytes, .end = w.p};
        CU_ASSERT(strait_rank_order_read(&r, &read, 300, forms[c / 2], seen) && r.p == w.p);
        CU_ASSERT(memcmp(place, read_place, sizeof(place)) == 0);
        CU_ASSERT(c % 2 == 0 || memcmp(sign, read_sign, sizeof(sign)) == 0);
        place[4] = 17; /* twice */
        w.p = bytes;
        strait_rank_order_write(&w, &order, 300, forms[c / 2]);
        r = (struct strait_reader){.p = bytes, .end = w.p};
        CU_ASSERT_FALSE(strait_rank_order_read(&r, &read, 300, forms[c / 2], seen));
        r = (struct strait_reader){.p = bytes, .end = w.p - 1};
        place[4] = 3;
        w.p = bytes;
        strait_rank_order_write(&w, &order, 300, forms[c / 2]);
        CU_ASSERT_FALSE(strait_rank_order_read(&r, &read, 300, forms[c / 2], seen));
    }
}

/* Against the C library, whose own error is below 1e-15. */
static void stable_functions(void)
{
    struct strait_sequence s = strait_sequence_at(1);
    for (int i = 0; i < 100000; i++) {
        const double x = 1400 * strait_sequence_unit(&s) - 700, z = exp(x);
        CU_ASSERT_FATAL(fabs(strait_stable_exp(x) - z) <= 4e-15 * z);
        CU_ASSERT_FATAL(fabs(strait_stable_log2(z) - log2(z)) <= 4e-15 + 4e-16 * fabs(log2(z)));
    }
    CU_ASSERT(strait_stable_exp(0) >= 1 && strait_stable_exp(0) <= 1);
    CU_ASSERT(strait_stable_exp(-1e9) <= 0);
    for (int k = -50; k <= 50; k++) /* exact at powers of two */
        CU_ASSERT(fabs(strait_stable_log2(ldexp(1, k)) - k) <= 0);
}

/* 2x + y = 5, x + 3y = 10: x = 1, y = 3. Two equal rows have no answer. */
static void small_systems(void)
{
    double a[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS] = {{2, 1}, {1, 3}}, b[] = {5, 10}, x[2];
    CU_ASSERT(strait_solve(x, a, b, 2));
    CU_ASSERT(fabs(x[0] - 1) < 1e-15 && fabs(x[1] - 3) < 1e-15);
    double same[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS] = {{2, 1}, {2, 1}}, c[] = {5, 10};
    CU_ASSERT_FALSE(strait_solve(x, same, c, 2));
}

/* Packed, 2 + n / 64 pieces at most: values of each sign are two straight lines that meet at the
 * 40th positive and at the 20th other value, of which the first is the sharper bend. With 127 values
 * it alone is cut. A piece is its length and six coefficients of 4 bytes. */
static void bends(void)
{
    static const unsigned char lengths[][4] = {{40, 24, 63}, {40, 24, 20, 44}};
    for (size_t n = 127; n <= 128; n++) {
        struct bench b;
        const unsigned char *wanted = lengths[n - 127];
        const size_t n_pieces = n == 128 ? 4 : 3;
        CU_ASSERT_FATAL(bench_init(&b, &strait_value_polyfit, packed, n));
        for (int i = 0; i < 64; i++)
            b.v[i] = (float)(i <= 40 ? 5000 - 100 * i : 1000 - (i - 40));
        for (int i = 0; i < (int)n - 64; i++)
            b.v[64 + i] = (float)(i <= 20 ? -1 - i : -21 - 2 * (i - 20));
        encode(&b);
        strait_test_context("%zu values", n);
        CU_ASSERT_EQUAL_FATAL(b.len, 1 + 25 * n_pieces);
        CU_ASSERT_EQUAL(b.bytes[0], n_pieces);
        for (size_t i = 0; i < n_pieces; i++)
            CU_ASSERT_EQUAL(b.bytes[1 + 25 * i], wanted[i]);
        CU_ASSERT(decode(&b, b.bytes, b.len));
        if (n == 128) /* each piece is a line, which a polynomial is */
            CU_ASSERT_AT_MOST(error_of(&b), 5000 * 1e-5);
        bench_release(&b);
    }
}

static const struct strait_test tests[] = {
    {"a piece is cut where it is bent most, the most bent one first", bends},
    {"every codec takes values of every kind and number", all_codecs_all_lengths},
    {"sz keeps its bound and fp16 eleven bits", errors_of_codecs},
    {"a polynomial is found again, in as many bytes as its pieces need", polynomials_are_found},
    {"the published cuts give the published bytes", published_pieces},
    {"a sum of two exponentials is found again", exponentials_are_found},
    {"one huge value does not spoil the exponentials", outliers_are_fitted},
    {"truncated, flipped and random bytes do no harm", hostile_bytes},
    {"values are ranked from the highest, not finite ones at the ends", order_of_values},
    {"the order takes the bytes that it says, and no place twice", order_as_bytes},
    {"the exponential and the logarithm are those of the C library", stable_functions},
    {"small systems are solved, singular ones refused", small_systems},
};
STRAIT_SUITE("codecs/deepreduce/values", tests);
