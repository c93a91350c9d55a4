/* The low-rank codecs, powersgd and acpsgd: published sizes, what comes back, what is refused. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "matrices.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { A = 60, B = 40, N = A * B, CAP = 4 * N + 64 };

/* A codec that is open at a rank, the bytes of its last matrix and what they decode to. */
struct desk {
    const struct strait_codec_ops *ops;
    void *state;
    size_t len;
    unsigned char bytes[CAP];
    float x[N], y[N];
};

static struct desk *desk_new(const char *name, double rank)
{
    struct desk *d = calloc(1, sizeof(*d));
    CU_ASSERT_FATAL(d != NULL);
    d->ops = strait_codec_find(name);
    CU_ASSERT_FATAL(d->ops != NULL);
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(d->ops, &d->state, &rank, NULL), 0);
    return d;
}

static void desk_free(struct desk *d)
{
    d->ops->close(d->state);
    free(d);
}

static bool step(struct desk *d, size_t n_elems, size_t n_rows, uint64_t key)
{
    const struct strait_request request = {.n_rows = n_rows, .key = key};
    return strait_codec_encode(d->ops, d->state, d->bytes, CAP, &d->len, d->x, n_elems, request,
                               NULL) == 0 &&
           d->ops->decode(d->state, d->y, n_elems, d->bytes, d->len, NULL) == 0;
}

/* 7 bytes and 4 r (a + b), or 2 bytes and 4 n. */
static void sizes(void)
{
    static const struct {
        size_t n_elems, n_rows, rank, bytes;
    } cases[] = {
        {2400, 60, 1, 7 + 4 * 1 * 100},
        {2400, 60, 4, 7 + 4 * 4 * 100},
        {2400, 40, 4, 7 + 4 * 4 * 100},
        {2400, 2, 1, 7 + 4 * 1202},
        {2400, 60, 23, 7 + 4 * 2300},
        {2400, 60, 24, 2 + 4 * 2400},
        {2400, 0, 4, 2 + 4 * 2400},
        {2400, 7, 4, 2 + 4 * 2400},
        {2400, 2400, 1, 2 + 4 * 2400},
        {0, 0, 4, 2},
        {1, 1, 1, 6},
        {6, 3, 1, 2 + 4 * 6},
        {9, 3, 1, 7 + 4 * 6},
        {10, 0, 64, 42},
    };
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t c = 0; c < 2; c++) {
            struct desk *d = desk_new(names[c], (double)cases[i].rank);
            const size_t n = cases[i].n_elems;
            make_tensor(d->x, n, TENSOR_WEIGHTS, 1);
            for (int round = 0; round < 3; round++) {
                CU_ASSERT_EQUAL(strait_codec_predict(d->ops, d->state, n, cases[i].n_rows),
                                cases[i].bytes);
                CU_ASSERT_FATAL(step(d, n, cases[i].n_rows, 0));
                CU_ASSERT_EQUAL(d->len, cases[i].bytes);
                CU_ASSERT(d->len <= d->ops->max_bytes(d->state, n));
            }
            CU_ASSERT_EQUAL(d->ops->max_bytes(d->state, n), 2 + 4 * n);
            if (cases[i].bytes == 2 + 4 * n)
                CU_ASSERT(memcmp(d->x, d->y, 4 * n) == 0);
            desk_free(d);
        }
}

/* Where M has rank 3 and Q three columns in general position, M Q spans what M spans, and the
 * projection on it is M itself: after one step of powersgd, after two half steps of acpsgd. */
static void exact_recovery(void)
{
    static const double sigma[] = {9, 4, 1};
    for (size_t rank = 3; rank < 6; rank++) {
        struct desk *p = desk_new("powersgd", (double)rank), *c = desk_new("acpsgd", (double)rank);
        make_matrix(p->x, A, B, sigma, 3);
        memcpy(c->x, p->x, sizeof(p->x));
        for (int round = 0; round < 4; round++) {
            CU_ASSERT_FATAL(step(p, N, A, 5) && step(c, N, A, 5));
            CU_ASSERT(distance(p->x, p->y, N) < rounding * norm(p->x, N));
            CU_ASSERT((round == 0) != (distance(c->x, c->y, N) < rounding * norm(c->x, N)));
        }
        desk_free(p);
        desk_free(c);
    }
}

/* Warm starts lead to the best matrix of rank 2, whose error is the other singular values (Eckart
 * and Young): sqrt(1 + 0.25 + 0.0625). The direction of sigma = 1 decays against sigma = 2 by 1/4 a
 * step in a factor, 4^-20 = 1e-12 after 20. */
static void best_approximation(void)
{
    static const double sigma[] = {5, 2, 1, 0.5, 0.25};
    const double best = sqrt(1.3125);
    struct desk *p = desk_new("powersgd", 2), *c = desk_new("acpsgd", 2);
    make_matrix(p->x, A, B, sigma, 5);
    memcpy(c->x, p->x, sizeof(p->x));
    double first = 0;
    for (int round = 0; round < 40; round++) {
        CU_ASSERT_FATAL(step(c, N, A, 1));
        if (round < 20)
            CU_ASSERT_FATAL(step(p, N, A, 1));
        first = round == 0 ? distance(p->x, p->y, N) : first;
    }
    CU_ASSERT(first > best * 1.001);
    CU_ASSERT_DOUBLE_EQUAL(distance(p->x, p->y, N), best, rounding * norm(p->x, N));
    CU_ASSERT_DOUBLE_EQUAL(distance(c->x, c->y, N), best, rounding * norm(c->x, N));
    desk_free(p);
    desk_free(c);
}

/* acpsgd sends another pair of factors than powersgd: as long, not the same. Equal keys start
 * equally; without a matrix a key means nothing. */
static void keys_and_bytes(void)
{
    struct desk *p = desk_new("powersgd", 2), *c = desk_new("acpsgd", 2);
    struct desk *same = desk_new("powersgd", 2), *other = desk_new("powersgd", 2);
    make_tensor(p->x, N, TENSOR_WEIGHTS, 3);
    memcpy(c->x, p->x, sizeof(p->x));
    memcpy(same->x, p->x, sizeof(p->x));
    memcpy(other->x, p->x, sizeof(p->x));
    CU_ASSERT_FATAL(step(p, N, A, 1) && step(c, N, A, 1));
    CU_ASSERT_FATAL(step(same, N, A, 1) && step(other, N, A, 2));
    CU_ASSERT(p->len == c->len && memcmp(p->bytes + 7, c->bytes + 7, p->len - 7) != 0);
    CU_ASSERT(memcmp(p->bytes, same->bytes, p->len) == 0);
    CU_ASSERT(memcmp(p->bytes, other->bytes, p->len) != 0);
    desk_free(p);
    desk_free(c);
    desk_free(same);
    desk_free(other);
}

/* What is not finite is a 0: the same bytes. */
static void broken_values(void)
{
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t c = 0; c < 2; c++) {
        struct desk *d = desk_new(names[c], 2), *zero = desk_new(names[c], 2);
        for (uint64_t round = 0; round < 4; round++) {
            make_tensor(d->x, N, round < 3 ? TENSOR_BROKEN : TENSOR_NOTHING, round);
            for (size_t i = 0; i < N; i++)
                zero->x[i] = isfinite(d->x[i]) ? d->x[i] : 0;
            CU_ASSERT_FATAL(step(d, N, A, 1) && step(zero, N, A, 1));
            CU_ASSERT(memcmp(d->bytes, zero->bytes, d->len) == 0);
        }
        desk_free(d);
        desk_free(zero);
    }
}

/* Rank 1 at the ends of the float range. Below 2^-126 values are multiples of 2^-149: each is off
 * by half of that from the matrix of rank 1, in x and again in y, sqrt(n) of it over all. */
static void ends_of_the_range(void)
{
    static const double scales[] = {0x1p-140, 0x1p-126, 0x1p-100, 0x1p-31,
                                    0x1p31,   0x1p100,  0x1p126};
    static const double sigma[] = {20}; /* the largest value is 20 x 2 / sqrt(60 x 40) = 0.8 */
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++)
        for (size_t c = 0; c < 2; c++) {
            struct desk *d = desk_new(names[c], 2);
            make_matrix(d->x, A, B, sigma, 1);
            for (size_t i = 0; i < N; i++)
                d->x[i] = (float)((double)d->x[i] * scales[s]);
            for (int round = 0; round < 3; round++)
                CU_ASSERT_FATAL(step(d, N, A, 4));
            CU_ASSERT(distance(d->x, d->y, N) < rounding * norm(d->x, N) + 0x1p-149 * sqrt(N));
            CU_ASSERT(norm(d->x, N) > 19 * scales[s]);
            desk_free(d);
        }
}

/* Blocks | h h |  of the largest float h. The best matrix of rank 1 is h g u u^T with the golden
 *        | h 0 |  section g and u = (g, 1) / sqrt(g^2 + 1): h g^3 / (g^2 + 1) = 1.17 h at the top.
 */
static void beyond_the_range(void)
{
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t c = 0; c < 2; c++) {
        struct desk *d = desk_new(names[c], 1);
        for (size_t i = 0; i < N; i++)
            d->x[i] = i / B >= A / 2 && i % B >= B / 2 ? 0 : FLT_MAX;
        for (int round = 0; round < 30; round++)
            CU_ASSERT_FATAL(step(d, N, A, 4));
        CU_ASSERT_EQUAL(d->y[0], FLT_MAX);
        for (size_t i = 0; i < N; i++)
            CU_ASSERT(d->y[i] > 0 && d->y[i] <= FLT_MAX);
        desk_free(d);
    }
}

static void any_bits(void)
{
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t c = 0; c < 2; c++)
        for (double rank = 1; rank <= 16; rank *= 4) {
            struct desk *d = desk_new(names[c], rank);
            for (uint64_t round = 0; round < 2 * N_TENSOR_KINDS; round++) {
                make_tensor(d->x, N, (enum tensor_kind)(round * 5 % N_TENSOR_KINDS), round);
                CU_ASSERT_FATAL(step(d, N, A, 4));
                for (size_t i = 0; i < N; i++)
                    CU_ASSERT_FATAL(isfinite(d->y[i]));
            }
            desk_free(d);
        }
}

/* All zero: no direction is left in the factors. The next matrix is found again. */
static void zeros_are_no_trap(void)
{
    static const double sigma[] = {3, 2};
    static const char *const names[] = {"powersgd", "acpsgd"};
    for (size_t c = 0; c < 2; c++) {
        struct desk *d = desk_new(names[c], 2);
        for (int round = 0; round < 3; round++) {
            CU_ASSERT_FATAL(step(d, N, A, 4));
            CU_ASSERT(norm(d->y, N) <= 0);
        }
        make_matrix(d->x, A, B, sigma, 2);
        for (int round = 0; round < 3; round++)
            CU_ASSERT_FATAL(step(d, N, A, 4));
        CU_ASSERT(distance(d->x, d->y, N) < rounding * norm(d->x, N));
        desk_free(d);
    }
}

static void another_shape(void)
{
    struct strait_error err = {0};
    struct desk *d = desk_new("powersgd", 2);
    make_tensor(d->x, N, TENSOR_WEIGHTS, 3);
    CU_ASSERT_FATAL(step(d, N, A, 0));
    CU_ASSERT_EQUAL(strait_codec_encode(d->ops, d->state, d->bytes, CAP, &d->len, d->x, N,
                                        (struct strait_request){.n_rows = B}, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected 60 x 40 values as in the rounds before, found 40 x 60");
    CU_ASSERT(step(d, N, A, 0));
    desk_free(d);
}

static bool decodes(struct desk *d, size_t n_elems)
{
    struct strait_error err = {0};
    const bool good = d->ops->decode(d->state, d->y, n_elems, d->bytes, d->len, &err) == 0;
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    return good;
}

/* Each change alone makes the stream something else: codec, rank, exponent, rows, length. */
static void other_streams(void)
{
    struct desk *d = desk_new("powersgd", 2);
    make_tensor(d->x, N, TENSOR_WEIGHTS, 3);
    CU_ASSERT_FATAL(step(d, N, A, 0));
    const size_t len = d->len;
    static const struct {
        unsigned char at, value;
    } changes[] = {{0, 20},  {0, 1},   {1, 0}, {1, 1}, {1, 3}, {1, 65}, {1, 255}, {2, 127},
                   {2, 128}, {2, 129}, {3, 0}, {3, 1}, {3, 7}, {3, 30}, {4, 1},   {6, 128}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const unsigned char before = d->bytes[changes[i].at];
        d->bytes[changes[i].at] = changes[i].value;
        CU_ASSERT_FALSE(decodes(d, N));
        d->bytes[changes[i].at] = before;
    }
    for (d->len = 0; d->len < len; d->len++)
        CU_ASSERT_FALSE(decodes(d, N));
    CU_ASSERT(decodes(d, N));
    d->len = len + 1;
    CU_ASSERT_FALSE(decodes(d, N));
    d->len = len;
    CU_ASSERT_FALSE(decodes(d, N - A));
    for (size_t i = 7; i < len; i++)
        d->bytes[i] = 0xff; /* factors of NaN alone: allowed, and of no harm */
    CU_ASSERT(decodes(d, N));
    desk_free(d);
}

static void wrong_ranks(void)
{
    static const double bad[] = {0, -1, 65, 1.5, NAN, INFINITY};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct strait_error err = {0};
        void *state = NULL;
        CU_ASSERT_EQUAL(strait_codec_open(strait_codec_find("acpsgd"), &state, &bad[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
}

enum { N_THREADS = 3, N_ROUNDS = 40 };

static void *work_alone(void *arg)
{
    struct desk *d = arg;
    for (uint64_t round = 0; round < N_ROUNDS; round++) {
        make_tensor(d->x, N, TENSOR_WEIGHTS, round);
        if (!step(d, N, A, 7))
            d->len = 0;
    }
    return NULL;
}

/* The linear algebra is one library for the whole process. */
static void threads_with_states_of_their_own(void)
{
    struct desk *d[N_THREADS], *alone = desk_new("powersgd", 8);
    pthread_t threads[N_THREADS];
    work_alone(alone);
    for (int i = 0; i < N_THREADS; i++) {
        d[i] = desk_new("powersgd", 8);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, work_alone, d[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT(d[i]->len == alone->len && memcmp(d[i]->bytes, alone->bytes, alone->len) == 0);
        desk_free(d[i]);
    }
    desk_free(alone);
}

static const struct strait_test tests[] = {
    {"sizes are the published ones and a head", sizes},
    {"a matrix of no higher rank comes back", exact_recovery},
    {"warm starts lead to the best approximation", best_approximation},
    {"keys and codecs tell streams apart", keys_and_bytes},
    {"values that are not finite count as 0", broken_values},
    {"matrices at the ends of the float range come back", ends_of_the_range},
    {"a product beyond the range is held at its end", beyond_the_range},
    {"whatever comes, what is decoded is finite", any_bits},
    {"a matrix of zeros is no trap", zeros_are_no_trap},
    {"a matrix of another shape is refused", another_shape},
    {"streams that are something else are refused", other_streams},
    {"ranks outside their range are refused", wrong_ranks},
    {"threads with states of their own get what one alone gets", threads_with_states_of_their_own},
};
STRAIT_SUITE_WITH("codecs/lowrank/powersgd", tests, .threads = true);
