/* Streams of every codec: damaged, of other lengths and bounds, in little room. */
#include "codec_bench.h"
#include "tests/kit/tensor_kinds.h"

/* Copies of exactly the length given, so that a sanitizer sees a read beyond the end. */
static void decode_copy(struct bench *b, size_t len)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    CU_ASSERT_FATAL(copy != NULL);
    memcpy(copy, b->bytes, len);
    decode(b, copy, len);
    free(copy);
}

static void check_damaged(const struct strait_codec_ops *ops)
{
    static const struct {
        enum tensor_kind kind;
        size_t n;
    } cases[] = {{TENSOR_WEIGHTS, 5000}, {TENSOR_ROWS, 20000},   {TENSOR_SPARSE, 3000},
                 {TENSOR_WALK, 2500},    {TENSOR_BROKEN, 1500},  {TENSOR_ONES, 400},
                 {TENSOR_CONSTANT, 700}, {TENSOR_OUTLIERS, 1300}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        bench_init(&b, ops, cases[i].n);
        make_tensor(b.x, b.n_elems, cases[i].kind, 3);
        const struct strait_bound bound = bound_for(ops, STRAIT_BOUND_RANGE, i % 2 ? 1e-4 : 1e-2);
        CU_ASSERT_FATAL(encode(&b, bound));
        const size_t len = b.len_bytes;
        struct strait_sequence s = strait_sequence_at(i);
        for (size_t cut = 0; cut < len; cut += 1 + cut / 8 + (cut > 64 ? len / 50 : 0))
            decode_copy(&b, cut);
        for (size_t flip = 0; flip < 150; flip++) { /* the first bytes matter most */
            const size_t reach = flip % 3 == 0 ? len : len < 400 ? len : 400;
            const size_t at = strait_sequence_next(&s) % reach;
            const unsigned char before = b.bytes[at];
            b.bytes[at] ^= (unsigned char)(1u << strait_sequence_next(&s) % 8);
            decode_copy(&b, len);
            b.bytes[at] = before;
        }
        for (size_t fill = 0; fill < 100; fill++) { /* noise behind a true beginning */
            const size_t from = strait_sequence_next(&s) % (len < 40 ? len : 40);
            memcpy(b.again, b.bytes, len);
            for (size_t k = from; k < len; k++)
                b.bytes[k] = (unsigned char)strait_sequence_next(&s);
            decode_copy(&b, len);
            memcpy(b.bytes, b.again, len);
        }
        CU_ASSERT(decode(&b, b.bytes, len)); /* none of this harmed the state */
        CU_ASSERT(within(&b, bound));
        bench_release(&b);
    }
}

static void damaged_streams(void)
{
    for_each_codec(check_damaged);
}

static void check_wrong_length(const struct strait_codec_ops *ops)
{
    struct bench b;
    struct strait_error err = {0};
    bench_init(&b, ops, 1000);
    make_tensor(b.x, b.n_elems, TENSOR_WEIGHTS, 1);
    const struct strait_bound bound = bound_for(ops, STRAIT_BOUND_ABS, 1e-3);
    CU_ASSERT_FATAL(encode(&b, bound));
    CU_ASSERT_EQUAL(ops->decode(b.state, b.y, 999, b.bytes, b.len_bytes, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    b.bytes[b.len_bytes] = 0;
    CU_ASSERT_FALSE(decode(&b, b.bytes, b.len_bytes + 1));
    b.cap_bytes--;
    CU_ASSERT_FALSE(encode(&b, bound));
    bench_release(&b);
}

static void wrong_length(void)
{
    for_each_codec(check_wrong_length);
}

static void check_refused(const struct strait_codec_ops *ops)
{
    struct bench b;
    bench_init(&b, ops, 10);
    make_tensor(b.x, b.n_elems, TENSOR_WEIGHTS, 1);
    for (unsigned kind = STRAIT_BOUND_NONE; kind <= STRAIT_BOUND_POINTWISE; kind++) {
        const struct strait_bound good = {(enum strait_bound_kind)kind, 0.1};
        CU_ASSERT_EQUAL(encode(&b, good), (ops->bounds >> kind & 1) == 1);
        if (kind == STRAIT_BOUND_NONE)
            continue;
        static const double bad[] = {-1e-3, NAN, INFINITY};
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT_FALSE(
                encode(&b, (struct strait_bound){(enum strait_bound_kind)kind, bad[i]}));
    }
    bench_release(&b);
}

static void refused_bounds(void)
{
    for_each_codec(check_refused);
}

/* A codec that were another under a new name would be no codec of its own. */
static void no_two_alike(void)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    struct bench a, b;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            if (strait_codec_unavailable(codecs[i]) || strait_codec_unavailable(codecs[k]))
                continue;
            bench_init(&a, codecs[i], 4000);
            bench_init(&b, codecs[k], 4000);
            make_tensor(a.x, a.n_elems, TENSOR_WEIGHTS, 2);
            memcpy(b.x, a.x, 4 * a.n_elems);
            CU_ASSERT_FATAL(encode(&a, bound_for(a.ops, STRAIT_BOUND_ABS, 1e-3)));
            CU_ASSERT_FATAL(encode(&b, bound_for(b.ops, STRAIT_BOUND_ABS, 1e-3)));
            CU_ASSERT(a.len_bytes != b.len_bytes || memcmp(a.bytes, b.bytes, a.len_bytes) != 0);
            bench_release(&a);
            bench_release(&b);
        }
}

/* One byte less than the largest stream could need, or none at all. */
static void small_room(void)
{
    static const size_t sizes[] = {1, 33, 4096};
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < 3 && !strait_codec_unavailable(codecs[c]); i++) {
            struct bench b;
            bench_init(&b, codecs[c], sizes[i]);
            strait_test_context("%s n=%zu", codecs[c]->name, sizes[i]);
            for (size_t k = 0; k < sizes[i]; k++)
                b.x[k] = (float)k;
            const size_t need = b.cap_bytes, caps[] = {need - 1, 0};
            for (size_t r = 0; r < 2; r++) {
                struct strait_error err = {0};
                char text[64];
                memset(b.bytes, 0xa5, need);
                const struct strait_request request = {
                    .bound = bound_for(b.ops, STRAIT_BOUND_RANGE, 1e-3), .key = 1};
                CU_ASSERT_EQUAL(strait_codec_encode(b.ops, b.state, b.bytes, caps[r], &b.len_bytes,
                                                    b.x, sizes[i], request, &err),
                                -1);
                snprintf(text, sizeof(text), "expected room for %zu bytes, found %zu", need,
                         caps[r]);
                CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
                CU_ASSERT_STRING_EQUAL(err.text, text);
                for (size_t k = 0; k < need; k++)
                    CU_ASSERT_EQUAL_FATAL(b.bytes[k], 0xa5); /* nothing was written */
            }
            bench_release(&b);
        }
}

static const struct strait_test tests[] = {
    {"too little room is refused before a byte is written", small_room},
    {"truncated, flipped and random streams do no harm", damaged_streams},
    {"a stream of another length is refused", wrong_length},
    {"a bound that the codec does not keep is refused", refused_bounds},
    {"no two codecs give the same bytes", no_two_alike},
};
STRAIT_SUITE("codecs/codec_streams", tests);
