/* Every level of vector instructions that this machine has gives what plain C gives, bit by bit. */
#include <stdio.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/sz/sz_kernels.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { MAX = (1 << 20) + 3000 };

/* ---- whole streams */

struct coders { /* one for each level, portable first */
    void *state[N_STRAIT_SIMD];
    unsigned n;
    float *x, *y, *z;
    unsigned char *a, *b;
    size_t cap_bytes;
};

static void coders_init(struct coders *c, size_t most)
{
    enum { MAX_PARAMS = 16 };
    double params[MAX_PARAMS];
    struct strait_error err = {0};
    CU_ASSERT_FATAL(strait_codec_sz.n_params <= MAX_PARAMS);
    for (unsigned i = 0; i < strait_codec_sz.n_params; i++)
        params[i] = strait_codec_sz.params[i].fallback;
    c->n = (unsigned)strait_simd_best() + 1;
    for (unsigned level = 0; level < c->n; level++)
        CU_ASSERT_EQUAL_FATAL(sz_open_at(&c->state[level], params, (enum strait_simd)level, &err),
                              0);
    c->cap_bytes = strait_codec_sz.max_bytes(c->state[0], most);
    c->x = malloc(4 * most + 4);
    c->y = malloc(4 * most + 4);
    c->z = malloc(4 * most + 4);
    c->a = malloc(c->cap_bytes);
    c->b = malloc(c->cap_bytes);
    CU_ASSERT_FATAL(c->x && c->y && c->z && c->a && c->b);
}

static void coders_release(struct coders *c)
{
    for (unsigned level = 0; level < c->n; level++)
        strait_codec_sz.close(c->state[level]);
    free(c->x);
    free(c->y);
    free(c->z);
    free(c->a);
    free(c->b);
}

static size_t encoded(struct coders *c, unsigned level, unsigned char *out, size_t n,
                      struct strait_bound bound)
{
    struct strait_error err = {0};
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(&strait_codec_sz, c->state[level], out,
                                              strait_codec_sz.max_bytes(c->state[level], n), &len,
                                              c->x, n, (struct strait_request){.bound = bound},
                                              &err),
                          0);
    return len;
}

/* The same verdict, and the same bits in n values where it is a good one. */
static bool agree(struct coders *c, size_t n, const unsigned char *bytes, size_t len)
{
    const int verdict = strait_codec_sz.decode(c->state[0], c->y, n, bytes, len, NULL);
    bool same = true;
    for (unsigned level = 1; level < c->n; level++) {
        same &= strait_codec_sz.decode(c->state[level], c->z, n, bytes, len, NULL) == verdict;
        same &= verdict != 0 || n == 0 || memcmp(c->y, c->z, 4 * n) == 0;
    }
    return same;
}

static void check(struct coders *c, enum tensor_kind kind, size_t n, struct strait_bound bound)
{
    const size_t len = encoded(c, 0, c->a, n, bound);
    bool same = true;
    for (unsigned level = 1; level < c->n; level++)
        same &= encoded(c, level, c->b, n, bound) == len && memcmp(c->a, c->b, len) == 0;
    CU_ASSERT(same);
    CU_ASSERT_EQUAL(strait_codec_sz.decode(c->state[0], c->y, n, c->a, len, NULL), 0);
    CU_ASSERT(agree(c, n, c->a, len));
    if (!same)
        fprintf(stderr, "kind %d, %zu values, bound %d %g\n", (int)kind, n, (int)bound.kind,
                bound.value);
}

static const struct strait_bound bounds[] = {
    {STRAIT_BOUND_RANGE, 1e-1}, {STRAIT_BOUND_RANGE, 1e-2}, {STRAIT_BOUND_RANGE, 1e-4},
    {STRAIT_BOUND_RANGE, 1e-6}, {STRAIT_BOUND_RANGE, 3e-8}, {STRAIT_BOUND_ABS, 1e-3},
    {STRAIT_BOUND_ABS, 1e-6},   {STRAIT_BOUND_RMS, 1e-2},   {STRAIT_BOUND_POINTWISE, 1e-3},
};
enum { N_BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };

static void check_lengths(const size_t *lengths, size_t n_lengths, size_t step)
{
    struct coders c;
    coders_init(&c, lengths[n_lengths - 1]);
    for (unsigned kind = 0; kind < N_TENSOR_KINDS; kind++) {
        make_tensor(c.x, lengths[n_lengths - 1], (enum tensor_kind)kind, 11);
        for (size_t i = 0; i < n_lengths; i++)
            for (size_t b = (kind + i) % step; b < N_BOUNDS; b += step)
                check(&c, (enum tensor_kind)kind, lengths[i], bounds[b]);
    }
    coders_release(&c);
}

static void short_tensors(void)
{
    size_t lengths[41];
    for (size_t n = 0; n <= 40; n++)
        lengths[n] = n;
    check_lengths(lengths, 41, 1);
}

static void around_blocks(void)
{
    static const size_t lengths[] = {255, 256,  257,  511,  512,  513,  514,
                                     767, 1024, 2999, 8191, 8192, 8193, 20736};
    check_lengths(lengths, sizeof(lengths) / sizeof(lengths[0]), 1);
}

static void around_chunks(void)
{
    static const size_t lengths[] = {131071, 131072, 131073, 139500};
    check_lengths(lengths, sizeof(lengths) / sizeof(lengths[0]), 3);
}

static void beyond_segments(void)
{
    static const struct {
        enum tensor_kind kind;
        struct strait_bound bound;
    } cases[] = {{TENSOR_ROWS, {STRAIT_BOUND_RANGE, 1e-3}},
                 {TENSOR_WALK, {STRAIT_BOUND_ABS, 1e-4}},
                 {TENSOR_SPARSE, {STRAIT_BOUND_RANGE, 1e-5}}};
    struct coders c;
    coders_init(&c, MAX);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_tensor(c.x, MAX, cases[i].kind, 5);
        check(&c, cases[i].kind, MAX, cases[i].bound);
    }
    coders_release(&c);
}

/* Bits flipped, ends cut off, lengths changed: safe, and the same verdict everywhere. */
static void damaged(void)
{
    enum { N = 12000, TURNS = 150 };
    static const enum tensor_kind kinds[] = {TENSOR_WEIGHTS, TENSOR_SPARSE, TENSOR_WALK,
                                             TENSOR_OUTLIERS};
    struct strait_sequence s = strait_sequence_at(17);
    struct coders c;
    unsigned n_refused = 0, n_cases = 0;
    coders_init(&c, N);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t b = 1; b < 4; b++) {
            make_tensor(c.x, N, kinds[k], 3);
            const size_t len = encoded(&c, 0, c.a, N, bounds[b]);
            for (unsigned turn = 0; turn < TURNS; turn++) {
                size_t left = len;
                /* of its own size, so that a sanitizer sees what is read behind it */
                if (turn % 3 == 0)
                    left = (size_t)(strait_sequence_next(&s) % (len + 1));
                unsigned char *bytes = malloc(left + 1);
                CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
                unsigned char *at = bytes + 1; /* and not aligned */
                memcpy(at, c.a, left);
                for (unsigned flips = turn % 3; flips > 0 && left > 0; flips--) {
                    const uint64_t r = strait_sequence_next(&s);
                    const size_t head = turn % 2 && left > 600 ? 600 : left;
                    at[r % head] ^= (unsigned char)(1u << (r >> 40) % 8);
                }
                CU_ASSERT(agree(&c, N, at, left));
                n_refused += strait_codec_sz.decode(c.state[0], c.y, N, at, left, NULL) != 0;
                n_cases++;
                free(bytes);
            }
        }
    CU_ASSERT(n_refused > n_cases / 2);
    coders_release(&c);
}

/* ---- loops, against what their comments say */

static const struct sz_kernels *kernels_of(unsigned level)
{
    const struct sz_kernels *k = sz_kernels_at((enum strait_simd)level);
    CU_ASSERT_EQUAL_FATAL((unsigned)k->level, level);
    return k;
}

/* Value i of `width` bits lies in bits i * width and up, lowest first. */
static uint32_t bits_at(const unsigned char *bytes, size_t first, unsigned width)
{
    uint32_t v = 0;
    for (unsigned b = 0; b < width; b++)
        v |= (uint32_t)(bytes[(first + b) / 8] >> (first + b) % 8 & 1) << b;
    return v;
}

static void packed(void)
{
    struct strait_sequence s = strait_sequence_at(23);
    for (unsigned level = 0; level <= (unsigned)strait_simd_best(); level++)
        for (unsigned width = 1; width <= SZ_MAX_SHIFT; width++)
            for (unsigned n = SZ_BLOCK - 37; n <= SZ_BLOCK; n++) {
                unsigned char bytes[SZ_BLOCK * SZ_MAX_SHIFT / 8 + 96];
                uint32_t v[SZ_BLOCK + SZ_LANES] = {0};
                for (unsigned i = 0; i < n; i++)
                    v[i] = (uint32_t)strait_sequence_next(&s);
                const unsigned char *end = kernels_of(level)->pack(bytes, v, n, width);
                CU_ASSERT_EQUAL((size_t)(end - bytes), (n * width + 7) / 8);
                bool same = true;
                for (unsigned i = 0; i < n; i++)
                    same &= bits_at(bytes, i * width, width) == (v[i] & ((1u << width) - 1));
                /* the bits that fill up the last byte are 0 */
                same &= bits_at(bytes, n * width, (8 - n * width % 8) % 8) == 0;
                CU_ASSERT(same);
            }
}

/* Symbols and low bits of random integers, with escapes and zeros among them, and back. */
static void apart_and_joined(void)
{
    struct strait_sequence s = strait_sequence_at(29);
    for (unsigned level = 0; level <= (unsigned)strait_simd_best(); level++)
        for (unsigned shift = 0; shift <= SZ_MAX_SHIFT; shift++)
            for (unsigned how = 0; how < 4; how++) {
                const struct sz_kernels *k = kernels_of(level);
                const bool sparse = how & 1, marked = how & 2;
                unsigned char bytes[SZ_BLOCK * SZ_MAX_SHIFT / 8 + 96] = {0};
                uint8_t sym[SZ_BLOCK], mark[SZ_BLOCK] = {0};
                int32_t q[SZ_BLOCK], back[SZ_BLOCK];
                uint32_t low[SZ_BLOCK + SZ_LANES];
                unsigned n_special = 0;
                for (unsigned i = 0; i < SZ_BLOCK; i++) {
                    const uint64_t r = strait_sequence_next(&s);
                    const int32_t upper = (int32_t)(r % 254) - 126; /* -126 .. 127 */
                    q[i] = (int32_t)((uint32_t)upper << shift |
                                     ((uint32_t)(r >> 32) & ((1u << shift) - 1)));
                    mark[i] = marked && r >> 20 & 1;
                    q[i] = mark[i] || (sparse && r >> 21 & 1) ? 0 : q[i];
                    n_special += mark[i] || (sparse && q[i] == 0);
                }
                const unsigned n_low = k->special(sym, low, q, marked ? mark : NULL, sparse, shift);
                CU_ASSERT_EQUAL(n_low, SZ_BLOCK - n_special);
                bool good = true;
                for (unsigned i = 0, at = 0; i < SZ_BLOCK; i++) {
                    if (mark[i])
                        good &= sym[i] == SZ_ESCAPE;
                    else if (sparse && q[i] == 0)
                        good &= sym[i] == SZ_ZERO;
                    else
                        good &=
                            sym[i] == (q[i] >> shift) + SZ_CENTRE && low[at++] == (uint32_t)q[i];
                }
                CU_ASSERT(good);
                if (shift > 0)
                    k->pack(bytes, low, n_low, shift);
                k->join(back, sym, n_special, bytes, shift);
                CU_ASSERT_EQUAL(memcmp(q, back, sizeof(q)), 0);
                if (how == 0) {
                    uint8_t plain[SZ_BLOCK];
                    k->symbols(plain, q, shift);
                    CU_ASSERT_EQUAL(memcmp(sym, plain, sizeof(sym)), 0);
                    const struct sz_grid half = {.step = 0.5f, .centre = 3};
                    float y[SZ_BLOCK];
                    k->join_values(y, sym, bytes, shift, &half);
                    for (unsigned i = 0; i < SZ_BLOCK; i++)
                        good &= y[i] == (float)q[i] * 0.5f + 3;
                    CU_ASSERT(good);
                }
            }
}

/* The integers that a float holds end at 2^22 - 1: what is beyond fails, whatever the step. */
static void at_the_limit(void)
{
    const struct sz_grid grids[] = {
        {.step = 1, .inverse = 1, .threshold = 0.5f},
        {.step = 1, .inverse = 1, .threshold = 1e30f},
        {.step = 0.25f, .inverse = 4, .threshold = 0.125f, .centre = 3},
    };
    static const float at[] = {4194302.0f,  4194303.0f, 4194303.25f, 4194303.5f, 4194304.0f,
                               -4194303.0f, 8388608.0f, 3e9f,        -3e9f,      1e30f,
                               INFINITY,    NAN,        1e-40f,      -0.0f,      0.5f};
    for (unsigned level = 0; level <= (unsigned)strait_simd_best(); level++)
        for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++)
            for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
                float x[SZ_BLOCK];
                int32_t q[SZ_BLOCK];
                struct sz_stats stats;
                for (unsigned i = 0; i < SZ_BLOCK; i++)
                    x[i] = grids[g].centre;
                x[77] = at[k] * grids[g].step + grids[g].centre;
                const float scaled = (x[77] - grids[g].centre) * grids[g].inverse;
                const bool fits = fabsf(scaled) <= 4194303.0f;
                const int32_t nearest = fits ? (int32_t)lrintf(scaled) : 0;
                const bool failed = kernels_of(level)->quantise(q, &stats, x, &grids[g], NULL);
                CU_ASSERT_EQUAL(failed, !fits);
                CU_ASSERT_EQUAL(q[77], nearest);
                CU_ASSERT_EQUAL(stats.sum, (uint32_t)abs(nearest));
                CU_ASSERT_EQUAL(stats.max, (uint32_t)abs(nearest));
                CU_ASSERT_EQUAL(stats.n_nonzero, nearest != 0);
                CU_ASSERT(q[76] == 0 && q[78] == 0);
            }
}

static void counted_on_the_way(void)
{
    const struct sz_grid grids[] = {{.step = 1, .inverse = 1, .threshold = 0.5f},
                                    {.centre = 2, .step = 1, .inverse = 1, .threshold = 0.5f}};
    uint8_t sym[SZ_BLOCK];
    for (unsigned i = 0; i < SZ_BLOCK; i++)
        sym[i] = (uint8_t)(i % 64 + 100); /* four of each of 64 */
    for (unsigned level = 0; level <= (unsigned)strait_simd_best(); level++)
        for (unsigned g = 0; g < 2; g++) {
            float x[SZ_BLOCK] = {0};
            int32_t q[SZ_BLOCK];
            uint32_t histogram[4][256] = {{0}};
            struct sz_stats stats;
            const struct sz_uncounted before = {.sym = sym, .histogram = histogram};
            kernels_of(level)->quantise(q, &stats, x, &grids[g], &before);
            for (unsigned k = 0; k < 256; k++)
                CU_ASSERT_EQUAL(histogram[0][k] + histogram[1][k] + histogram[2][k] +
                                    histogram[3][k],
                                k >= 100 && k < 164 ? 4u : 0u);
        }
}

static const struct strait_test tests[] = {
    {"tensors of 0 to 40 values have the same bytes and values at every level", short_tensors},
    {"tensors around blocks and lanes have the same bytes and values", around_blocks},
    {"tensors around chunks have the same bytes and values", around_chunks},
    {"tensors beyond a segment have the same bytes and values", beyond_segments},
    {"damaged streams meet the same verdict at every level", damaged},
    {"low bits lie one behind the other, lowest first", packed},
    {"integers go apart into symbols and low bits and come back", apart_and_joined},
    {"integers end at 2^22 - 1 at every level", at_the_limit},
    {"a block's symbols are counted while the next is quantised", counted_on_the_way},
};
STRAIT_SUITE("codecs/sz/sz_simd", tests);
