/* Streams in which one field of the layout that a codec's file states holds what it cannot: each is
 * refused with that field named. */
#include <string.h>
#include "codec_bench.h"

enum { N_ELEMS = 1000, MAX_EDITS = 2 };

struct edit {
    size_t from, n_bytes;
    unsigned char value;
};

static void field_by_field(void)
{
    /* offsets: wire id at 0, then as the layout in the codec's file has it */
    static const struct {
        const char *codec;
        struct edit edits[MAX_EDITS];
        const char *text;
    } cases[] = {
        {"natural", {{1, 1, 7}}, "expected 8 or 9 bits a value, found 7"},
        {"natural", {{1, 1, 10}}, "expected 8 or 9 bits a value, found 10"},
        {"terngrad", {{1, 1, 3}}, "expected payload 0, 1 or 2, found 3"},
        /* five digits of three values are at most 242 */
        {"terngrad", {{7, 1, 243}}, "expected codes of three values, found others"},
        {"sketchml", {{2, 1, 1}, {3, 1, 0}}, "bins, found 1"},
        {"sketchml", {{2, 2, 255}}, "bins, found 65535"},
        {"inceptionn", {{1, 1, 0}}, "expected k of 1 to 14 and tags of 1000 values"},
        {"inceptionn", {{1, 1, 15}}, "expected k of 1 to 14 and tags of 1000 values"},
        {"inceptionn", {{2, 1, 0}}, "expected k of 1 to 14 and tags of 1000 values"},
        /* all positions are the chunk's first */
        {"chunktopk", {{10, 64, 0}}, "expected ascending positions inside each chunk"},
        {"dcttopk", {{14, 32, 0}}, "expected ascending positions inside each chunk"},
    };
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct bench b;
        size_t k = 0;
        while (k < n && strcmp(codecs[k]->name, cases[i].codec) != 0)
            k++;
        strait_test_context("%s: %s", cases[i].codec, cases[i].text);
        CU_ASSERT_FATAL(k < n);
        bench_init(&b, codecs[k], N_ELEMS);
        for (size_t j = 0; j < N_ELEMS; j++)
            b.x[j] = (float)(j * 37 % 101) / 101 - 0.5f;
        CU_ASSERT_FATAL(encode(&b, bound_for(b.ops, STRAIT_BOUND_RANGE, 1e-3)));
        CU_ASSERT(decode(&b, b.bytes, b.len_bytes));
        for (size_t j = 0; j < MAX_EDITS; j++) {
            const struct edit e = cases[i].edits[j];
            CU_ASSERT_FATAL(e.from + e.n_bytes <= b.len_bytes);
            memset(b.bytes + e.from, e.value, e.n_bytes);
        }
        CU_ASSERT_EQUAL(b.ops->decode(b.state, b.y, N_ELEMS, b.bytes, b.len_bytes, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_CONTAINS(err.text, cases[i].text);
        bench_release(&b);
    }
}

static const struct strait_test tests[] = {
    {"a field that holds what it cannot is refused and named", field_by_field},
};
STRAIT_SUITE("codecs/stream_refusals", tests);
