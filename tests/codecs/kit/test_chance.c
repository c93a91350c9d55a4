/* Chance for stochastic rounding. Statistics are of fixed keys, so that they come out the same on
 * every run: each is a normal or nearly normal deviate that a perfect source would have beyond 5 in
 * size with probability 5.7e-7 (chi-squares, by Wilson and Hilferty's cube root, likewise). About
 * 4,300 are looked at: perfect chance would have failed this file with probability 0.0025. */
#include "codecs/kit/chance.h"
#include <math.h>
#include "tests/kit/suite.h"

enum { CELLS = 256, DRAWS = 1 << 18, KEYS = 4 };
static const uint64_t keys[KEYS] = {0, 1, 2, 0xfeedfacecafebeefu};
static const double most = 5;

/* Nearly standard normal where counts[CELLS] are equally likely. */
static double deviate(const unsigned *counts, double n)
{
    double chi = 0;
    for (size_t i = 0; i < CELLS; i++) {
        const double d = counts[i] - n / CELLS;
        chi += d * d / (n / CELLS);
    }
    const double dof = CELLS - 1, v = 2 / (9 * dof);
    return (cbrt(chi / dof) - (1 - v)) / sqrt(v);
}

static void key_and_index_alone(void)
{
    const struct strait_chance c = strait_chance_at(7, 0), again = strait_chance_at(7, 0);
    uint32_t forward[100];
    for (uint32_t i = 0; i < 100; i++)
        forward[i] = strait_chance_bits(c, i);
    for (uint32_t i = 100; i-- > 0;)
        CU_ASSERT_EQUAL(strait_chance_bits(again, i), forward[i]);
    /* Other keys and segments share at most chance agreements: 300 pairs of 2^-32 each. */
    const struct strait_chance others[] = {strait_chance_at(8, 0), strait_chance_at(7, 1),
                                           strait_chance_at(7 + (1ull << 32), 0)};
    for (size_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < 100; i++)
            CU_ASSERT(strait_chance_bits(others[k], i) != forward[i]);
}

static void known_values(void)
{
    /* With nothing of a key it is the published mixer: its lines, in arithmetic modulo 2^32. */
    const struct strait_chance none = {0, 0};
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t x = i;
        x = (x ^ x >> 17) * 0xed5ad4bb % 4294967296u;
        x = (x ^ x >> 11) * 0xac4c1b51 % 4294967296u;
        x = (x ^ x >> 15) * 0x31848bab % 4294967296u;
        CU_ASSERT_EQUAL(strait_chance_bits(none, i), x ^ x >> 14);
    }
}

static void uniform_over_indices(void)
{
    for (size_t k = 0; k < KEYS; k++)
        for (unsigned shift = 0; shift < 32; shift += 8) {
            const struct strait_chance c = strait_chance_at(keys[k], 0);
            unsigned counts[CELLS] = {0};
            for (uint32_t i = 0; i < DRAWS; i++)
                counts[strait_chance_bits(c, i) >> shift & 255]++;
            CU_ASSERT(fabs(deviate(counts, DRAWS)) < most);
        }
}

static void uniform_over_keys(void)
{
    static const uint32_t indices[] = {0, 1, 4095, 0xffffffffu};
    for (size_t k = 0; k < 4; k++) {
        unsigned counts[CELLS] = {0};
        for (uint64_t key = 0; key < DRAWS; key++)
            counts[strait_chance_bits(strait_chance_at(key, 0), indices[k]) >> 24]++;
        CU_ASSERT(fabs(deviate(counts, DRAWS)) < most);
    }
}

/* The upper four bits of both: 256 equally likely pairs. */
static void neighbours_are_independent(void)
{
    static const uint32_t distances[] = {1, 2, 3, 5, 8, 16, 32, 64, 512, 4096, 65536};
    for (size_t k = 0; k < KEYS; k++)
        for (size_t d = 0; d < sizeof(distances) / sizeof(distances[0]); d++) {
            const struct strait_chance c = strait_chance_at(keys[k], 0);
            const uint32_t apart = distances[d];
            unsigned counts[CELLS] = {0}, n = 0;
            for (uint32_t i = 0; i < 2 * DRAWS; i++)
                if (i / apart % 2 == 0) { /* no draw is in two pairs */
                    counts[strait_chance_bits(c, i) >> 28 << 4 |
                           strait_chance_bits(c, i + apart) >> 28]++;
                    n++;
                }
            CU_ASSERT(fabs(deviate(counts, n)) < most);
        }
}

static void keys_are_independent(void)
{
    for (uint64_t k = 0; k < 100; k++) {
        const struct strait_chance a = strait_chance_at(k, 0), b = strait_chance_at(k + 1, 0);
        unsigned counts[CELLS] = {0};
        for (uint32_t i = 0; i < DRAWS / 16; i++)
            counts[strait_chance_bits(a, i) >> 28 << 4 | strait_chance_bits(b, i) >> 28]++;
        CU_ASSERT(fabs(deviate(counts, DRAWS / 16)) < most);
    }
}

/* Correlation at any distance would show in the variance of sums. A sum of n draws of [0, 1) has
 * mean n / 2 and variance n / 12; the mean of 2048 squared deviates has a standard deviation of
 * sqrt(2 / 2048) about 1. */
static void sums_vary_as_they_should(void)
{
    enum { EACH = 512, SUMS = 2048 };
    for (size_t k = 0; k < KEYS; k++) {
        const struct strait_chance c = strait_chance_at(keys[k], 0);
        double squares = 0;
        for (uint32_t s = 0; s < SUMS; s++) {
            double sum = 0;
            for (uint32_t i = 0; i < EACH; i++)
                sum += strait_chance_bits(c, s * EACH + i) * 0x1p-32;
            squares += (sum - EACH / 2.0) * (sum - EACH / 2.0) / (EACH / 12.0);
        }
        CU_ASSERT(fabs(squares / SUMS - 1) / sqrt(2.0 / SUMS) < most);
    }
}

/* Each bit of the index flips each bit of the draw in half of the cases: 1024 frequencies. */
static void avalanche(void)
{
    enum { TRIALS = 1 << 14 };
    for (size_t k = 0; k < KEYS; k++) {
        const struct strait_chance c = strait_chance_at(keys[k], 0);
        for (unsigned in = 0; in < 32; in++) {
            unsigned flips[32] = {0};
            for (uint32_t i = 0; i < TRIALS; i++) {
                const uint32_t at = i * 0x9e3779b9u; /* all over the indices */
                const uint32_t changed =
                    strait_chance_bits(c, at) ^ strait_chance_bits(c, at ^ (uint32_t)1 << in);
                for (unsigned bit = 0; bit < 32; bit++)
                    flips[bit] += changed >> bit & 1;
            }
            for (unsigned bit = 0; bit < 32; bit++)
                CU_ASSERT(fabs(flips[bit] - TRIALS / 2.0) / sqrt(TRIALS / 4.0) < most);
        }
    }
}

static void below_is_a_probability(void)
{
    const struct strait_chance c = strait_chance_at(3, 0);
    static const float p[] = {0x1p-10f, 0.1f, 0.5f, 0.9f};
    for (uint32_t i = 0; i < 10000; i++) {
        CU_ASSERT_EQUAL(strait_chance_below(c, i, 0.0f), 0);
        CU_ASSERT_EQUAL(strait_chance_below(c, i, 1.0f), 1);
    }
    for (size_t k = 0; k < 4; k++) {
        double n = 0;
        for (uint32_t i = 0; i < DRAWS; i++)
            n += strait_chance_below(c, i, p[k]);
        const double variance = (double)p[k] * (1 - (double)p[k]) * DRAWS;
        CU_ASSERT(fabs(n - (double)p[k] * DRAWS) / sqrt(variance) < most);
    }
}

static const struct strait_test tests[] = {
    {"a draw depends on key and index alone", key_and_index_alone},
    {"without a key it is the published mixer", known_values},
    {"every byte is uniform over indices", uniform_over_indices},
    {"draws of one index are uniform over keys", uniform_over_keys},
    {"neighbouring indices are independent", neighbours_are_independent},
    {"neighbouring keys are independent", keys_are_independent},
    {"sums of draws vary as they should", sums_vary_as_they_should},
    {"each bit of the index decides about each bit of the draw", avalanche},
    {"what is drawn with probability p occurs that often", below_is_a_probability},
};
STRAIT_SUITE("codecs/kit/chance", tests);
