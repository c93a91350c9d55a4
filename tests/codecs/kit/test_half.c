/* binary16 and bfloat16 against their definitions, for every one of their 65536 values. */
#include "codecs/kit/half.h"
#include "tests/kit/suite.h"

/* IEEE 754-2019, 3.4: (-1)^s 2^(e - 15) 1.f, or (-1)^s 2^-14 0.f where e is 0. */
static double half_value(unsigned h)
{
    const int e = (int)(h >> 10 & 31);
    const double f = h & 1023;
    const double a = e == 0 ? ldexp(f, -24) : ldexp(1024 + f, e - 25);
    return h >> 15 ? -a : a;
}

static void every_half(void)
{
    for (unsigned h = 0; h < 65536; h++) {
        const float x = strait_float_of_half((uint16_t)h);
        if ((h >> 10 & 31) == 31 && (h & 1023) != 0) { /* NaN: quiet, sign and payload kept */
            CU_ASSERT(isnan(x));
            CU_ASSERT_EQUAL(strait_half_of(x), h | 0x200);
            continue;
        }
        const double expected = (h >> 10 & 31) < 31 ? half_value(h)
                                : h >> 15           ? -INFINITY
                                                    : INFINITY;
        CU_ASSERT((double)x == expected);
        CU_ASSERT_EQUAL(strait_half_of(x), h);
    }
}

/* Between two neighbours: the middle goes to the even one, the floats beside the middle to the
 * nearer one. 0x7c00 stands for 65536 here, where a further half would lie. */
static void ties_to_even_half(void)
{
    for (unsigned h = 0; h < 0x7c00; h++) {
        const float middle = (float)((half_value(h) + half_value(h + 1)) / 2);
        for (unsigned sign = 0; sign < 2; sign++) {
            const float m = sign ? -middle : middle;
            const unsigned s = sign << 15;
            CU_ASSERT_EQUAL(strait_half_of(m), s | (h + (h & 1)));
            CU_ASSERT_EQUAL(strait_half_of(nextafterf(m, 0)), s | h);
            CU_ASSERT_EQUAL(strait_half_of(nextafterf(m, sign ? -INFINITY : INFINITY)),
                            s | (h + 1));
        }
    }
}

static void ends_of_half(void)
{
    CU_ASSERT_EQUAL(strait_half_of(65504.0f), 0x7bff);
    CU_ASSERT_EQUAL(strait_half_of(nextafterf(65520.0f, 0)), 0x7bff);
    CU_ASSERT_EQUAL(strait_half_of(65520.0f), 0x7c00);
    CU_ASSERT_EQUAL(strait_half_of(3.4e38f), 0x7c00);
    CU_ASSERT_EQUAL(strait_half_of(-INFINITY), 0xfc00);
    CU_ASSERT_EQUAL(strait_half_of(0x1p-25f), 0); /* half of the smallest: to even */
    CU_ASSERT_EQUAL(strait_half_of(0x1.000002p-25f), 1);
    CU_ASSERT_EQUAL(strait_half_of(1e-45f), 0);
    CU_ASSERT_EQUAL(strait_half_of(-0.0f), 0x8000);
    CU_ASSERT(isnan(strait_float_of_half(strait_half_of(NAN))));
    /* A NaN whose payload is below the ten bits that stay must not become infinity. */
    CU_ASSERT(isnan(strait_float_of_half(strait_half_of(strait_float_of(0x7f800001u)))));
}

static void every_bfloat(void)
{
    for (unsigned b = 0; b < 65536; b++) {
        const float x = strait_float_of_bfloat((uint16_t)b);
        CU_ASSERT_EQUAL(strait_bits_of(x), b << 16);
        CU_ASSERT_EQUAL(strait_bfloat_of(x), isnan(x) ? b | 0x40 : b);
        if ((b & 0x7fff) >= 0x7f80)
            continue;
        /* Middle, and one bit beside it. */
        CU_ASSERT_EQUAL(strait_bfloat_of(strait_float_of(b << 16 | 0x8000u)), b + (b & 1));
        CU_ASSERT_EQUAL(strait_bfloat_of(strait_float_of(b << 16 | 0x7fffu)), b);
        CU_ASSERT_EQUAL(strait_bfloat_of(strait_float_of(b << 16 | 0x8001u)), b + 1);
    }
    CU_ASSERT(isnan(strait_float_of_bfloat(strait_bfloat_of(strait_float_of(0x7f800001u)))));
    CU_ASSERT(isnan(strait_float_of_bfloat(strait_bfloat_of(strait_float_of(0xffffffffu)))));
}

static const struct strait_test tests[] = {
    {"every half is what the standard says, and comes back", every_half},
    {"what lies between two halves goes to the nearer, ties to even", ties_to_even_half},
    {"halves end in infinity, zero and NaN where they should", ends_of_half},
    {"every bfloat comes back, and what lies between goes to the nearer", every_bfloat},
};
STRAIT_SUITE("codecs/kit/half", tests);
