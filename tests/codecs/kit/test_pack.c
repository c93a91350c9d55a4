/* Codes of 1 to 16 bits, against the definition: bit b of code i is bit i bits + b of the stream.
 */
#include "codecs/kit/pack.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "tests/kit/suite.h"

static void lengths(void)
{
    CU_ASSERT_EQUAL(strait_packed_bytes(0, 5), 0);
    CU_ASSERT_EQUAL(strait_packed_bytes(1, 1), 1);
    CU_ASSERT_EQUAL(strait_packed_bytes(8, 1), 1);
    CU_ASSERT_EQUAL(strait_packed_bytes(9, 1), 2);
    CU_ASSERT_EQUAL(strait_packed_bytes(3, 16), 6);
    CU_ASSERT_EQUAL(strait_packed_bytes(7, 11), 10); /* 77 bits */
    CU_ASSERT_EQUAL(strait_code_bits(2), 1);
    CU_ASSERT_EQUAL(strait_code_bits(3), 2);
    CU_ASSERT_EQUAL(strait_code_bits(255), 8); /* QSGD with 127 levels */
    CU_ASSERT_EQUAL(strait_code_bits(256), 8);
    CU_ASSERT_EQUAL(strait_code_bits(257), 9);
    CU_ASSERT_EQUAL(strait_code_bits(65535), 16);
}

static bool bit(const unsigned char *bytes, size_t at)
{
    return bytes[at / 8] >> at % 8 & 1;
}

static void check(size_t n, unsigned bits)
{
    struct strait_sequence s = strait_sequence_at(n * 17 + bits);
    const size_t n_bytes = strait_packed_bytes(n, bits);
    uint16_t *codes = malloc(2 * n + 1), *back = malloc(2 * n + 1);
    unsigned char *bytes = malloc(n_bytes + 1); /* sanitizers watch what lies behind */
    CU_ASSERT_FATAL(codes && back && bytes);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint16_t)(strait_sequence_next(&s) >> (64 - bits));
    bytes[n_bytes] = 0xa5;
    strait_pack(bytes, codes, n, bits);
    CU_ASSERT_EQUAL(bytes[n_bytes], 0xa5);
    bool good = true;
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < bits; b++)
            good &= bit(bytes, i * bits + b) == (codes[i] >> b & 1);
    for (size_t at = n * bits; at < 8 * n_bytes; at++)
        good &= !bit(bytes, at);
    CU_ASSERT(good);
    unsigned char *exact = malloc(n_bytes > 0 ? n_bytes : 1);
    CU_ASSERT_FATAL(exact != NULL);
    memcpy(exact, bytes, n_bytes);
    strait_unpack(back, exact, n, bits);
    CU_ASSERT(memcmp(back, codes, 2 * n) == 0);
    free(codes);
    free(back);
    free(bytes);
    free(exact);
}

static void every_width(void)
{
    static const size_t longer[] = {1000, 1023, 1024, 1025, 1031, 2048, 5003};
    for (unsigned bits = 1; bits <= 16; bits++) {
        for (size_t n = 0; n < 40; n++)
            check(n, bits);
        for (size_t k = 0; k < sizeof(longer) / sizeof(longer[0]); k++)
            check(longer[k], bits);
    }
}

static const struct strait_test tests[] = {
    {"lengths are bits rounded up to bytes", lengths},
    {"every width lays its bits where the definition says", every_width},
};
STRAIT_SUITE("codecs/kit/pack", tests);
