/* Index codecs: round trips, sizes by arithmetic, hostile bytes. */
#include <math.h>
#include <stdlib.h>
#include "codecs/sparse/select.h"
#include "codecs/sparse/sparse.h"
#include "core/random.h"
#include "traces/tensors.h"
#include "tests/kit/suite.h"

enum { TAIL = 9 }; /* bytes behind, that belong to others */

struct room {
    uint32_t *index, *before, *scratch;
    unsigned char *bytes;
    size_t cap_bytes;
};

static void room_init(struct room *r, size_t n_index, size_t cap_bytes)
{
    r->index = malloc(4 * n_index + 4);
    r->before = malloc(4 * n_index + 4);
    r->scratch = malloc(4 * n_index + 4096);
    r->bytes = malloc(cap_bytes);
    r->cap_bytes = cap_bytes;
    CU_ASSERT_FATAL(r->index && r->before && r->scratch && r->bytes);
}

static void room_release(struct room *r)
{
    free(r->index);
    free(r->before);
    free(r->scratch);
    free(r->bytes);
}

/* Encode r->before[k]; how many bytes. */
static size_t encode(struct room *r, const struct strait_index_codec *c, size_t k, size_t n_elems)
{
    size_t n = k;
    struct strait_writer w = {.p = r->bytes, .end = r->bytes + r->cap_bytes};
    c->encode(&w, r->before, &n, n_elems, 0, 1, r->scratch);
    CU_ASSERT(!w.full);
    CU_ASSERT_FATAL((size_t)(w.p - r->bytes) <= c->max_bytes(n_elems, k, 0));
    if (c->exact)
        CU_ASSERT_EQUAL_FATAL(n, k);
    return (size_t)(w.p - r->bytes);
}

/* Back again, with bytes behind that are not touched. */
static bool returns(struct room *r, const struct strait_index_codec *c, size_t k, size_t n_elems)
{
    const size_t len = encode(r, c, k, n_elems);
    memset(r->bytes + len, 0xff, TAIL);
    struct strait_reader reader = {.p = r->bytes, .end = r->bytes + len + TAIL};
    size_t n = SIZE_MAX;
    return c->decode(&reader, r->index, &n, n_elems, r->scratch) && n == k &&
           reader.p == r->bytes + len && (k == 0 || memcmp(r->index, r->before, 4 * k) == 0);
}

static void every_subset(void)
{
    size_t n_codecs;
    const struct strait_index_codec *const *codecs = strait_index_codecs(&n_codecs);
    struct room r;
    room_init(&r, 64, 4096);
    for (size_t c = 0; c < n_codecs; c++) {
        bool good = true;
        for (size_t n = 0; n <= 11 && codecs[c]->exact; n++)
            for (uint32_t set = 0; set < 1u << n; set++) {
                size_t k = 0;
                for (uint32_t i = 0; i < n; i++)
                    if (set >> i & 1)
                        r.before[k++] = i;
                good = good && returns(&r, codecs[c], k, n);
            }
        CU_ASSERT(good);
    }
    room_release(&r);
}

/* Bits of the best code of prefixes for the bytes of positions 0 to n - 1: what is merged, two
 * rarest at a time, summed over all merges (Huffman 1952). One byte alone takes a bit each. */
static size_t best_bits(size_t n)
{
    size_t count[256] = {0}, bits = 0;
    for (size_t i = 0; i < n; i++)
        for (int place = 0; place < 4; place++)
            count[i >> 8 * place & 255]++;
    for (;;) {
        int rarest = -1, next = -1;
        for (int b = 0; b < 256; b++) {
            if (count[b] == 0)
                continue;
            if (rarest < 0 || count[b] < count[rarest]) {
                next = rarest;
                rarest = b;
            } else if (next < 0 || count[b] < count[next]) {
                next = b;
            }
        }
        if (next < 0)
            return bits > 0 ? bits : 4 * n;
        count[rarest] += count[next];
        bits += count[rarest];
        count[next] = 0;
    }
}

static void huffman_is_best(void)
{
    static const size_t counts[] = {1, 2, 3, 5, 17, 100, 255, 256, 257, 300, 999, 20000};
    struct room r;
    room_init(&r, 20000, 100000);
    for (uint32_t i = 0; i < 20000; i++)
        r.before[i] = i;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        const size_t n = counts[i], head = n < 128 ? 1 : n < 16384 ? 2 : 3; /* the number n */
        strait_test_context("n=%zu", n);
        CU_ASSERT_EQUAL(encode(&r, &strait_index_huffman, n, n), head + (best_bits(n) + 7) / 8);
    }
    room_release(&r);
}

/* Each position by itself with this probability; after a while in runs and droughts. */
static size_t draw(uint32_t *index, size_t n, double density, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    size_t k = 0;
    double now = density;
    for (size_t i = 0; i < n; i++) {
        if (i > n / 2 && i % 500 == 0)
            now = i % 1000 == 0 ? 0.05 * density : fmin(1, 20 * density);
        if (strait_sequence_unit(&s) < now)
            index[k++] = (uint32_t)i;
    }
    return k;
}

static void large_sets(void)
{
    static const size_t lengths[] = {1000, 4099, 70001, 1 << 18};
    static const double densities[] = {0, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 1};
    size_t n_codecs;
    const struct strait_index_codec *const *codecs = strait_index_codecs(&n_codecs);
    for (size_t l = 0; l < 4; l++) {
        struct room r;
        room_init(&r, lengths[l], 8 * lengths[l] + 4096);
        for (size_t d = 0; d < sizeof(densities) / sizeof(densities[0]); d++) {
            const size_t k = draw(r.before, lengths[l], densities[d], 10 * l + d);
            for (size_t c = 0; c < n_codecs; c++)
                if (codecs[c]->exact)
                    CU_ASSERT(returns(&r, codecs[c], k, lengths[l]));
        }
        room_release(&r);
    }
}

/* Few positions in the longest tensor that there is, the last one among them. */
static void farthest_positions(void)
{
    static const uint32_t far[] = {0, 1, 77, 1u << 30, STRAIT_SPARSE_MAX_ELEMS - 1};
    struct room r;
    room_init(&r, 64, 4096);
    for (size_t from = 0; from <= 5; from++) {
        memcpy(r.before, far + from, 4 * (5 - from));
        CU_ASSERT(returns(&r, &strait_index_rice, 5 - from, STRAIT_SPARSE_MAX_ELEMS));
        memcpy(r.before, far + from, 4 * (5 - from));
        CU_ASSERT(returns(&r, &strait_index_raw, 5 - from, STRAIT_SPARSE_MAX_ELEMS));
    }
    room_release(&r);
}

static void sizes(void)
{
    const size_t n = 160000;
    struct room r;
    room_init(&r, n, 8 * n);
    for (size_t i = 0; i < n / 16; i++)
        r.before[i] = (uint32_t)(16 * i + 15);
    /* 10000 positions: a length of two bytes, 4 each; a bit for each of 160000 values. */
    CU_ASSERT_EQUAL(encode(&r, &strait_index_raw, n / 16, n), 2 + 40000);
    CU_ASSERT_EQUAL(encode(&r, &strait_index_bitmap, n / 16, n), 20000);
    /* Every gap is 15: with r = 3 or 4 it takes 5 bits. 50000 bits, parameter and length. */
    CU_ASSERT_EQUAL(encode(&r, &strait_index_rice, n / 16, n), 1 + 2 + 6250);
    /* Every second one: 2 bits each is a bitmap's size, whose length need not be said. */
    for (size_t i = 0; i < n / 2; i++)
        r.before[i] = (uint32_t)(2 * i + 1);
    CU_ASSERT_EQUAL(encode(&r, &strait_index_rice, n / 2, n), 1 + 20000);
    CU_ASSERT_EQUAL(encode(&r, &strait_index_rice, 0, n), 2);
    /* Gaps of 64, 64 and 192 in turn: r = 6, the floor of log2 of the mean, takes 8 + 8 + 10 bits,
     * r = 7 takes 8 + 8 + 9. A thousand times. */
    for (size_t i = 0, at = 0; i < 3000; i++) {
        at += i % 3 == 2 ? 192 : 64;
        r.before[i] = (uint32_t)at++;
    }
    CU_ASSERT_EQUAL(encode(&r, &strait_index_rice, 3000, 323000), 1 + 2 + 3125);
    room_release(&r);
}

/* The size by its definition: every parameter tried, every gap taken by itself. */
static size_t best_size(const uint32_t *index, size_t k, size_t n)
{
    uint64_t best = UINT64_MAX;
    for (unsigned p = 0; p <= 30; p++) {
        uint64_t bits = 0;
        for (size_t i = 0; i < k; i++)
            bits += ((index[i] - (i > 0 ? index[i - 1] + 1 : 0)) >> p) + 1 + p;
        best = bits < best ? bits : best;
    }
    const size_t rice = (k < 128 ? 1 : k < 16384 ? 2 : 3) + (size_t)((best + 7) / 8);
    return 1 + (rice < (n + 7) / 8 ? rice : (n + 7) / 8);
}

static void best_parameter(void)
{
    static const double densities[] = {1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5};
    const size_t n = 200003;
    struct room r;
    room_init(&r, n, 8 * n);
    for (size_t d = 0; d < 8; d++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            const size_t k = draw(r.before, n, densities[d], seed);
            CU_ASSERT_EQUAL(encode(&r, &strait_index_rice, k, n), best_size(r.before, k, n));
        }
    room_release(&r);
}

/* Bits for each index kept over all recorded gradients and updates of 10000 values and more. The
 * figures were measured with another implementation on recordings of the same runs; 3 % for which
 * tensors took part and for the few hundred indices that there are at a ratio of 0.001. */
static void recorded_gradients(void)
{
    static const struct {
        double ratio, bits;
    } published[] = {{0.1, 4.97}, {0.01, 8.35}, {0.001, 11.36}};
    struct strait_error err = {0};
    struct strait_tensors *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    for (size_t j = 0; j < 3; j++) {
        double bits = 0, n_kept = 0;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *rec = &t->recordings[i];
            struct room r;
            if (rec->n_elems < 10000 || strcmp(rec->kind, "param") == 0)
                continue;
            room_init(&r, rec->n_elems, rec->n_elems);
            const size_t k = strait_sparse_share(published[j].ratio, rec->n_elems);
            strait_select_largest(r.before, rec->values, rec->n_elems, k, r.scratch);
            bits += 8.0 * (double)encode(&r, &strait_index_rice, k, rec->n_elems);
            n_kept += (double)k;
            room_release(&r);
        }
        CU_ASSERT_DOUBLE_EQUAL(bits / n_kept, published[j].bits, 0.03 * published[j].bits);
    }
    strait_tensors_free(t);
}

/* Copies of exactly the length given, so that a sanitizer sees a read beyond the end. Whatever is
 * accepted is a set of positions. */
static void decode_copy(struct room *r, const struct strait_index_codec *c, size_t len, size_t n)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    size_t k = 0;
    CU_ASSERT_FATAL(copy != NULL);
    memcpy(copy, r->bytes, len);
    struct strait_reader reader = {.p = copy, .end = copy + len};
    if (c->decode(&reader, r->index, &k, n, r->scratch))
        CU_ASSERT(k <= n && strait_index_ascends(r->index, k, n));
    free(copy);
}

static void hostile_bytes(void)
{
    static const size_t lengths[] = {0, 1, 13, 300, 3000};
    size_t n_codecs;
    const struct strait_index_codec *const *codecs = strait_index_codecs(&n_codecs);
    for (size_t c = 0; c < n_codecs; c++)
        for (size_t l = 0; l < 5; l++) {
            const size_t n = lengths[l];
            struct strait_sequence s = strait_sequence_at(c * 10 + l);
            struct room r;
            room_init(&r, n, 8 * n + 4096);
            const size_t len = encode(&r, codecs[c], draw(r.before, n, 0.03, l), n);
            for (size_t cut = 0; cut < len; cut += 1 + len / 100)
                decode_copy(&r, codecs[c], cut, n);
            for (size_t i = 0; i < 2000 && len > 0; i++) {
                const size_t at = strait_sequence_next(&s) % (i % 2 || len < 8 ? len : 8);
                const unsigned char before = r.bytes[at];
                r.bytes[at] = (unsigned char)strait_sequence_next(&s);
                decode_copy(&r, codecs[c], len, n);
                r.bytes[at] = before;
            }
            for (size_t i = 0; i < 2000; i++) {
                const size_t noise = strait_sequence_next(&s) % (n / 4 + 20);
                for (size_t k = 0; k < noise; k++)
                    r.bytes[k] = i % 2 ? (unsigned char)strait_sequence_next(&s) : 0;
                if (noise > 0 && codecs[c] == &strait_index_rice)
                    r.bytes[0] = (unsigned char)(i % 33); /* every parameter, and beyond */
                if (noise > 1 && i % 4 == 0)
                    r.bytes[1] = (unsigned char)(i / 4 % 128);
                decode_copy(&r, codecs[c], noise, n);
            }
            room_release(&r);
        }
}

static void refused(void)
{
    static const struct {
        const struct strait_index_codec *c;
        unsigned char bytes[16];
        size_t len_bytes;
    } cases[] = {
        {&strait_index_raw, {2, 1, 0, 0, 0, 1, 0, 0, 0}, 9}, /* twice the same */
        {&strait_index_raw, {2, 2, 0, 0, 0, 1, 0, 0, 0}, 9}, /* falling */
        {&strait_index_raw, {1, 10, 0, 0, 0}, 5},            /* beyond the end */
        {&strait_index_raw, {11}, 1},                        /* more than there are */
        {&strait_index_bitmap, {0, 4}, 2},                   /* position 10 of 10 */
        {&strait_index_bitmap, {0}, 1},                      /* too short */
        {&strait_index_rice, {0, 1, 0, 4}, 4},               /* gap 10 */
        {&strait_index_rice, {0, 1, 0x81}, 3},               /* a bit set behind the last one */
        {&strait_index_rice, {31, 1, 1, 0, 0, 0}, 6},        /* no such parameter */
        {&strait_index_rice, {0, 11, 0xff, 0xff}, 4},        /* more than there are */
        {&strait_index_rice, {0, 2, 0x80}, 3},               /* ends behind the first */
        {&strait_index_rice, {4, 1, 0x01}, 3},               /* the last: gap 0, as it should be */
    };
    uint32_t index[10], scratch[10 + 1024];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_reader r = {.p = cases[i].bytes, .end = cases[i].bytes + cases[i].len_bytes};
        size_t n = 0;
        const bool good = cases[i].c->decode(&r, index, &n, 10, scratch);
        CU_ASSERT_EQUAL(good, i == sizeof(cases) / sizeof(cases[0]) - 1);
    }
}

static void table_is_sound(void)
{
    size_t n;
    const struct strait_index_codec *const *codecs = strait_index_codecs(&n);
    for (size_t i = 0; i < n; i++)
        CU_ASSERT_STRING_EQUAL(strait_index_codec_names[i], codecs[i]->name);
    CU_ASSERT_PTR_NULL(strait_index_codec_names[n]);
}

static const struct strait_test tests[] = {
    {"no code of prefixes is shorter than Huffman's", huffman_is_best},
    {"names and codecs are in one order", table_is_sound},
    {"every subset of up to 11 positions comes back", every_subset},
    {"large sets come back at every density", large_sets},
    {"positions up to the 2^31st come back", farthest_positions},
    {"sizes are those of arithmetic", sizes},
    {"Rice code has the size of the best of all parameters, or a bitmap's", best_parameter},
    {"recorded gradients cost the bits that were published, to 3 %", recorded_gradients},
    {"truncated, changed and random bytes do no harm", hostile_bytes},
    {"what is no set of positions is refused", refused},
};
STRAIT_SUITE("codecs/deepreduce/index", tests);
