/* Fragments against every way to cut. */
#include "core/random.h"
#include "workloads/train/plans/fragments.h"
#include "tests/kit/suite.h"

enum { MAX_LAYERS = 10 };

static size_t sum_of(const size_t *sizes, int first, int end)
{
    size_t sum = 0;
    for (int l = first; l < end; l++)
        sum += sizes[l];
    return sum;
}

/* The least largest part of all cuts of [first, n_layers) into n parts: by trying all. */
static size_t best(const size_t *sizes, int first, int n_layers, int n)
{
    size_t least = SIZE_MAX;
    if (n == 1)
        return sum_of(sizes, first, n_layers);
    for (int end = first + 1; end <= n_layers - (n - 1); end++) {
        const size_t here = sum_of(sizes, first, end), rest = best(sizes, end, n_layers, n - 1);
        const size_t largest = here > rest ? here : rest;
        least = largest < least ? largest : least;
    }
    return least;
}

static void optimal(void)
{
    for (int trial = 0; trial < 300; trial++) {
        size_t sizes[MAX_LAYERS];
        int first[MAX_LAYERS + 1];
        const int n_layers = 1 + trial % MAX_LAYERS;
        for (int l = 0; l < n_layers; l++) /* sizes from 0 to 2^12, most of them small */
            sizes[l] = strait_random_bits(5, "layer", (uint64_t)trial, (uint64_t)l) %
                       (1u << strait_random_bits(5, "range", (uint64_t)trial, (uint64_t)l) % 13);
        for (int n = 1; n <= n_layers; n++) {
            size_t largest = 0;
            strait_cut_fragments(first, n, sizes, n_layers);
            CU_ASSERT_EQUAL(first[0], 0);
            CU_ASSERT_EQUAL(first[n], n_layers);
            for (int p = 0; p < n; p++) {
                CU_ASSERT(first[p + 1] > first[p]);
                const size_t size = sum_of(sizes, first[p], first[p + 1]);
                largest = size > largest ? size : largest;
            }
            CU_ASSERT_EQUAL(largest, best(sizes, 0, n_layers, n));
        }
    }
}

static const struct strait_test tests[] = {
    {"the largest fragment is the least that any cut gives", optimal},
};
STRAIT_SUITE("workloads/train/plans/fragments", tests);
