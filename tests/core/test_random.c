#include <math.h>
#include <stdbool.h>
#include <xxhash.h>
#include "core/random.h"
#include "tests/kit/suite.h"

/* The first outputs of the reference splitmix64 for the seed 1234567, as published with it in many
 * places, and for the seed 0 (first output e220a8397b1dcdaf). */
static void published(void)
{
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    struct strait_sequence s = strait_sequence_at(1234567);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
        CU_ASSERT_EQUAL(strait_sequence_next(&s), expected[i]);
    s = strait_sequence_at(0);
    CU_ASSERT_EQUAL(strait_sequence_next(&s), 0xe220a8397b1dcdafu);
}

static void order(void)
{
    uint64_t forward[64];
    for (uint64_t i = 0; i < 64; i++)
        forward[i] = strait_random_bits(1, "dropout", i / 8, i % 8);
    for (uint64_t i = 64; i-- > 0;)
        CU_ASSERT_EQUAL(strait_random_bits(1, "dropout", i / 8, i % 8), forward[i]);
}

static void every_part_counts(void)
{
    const uint64_t bits = strait_random_bits(1, "dropout", 2, 3);
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(2, "dropout", 2, 3));
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(1, "slowness", 2, 3));
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(1, "", 2, 3));
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(1, "dropout", 3, 3));
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(1, "dropout", 2, 4));
    CU_ASSERT_NOT_EQUAL(bits, strait_random_bits(1, "dropout", 3, 2)); /* not symmetric */
}

/* N draws of a uniform variable: the mean is 1/2 with a standard deviation of sqrt(1/12/N), and
 * neighbours (in a, in b) are uncorrelated: the mean of (x-1/2)(y-1/2) is 0 with one of
 * 1/12/sqrt(N). Five deviations, on fixed keys, so the outcome never changes. */
static void uniform(void)
{
    enum { N_A = 200, N_B = 500, N = N_A * N_B };
    double sum = 0, along_a = 0, along_b = 0;
    unsigned tenths[10] = {0};
    bool in_range = true;
    for (uint64_t a = 0; a < N_A; a++)
        for (uint64_t b = 0; b < N_B; b++) {
            const double x = strait_random_unit(7, "test", a, b);
            in_range = in_range && x >= 0 && x < 1;
            tenths[(int)(10 * x)]++;
            sum += x;
            along_a += (x - 0.5) * (strait_random_unit(7, "test", a + 1, b) - 0.5);
            along_b += (x - 0.5) * (strait_random_unit(7, "test", a, b + 1) - 0.5);
        }
    CU_ASSERT(in_range);
    CU_ASSERT_DOUBLE_EQUAL(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N));
    CU_ASSERT_DOUBLE_EQUAL(along_a / N, 0, 5.0 / 12 / sqrt(N));
    CU_ASSERT_DOUBLE_EQUAL(along_b / N, 0, 5.0 / 12 / sqrt(N));
    for (int i = 0; i < 10; i++) /* binomial: deviation sqrt(N 0.1 0.9) */
        CU_ASSERT_DOUBLE_EQUAL(tenths[i], N / 10.0, 5 * sqrt(N * 0.09));
}

/* As core/random.c states it: draw b of the sequence that starts at draw a of the one that starts
 * at the hash of seed and purpose. Old results keep their keys only while this holds. */
static void nested(void)
{
    struct strait_sequence outer = strait_sequence_at(XXH3_64bits_withSeed("round", 5, 11));
    for (uint64_t a = 0; a < 5; a++) {
        struct strait_sequence inner = strait_sequence_at(strait_sequence_next(&outer));
        for (uint64_t b = 0; b < 5; b++)
            CU_ASSERT_EQUAL(strait_random_bits(11, "round", a, b), strait_sequence_next(&inner));
    }
}

static void same_bits_everywhere(void)
{
    /* 53 bits: the unit form is the upper bits over 2^53, exactly. */
    const uint64_t bits = strait_random_bits(5, "x", 1, 2);
    CU_ASSERT_EQUAL(strait_random_unit(5, "x", 1, 2), ldexp((double)(bits >> 11), -53));
    struct strait_sequence a = strait_sequence_at(99), b = strait_sequence_at(99);
    CU_ASSERT_EQUAL(strait_sequence_unit(&a), ldexp((double)(strait_sequence_next(&b) >> 11), -53));
}

static const struct strait_test tests[] = {
    {"a sequence gives the published numbers of splitmix64", published},
    {"a draw does not depend on the order of drawing", order},
    {"every part of the key counts", every_part_counts},
    {"draws are uniform and neighbours are uncorrelated", uniform},
    {"a draw is an element of nested sequences", nested},
    {"the unit form is the upper 53 bits", same_bits_everywhere},
};
STRAIT_SUITE("core/random", tests);
