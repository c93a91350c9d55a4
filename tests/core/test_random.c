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

/* Numbers of packets differ by kind, message, segment and sending; draws also by connection, seed,
 * link and purpose. */
static void every_part_of_a_packet_counts(void)
{
    struct strait_ack_count acks = {0};
    const uint64_t place = strait_packet_place(3, 5);
    const uint64_t n[] = {strait_packet_number(STRAIT_PACKET_DATA, place, 0),
                          strait_packet_number(STRAIT_PACKET_DATA, place, 1),
                          strait_packet_number(STRAIT_PACKET_DATA, strait_packet_place(3, 6), 0),
                          strait_packet_number(STRAIT_PACKET_DATA, strait_packet_place(5, 3), 0),
                          strait_packet_number(STRAIT_PACKET_BACK, place, 0),
                          strait_ack_number(&acks, STRAIT_PACKET_ACK, place),
                          strait_ack_number(&acks, STRAIT_PACKET_ACK, place),
                          strait_ack_number(&acks, STRAIT_PACKET_ACK, place + 1)};
    for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_NOT_EQUAL(n[i], n[k]);
    const uint64_t key = strait_packet_key(1, 2, 3, 4);
    CU_ASSERT_NOT_EQUAL(key, strait_packet_key(2, 2, 3, 4));
    CU_ASSERT_NOT_EQUAL(key, strait_packet_key(1, 3, 2, 4));
    CU_ASSERT_NOT_EQUAL(key, strait_packet_key(1, 2, 3, 5));
    const double x = strait_packet_draw(key, "loss", 0, n[0]);
    CU_ASSERT_NOT_EQUAL(x, strait_packet_draw(key, "jitter", 0, n[0]));
    CU_ASSERT_NOT_EQUAL(x, strait_packet_draw(key, "loss", 1, n[0]));
}

/* One draw in 100 is below 0.01: of 40,000 (10,000 segments, each sent four times) 400, with a
 * standard deviation of sqrt(4e4 x 0.01 x 0.99) = 19.9; four of them. What a sending draws says
 * nothing of the next one's: both are below 0.1 for 1 in 100, again 400 of 40,000 neighbours. */
static void packets_are_independent(void)
{
    const uint64_t key = strait_packet_key(strait_test_seed(), 1, 0, 0);
    int n_lost = 0, n_both = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double before = 1;
        for (uint64_t k = 0; k < 5; k++) {
            const double x = strait_packet_draw(
                key, "loss", 1,
                strait_packet_number(STRAIT_PACKET_DATA, strait_packet_place(0, i), k));
            n_lost += k < 4 && x < 0.01;
            n_both += k > 0 && before < 0.1 && x < 0.1;
            before = x;
        }
    }
    strait_test_context("seed %u", (unsigned)strait_test_seed());
    CU_ASSERT(n_lost > 320 && n_lost < 480);
    CU_ASSERT(n_both > 320 && n_both < 480);
}

static const struct strait_test tests[] = {
    {"a sequence gives the published numbers of splitmix64", published},
    {"a draw does not depend on the order of drawing", order},
    {"every part of the key counts", every_part_counts},
    {"draws are uniform and neighbours are uncorrelated", uniform},
    {"a draw is an element of nested sequences", nested},
    {"the unit form is the upper 53 bits", same_bits_everywhere},
    {"every part of a packet's number and key counts", every_part_of_a_packet_counts},
    {"draws of packets are independent", packets_are_independent},
};
STRAIT_SUITE("core/random", tests);
