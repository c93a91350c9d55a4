/* Of several measurements of an entry the fastest counts each way, of memory the middle one. */
#include <string.h>
#include "analysis/measured/passes.h"
#include "tests/kit/suite.h"

static const double encode[] = {5, 9, 7}, decode[] = {3, 1, 2};

static struct strait_profile_entry settled(const char *codec, size_t n)
{
    struct strait_profile_entry of[3] = {0}, e = {.ratio = 4, .encode_bytes_per_s = 100};
    strcpy(e.codec, codec);
    for (size_t i = 0; i < n; i++) {
        of[i].encode_bytes_per_s = of[i].encode.p50 = encode[i];
        of[i].decode_bytes_per_s = of[i].decode.p50 = decode[i];
    }
    strait_passes_settle(&e, of, n);
    CU_ASSERT_EQUAL(e.encode.p50, e.encode_bytes_per_s); /* of the same pass */
    CU_ASSERT_EQUAL(e.decode.p50, e.decode_bytes_per_s);
    CU_ASSERT_EQUAL(e.ratio, 4);
    return e;
}

static void which(void)
{
    const struct strait_profile_entry sz = settled("sz", 3), memory = settled("none", 3);
    CU_ASSERT_EQUAL(sz.encode_bytes_per_s, 9);
    CU_ASSERT_EQUAL(sz.decode_bytes_per_s, 3);
    CU_ASSERT_EQUAL(memory.encode_bytes_per_s, 7);
    CU_ASSERT_EQUAL(memory.decode_bytes_per_s, 2);
}

static void one(void)
{
    const struct strait_profile_entry sz = settled("sz", 1), memory = settled("none", 1);
    CU_ASSERT_EQUAL(sz.encode_bytes_per_s, 5);
    CU_ASSERT_EQUAL(sz.decode_bytes_per_s, 3);
    CU_ASSERT_EQUAL(memory.encode_bytes_per_s, 5);
    CU_ASSERT_EQUAL(memory.decode_bytes_per_s, 3);
}

static const struct strait_test tests[] = {
    {"the fastest pass of a codec, the middle one of memory", which},
    {"one pass is what it says", one},
};
STRAIT_SUITE("analysis/measured/passes", tests);
