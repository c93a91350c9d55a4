/* What libraries make of a piece that is not theirs: one byte short, of another number of values,
 * or of noise, in a stream whose head is right. */
#include <string.h>
#include "core/bytes.h"
#include "tests/codecs/codec_bench.h"

enum { N = 1000 };

/* Where the only piece begins: behind its length, which is what is left. Its length's place is out.
 */
static size_t piece_of(const struct bench *b, size_t *length_at)
{
    for (size_t at = 3; at < b->len_bytes; at++) {
        struct strait_reader r = {.p = b->bytes + at, .end = b->bytes + b->len_bytes};
        const uint64_t n = strait_read_varint(&r);
        if (n > 0 && n == (uint64_t)(r.end - r.p)) {
            *length_at = at;
            return (size_t)(r.p - b->bytes);
        }
    }
    CU_FAIL_FATAL("a stream has its piece");
    return 0;
}

/* The stream with these bytes in the place of its piece. */
static bool reads(struct bench *b, size_t length_at, const unsigned char *piece, size_t n)
{
    struct strait_writer w = {.p = b->again + length_at, .end = b->again + b->cap_bytes};
    memcpy(b->again, b->bytes, length_at);
    strait_write_varint(&w, n);
    memcpy(w.p, piece, n);
    return decode(b, b->again, (size_t)(w.p - b->again) + n);
}

/* The same piece for another number of values, of which the head has two bytes. */
static bool reads_as(struct bench *b, size_t n_elems)
{
    struct strait_writer w = {.p = b->again + 1, .end = b->again + 3};
    memcpy(b->again, b->bytes, b->len_bytes);
    strait_write_varint(&w, n_elems);
    b->n_elems = n_elems;
    const bool good = decode(b, b->again, b->len_bytes);
    b->n_elems = N;
    return good;
}

static void damaged(void)
{
    static const char *const names[] = {"lz4", "zstd", "blosc", "fpzip"};
    for (size_t k = 0; k < 4; k++) {
        struct bench b;
        unsigned char piece[4 * N];
        size_t length_at;
        bench_init(&b, strait_codec_find(names[k]), N + 1);
        b.n_elems = N;
        for (size_t i = 0; i <= N; i++)
            b.x[i] = (float)(i * 7 % 16);
        strait_test_context("%s", names[k]);
        CU_ASSERT_FATAL(encode(&b, (struct strait_bound){STRAIT_BOUND_NONE, 0}));
        const size_t at = piece_of(&b, &length_at), n = b.len_bytes - at;
        CU_ASSERT_FATAL(n < sizeof(piece));
        memcpy(piece, b.bytes + at, n);
        CU_ASSERT(reads(&b, length_at, piece, n)); /* whole */
        CU_ASSERT(same_bits(b.x, b.y, N));
        CU_ASSERT_FALSE(reads(&b, length_at, piece, n - 1));
        CU_ASSERT_FALSE(reads_as(&b, N - 1));
        CU_ASSERT_FALSE(reads_as(&b, N + 1));
        if (k == 0) { /* plain, or with its bytes in planes; nothing else */
            piece[0] = 2;
            CU_ASSERT_FALSE(reads(&b, length_at, piece, n));
        }
        memset(piece, 0xff, n);
        CU_ASSERT_FALSE(reads(&b, length_at, piece, n));
        CU_ASSERT_FALSE(reads(&b, length_at, piece, 1));
        bench_release(&b);
    }
}

static const struct strait_test tests[] = {
    {"a piece that is not whole, or not its own, is refused", damaged},
};
STRAIT_SUITE("codecs/foreign/pieces", tests);
