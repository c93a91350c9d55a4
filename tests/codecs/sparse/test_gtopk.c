/* Sparse streams that merge: against dense sums cut down to their largest. */
#include <math.h>
#include "sparse_bench.h"

/* The k largest of dense[n] where the others are 0, the lower position first: by counting. */
static void keep_largest(float *dense, size_t n, size_t k)
{
    float *all = malloc(4 * n);
    CU_ASSERT_FATAL(all != NULL);
    memcpy(all, dense, 4 * n);
    for (size_t i = 0; i < n; i++) {
        size_t n_before = 0;
        for (size_t j = 0; j < n; j++)
            n_before += fabsf(all[j]) > fabsf(all[i]) || (j < i && fabsf(all[j]) == fabsf(all[i]));
        dense[i] = n_before < k ? all[i] : 0;
    }
    free(all);
}

/* Integers, so that sums have no rounding: eight ranks along a tree, against dense sums along the
 * same tree. Small numbers make ties and sums of 0. */
static void gtopk_tree(void)
{
    enum { N = 400, K = 40, N_RANKS = 8 };
    for (int payload = 0; payload < 2; payload++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            struct bench r[N_RANKS];
            for (size_t i = 0; i < N_RANKS; i++) {
                bench_init(&r[i], &strait_codec_gtopk, 0.1, payload, N);
                for (size_t j = 0; j < N; j++)
                    r[i].x[j] = (float)(strait_random_bits(seed, "gtopk", i, j) % 41) - 20;
                encode(&r[i], 0);
                decode(&r[i]);
                memcpy(r[i].x, r[i].y, 4 * N);
            }
            for (size_t step = 1; step < N_RANKS; step *= 2)
                for (size_t i = 0; i < N_RANKS; i += 2 * step) {
                    struct bench *a = &r[i], *b = &r[i + step];
                    unsigned char out[8192];
                    struct strait_error err = {0};
                    size_t len;
                    CU_ASSERT(
                        a->ops->summable(a->state, a->bytes, a->len_bytes, b->bytes, b->len_bytes));
                    CU_ASSERT_EQUAL_FATAL(a->ops->add(a->state, out, a->cap_bytes, &len, a->bytes,
                                                      a->len_bytes, b->bytes, b->len_bytes, N,
                                                      &err),
                                          0);
                    memcpy(a->bytes, out, len);
                    a->len_bytes = len;
                    decode(a);
                    for (size_t j = 0; j < N; j++)
                        a->x[j] += b->x[j];
                    keep_largest(a->x, N, K);
                    bool same = true;
                    for (size_t j = 0; j < N; j++)
                        same = same && a->x[j] == a->y[j];
                    CU_ASSERT(same);
                }
            for (size_t i = 0; i < N_RANKS; i++)
                bench_release(&r[i]);
        }
}

static void gtopk_refuses(void)
{
    struct bench a, other[3];
    bench_init(&a, &strait_codec_gtopk, 0.1, 0, 400);
    bench_init(&other[0], &strait_codec_gtopk, 0.1, 0, 401);  /* another length */
    bench_init(&other[1], &strait_codec_gtopk, 0.05, 0, 400); /* another k */
    bench_init(&other[2], &strait_codec_gtopk, 0.1, 1, 400);  /* another payload */
    make_tensor(a.x, 400, TENSOR_WEIGHTS, 1);
    encode(&a, 0);
    for (int i = 0; i < 3; i++) {
        struct strait_error err = {0};
        unsigned char out[8192];
        size_t len;
        make_tensor(other[i].x, other[i].n_elems, TENSOR_WEIGHTS, 2);
        encode(&other[i], 0);
        CU_ASSERT_FALSE(
            a.ops->summable(a.state, a.bytes, a.len_bytes, other[i].bytes, other[i].len_bytes));
        CU_ASSERT_EQUAL(a.ops->add(a.state, out, a.cap_bytes, &len, a.bytes, a.len_bytes,
                                   other[i].bytes, other[i].len_bytes, 400, &err),
                        -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        bench_release(&other[i]);
    }
    bench_release(&a);
}

static void damaged(void)
{
    check_damaged_summands(&strait_codec_gtopk, 0.05, 0);
    check_damaged_summands(&strait_codec_gtopk, 0.05, 1);
}

static const struct strait_test tests[] = {
    {"streams merge to what dense sums give", gtopk_tree},
    {"streams of another length, k or payload are refused", gtopk_refuses},
    {"damaged summands do no harm", damaged},
};
STRAIT_SUITE("codecs/sparse/gtopk", tests);
