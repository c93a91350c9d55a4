/* One conformance suite for every codec of the table. */
#include <stdio.h>
#include <stdlib.h>
#include "codec_bench.h"
#include "tests/kit/tensor_kinds.h"

/* The extremes and one come first. */
static const double bound_values[] = {0, 1e-3, 1e6, 1e-6, 1e-1, 0.3};
enum { N_BOUNDS = IS_SANITIZED ? 3 : sizeof(bound_values) / sizeof(bound_values[0]) };

/* Tensors that all codecs get are drawn once, not once a codec. */
enum { MAX_KEPT = 512 };
static struct kept {
    float *x;
    size_t n_elems;
    uint64_t seed;
    enum tensor_kind kind;
} kept[MAX_KEPT];
static size_t n_kept;

static void take_tensor(float *x, size_t n_elems, enum tensor_kind kind, uint64_t seed)
{
    strait_test_tensor(tensor_kind_name(kind), n_elems, seed);
    for (size_t i = 0; i < n_kept; i++)
        if (kept[i].n_elems == n_elems && kept[i].kind == kind && kept[i].seed == seed) {
            memcpy(x, kept[i].x, 4 * n_elems);
            return;
        }
    make_tensor(x, n_elems, kind, seed);
    CU_ASSERT_FATAL(n_kept < MAX_KEPT);
    kept[n_kept] = (struct kept){malloc(4 * n_elems + 1), n_elems, seed, kind};
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept[n_kept].x);
    memcpy(kept[n_kept++].x, x, 4 * n_elems);
}

static void drop_tensors(void)
{
    while (n_kept > 0)
        free(kept[--n_kept].x);
}

static void check_tensor(struct bench *b, struct strait_bound bound)
{
    CU_ASSERT_FATAL(encode(b, bound));
    CU_ASSERT_FATAL(b->len_bytes <= b->cap_bytes);
    memset(b->y, 0xa5, 4 * b->n_elems);
    CU_ASSERT_FATAL(decode(b, b->bytes, b->len_bytes));
    CU_ASSERT_FATAL(within(b, bound));
    const size_t predicted = strait_codec_predict(b->ops, b->state, b->n_elems, b->n_rows);
    CU_ASSERT(predicted == 0 || predicted == b->len_bytes);
}

static void for_each_bound(struct bench *b, void (*check)(struct bench *, struct strait_bound))
{
    for (unsigned kind = STRAIT_BOUND_NONE; kind <= STRAIT_BOUND_POINTWISE; kind++) {
        if (!(b->ops->bounds & 1u << kind))
            continue;
        for (size_t i = 0; i < (kind == STRAIT_BOUND_NONE ? 1 : N_BOUNDS); i++) {
            strait_test_context("%s, bound kind %u value %g", b->ops->name, kind, bound_values[i]);
            check(b, (struct strait_bound){(enum strait_bound_kind)kind, bound_values[i]});
        }
    }
    strait_test_context("%s", b->ops->name);
}

static void check_lengths(const struct strait_codec_ops *ops, const size_t *lengths, size_t n)
{
    for (size_t l = 0; l < n; l++) {
        struct bench b;
        bench_init(&b, ops, lengths[l]);
        for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
            take_tensor(b.x, b.n_elems, (enum tensor_kind)kind, lengths[l]);
            for_each_bound(&b, check_tensor);
        }
        bench_release(&b);
    }
}

static void check_short(const struct strait_codec_ops *ops)
{
    static const size_t lengths[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                     11, 12, 13, 14, 15, 16, 17, 31, 32, 33};
    check_lengths(ops, lengths, sizeof(lengths) / sizeof(lengths[0]));
}

static void check_edges(const struct strait_codec_ops *ops)
{
    static const size_t lengths[] = {255, 256, 257, 511, 512, 513, 1000, 8191, 8192, 16385, 70001};
    check_lengths(ops, lengths, sizeof(lengths) / sizeof(lengths[0]));
}

/* As matrices of every number of rows that divides, and as one of too many rows. */
static void check_matrices(const struct strait_codec_ops *ops)
{
    static const size_t lengths[] = {12, 60, 1024, 6000};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        struct bench b;
        bench_init(&b, ops, lengths[l]);
        make_tensor(b.x, b.n_elems, TENSOR_WEIGHTS, l);
        for (b.n_rows = 1; b.n_rows <= b.n_elems; b.n_rows += b.n_rows < 20 ? 1 : b.n_rows / 3)
            check_tensor(&b, bound_for(ops, STRAIT_BOUND_RANGE, 1e-3));
        b.n_rows = b.n_elems + 1;
        check_tensor(&b, bound_for(ops, STRAIT_BOUND_RANGE, 1e-3));
        bench_release(&b);
    }
}

static void matrices(void)
{
    for_each_codec(check_matrices);
}

static void short_tensors(void)
{
    for_each_codec(check_short);
    drop_tensors();
}

static void edges_of_blocks(void)
{
    for_each_codec(check_edges);
    drop_tensors();
}

static void check_long(const struct strait_codec_ops *ops)
{
    struct bench b;
    bench_init(&b, ops, ((size_t)1 << 20) + 131072 + 77);
    /* every codec one that is no numbers, every second one rows, the others weights */
    const enum tensor_kind kinds[] = {TENSOR_BROKEN, ops->id % 2 ? TENSOR_ROWS : TENSOR_WEIGHTS};
    for (size_t i = 0; i < (IS_SANITIZED ? 1 : 2); i++) {
        take_tensor(b.x, b.n_elems, kinds[i], 1);
        check_tensor(&b, bound_for(ops, STRAIT_BOUND_RANGE, 1e-3));
    }
    bench_release(&b);
}

/* Lengths, kinds and bounds that nobody thought of: others with another SEED. */
static void check_drawn(const struct strait_codec_ops *ops)
{
    enum { N_DRAWN = IS_SANITIZED ? 4 : 12, MAX_ELEMS = 20000 };
    struct strait_sequence s =
        strait_sequence_at(strait_random_bits(strait_test_seed(), ops->name, 0, 0));
    for (int i = 0; i < N_DRAWN; i++) {
        struct bench b;
        const uint64_t seed = strait_sequence_next(&s);
        const double log_bound = -7 + 7 * strait_sequence_unit(&s);
        const size_t n = (size_t)pow(MAX_ELEMS, strait_sequence_unit(&s));
        bench_init(&b, ops, n);
        make_tensor(b.x, n, (enum tensor_kind)(seed % N_TENSOR_KINDS), seed);
        for (unsigned kind = STRAIT_BOUND_NONE; kind <= STRAIT_BOUND_POINTWISE; kind++) {
            const double value = kind == STRAIT_BOUND_NONE ? 0 : pow(10, log_bound);
            strait_test_context("%s, bound kind %u value %.17g, drawn by SEED=%llu", ops->name,
                                kind, value, (unsigned long long)strait_test_seed());
            if (ops->bounds & 1u << kind)
                check_tensor(&b, (struct strait_bound){(enum strait_bound_kind)kind, value});
        }
        bench_release(&b);
    }
}

static void drawn(void)
{
    for_each_codec(check_drawn);
}

static void beyond_a_segment(void)
{
    for_each_codec(check_long);
    drop_tensors();
}

static void check_same(struct bench *b, struct strait_bound bound)
{
    CU_ASSERT_FATAL(encode(b, bound));
    const size_t len = b->len_bytes;
    memcpy(b->again, b->bytes, len);
    memset(b->bytes, 0x5a, b->cap_bytes);
    CU_ASSERT(encode(b, bound) && b->len_bytes == len && memcmp(b->bytes, b->again, len) == 0);
}

/* Whatever was coded in between, and in a state of its own. */
static void check_deterministic(const struct strait_codec_ops *ops)
{
    struct bench b, other;
    bench_init(&b, ops, 5000);
    bench_init(&other, ops, 5000);
    for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
        make_tensor(b.x, b.n_elems, (enum tensor_kind)kind, 9);
        for_each_bound(&b, check_same);
        const struct strait_bound bound = bound_for(ops, STRAIT_BOUND_ABS, 1e-3);
        memcpy(other.x, b.x, 4 * b.n_elems);
        CU_ASSERT_FATAL(encode(&b, bound) && encode(&other, bound));
        CU_ASSERT(b.len_bytes == other.len_bytes && memcmp(b.bytes, other.bytes, b.len_bytes) == 0);
    }
    bench_release(&b);
    bench_release(&other);
    for (size_t n = 0; n < 3; n++) { /* of nothing, too, where a stream has more than values */
        bench_init(&b, ops, n);
        make_tensor(b.x, n, (enum tensor_kind)0, 9);
        for_each_bound(&b, check_same);
        bench_release(&b);
    }
}

static void same_bytes_twice(void)
{
    for_each_codec(check_deterministic);
}

static const struct strait_test tests[] = {
    {"drawn tensors come back within drawn bounds", drawn},
    {"tensors of 0 to 33 values come back within every bound", short_tensors},
    {"tensors around the block sizes come back within every bound", edges_of_blocks},
    {"matrices of any number of rows come back within the bound", matrices},
    {"tensors beyond one segment come back within the bound", beyond_a_segment},
    {"the same values give the same bytes", same_bytes_twice},
};
STRAIT_SUITE("codecs/codecs", tests);
