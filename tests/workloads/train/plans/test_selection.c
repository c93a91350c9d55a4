/* Choosing clients and drawing stragglers: distributions against their laws. */
#include <math.h>
#include <string.h>
#include "core/random.h"
#include "workloads/train/plans/selection.h"
#include "tests/kit/suite.h"

enum { N_DRAWS = 20000 };

static double draw_of(int i)
{
    return strait_random_unit(11, "test of selection", (uint64_t)i, 0);
}

static void ascending_without_repeats(void)
{
    int chosen[9];
    for (int i = 0; i < 200; i++)
        for (int n = 1; n <= 9; n++)
            for (int k = 0; k <= n; k++) {
                strait_choose_clients(chosen, k, n, draw_of(i));
                for (int j = 0; j < k; j++)
                    CU_ASSERT(chosen[j] >= 0 && chosen[j] < n &&
                              (j == 0 || chosen[j] > chosen[j - 1]));
            }
}

/* All of n leaves no choice: 0, 1, ..., n - 1 whatever the draw. */
static void everybody(void)
{
    int chosen[1000];
    strait_choose_clients(chosen, 1000, 1000, 0.123);
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL(chosen[i], i);
}

/* 2 of 5: 10 sets, 2000 expected of each in 20000 draws. Chi-square with 9 degrees of freedom
 * exceeds 27.88 with a probability of 0.1 %. */
static void sets_are_uniform(void)
{
    double counts[5][5] = {{0}}, chi_square = 0;
    for (int i = 0; i < N_DRAWS; i++) {
        int chosen[2];
        strait_choose_clients(chosen, 2, 5, draw_of(i));
        counts[chosen[0]][chosen[1]]++;
    }
    for (int a = 0; a < 5; a++)
        for (int b = a + 1; b < 5; b++)
            chi_square += pow(counts[a][b] - N_DRAWS / 10.0, 2) / (N_DRAWS / 10.0);
    CU_ASSERT(chi_square < 27.88);
    CU_ASSERT(chi_square > 1); /* below 1 with a probability of 0.06 %: too even for chance */
}

/* 10 of 100 clients: each is expected 2000 times in 20000 draws. The counts of one draw sum to 10
 * exactly, so the variance of a count is N p (1 - p) and sum (count - E)^2 / (E (1 - p)) x 99 / 100
 * is a chi-square with 99 degrees of freedom: above 148.23 with 0.1 %. */
static void clients_are_uniform(void)
{
    double counts[100] = {0}, chi_square = 0;
    for (int i = 0; i < N_DRAWS; i++) {
        int chosen[10];
        strait_choose_clients(chosen, 10, 100, draw_of(i));
        for (int j = 0; j < 10; j++)
            counts[chosen[j]]++;
    }
    for (int c = 0; c < 100; c++)
        chi_square += pow(counts[c] - 2000, 2) / (2000 * 0.9) * 0.99;
    CU_ASSERT(chi_square < 148.23);
    CU_ASSERT(chi_square > 60.0); /* below 61.1 with 0.1 % */
}

static void keyed(void)
{
    int a[10], b[10], c[10];
    strait_choose_clients(a, 10, 1000, 0.25);
    strait_choose_clients(b, 10, 1000, 0.25);
    strait_choose_clients(c, 10, 1000, nextafter(0.25, 1)); /* 2^-54 more: not seen */
    CU_ASSERT_EQUAL(memcmp(a, b, sizeof(a)), 0);
    strait_choose_clients(c, 10, 1000, 0.25 + 0x1p-53);
    CU_ASSERT_NOT_EQUAL(memcmp(a, c, sizeof(a)), 0);
}

/* ln of a lognormal is normal: mean 0 +- 4 sigma / sqrt(N), variance sigma^2 (1 +- 4 sqrt(2 / N)),
 * and 68.27 % within one sigma, +- 4 sqrt(0.6827 x 0.3173 / N) = 1.32 %. */
static void slowness_is_lognormal(void)
{
    const double sigma = 0.5;
    double sum = 0, squares = 0;
    int n_near = 0;
    for (int i = 0; i < N_DRAWS; i++) {
        const double x = log(strait_draw_slowness(sigma, draw_of(i), draw_of(i + N_DRAWS)));
        CU_ASSERT(isfinite(x));
        sum += x;
        squares += x * x;
        n_near += fabs(x) < sigma;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / N_DRAWS, 0, 4 * sigma / sqrt(N_DRAWS));
    CU_ASSERT_DOUBLE_EQUAL(squares / N_DRAWS, sigma * sigma,
                           sigma * sigma * 4 * sqrt(2.0 / N_DRAWS));
    CU_ASSERT_DOUBLE_EQUAL(n_near / (double)N_DRAWS, 0.6827, 0.0132);
    CU_ASSERT_EQUAL(strait_draw_slowness(0, 0.3, 0.4), 1);
    CU_ASSERT(strait_draw_slowness(1, 0, 0) == 1 &&
              isfinite(strait_draw_slowness(5, 1 - 0x1p-53, 0)));
}

static void asked(void)
{
    CU_ASSERT_EQUAL(strait_n_asked(0, 1, 7), 7);
    CU_ASSERT_EQUAL(strait_n_asked(10, 1, 100), 10);
    CU_ASSERT_EQUAL(strait_n_asked(10, 1.1, 100), 11);
    CU_ASSERT_EQUAL(strait_n_asked(100, 1.1, 1000), 110); /* 100 * 1.1 is 110.00000000000001 */
    CU_ASSERT_EQUAL(strait_n_asked(10, 1.3, 100), 13);
    CU_ASSERT_EQUAL(strait_n_asked(7, 1.3, 100), 10); /* 9.1 */
    CU_ASSERT_EQUAL(strait_n_asked(10, 1.3, 12), 12);
    CU_ASSERT_EQUAL(strait_n_asked(10, 1e9, 12), 12);
}

static const struct strait_test tests[] = {
    {"chosen clients ascend and do not repeat", ascending_without_repeats},
    {"all of n are all of n", everybody},
    {"every set of two in five is equally likely (chi-square)", sets_are_uniform},
    {"every client of a hundred is equally likely (chi-square)", clients_are_uniform},
    {"the same draw chooses the same clients, the next one others", keyed},
    {"slowness is lognormal with median 1", slowness_is_lognormal},
    {"a server asks the wanted number times the factor, rounded up", asked},
};
STRAIT_SUITE("workloads/train/plans/selection", tests);
