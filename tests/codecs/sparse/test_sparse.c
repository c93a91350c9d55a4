/* Sparsifiers: what they choose, what they send, and what adds up. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/sparse/dgc.h"
#include "codecs/sparse/select.h"
#include "codecs/sparse/sparse.h"
#include "core/hash.h"
#include "sparse_bench.h"

static void shares(void)
{
    CU_ASSERT_EQUAL(strait_sparse_share(0.01, 1000), 10);
    CU_ASSERT_EQUAL(strait_sparse_share(0.01, 1099), 10);
    CU_ASSERT_EQUAL(strait_sparse_share(0.01, 99), 1);
    CU_ASSERT_EQUAL(strait_sparse_share(0.01, 64), 1); /* a small layer is not left out */
    CU_ASSERT_EQUAL(strait_sparse_share(0, 5), 1);
    CU_ASSERT_EQUAL(strait_sparse_share(1, 5), 5);
    CU_ASSERT_EQUAL(strait_sparse_share(0.5, 0), 0);
}

/* Every rule on every kind of tensor: a set of positions, and what is not finite is in it. */
static void rules_choose_sets(void)
{
    static const size_t lengths[] = {0, 1, 2, 40, 1000, 9001};
    size_t n_rules;
    const struct strait_sparsifier *const *rules = strait_sparsifiers(&n_rules);
    for (size_t r = 0; r < n_rules; r++) {
        CU_ASSERT_STRING_EQUAL(strait_sparsifier_names[r], rules[r]->name);
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
                const size_t n = lengths[l];
                const struct strait_sparsifier_params p = {.ratio = 0.1, .threshold = 0.03};
                float *x = malloc(4 * n + 4);
                uint32_t *scratch = malloc(4 * n + 4);
                uint32_t *index = malloc(4 * rules[r]->max_chosen(&p, n) + 4);
                CU_ASSERT_FATAL(x && scratch && index);
                make_tensor(x, n, (enum tensor_kind)kind, 1);
                const size_t k = rules[r]->choose(index, x, n, &p, 5, scratch);
                CU_ASSERT(k <= rules[r]->max_chosen(&p, n));
                CU_ASSERT(strait_index_ascends(index, k, n));
                size_t n_infinite = 0, n_found = 0;
                for (size_t i = 0; i < n; i++)
                    n_infinite += isfinite(x[i]) ? 0 : 1;
                for (size_t i = 0; i < k; i++)
                    n_found += isfinite(x[index[i]]) ? 0 : 1;
                if (strcmp(rules[r]->name, "randomk") != 0)
                    CU_ASSERT_EQUAL(n_found, k < n_infinite ? k : n_infinite);
                free(x);
                free(scratch);
                free(index);
            }
    }
    CU_ASSERT_PTR_NULL(strait_sparsifier_names[n_rules]);
}

/* What was chosen comes back bit by bit, the rest as 0; every payload decodes to the same. */
static void check_values(const struct strait_codec_ops *ops, double first, int n_payloads)
{
    for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
        struct bench b[3];
        for (int p = 0; p < n_payloads; p++) {
            bench_init(&b[p], ops, first, p, 5000);
            make_tensor(b[p].x, 5000, (enum tensor_kind)kind, 4);
            encode(&b[p], 9);
            decode(&b[p]);
            bool good = true;
            for (size_t i = 0; i < 5000; i++) {
                uint32_t x, y;
                memcpy(&x, &b[p].x[i], sizeof(x));
                memcpy(&y, &b[p].y[i], sizeof(y));
                good = good && (y == 0 || y == x);
            }
            CU_ASSERT(good);
            CU_ASSERT(memcmp(b[p].y, b[0].y, 4 * 5000) == 0);
        }
        for (int p = 0; p < n_payloads; p++)
            bench_release(&b[p]);
    }
}

static void values_come_back(void)
{
    check_values(&strait_codec_topk, 0.05, 3);
    check_values(&strait_codec_gtopk, 0.05, 2);
    check_values(&strait_codec_threshold, 0.02, 3);
    check_values(&strait_codec_dgc, 0.05, 3);
    check_values(&strait_codec_randomk, 0.05, 1);
}

static size_t len_of(const struct strait_codec_ops *ops, double first, double second, size_t n,
                     size_t *n_sent, size_t *predicted)
{
    struct bench b;
    bench_init(&b, ops, first, second, n);
    for (size_t i = 0; i < n; i++) /* 1 .. n, the signs taking turns */
        b.x[i] = (float)(i + 1) * (i % 2 ? -1.0f : 1.0f);
    encode(&b, 3);
    decode(&b);
    *n_sent = 0;
    for (size_t i = 0; i < n; i++)
        *n_sent += b.y[i] < 0 || b.y[i] > 0;
    *predicted = strait_codec_predict(ops, b.state, n, 0);
    const size_t len = b.len_bytes;
    bench_release(&b);
    return len;
}

static void sizes(void)
{
    size_t k, predicted;
    /* 1 % of 20000 are 200: 4 + 4 bytes each, or 8 + 4. */
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 1, 20000, &k, &predicted), HEAD + 1600);
    CU_ASSERT(k == 200 && predicted == HEAD + 1600);
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 2, 20000, &k, &predicted), HEAD + 2400);
    CU_ASSERT(k == 200 && predicted == HEAD + 2400);
    /* The last 200: a gap of 19800 and 199 of 0. With r = 0 that is 19801 + 199 bits, with r = 6
     * 309 + 1 + 6 and 199 x 7, which is 1709; r = 5: 618 + 6 + 199 x 6 = 1818; r = 7: 154 + 8 +
     * 199 x 8 = 1754. 214 bytes behind parameter and length, and 800 bytes of values. */
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 0, 20000, &k, &predicted),
                    HEAD + 1 + 2 + 214 + 800);
    CU_ASSERT(k == 200 && predicted == 0);
    CU_ASSERT_EQUAL(len_of(&strait_codec_gtopk, 0.01, 1, 20000, &k, &predicted), HEAD + 1600);
    CU_ASSERT(k == 200 && predicted == HEAD + 1600);
    /* |x| >= 19000.5: 19001 .. 20000. */
    CU_ASSERT_EQUAL(len_of(&strait_codec_threshold, 19000.5, 1, 20000, &k, &predicted),
                    HEAD + 8000);
    CU_ASSERT(k == 1000 && predicted == 0);
    CU_ASSERT_EQUAL(len_of(&strait_codec_threshold, 19000, 2, 20000, &k, &predicted),
                    HEAD + 12 * 1001);
    size_t len = len_of(&strait_codec_dgc, 0.01, 1, 20000, &k, &predicted);
    CU_ASSERT_EQUAL(len, HEAD + 8 * k);
    CU_ASSERT(k > 0 && predicted == 0);
    len = len_of(&strait_codec_dgc, 0.01, 2, 20000, &k, &predicted);
    CU_ASSERT_EQUAL(len, HEAD + 12 * k);
    len = len_of(&strait_codec_adaq, 0.01, 1, 20000, &k, &predicted);
    CU_ASSERT_EQUAL(len, HEAD + 12 + 4 * k);
    /* Only the values, and the key of 8 bytes. */
    CU_ASSERT_EQUAL(len_of(&strait_codec_randomk, 0.01, 0, 20000, &k, &predicted), HEAD + 8 + 800);
    CU_ASSERT(k == 200 && predicted == HEAD + 8 + 800);
    CU_ASSERT_EQUAL(len_of(&strait_codec_randomk, 0.01, 0, 0, &k, &predicted), HEAD + 8);
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 1, 0, &k, &predicted), HEAD);
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 1, 50, &k, &predicted), HEAD + 8);
    CU_ASSERT_EQUAL(len_of(&strait_codec_topk, 0.01, 1, 64, &k, &predicted), HEAD + 8);
    CU_ASSERT_EQUAL(k, 1);
    CU_ASSERT_EQUAL(len_of(&strait_codec_randomk, 0.01, 0, 64, &k, &predicted), HEAD + 8 + 4);
    CU_ASSERT_EQUAL(k, 1);
}

/* The sample has 1000 values, 50 of them above the threshold: the number chosen misses 5 % of
 * n_elems by a standard deviation of 14 %, and adjusting brings it within 30 %. */
static void dgc_share(void)
{
    const size_t n = 100000;
    float *x = malloc(4 * n);
    uint32_t *scratch = malloc(4 * n);
    CU_ASSERT_FATAL(x && scratch);
    make_tensor(x, n, TENSOR_WEIGHTS, 6);
    for (uint64_t key = 0; key < 50; key++) {
        size_t k, n_reaching = 0;
        const uint32_t cut = strait_dgc_cut(&k, x, n, 0.05, key, scratch);
        for (size_t i = 0; i < n; i++)
            n_reaching += fabsf(x[i]) >= strait_magnitude_float(cut);
        CU_ASSERT_EQUAL(k, n_reaching);
        CU_ASSERT(k >= 3500 && k <= 6500);
    }
    size_t k;
    memset(x, 0, 4 * n);
    strait_dgc_cut(&k, x, n, 0.05, 1, scratch);
    CU_ASSERT_EQUAL(k, 0);
    /* One in 30 is not 0: the sample's top 5 % reaches down to 0, and only those 3334 are sent. */
    for (size_t i = 0; i < n; i += 30)
        x[i] = 1;
    strait_dgc_cut(&k, x, n, 0.05, 1, scratch);
    CU_ASSERT_EQUAL(k, 3334);
    free(x);
    free(scratch);
}

static void dgc_kernels(void)
{
    float x[] = {3, -4, NAN};
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_square_sum(x, 3), 25, 0); /* 9 + 16 */
    strait_dgc_clip(x, 2, 25, 5.5);
    CU_ASSERT(x[0] == 3.0f && x[1] == -4.0f);
    strait_dgc_clip(x, 2, 25, 2.5);
    CU_ASSERT(x[0] == 1.5f && x[1] == -2.0f);
    /* Lin et al.: 75 %, 93.75 %, 98.4375 %, 99.6 %, 99.9 % are left out. */
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 0), 0.25, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 1), 0.0625, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 2), 0.015625, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 3), 0.00390625, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 4), 0.001, 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_dgc_warm_up(0.001, 4000000000u), 0.001, 0);
}

/* Each sign within [0.8, 1.25] of its 5 %, all of a sign at the mean of those chosen, and none left
 * out that is larger than one chosen. */
static void adaq_means(void)
{
    const size_t n = 200000;
    struct bench b;
    bench_init(&b, &strait_codec_adaq, 0.05, 0, n);
    make_tensor(b.x, n, TENSOR_WEIGHTS, 2);
    for (size_t i = 0; i < n; i += 3) /* two in three are negative, and those half as large */
        b.x[i] = b.x[i] > 0 ? -b.x[i] / 2 : b.x[i];
    for (uint64_t key = 0; key < 10; key++) {
        encode(&b, key);
        decode(&b);
        for (float sign = -1; sign < 2; sign += 2) {
            double n_all = 0, n_chosen = 0, sum = 0, mean = 0;
            float least = INFINITY, left = 0;
            for (size_t i = 0; i < n; i++) {
                const bool chosen = b.y[i] * sign > 0;
                const float x = b.x[i] * sign;
                n_all += x > 0;
                n_chosen += chosen;
                sum += chosen ? (double)b.x[i] : 0;
                mean = chosen ? (double)b.y[i] : mean;
                least = chosen ? fminf(least, x) : least;
                left = chosen ? left : fmaxf(left, x);
            }
            CU_ASSERT(n_chosen >= 0.8 * 0.05 * n_all && n_chosen <= 1.25 * (0.05 * n_all + 1));
            CU_ASSERT(left < least);
            /* Sums in one order, rounded once to a float: half an ulp is 2^-25 to 2^-24. */
            CU_ASSERT_DOUBLE_EQUAL(mean, sum / n_chosen, 0x1p-24 * fabs(mean));
        }
    }
    bench_release(&b);
}

static void parameters(void)
{
    static const struct {
        const struct strait_codec_ops *ops;
        double params[2];
    } bad[] = {{&strait_codec_topk, {2, 0}},       {&strait_codec_topk, {NAN, 0}},
               {&strait_codec_topk, {0.1, 3}},     {&strait_codec_topk, {0.1, 0.5}},
               {&strait_codec_threshold, {-1, 0}}, {&strait_codec_threshold, {INFINITY, 0}},
               {&strait_codec_adaq, {0.1, 2}},     {&strait_codec_randomk, {0.1, 2}},
               {&strait_codec_randomk, {-0.1, 0}}, {&strait_codec_gtopk, {0.1, 2}},
               {&strait_codec_dgc, {1.5, 0}}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct strait_error err = {0};
        void *state;
        CU_ASSERT_EQUAL(strait_codec_open(bad[i].ops, &state, bad[i].params, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
}

/* The wire format, once and for all: 3000 values that are integers times 2^-24. */
static void golden(void)
{
    static const struct {
        const struct strait_codec_ops *ops;
        double params[2];
        uint64_t checksum;
    } cases[] = {
        {&strait_codec_randomk, {0.05, 0}, 0xb0a888777bfe9cbb},
        {&strait_codec_randomk, {0.05, 1}, 0x9089dc5e24f55556},
        {&strait_codec_topk, {0.05, 0}, 0xa1d24b9052bc257e},
        {&strait_codec_topk, {0.05, 1}, 0xd6f89497f91ac728},
        {&strait_codec_topk, {0.05, 2}, 0xb5ada873e44d8ebe},
        {&strait_codec_topk, {0.6, 0}, 0x226ab1187e7cdff5},
        {&strait_codec_threshold, {0.4, 0}, 0xb5eb20b4b7870e53},
        {&strait_codec_threshold, {0.4, 1}, 0x57f2b823da49212c},
        {&strait_codec_threshold, {0.4, 2}, 0x4bd7e44e19a170f8},
        {&strait_codec_dgc, {0.05, 0}, 0xddd08a5644d5193b},
        {&strait_codec_dgc, {0.05, 1}, 0x8ba5e55f45eb7e57},
        {&strait_codec_dgc, {0.05, 2}, 0xaf6bebea6478168c},
        {&strait_codec_adaq, {0.05, 0}, 0xa5661f599affdd96},
        {&strait_codec_adaq, {0.05, 1}, 0x3758d4ff95c0f9ca},
        {&strait_codec_gtopk, {0.05, 0}, 0x283b0324e9d3f5a4},
        {&strait_codec_gtopk, {0.05, 1}, 0xb9ab9a96e05383f3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        bench_init(&b, cases[i].ops, cases[i].params[0], cases[i].params[1], 3000);
        for (size_t k = 0; k < 3000; k++) {
            const int32_t v = (int32_t)(strait_random_bits(1, "golden", 0, k) >> 40) - (1 << 23);
            b.x[k] = (float)v * 0x1p-24f;
        }
        encode(&b, 42);
        const uint64_t checksum = strait_checksum(b.bytes, b.len_bytes);
        CU_ASSERT_EQUAL(checksum, cases[i].checksum);
        if (checksum != cases[i].checksum)
            fprintf(stderr, "%s %g %g: 0x%016llx\n", cases[i].ops->name, cases[i].params[0],
                    cases[i].params[1], (unsigned long long)checksum);
        bench_release(&b);
    }
}

static const struct strait_test tests[] = {
    {"k is the floor of n times the ratio, and at least 1", shares},
    {"every rule chooses a set, and what is not finite first", rules_choose_sets},
    {"chosen values come back bit by bit in every payload", values_come_back},
    {"sizes are those published behind a head", sizes},
    {"dgc sends its share to 30 %, and no zeros", dgc_share},
    {"dgc's clipping and warm-up are the paper's", dgc_kernels},
    {"adaq sends the mean of each sign's largest", adaq_means},
    {"parameters out of range are refused", parameters},
    {"the wire format stays as it is", golden},
};
STRAIT_SUITE("codecs/sparse/sparse", tests);
