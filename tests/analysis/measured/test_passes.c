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

static void settles(void)
{
    static const struct {
        const char *codec;
        size_t n;
        double encode, decode;
    } all[] = {{"sz", 3, 9, 3}, {"none", 3, 7, 2}, {"sz", 1, 5, 3}, {"none", 1, 5, 3}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct strait_profile_entry e = settled(all[i].codec, all[i].n);
        CU_ASSERT_EQUAL(e.encode_bytes_per_s, all[i].encode);
        CU_ASSERT_EQUAL(e.decode_bytes_per_s, all[i].decode);
    }
}

static const struct strait_test tests[] = {
    {"the fastest pass of a codec, the middle one of memory, one as it is", settles},
};
STRAIT_SUITE("analysis/measured/passes", tests);
