/* One conformance suite for every codec of the table. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "codecs/codec.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

static const double bound_values[] = {0, 1e-6, 1e-3, 1e-1, 0.3, 1e6};
enum { N_BOUNDS = sizeof(bound_values) / sizeof(bound_values[0]) };

/* A codec that is open, with room for one tensor. */
struct bench {
    const struct strait_codec_ops *ops;
    void *state;
    float *x, *y;
    unsigned char *bytes, *again;
    size_t n_elems, n_rows, cap_bytes, len_bytes;
};

static void bench_init(struct bench *b, const struct strait_codec_ops *ops, size_t n_elems)
{
    struct strait_error err = {0};
    *b = (struct bench){.ops = ops, .n_elems = n_elems};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(ops, &b->state, &err), 0);
    b->cap_bytes = ops->max_bytes(b->state, n_elems);
    b->x = malloc(4 * n_elems + 1);
    b->y = malloc(4 * n_elems + 1);
    b->bytes = malloc(b->cap_bytes + 1);
    b->again = malloc(b->cap_bytes + 1);
    CU_ASSERT_FATAL(b->x && b->y && b->bytes && b->again);
}

static void bench_release(struct bench *b)
{
    b->ops->close(b->state);
    free(b->x);
    free(b->y);
    free(b->bytes);
    free(b->again);
}

/* Every encode is the first one: what a STATEFUL codec remembers is left to its own tests. */
static bool encode(struct bench *b, struct strait_bound bound)
{
    struct strait_error err = {0};
    if (b->ops->flags & STRAIT_CODEC_STATEFUL) {
        b->ops->close(b->state);
        CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(b->ops, &b->state, &err), 0);
    }
    return strait_codec_encode(
               b->ops, b->state, b->bytes, b->cap_bytes, &b->len_bytes, b->x, b->n_elems,
               (struct strait_request){.bound = bound, .key = 1, .n_rows = b->n_rows}, &err) == 0;
}

static bool decode(struct bench *b, const unsigned char *bytes, size_t len_bytes)
{
    struct strait_error err = {0};
    const bool good = b->ops->decode(b->state, b->y, b->n_elems, bytes, len_bytes, &err) == 0;
    CU_ASSERT_EQUAL(good, err.code == STRAIT_OK);
    CU_ASSERT(good || err.code == STRAIT_ERR_INPUT);
    return good;
}

/* The definitions of codec.h written out once more, value by value, in double. */
static double allowed(struct strait_bound bound, const float *x, size_t n)
{
    double min = INFINITY, max = -INFINITY, squares = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            min = fmin(min, (double)x[i]);
            max = fmax(max, (double)x[i]);
            squares += (double)x[i] * (double)x[i];
            count++;
        }
    if (count < 1 || bound.kind == STRAIT_BOUND_NONE)
        return 0;
    if (bound.kind == STRAIT_BOUND_ABS)
        return bound.value;
    if (bound.kind == STRAIT_BOUND_RANGE)
        return bound.value * (max - min);
    /* Sums of up to 2^31 squares in another order differ by less than 1e-9 of themselves. */
    return bound.value * sqrt(squares / count) * (1 + 1e-9);
}

static bool same_bits(const float *x, const float *y, size_t n)
{
    return n == 0 || memcmp(x, y, 4 * n) == 0;
}

/* The bound of this kind where the codec keeps it, else none. */
static struct strait_bound bound_for(const struct strait_codec_ops *ops,
                                     enum strait_bound_kind kind, double value)
{
    if (ops->bounds >> kind & 1)
        return (struct strait_bound){kind, value};
    return (struct strait_bound){STRAIT_BOUND_NONE, 0};
}

/* NaN payloads and infinities bit by bit, everything else within the bound. */
static bool within(const struct bench *b, struct strait_bound bound)
{
    double most = allowed(bound, b->x, b->n_elems);
    if (b->ops->flags & STRAIT_CODEC_LOSSLESS)
        return same_bits(b->x, b->y, b->n_elems);
    if (!(b->ops->flags & STRAIT_CODEC_BOUNDED))
        return true; /* it promises nothing about values */
    for (size_t i = 0; i < b->n_elems; i++) {
        const double e = fabs((double)b->x[i] - (double)b->y[i]);
        if (bound.kind == STRAIT_BOUND_POINTWISE)
            most = bound.value * fabs((double)b->x[i]);
        if (isfinite(b->x[i]) ? !(e <= most) : !same_bits(&b->x[i], &b->y[i], 1))
            return false;
    }
    return true;
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

static void for_each_codec(void (*check)(const struct strait_codec_ops *ops))
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n; i++) {
        strait_test_context("%s", codecs[i]->name);
        if (strait_codec_unavailable(codecs[i]))
            fprintf(stderr, "without %s: %s\n", codecs[i]->name,
                    strait_codec_unavailable(codecs[i]));
        else
            check(codecs[i]);
    }
    strait_test_context(NULL);
}

static void check_lengths(const struct strait_codec_ops *ops, const size_t *lengths, size_t n)
{
    for (size_t l = 0; l < n; l++) {
        struct bench b;
        bench_init(&b, ops, lengths[l]);
        for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
            make_tensor(b.x, b.n_elems, (enum tensor_kind)kind, lengths[l]);
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
}

static void edges_of_blocks(void)
{
    for_each_codec(check_edges);
}

static void check_long(const struct strait_codec_ops *ops)
{
    struct bench b;
    bench_init(&b, ops, ((size_t)1 << 20) + 131072 + 77);
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_ROWS, TENSOR_BROKEN};
    for (size_t i = 0; i < 3; i++) {
        make_tensor(b.x, b.n_elems, kinds[i], 1);
        check_tensor(&b, bound_for(ops, STRAIT_BOUND_RANGE, 1e-3));
    }
    bench_release(&b);
}

/* Lengths, kinds and bounds that nobody thought of: others with another SEED. */
static void check_drawn(const struct strait_codec_ops *ops)
{
    enum { N_DRAWN = 12, MAX_ELEMS = 20000 };
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
}

static void same_bytes_twice(void)
{
    for_each_codec(check_deterministic);
}

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

enum { N_THREADS = 3, N_ROUNDS = 20 };

struct sharer {
    const struct bench *b;
    struct strait_bound bound;
    float *y;
    unsigned char *bytes;
    bool good;
};

static void *share(void *arg)
{
    struct sharer *s = arg;
    const struct bench *b = s->b;
    size_t len;
    s->good = true;
    for (int i = 0; i < N_ROUNDS && s->good; i++)
        s->good =
            strait_codec_encode(b->ops, b->state, s->bytes, b->cap_bytes, &len, b->x, b->n_elems,
                                (struct strait_request){.bound = s->bound, .key = 1}, NULL) == 0 &&
            len == b->len_bytes && memcmp(s->bytes, b->bytes, len) == 0 &&
            b->ops->decode(b->state, s->y, b->n_elems, s->bytes, len, NULL) == 0 &&
            same_bits(s->y, b->y, b->n_elems);
    return NULL;
}

static void check_shared(const struct strait_codec_ops *ops)
{
    struct bench b;
    struct sharer sharers[N_THREADS];
    pthread_t threads[N_THREADS];
    if (ops->flags & STRAIT_CODEC_STATEFUL)
        return;
    bench_init(&b, ops, 20000);
    make_tensor(b.x, b.n_elems, TENSOR_ROWS, 1);
    const struct strait_bound bound = bound_for(ops, STRAIT_BOUND_RANGE, 1e-3);
    CU_ASSERT_FATAL(encode(&b, bound) && decode(&b, b.bytes, b.len_bytes));
    for (int i = 0; i < N_THREADS; i++) {
        sharers[i] = (struct sharer){
            .b = &b, .bound = bound, .y = malloc(4 * b.n_elems), .bytes = malloc(b.cap_bytes)};
        CU_ASSERT_FATAL(sharers[i].y && sharers[i].bytes);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT(sharers[i].good);
        free(sharers[i].y);
        free(sharers[i].bytes);
    }
    bench_release(&b);
}

static void shared_state(void)
{
    for_each_codec(check_shared);
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
    {"drawn tensors come back within drawn bounds", drawn},
    {"tensors of 0 to 33 values come back within every bound", short_tensors},
    {"tensors around the block sizes come back within every bound", edges_of_blocks},
    {"matrices of any number of rows come back within the bound", matrices},
    {"tensors beyond one segment come back within the bound", beyond_a_segment},
    {"the same values give the same bytes", same_bytes_twice},
    {"truncated, flipped and random streams do no harm", damaged_streams},
    {"a stream of another length is refused", wrong_length},
    {"a bound that the codec does not keep is refused", refused_bounds},
    {"no two codecs give the same bytes", no_two_alike},
    {"threads that share a state get what one alone gets", shared_state},
};
STRAIT_SUITE_WITH("codecs/codecs", tests, .threads = true);
