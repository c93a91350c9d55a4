/* The arithmetic of low rank: closed forms of linear algebra, and the all-reduces of four workers
 * against one worker on the mean. */
#include "codecs/lowrank/lowrank.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "matrices.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

static void check_shape(size_t n_elems, size_t n_rows, size_t rank, bool fits)
{
    struct strait_lowrank shape = {0};
    CU_ASSERT_EQUAL(strait_lowrank_fits(&shape, n_elems, n_rows, rank), fits);
    CU_ASSERT_EQUAL(shape.n_rows, fits ? n_rows : 0);
    CU_ASSERT_EQUAL(shape.n_cols, fits ? n_elems / n_rows : 0);
    CU_ASSERT_EQUAL(shape.rank, fits ? rank : 0);
}

static void shapes(void)
{
    check_shape(5000, 100, 4, true); /* 4 (100 + 50) = 600 < 5000 */
    check_shape(5000, 50, 4, true);  /* the other way round */
    check_shape(5000, 0, 4, false);  /* vectors */
    check_shape(5000, 1, 4, false);
    check_shape(5000, 5000, 4, false); /* one column */
    check_shape(5000, 99, 4, false);   /* does not divide */
    check_shape(0, 10, 1, false);
    check_shape(64, 8, 3, true);                             /* 3 x 16 = 48 < 64 */
    check_shape(64, 8, 4, false);                            /* 4 x 16 = 64 */
    check_shape(200, 4, 3, true);                            /* 3 x 54 = 162 < 200 */
    check_shape(200, 4, 4, false);                           /* as many columns as M has rows */
    check_shape(6, 3, 1, true);                              /* 3 + 2 = 5 < 6 */
    check_shape(4, 2, 1, false);                             /* 2 + 2 = 4 */
    check_shape((size_t)1 << 40, (size_t)1 << 33, 4, false); /* beyond BLAS */
}

/*     | 1 2 3 |   M (1 0 -1)^T = (-2 -2)^T     M^T (1 1)^T = (5 7 9)^T
 * M = | 4 5 6 |   (1 2)^T (3 4 5) = | 3 4 5 |
 *                                   | 6 8 10 | */
static void products_by_hand(void)
{
    const struct strait_lowrank shape = {2, 3, 1};
    static const float m[] = {1, 2, 3, 4, 5, 6};
    float p[2] = {NAN, NAN}, q[3] = {NAN, NAN, NAN}, y[6] = {NAN, NAN, NAN, NAN, NAN, NAN};
    strait_lowrank_left(p, &shape, m, (float[]){1, 0, -1});
    CU_ASSERT(memcmp(p, (float[]){-2, -2}, sizeof(p)) == 0);
    strait_lowrank_right(q, &shape, m, (float[]){1, 1});
    CU_ASSERT(memcmp(q, (float[]){5, 7, 9}, sizeof(q)) == 0);
    strait_lowrank_product(y, &shape, (float[]){1, 2}, (float[]){3, 4, 5});
    CU_ASSERT(memcmp(y, (float[]){3, 4, 5, 6, 8, 10}, sizeof(y)) == 0);
}

/* Mean 0 and variance 1 over 10^6 draws: deviations 1e-3 of the mean and sqrt((kurtosis - 1) / n)
 * of the variance, kurtosis 3 - 1.2 / 4 = 2.7 for a sum of four uniform ones: 1.3e-3. Five of these
 * leave one chance in a million. The largest is 2 sqrt(3) = 3.46 in size. */
static void draws(void)
{
    enum { N = 1000000 };
    float *q = malloc(N * sizeof(*q));
    double sum = 0, squares = 0, most = 0;
    strait_lowrank_draw(q, N, 42);
    for (size_t i = 0; i < N; i++) {
        sum += (double)q[i];
        squares += (double)q[i] * (double)q[i];
        most = fmax(most, fabs((double)q[i]));
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / N, 0, 5e-3);
    CU_ASSERT_DOUBLE_EQUAL(squares / N, 1, 6.5e-3);
    CU_ASSERT(most <= 3.4642);
    free(q);
}

/* Largest |A^T A - I|. */
static double skew(const float *a, size_t n, size_t r)
{
    double worst = 0;
    for (size_t j = 0; j < r; j++)
        for (size_t k = 0; k < r; k++) {
            double dot = j == k ? -1 : 0;
            for (size_t i = 0; i < n; i++)
                dot += (double)a[i * r + j] * (double)a[i * r + k];
            worst = fmax(worst, fabs(dot));
        }
    return worst;
}

/* Largest column of A - P P^T A, as a share of that column of A. */
static double outside(const float *p, const float *a, size_t n, size_t r)
{
    double worst = 0;
    for (size_t k = 0; k < r; k++) {
        double rest = 0, all = 0, dot[STRAIT_LOWRANK_MAX_RANK] = {0};
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < r; j++)
                dot[j] += (double)p[i * r + j] * (double)a[i * r + k];
        for (size_t i = 0; i < n; i++) {
            double v = (double)a[i * r + k];
            all += v * v;
            for (size_t j = 0; j < r; j++)
                v -= (double)p[i * r + j] * dot[j];
            rest += v * v;
        }
        worst = all > 0 ? fmax(worst, sqrt(rest / all)) : worst;
    }
    return worst;
}

static void make_columns(float *a, size_t n, size_t r, int kind)
{
    strait_lowrank_draw(a, n * r, (uint64_t)kind + n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r; k++) {
            float *v = &a[i * r + k];
            if (kind == 1)
                *v = 0;
            else if (kind == 2 && k % 2 == 1) /* twice the column before */
                *v = 2 * v[-1];
            else if (kind == 3)
                *v *= 1e-30f; /* its square is no float */
            else if (kind == 4)
                *v *= k % 3 == 0 ? 1e30f : 1e-12f;
            else if (kind == 5 && k > 0)
                *v = 0;
        }
}

static void orthonormal_columns(void)
{
    static const size_t sizes[][2] = {{2, 1}, {3, 2}, {17, 16}, {300, 1}, {300, 16}, {1000, 64}};
    enum { MAX = 64000 };
    float *a = malloc(MAX * sizeof(*a)), *p = malloc(MAX * sizeof(*p));
    float *again = malloc(MAX * sizeof(*again));
    float *work = malloc(strait_lowrank_work_elems(1000, 64) * sizeof(*work));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (int kind = 0; kind < 6; kind++) {
            const size_t n = sizes[s][0], r = sizes[s][1];
            make_columns(a, n, r, kind);
            memcpy(p, a, n * r * sizeof(*p));
            memcpy(again, a, n * r * sizeof(*p));
            strait_lowrank_orthonormalise(p, n, r, work);
            CU_ASSERT(skew(p, n, r) < rounding);
            CU_ASSERT(outside(p, a, n, r) < rounding);
            strait_lowrank_orthonormalise(again, n, r, work);
            CU_ASSERT(memcmp(p, again, n * r * sizeof(*p)) == 0);
        }
    free(a);
    free(p);
    free(again);
    free(work);
}

/* 2^40 is far from 1: scaled by 2^-40, and back. 1000 is left where it is. */
static void tame_values(void)
{
    static const float good[] = {1000, -3, 0}, wild[] = {0x1p40f, -0x1p39f, 0x1p-100f};
    const float broken[] = {1000, NAN, -INFINITY};
    float copy[3] = {7, 7, 7};
    int exponent = 99;
    CU_ASSERT(!strait_lowrank_is_wild(good, 3) && strait_lowrank_is_wild(wild, 3));
    CU_ASSERT_PTR_EQUAL(strait_lowrank_tame(copy, &exponent, good, 3), good);
    CU_ASSERT(exponent == 0 && copy[0] == 7);
    CU_ASSERT_PTR_EQUAL(strait_lowrank_tame(copy, &exponent, wild, 3), copy);
    CU_ASSERT(exponent == 40 && memcmp(copy, (float[]){1, -0.5f, 0x1p-140f}, sizeof(copy)) == 0);
    strait_lowrank_scale(copy, 3, exponent);
    CU_ASSERT(memcmp(copy, wild, sizeof(copy)) == 0);
    CU_ASSERT_PTR_EQUAL(strait_lowrank_tame(copy, &exponent, broken, 3), copy);
    CU_ASSERT(exponent == 0 && memcmp(copy, (float[]){1000, 0, 0}, sizeof(copy)) == 0);
    copy[1] = -8;
    strait_lowrank_scale(copy, 2, 126); /* 8 x 2^126 is beyond the floats */
    CU_ASSERT(memcmp(copy, (float[]){FLT_MAX, -FLT_MAX, 0}, sizeof(copy)) == 0);
}

enum { A = 60, B = 40, N = A * B, W = 4, R = 3 };

/* The factors of one method and what they give. */
struct factors {
    float q[B * R], p[A * R], y[N];
};

/* Four workers, each with a matrix of its own and the same factors; and one worker on the mean. */
struct group {
    struct strait_lowrank shape;
    float m[W][N], mean[N], work[(A + 2) * R];
    struct factors all, one;
};

static struct group *group_new(uint64_t key)
{
    struct group *g = calloc(1, sizeof(*g));
    CU_ASSERT_FATAL(g && strait_lowrank_fits(&g->shape, N, A, R));
    CU_ASSERT_FATAL(sizeof(g->work) >= strait_lowrank_work_elems(A, R) * sizeof(float));
    strait_lowrank_draw(g->all.q, B * R, key);
    g->one = g->all;
    return g;
}

/* Gradients of a kind: a common part of falling singular values and noise of each worker. */
static void make_gradients(struct group *g, uint64_t round)
{
    static const double sigma[] = {8, 5, 3, 0.3, 0.2};
    float common[N];
    make_matrix(common, A, B, sigma, 5);
    for (size_t w = 0; w < W; w++) {
        make_tensor(g->m[w], N, TENSOR_WEIGHTS, round * W + w);
        for (size_t i = 0; i < N; i++)
            g->m[w][i] += common[i];
    }
    for (size_t i = 0; i < N; i++)
        g->mean[i] = (g->m[0][i] + g->m[1][i] + g->m[2][i] + g->m[3][i]) / W;
}

static void all_reduce(float *mean, float parts[W][A * R], size_t n)
{
    for (size_t i = 0; i < n; i++)
        mean[i] = (parts[0][i] + parts[1][i] + parts[2][i] + parts[3][i]) / W;
}

static void left_of_all(struct group *g)
{
    float parts[W][A * R];
    for (size_t w = 0; w < W; w++)
        strait_lowrank_left(parts[w], &g->shape, g->m[w], g->all.q);
    all_reduce(g->all.p, parts, A * R);
    strait_lowrank_left(g->one.p, &g->shape, g->mean, g->one.q);
}

static void right_of_all(struct group *g)
{
    float parts[W][A * R];
    for (size_t w = 0; w < W; w++)
        strait_lowrank_right(parts[w], &g->shape, g->m[w], g->all.p);
    all_reduce(g->all.q, parts, B * R);
    strait_lowrank_right(g->one.q, &g->shape, g->mean, g->one.p);
}

static void orthonormalise_p(struct group *g)
{
    strait_lowrank_orthonormalise(g->all.p, A, R, g->work);
    strait_lowrank_orthonormalise(g->one.p, A, R, g->work);
}

static void orthonormalise_q(struct group *g)
{
    strait_lowrank_orthonormalise(g->all.q, B, R, g->work);
    strait_lowrank_orthonormalise(g->one.q, B, R, g->work);
}

/* Both products are linear in M, so the means of the workers' factors are the factors of the mean.
 * What differs are the roundings of sums in another order, through a projection whose directions
 * lie apart by 3 against 0.3: nothing amplifies them. */
static void check_group(struct group *g)
{
    strait_lowrank_product(g->all.y, &g->shape, g->all.p, g->all.q);
    strait_lowrank_product(g->one.y, &g->shape, g->one.p, g->one.q);
    CU_ASSERT(distance(g->all.y, g->one.y, N) < rounding * norm(g->one.y, N));
    CU_ASSERT(distance(g->all.y, g->mean, N) > 0.01 * norm(g->mean, N)); /* it is lossy */
}

static void two_all_reduces(void)
{
    struct group *g = group_new(11);
    for (uint64_t round = 0; round < 5; round++) {
        make_gradients(g, round);
        left_of_all(g);
        orthonormalise_p(g);
        right_of_all(g);
        check_group(g);
    }
    CU_ASSERT(distance(g->all.y, g->mean, N) < 0.2 * norm(g->mean, N)); /* and it has converged */
    free(g);
}

static void one_all_reduce_in_turn(void)
{
    struct group *g = group_new(12);
    for (uint64_t round = 0; round < 6; round++) {
        make_gradients(g, round);
        if (round % 2 == 0) {
            orthonormalise_q(g);
            left_of_all(g);
        } else {
            orthonormalise_p(g);
            right_of_all(g);
        }
        check_group(g);
    }
    CU_ASSERT(distance(g->all.y, g->mean, N) < 0.2 * norm(g->mean, N));
    free(g);
}

static const struct strait_test tests[] = {
    {"matrices that gain are told from vectors and small ones", shapes},
    {"the products are as by hand", products_by_hand},
    {"what the iteration begins with has mean 0 and variance 1", draws},
    {"columns become orthonormal and span the same, dependent or not", orthonormal_columns},
    {"what is not finite or far from 1 is tamed, and scaled back", tame_values},
    {"two all-reduces of four workers are one worker on the mean", two_all_reduces},
    {"one all-reduce a round, in turn, is one worker on the mean", one_all_reduce_in_turn},
};
STRAIT_SUITE("codecs/lowrank/lowrank", tests);
