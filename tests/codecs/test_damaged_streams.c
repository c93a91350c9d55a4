/* What every decoder of ours makes of each damaged stream of a few values (tests/kit/failing/
 * damaged.h): the values, or the words that refuse it. */
#include <math.h>
#include <string.h>
#include "codec_bench.h"
#include "tests/kit/failing/damaged.h"
#include "tests/kit/tensor_kinds.h"

static void read_stream(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    struct bench *b = context;
    struct strait_error err = {0};
    if (b->ops->decode(b->state, b->y, b->n_elems, bytes, n, &err) != 0) {
        damaged_add_error(s, &err, NULL);
        return;
    }
    for (size_t i = 0; i < b->n_elems; i++) /* what kind of NaN is the processor's affair */
        damaged_add_number(s, isnan(b->y[i]) ? 1e40 : (double)b->y[i]);
}

/* Libraries of others have versions of their own. */
static bool is_ours(const struct strait_codec_ops *ops)
{
    static const char *const others[] = {"zfp",  "fpzip", "blosc",     "lz4",
                                         "zstd", "sz3",   "libpressio"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (strcmp(ops->name, others[i]) == 0)
            return false;
    return true;
}

static void check(const struct strait_codec_ops *ops)
{
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_BROKEN};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && is_ours(ops); i++) {
        struct bench b;
        char name[80];
        bench_init(&b, ops, i ? 23 : 90);
        make_tensor(b.x, b.n_elems, kinds[i], 5);
        CU_ASSERT_FATAL(encode(&b, bound_for(ops, STRAIT_BOUND_RANGE, 1e-2)));
        snprintf(name, sizeof(name), "codec %s, %zu", ops->name, b.n_elems);
        memcpy(b.again, b.bytes, b.len_bytes);
        damaged_check(name, b.again, b.len_bytes, read_stream, &b);
        bench_release(&b);
    }
}

static void streams(void)
{
    static const char *const levels[] = {"portable", "avx2", "avx512"};
    const char *const before = getenv("STRAIT_SIMD");
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) { /* those that are there */
        setenv("STRAIT_SIMD", levels[i], 1);
        for_each_codec(check);
    }
    if (before)
        setenv("STRAIT_SIMD", before, 1);
    else
        unsetenv("STRAIT_SIMD");
}

static const struct strait_test tests[] = {
    {"a damaged stream of any codec of ours is read or refused as it was", streams},
};
STRAIT_SUITE_WITH("codecs/damaged_streams", tests, .release = true);
