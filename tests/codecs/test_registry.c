/* The table of codecs. */
#include "codecs/codec.h"
#include "tests/kit/suite.h"

/* 31 is the example's of docs/adding-a-codec.md. */
static unsigned next_id(const struct strait_codec_ops *const *codecs, size_t n)
{
    unsigned next = 32;
    for (size_t i = 0; i < n; i++)
        next = codecs[i]->id >= next ? codecs[i]->id + 1 : next;
    return next;
}

static void table_is_sound(void)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    CU_ASSERT_FATAL(n >= 4);
    for (size_t i = 0; i < n; i++) {
        strait_test_context("%s, .id = %u; the next that is free: %u", codecs[i]->name,
                            codecs[i]->id, next_id(codecs, n));
        CU_ASSERT(codecs[i]->id >= 1 && codecs[i]->id <= 255 && codecs[i]->id != 31);
        CU_ASSERT_STRING_EQUAL(strait_codec_by_id(codecs[i]->id)->name, codecs[i]->name);
        CU_ASSERT_PTR_EQUAL(strait_codec_find(codecs[i]->name), codecs[i]);
        CU_ASSERT_EQUAL((codecs[i]->flags & STRAIT_CODEC_BOUNDED) != 0,
                        (codecs[i]->bounds & ~(1u << STRAIT_BOUND_NONE)) != 0);
    }
    CU_ASSERT_PTR_NULL(strait_codec_find("sz9"));
    CU_ASSERT_PTR_NULL(strait_codec_by_id(200));
}

static const struct strait_test tests[] = {
    {"every codec has its own name, id and kind of guarantee", table_is_sound},
};
STRAIT_SUITE("codecs/registry", tests);
