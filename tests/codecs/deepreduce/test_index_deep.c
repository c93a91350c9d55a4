/* Run lengths, Huffman code and Bloom filters of positions. */
#include <math.h>
#include <stdlib.h>
#include "codecs/deepreduce/bloom.h"
#include "codecs/sparse/sparse.h"
#include "core/random.h"
#include "tests/kit/suite.h"

static const struct strait_index_codec *const codecs[] = {
    &strait_index_rle, &strait_index_huffman, &strait_index_bloom_p0, &strait_index_bloom_p1,
    &strait_index_bloom_p2};
enum { N_CODECS = sizeof(codecs) / sizeof(codecs[0]), MAX_ELEMS = 200000 };

struct bench {
    uint32_t *index, *decoded, *scratch;
    unsigned char *bytes;
    size_t n, n_decoded, len, n_elems;
    double rate;
};

static void bench_init(struct bench *b, size_t n_elems)
{
    *b = (struct bench){.index = malloc(4 * n_elems + 4),
                        .decoded = malloc(4 * n_elems + 4),
                        .scratch = malloc(4 * (n_elems + 1024)),
                        .n_elems = n_elems};
    CU_ASSERT_FATAL(b->index && b->decoded && b->scratch);
}

static void bench_release(struct bench *b)
{
    free(b->index);
    free(b->decoded);
    free(b->scratch);
    free(b->bytes);
}

/* Each position with probability p. */
static void draw(struct bench *b, double p, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    b->n = 0;
    for (size_t i = 0; i < b->n_elems; i++)
        if (strait_sequence_unit(&s) < p)
            b->index[b->n++] = (uint32_t)i;
}

static bool sound(const uint32_t *index, size_t n, size_t n_elems)
{
    for (size_t i = 0; i < n; i++)
        if (index[i] >= n_elems || (i > 0 && index[i] <= index[i - 1]))
            return false;
    return n <= n_elems;
}

/* Encode index[n], which becomes what the codec makes of it, into bytes of exactly len. */
static void encode(struct bench *b, const struct strait_index_codec *c)
{
    const size_t cap = c->max_bytes(b->n_elems, b->n, b->rate);
    unsigned char *room = malloc(cap + 1);
    CU_ASSERT_FATAL(room != NULL);
    struct strait_writer w = {.p = room, .end = room + cap};
    c->encode(&w, b->index, &b->n, b->n_elems, b->rate, 7, b->scratch);
    CU_ASSERT_FATAL(!w.full);
    b->len = (size_t)(w.p - room);
    free(b->bytes);
    b->bytes = malloc(b->len + (b->len == 0));
    CU_ASSERT_FATAL(b->bytes != NULL);
    memcpy(b->bytes, room, b->len);
    free(room);
}

static bool decode(struct bench *b, const struct strait_index_codec *c, const unsigned char *bytes,
                   size_t len)
{
    struct strait_reader r = {.p = bytes, .end = bytes + len};
    return c->decode(&r, b->decoded, &b->n_decoded, b->n_elems, b->scratch) && !r.bad &&
           r.p == r.end;
}

static void check_round_trip(struct bench *b, const struct strait_index_codec *c)
{
    uint32_t *before = malloc(4 * b->n + 4);
    const size_t n_before = b->n;
    CU_ASSERT_FATAL(before != NULL);
    memcpy(before, b->index, 4 * b->n);
    encode(b, c);
    CU_ASSERT_FATAL(decode(b, c, b->bytes, b->len));
    CU_ASSERT_FATAL(b->n_decoded == b->n && memcmp(b->decoded, b->index, 4 * b->n) == 0);
    CU_ASSERT_FATAL(sound(b->index, b->n, b->n_elems));
    if (c->exact)
        CU_ASSERT_FATAL(b->n == n_before && memcmp(before, b->index, 4 * b->n) == 0);
    if (c == &strait_index_bloom_p0) { /* no false negative */
        size_t at = 0;
        for (size_t i = 0; i < b->n && at < n_before; i++)
            at += b->index[i] == before[at];
        CU_ASSERT_EQUAL_FATAL(at, n_before);
    } else {
        CU_ASSERT_EQUAL_FATAL(b->n, n_before);
    }
    free(before);
}

static void all_small_sets(void)
{
    for (size_t n = 0; n <= 10; n++)
        for (size_t set = 0; set < (size_t)1 << n; set++)
            for (size_t c = 0; c < N_CODECS; c++) {
                struct bench b;
                bench_init(&b, n);
                for (size_t i = 0; i < n; i++)
                    if (set >> i & 1)
                        b.index[b.n++] = (uint32_t)i;
                check_round_trip(&b, codecs[c]);
                bench_release(&b);
            }
}

static void sets_of_every_density(void)
{
    static const double densities[] = {0, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9, 1};
    static const double rates[] = {0, 1e-6, 0.05, 0.6};
    static const size_t lengths[] = {17, 255, 256, 257, 1001, 65535, 65536, 65537};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
        for (size_t d = 0; d < sizeof(densities) / sizeof(densities[0]); d++)
            for (size_t c = 0; c < N_CODECS; c++)
                for (size_t r = 0; r < (codecs[c]->exact ? 1 : sizeof(rates) / sizeof(rates[0]));
                     r++) {
                    struct bench b;
                    bench_init(&b, lengths[l]);
                    b.rate = rates[r];
                    draw(&b, densities[d], l);
                    check_round_trip(&b, codecs[c]);
                    bench_release(&b);
                }
}

/* 10 chosen, 90 not: runs of 10 and 90. The longer one less one is 89, 7 bits; 14 bits are 2 bytes,
 * one byte for the number of runs, one for the width.
 * Every third of 300: 200 runs of 1 and 2 in turn, less one 0 and 1: a bit each, 25 bytes, 2 for
 * the number of runs, 1 for the width. */
static void sizes_of_runs(void)
{
    struct bench b;
    bench_init(&b, 100);
    for (uint32_t i = 0; i < 10; i++)
        b.index[b.n++] = i;
    encode(&b, &strait_index_rle);
    CU_ASSERT_EQUAL(b.len, 4);
    bench_release(&b);
    bench_init(&b, 300);
    for (uint32_t i = 0; i < 100; i++)
        b.index[b.n++] = 3 * i;
    encode(&b, &strait_index_rle);
    CU_ASSERT_EQUAL(b.len, 28);
    bench_release(&b);
}

/* A Huffman code takes, over what it was made for, at least the entropy and less than a bit more.
 * Made for all positions, so all positions are sent. */
static void huffman_near_entropy(void)
{
    static const size_t lengths[] = {3, 100, 256, 257, 4000, 36864, 65537, MAX_ELEMS};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        const size_t n = lengths[l];
        double count[256] = {0}, entropy = 0;
        struct bench b;
        bench_init(&b, n);
        for (size_t i = 0; i < n; i++) {
            b.index[b.n++] = (uint32_t)i;
            for (unsigned place = 0; place < 4; place++)
                count[i >> 8 * place & 255]++;
        }
        for (size_t i = 0; i < 256; i++)
            if (count[i] > 0)
                entropy -= count[i] * log2(count[i] / (4.0 * (double)n));
        encode(&b, &strait_index_huffman);
        const double bits = 8 * ((double)b.len - (n < 128 ? 1 : n < 16384 ? 2 : 3));
        CU_ASSERT(bits >= entropy - 1e-6 && bits < entropy + 4 * (double)n + 8);
        bench_release(&b);
    }
}

/* The code is made for tensors of any length: every one of 1 to 3000, and around powers of two up
 * to the longest, where a symbol deeper than 16 bits would end the program. */
static void huffman_of_every_length(void)
{
    for (size_t n = 1; n < 3000; n++) {
        struct bench b;
        bench_init(&b, n);
        b.index[b.n++] = (uint32_t)(n - 1);
        check_round_trip(&b, &strait_index_huffman);
        bench_release(&b);
    }
    for (unsigned k = 12; k <= 31; k++)
        for (int offset = -1; offset <= 1; offset++) {
            const size_t n = ((size_t)1 << k) + (size_t)(int64_t)offset;
            if (n > STRAIT_SPARSE_MAX_ELEMS)
                continue;
            uint32_t index[3] = {0, (uint32_t)(n / 2), (uint32_t)(n - 1)}, decoded[3];
            size_t n_chosen = 3;
            unsigned char bytes[64];
            struct strait_writer w = {.p = bytes, .end = bytes + sizeof(bytes)};
            strait_index_huffman.encode(&w, index, &n_chosen, n, 0, 0, NULL);
            struct strait_reader r = {.p = bytes, .end = w.p};
            CU_ASSERT_FATAL(strait_index_huffman.decode(&r, decoded, &n_chosen, n, NULL));
            CU_ASSERT(n_chosen == 3 && memcmp(index, decoded, sizeof(index)) == 0 && r.p == r.end);
        }
}

/* n = 100000, k = 1000, f = 0.1 k / n = 0.001: log2(1/f) = 9.966, so 10 hashes and
 * ceil(1000 * 9.96578 / 0.693147) = ceil(14377.6) bits; f = 1/2: 1 hash, ceil(1442.695) bits;
 * nothing chosen: nothing. */
static void shape_of_filters(void)
{
    struct strait_bloom b = strait_bloom_for(100000, 1000, 0);
    CU_ASSERT(b.n_hashes == 10 && b.n_bits == 14378 && strait_bloom_bytes(&b) == 1798);
    b = strait_bloom_for(100000, 1000, 0.5);
    CU_ASSERT(b.n_hashes == 1 && b.n_bits == 1443);
    b = strait_bloom_for(100000, 0, 0);
    CU_ASSERT(b.n_bits == 0 && strait_bloom_bytes(&b) == 0);
}

/* A position that is not in is found with probability (set bits / bits)^hashes: the false
 * positives are binomial. Allowed: 4.42 standard deviations, which chance exceeds once in 10^5, for
 * each of 12 cases. */
static void false_positives(void)
{
    static const double rates[] = {0.5, 0.1, 0.01, 0.001};
    static const size_t chosen[] = {300, 2000, 20000};
    for (size_t r = 0; r < 4; r++)
        for (size_t k = 0; k < 3; k++) {
            struct bench b;
            bench_init(&b, MAX_ELEMS);
            draw(&b, (double)chosen[k] / MAX_ELEMS, 100 + r);
            const size_t n_true = b.n;
            const struct strait_bloom f = strait_bloom_for(MAX_ELEMS, n_true, rates[r]);
            unsigned char *bits = calloc(strait_bloom_bytes(&f), 1);
            CU_ASSERT_FATAL(bits != NULL);
            strait_bloom_insert(&f, bits, b.index, n_true);
            double ones = 0;
            for (size_t i = 0; i < strait_bloom_bytes(&f); i++)
                ones += __builtin_popcount(bits[i]);
            const double p = pow(ones / f.n_bits, f.n_hashes),
                         n_others = MAX_ELEMS - (double)n_true;
            const double found = (double)strait_bloom_query(&f, b.decoded, bits, MAX_ELEMS);
            const double deviation = sqrt(n_others * p * (1 - p));
            CU_ASSERT(fabs(found - (double)n_true - n_others * p) < 4.42 * deviation + 1);
            /* Whole hashes and bits: the filter is at most a little worse than asked for. */
            CU_ASSERT(p < 1.15 * rates[r] + 3 / n_others);
            free(bits);
            bench_release(&b);
        }
}

static size_t count_common(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        n += a[i] == b[k];
        const bool step_a = a[i] <= b[k], step_b = b[k] <= a[i];
        i += step_a;
        k += step_b;
    }
    return n;
}

/* P1 keeps k of the p positives, of which k are true: hypergeometric, mean k k / p, variance
 * k (k/p) (1 - k/p) (p - k) / (p - 1). 4.42 deviations: once in 10^5. P2 makes better choices: the
 * publication's claim, here by more than 10 such deviations. */
static void policies(void)
{
    struct bench p0, p1, p2;
    bench_init(&p0, MAX_ELEMS);
    p0.rate = 0.02;
    draw(&p0, 0.01, 5);
    const size_t k = p0.n;
    uint32_t *truth = malloc(4 * k);
    CU_ASSERT_FATAL(truth != NULL);
    memcpy(truth, p0.index, 4 * k);
    bench_init(&p1, MAX_ELEMS);
    bench_init(&p2, MAX_ELEMS);
    p1.rate = p2.rate = p0.rate;
    p1.n = p2.n = k;
    memcpy(p1.index, truth, 4 * k);
    memcpy(p2.index, truth, 4 * k);
    encode(&p0, &strait_index_bloom_p0);
    encode(&p1, &strait_index_bloom_p1);
    encode(&p2, &strait_index_bloom_p2);
    const double kept = (double)k / (double)p0.n;
    const double deviation =
        sqrt((double)k * kept * (1 - kept) * ((double)p0.n - (double)k) / ((double)p0.n - 1));
    const double p1_true = (double)count_common(truth, k, p1.index, p1.n);
    const double p2_true = (double)count_common(truth, k, p2.index, p2.n);
    CU_ASSERT(fabs(p1_true - (double)k * kept) < 4.42 * deviation);
    CU_ASSERT(p2_true > (double)k * kept + 10 * deviation);
    CU_ASSERT_EQUAL(count_common(p0.index, p0.n, p2.index, p2.n), k); /* positives only */
    free(truth);
    bench_release(&p0);
    bench_release(&p1);
    bench_release(&p2);
}

/* A positive that is alone on a bit is true for sure, and P2 takes it. */
static void lone_positives_are_taken(void)
{
    struct bench b;
    bench_init(&b, 20000);
    b.rate = 0.05;
    draw(&b, 0.02, 3);
    const size_t k = b.n;
    const struct strait_bloom f = strait_bloom_for(b.n_elems, k, b.rate);
    encode(&b, &strait_index_bloom_p0);
    const size_t n = b.n;
    uint32_t *users = calloc(f.n_bits, 4);
    uint32_t *all = malloc(4 * b.n_elems);
    CU_ASSERT_FATAL(users && all);
    memcpy(all, b.index, 4 * n);
    for (int round = 0; round < 2; round++) {
        if (round == 1)
            strait_bloom_choose_by_conflicts(&f, b.index, n, k, 1, b.n_elems, b.scratch,
                                             b.n_elems + 1024);
        for (size_t i = 0; i < n; i++) {
            const uint64_t h = strait_bloom_hash(all[i]);
            bool alone = false;
            for (unsigned j = 0; j < f.n_hashes; j++) {
                const uint32_t bit = strait_bloom_bit(strait_bloom_word(h, j), f.n_bits);
                users[bit] += round == 0;
                alone |= users[bit] == 1;
            }
            if (round == 1 && alone)
                CU_ASSERT_EQUAL(count_common(&all[i], 1, b.index, k), 1);
        }
    }
    free(users);
    free(all);
    bench_release(&b);
}

/* The memory that there is decides it, on both sides alike: here a word is missing. */
static void conflicts_without_memory(void)
{
    struct bench b;
    bench_init(&b, 20000);
    b.rate = 0.1;
    draw(&b, 0.05, 9);
    const size_t k = b.n;
    const struct strait_bloom f = strait_bloom_for(b.n_elems, k, b.rate);
    encode(&b, &strait_index_bloom_p0);
    const size_t n = b.n;
    memcpy(b.decoded, b.index, 4 * n);
    strait_bloom_choose_by_conflicts(&f, b.index, n, k, 1, n, b.scratch, f.n_bits);
    strait_bloom_choose_random(b.decoded, n, k, 1);
    CU_ASSERT(memcmp(b.index, b.decoded, 4 * k) == 0);
    bench_release(&b);
}

static void hostile_bytes(void)
{
    for (size_t c = 0; c < N_CODECS; c++)
        for (size_t n = 1; n <= 5000; n = n * 3 + 1) {
            struct bench b;
            bench_init(&b, n);
            draw(&b, 0.05, n);
            encode(&b, codecs[c]);
            struct strait_sequence s = strait_sequence_at(c + n);
            unsigned char *copy = malloc(b.len);
            CU_ASSERT_FATAL(copy != NULL);
            for (size_t cut = 0; cut < b.len; cut += 1 + cut / 16) {
                unsigned char *part = malloc(cut + (cut == 0));
                memcpy(part, b.bytes, cut);
                CU_ASSERT_FALSE(decode(&b, codecs[c], part, cut));
                free(part);
            }
            for (int turn = 0; turn < 400; turn++) {
                memcpy(copy, b.bytes, b.len);
                if (turn % 2)
                    copy[strait_sequence_next(&s) % (turn % 4 == 1 && b.len > 6 ? 6 : b.len)] ^=
                        (unsigned char)(1u << strait_sequence_next(&s) % 8);
                else
                    for (size_t i = strait_sequence_next(&s) % 8; i < b.len; i++)
                        copy[i] = (unsigned char)strait_sequence_next(&s);
                if (decode(&b, codecs[c], copy, b.len))
                    CU_ASSERT(sound(b.decoded, b.n_decoded, n));
            }
            free(copy);
            bench_release(&b);
        }
}

/* One bit that is set, 32 hashes: all positions are in, and all their hashes conflict. */
static void smallest_filter(void)
{
    static const unsigned char p0[] = {1, 32, 1}, p2[] = {1, 32, 5, 9, 9, 9, 9, 1};
    struct bench b;
    bench_init(&b, 3000);
    CU_ASSERT(decode(&b, &strait_index_bloom_p0, p0, sizeof(p0)) && b.n_decoded == 3000);
    CU_ASSERT(decode(&b, &strait_index_bloom_p1, p2, sizeof(p2)) && b.n_decoded == 5);
    CU_ASSERT(decode(&b, &strait_index_bloom_p2, p2, sizeof(p2)) && b.n_decoded == 5);
    CU_ASSERT(sound(b.decoded, b.n_decoded, 3000));
    bench_release(&b);
}

static const struct strait_test tests[] = {
    {"every set of up to ten positions comes back", all_small_sets},
    {"sets of every density come back, or what a filter makes of them", sets_of_every_density},
    {"run lengths take as many bits as the longest needs", sizes_of_runs},
    {"the Huffman code is within a bit a byte of the entropy", huffman_near_entropy},
    {"there is a Huffman code for tensors of every length", huffman_of_every_length},
    {"a filter has the published number of hashes and bits", shape_of_filters},
    {"false positives are as many as theory says", false_positives},
    {"P1 keeps the true ones by chance and P2 keeps more", policies},
    {"P2 takes every positive that is alone on a bit", lone_positives_are_taken},
    {"P2 without memory for its sets is P1", conflicts_without_memory},
    {"truncated, flipped and random bytes do no harm", hostile_bytes},
    {"a filter of one bit and many hashes is decoded", smallest_filter},
};
STRAIT_SUITE("codecs/deepreduce/index_deep", tests);
