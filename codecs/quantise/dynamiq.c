/* dynamiq: quantisation for sums that are coded again at every hop (DynamiQ, Han et al., SIGCOMM
 * 2026). Super-groups of 256 values get 2, 4 or 8 bits by their squared norms, so that all together
 * take `budget` bits a value, scales included; inside one, groups of 16 share a scale of 8 bits in
 * units of the super-group's, and magnitudes are rounded by chance to levels that lie closer near 0
 * (section 3.3; dynamiq_super.c). Every hop fits scales to the partial sum that it codes.
 *
 * Where ranks agree before they sum (sections 3.1, 3.2 and 3.5), each sends the mean and squared
 * norm of every super-group, BF16 each; all add them, choose widths by the sums of norms and
 * subtract the ranks' mean. These 32 bits a super-group count in the budget. Else a tensor is coded
 * by its own statistics, which take 18.
 *
 *   u8     codec id
 *   u8     number of values mod 256
 *   own:    u16  budget in 1/256 bit
 *           widths of each super-group, 2 bits: 0, 1, 2 for 2, 4, 8 bits
 *           of each super-group: bf16 mean, then as below
 *   agreed: u16  2^15 + how many ranks' values are added up in these
 *           of each super-group, or part of one at either end: bf16 unit, u8 scale of each group in
 *           that unit, codes: a sign and the level's number, whole bytes
 *
 * Not as published: super-groups are those of each tensor, not of a bucket of several, and stay in
 * their places. There they are sorted by width first, so that every part of a ring has as many of
 * each width; here a part has those of its layers. Means leave with what a hop codes and come back
 * when it is decoded, instead of once before and after all hops: of k ranks' sum k means.
 *
 * Roundings are correlated (Suresh et al., ICML 2022): of n ranks each draws for a value within an
 * n-th of [0, 1) of its own. A rank rounds up where its draw is below the value's place between two
 * levels, so every rank is unbiased alone, and of ranks with the same place, p, n p round up, to
 * within one. In a ring partial sums have places of their own. Errors of two hops still have a
 * covariance, that of their draws, which add up to n equal steps' having half the squared error of
 * independent ones. The n-ths are dealt by a stride and a drawn shift, not by a permutation as
 * published, so that hops that follow each other, whose steps are alike, draw far apart.
 */
#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/kit/checks.h"
#include "codecs/kit/half.h"
#include "codecs/kit/pack.h"
#include "codecs/kit/scratch_pool.h"
#include "core/bytes.h"
#include "dynamiq_super.h"

enum { SUPER = STRAIT_DYNAMIQ_SUPER, GROUPS = SUPER / STRAIT_DYNAMIQ_GROUP };
enum { HEAD_BYTES = 4, MEAN_BYTES = 2, UNIT_BYTES = 2, N_WIDTHS = STRAIT_DYNAMIQ_WIDTHS };
enum { AGREED = 1 << 15 }; /* in the place of the budget */
enum { CORRELATED, INDEPENDENT };
static const char *const roundings[] = {"correlated", "independent", NULL};
enum { STATISTICS = 2 }; /* the parameter's number */
static const char *const whose[] = {"agreed", "own", NULL};

/* Beside codes, in each super-group; ranks send their words once for all hops. */
enum {
    OWN_BITS = 8 * (MEAN_BYTES + UNIT_BYTES + GROUPS) + 2,
    AGREED_BITS = 8 * (UNIT_BYTES + GROUPS),
    WORD_BITS = 32
};

struct dynamiq {
    struct strait_pool pool;
    unsigned budget; /* 1/256 bit */
    bool is_correlated;
    struct strait_dynamiq_levels levels;
};

struct scratch {
    struct strait_pooled pooled;
    size_t cap;
    float *norms;     /* squared, of each super-group */
    float *means;     /* of each, BF16 */
    uint16_t *widths; /* 0, 1, 2 */
};

static const struct strait_param params[] = {
    {"budget", "bits of a value, scales and all included", .min = 2.75, .max = 8.75, .fallback = 5},
    {"rounding", "of the ranks of a sum: errors that make up for each other, or independent ones",
     STRAIT_PARAM_CHOICE, .min = 0, .max = INDEPENDENT, .fallback = CORRELATED,
     .choices = roundings},
    {"statistics",
     "of what widths and means are: all ranks' values, where the collective agrees on them first, "
     "or what is coded, at every hop",
     STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .choices = whose},
};

static void init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    struct dynamiq *s = state;
    (void)ops;
    strait_pool_init(&s->pool);
    s->budget = (unsigned)(values[0] * 256);
    s->is_correlated = (int)values[1] == CORRELATED;
    strait_dynamiq_levels_init(&s->levels);
}

static void scratch_free(struct scratch *piece)
{
    if (piece) {
        free(piece->norms);
        free(piece->means);
        free(piece->widths);
    }
    free(piece);
}

static void close_all(void *state)
{
    struct dynamiq *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;)
        scratch_free(piece);
    strait_pool_release(&s->pool);
    free(s);
}

static struct scratch *take(struct dynamiq *s, size_t n_supers, struct strait_error *err)
{
    struct scratch *piece = strait_pool_take(&s->pool);
    if (piece && piece->cap >= n_supers)
        return piece;
    scratch_free(piece);
    piece = calloc(1, sizeof(*piece));
    if (piece) {
        piece->norms = calloc(n_supers + 1, sizeof(float));
        piece->means = calloc(n_supers + 1, sizeof(float));
        piece->widths = calloc(n_supers + 1, sizeof(uint16_t));
        piece->cap = n_supers;
    }
    if (piece && piece->norms && piece->means && piece->widths)
        return piece;
    scratch_free(piece);
    strait_error_memory(err, "dynamiq");
    return NULL;
}

static size_t supers_of(size_t n_elems)
{
    return (n_elems + SUPER - 1) / SUPER;
}

static size_t values_in(size_t super, size_t n_elems)
{
    const size_t left = n_elems - super * SUPER;
    return left < SUPER ? left : SUPER;
}

static size_t max_bytes(const void *state, size_t n_elems)
{
    const size_t n_supers = supers_of(n_elems);
    (void)state;
    return HEAD_BYTES + strait_packed_bytes(n_supers, 2) +
           n_supers * (MEAN_BYTES + UNIT_BYTES + GROUPS + SUPER);
}

/* --- widths --------------------------------------------------------------------------------- */

/* Of section 3.2: a bit more saves as much at both thresholds if T(4, 8) = 512 / 17 T(2, 4). */
static unsigned width_of(float norm, float threshold)
{
    return (unsigned)(norm > threshold) + (unsigned)(norm > threshold * (512.0f / 17));
}

static uint64_t bits_at(const struct scratch *piece, size_t n_supers, float threshold)
{
    uint64_t bits = 0;
    for (size_t j = 0; j < n_supers; j++)
        bits += (uint64_t)SUPER * strait_dynamiq_bits(width_of(piece->norms[j], threshold));
    return bits;
}

/* Widths at the lowest threshold at which codes take `most` bits, found among all floats. With
 * spare: those that the next lower threshold would widen are widened in turn while bits are left,
 * since many norms of 16 bits are equal. */
static void choose_widths(struct scratch *piece, size_t n_supers, uint64_t most, bool spare)
{
    uint32_t low = 0, high = strait_bits_of(FLT_MAX); /* at high: all have 2 bits */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (bits_at(piece, n_supers, strait_float_of(middle)) <= most)
            high = middle;
        else
            low = middle + 1;
    }
    uint64_t bits = bits_at(piece, n_supers, strait_float_of(high));
    for (size_t j = 0; j < n_supers; j++) {
        const unsigned width = width_of(piece->norms[j], strait_float_of(high)),
                       wider = spare && high > 0
                                   ? width_of(piece->norms[j], strait_float_of(high - 1))
                                   : width;
        const uint64_t more =
            (uint64_t)SUPER * (strait_dynamiq_bits(wider) - strait_dynamiq_bits(width));
        piece->widths[j] = (uint16_t)(bits + more <= most ? wider : width);
        bits += bits + more <= most ? more : 0;
    }
}

/* Bits that are left for codes where so many others come with each super-group. */
static uint64_t bits_for_codes(const struct dynamiq *s, size_t n_supers, unsigned beside)
{
    const uint64_t all = (uint64_t)s->budget * n_supers, others = (uint64_t)beside * n_supers;
    return all > others ? all - others : 0;
}

/* --- agreeing ------------------------------------------------------------------------------- */

/* A word of a super-group. Of a rank, or of several added up: their means in the upper half, their
 * squared norms in the lower. Settled: the ranks' mean, and the width. */
static float mean_in(uint32_t word)
{
    return strait_float_of(word & 0xffff0000u);
}

/* Infinite and too large: the largest. */
static uint32_t bfloat_below(float x)
{
    const uint32_t bits = strait_bfloat_of(x);
    return (bits & 0x7fff) < 0x7f80 ? bits : (bits & 0x8000) | 0x7f7f;
}

static void measure(uint32_t *words, const float *x, size_t n_elems)
{
    for (size_t j = 0; j < supers_of(n_elems); j++) {
        double sum, squares;
        const size_t n = values_in(j, n_elems);
        strait_dynamiq_add_up(&sum, &squares, x + j * SUPER, n);
        words[j] = bfloat_below((float)(sum / (double)n)) << 16 |
                   bfloat_below(squares < (double)FLT_MAX ? (float)squares : FLT_MAX);
    }
}

static void merge(uint32_t *sum, const uint32_t *more, size_t n_words)
{
    for (size_t j = 0; j < n_words; j++)
        sum[j] = bfloat_below(mean_in(sum[j]) + mean_in(more[j])) << 16 |
                 bfloat_below(mean_in(sum[j] << 16) + mean_in(more[j] << 16));
}

static int settle(void *state, uint32_t *words, const uint32_t *sum, size_t n_words,
                  unsigned n_ranks, struct strait_error *err)
{
    struct dynamiq *s = state;
    struct scratch *piece = take(s, n_words, err);
    if (!piece)
        return -1;
    for (size_t j = 0; j < n_words; j++)
        piece->norms[j] = mean_in(sum[j] << 16);
    choose_widths(piece, n_words, bits_for_codes(s, n_words, AGREED_BITS + WORD_BITS), true);
    for (size_t j = 0; j < n_words; j++)
        words[j] =
            bfloat_below(mean_in(sum[j]) / (float)n_ranks) << 16 | (uint32_t)piece->widths[j];
    strait_pool_give(&s->pool, piece);
    return 0;
}

static size_t agreed_bytes(const void *state, size_t n_elems)
{
    const struct dynamiq *s = state;
    const double bits = (double)s->budget / 256 - (double)WORD_BITS / SUPER;
    return HEAD_BYTES + (size_t)((double)n_elems * bits / 8);
}

/* Values up to the end of the super-group that holds the value at `at`. */
static size_t values_from(size_t at, size_t n_left)
{
    const size_t n = SUPER - at % SUPER;
    return n < n_left ? n : n_left;
}

static unsigned char *put_agreed(const struct dynamiq *s, unsigned char *p, const float *x,
                                 size_t n_elems, struct strait_agreed by,
                                 struct strait_dynamiq_draws *chance)
{
    for (size_t i = 0, n; i < n_elems; i += n) {
        const uint32_t word = by.words[(by.first + i) / SUPER];
        n = values_from(by.first + i, n_elems - i);
        p = strait_dynamiq_put(&s->levels, p, x + i, n, (float)by.n_ranks * mean_in(word), word & 3,
                               chance);
    }
    return p;
}

/* --- tensors -------------------------------------------------------------------------------- */

static struct strait_dynamiq_draws draws_of(const struct dynamiq *s, struct strait_request request)
{
    struct strait_sequence keys = strait_sequence_at(request.key);
    struct strait_dynamiq_draws chance = {.shifts = strait_chance_at(request.common, 0),
                                          .n_ranks = 1};
    if (s->is_correlated && request.n_ranks > 1) {
        chance.place = strait_dynamiq_place(request.rank % request.n_ranks, request.n_ranks);
        chance.n_ranks = (int32_t)request.n_ranks;
    }
    chance.scales = strait_chance_at(strait_sequence_next(&keys), 0);
    chance.values = strait_chance_at(strait_sequence_next(&keys), 0);
    return chance;
}

/* Means and widths of the tensor itself. Returns: the end of out */
static unsigned char *put_own(const struct dynamiq *s, struct scratch *piece, unsigned char *out,
                              const float *x, size_t n_elems, struct strait_dynamiq_draws *chance)
{
    const size_t n_supers = supers_of(n_elems);
    for (size_t j = 0; j < n_supers; j++) {
        double sum, squares;
        const size_t n = values_in(j, n_elems);
        strait_dynamiq_add_up(&sum, &squares, x + j * SUPER, n);
        piece->norms[j] = squares < (double)FLT_MAX ? (float)squares : FLT_MAX;
        piece->means[j] = strait_float_of_bfloat(strait_bfloat_of((float)(sum / (double)n)));
    }
    choose_widths(piece, n_supers, bits_for_codes(s, n_supers, OWN_BITS), false);
    strait_pack(out, piece->widths, n_supers, 2);
    unsigned char *p = out + strait_packed_bytes(n_supers, 2);
    for (size_t j = 0; j < n_supers; j++) {
        strait_put16(p, (uint16_t)(strait_bits_of(piece->means[j]) >> 16));
        p = strait_dynamiq_put(&s->levels, p + MEAN_BYTES, x + j * SUPER, values_in(j, n_elems),
                               piece->means[j], piece->widths[j], chance);
    }
    return p;
}

static int encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                  size_t n_elems, struct strait_request request, struct strait_error *err)
{
    struct dynamiq *s = state;
    struct strait_dynamiq_draws chance = draws_of(s, request);
    unsigned char *p = out + HEAD_BYTES;
    out[0] = (unsigned char)strait_codec_dynamiq.id;
    out[1] = (unsigned char)(n_elems & 255);
    if (request.agreed.words) {
        assert(request.agreed.n_ranks < AGREED);
        strait_put16(out + 2, (uint16_t)(AGREED | request.agreed.n_ranks));
        p = put_agreed(s, p, x, n_elems, request.agreed, &chance);
    } else {
        struct scratch *piece = take(s, supers_of(n_elems), err);
        if (!piece)
            return -1;
        strait_put16(out + 2, (uint16_t)s->budget);
        p = put_own(s, piece, p, x, n_elems, &chance);
        strait_pool_give(&s->pool, piece);
    }
    *len_bytes = (size_t)(p - out);
    return 0;
}

/* Whether the widths are some, and as many bytes follow as they say. */
static bool fits(const uint16_t *widths, size_t n_supers, size_t n_elems, size_t len_bytes)
{
    size_t bytes = 0;
    for (size_t j = 0; j < n_supers; j++) {
        if (widths[j] >= N_WIDTHS)
            return false;
        bytes += MEAN_BYTES + strait_dynamiq_bytes(values_in(j, n_elems), widths[j]);
    }
    return bytes == len_bytes;
}

static int decode(void *state, float *y, size_t n_elems, const unsigned char *in, size_t len_bytes,
                  struct strait_error *err)
{
    struct dynamiq *s = state;
    const size_t n_supers = supers_of(n_elems),
                 head_bytes = HEAD_BYTES + strait_packed_bytes(n_supers, 2);
    if (strait_check_head(&strait_codec_dynamiq, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(&strait_codec_dynamiq, in[1], n_elems, err) != 0)
        return -1;
    struct scratch *piece = take(s, n_supers, err);
    if (!piece)
        return -1;
    bool good = len_bytes >= head_bytes && strait_get16(in + 2) == s->budget;
    if (good) {
        strait_unpack(piece->widths, in + HEAD_BYTES, n_supers, 2);
        good = fits(piece->widths, n_supers, n_elems, len_bytes - head_bytes);
    }
    const unsigned char *p = in + head_bytes;
    for (size_t j = 0; j < n_supers && good; j++)
        p = strait_dynamiq_get(&s->levels, y + j * SUPER, values_in(j, n_elems),
                               strait_float_of_bfloat((uint16_t)strait_get16(p)), piece->widths[j],
                               p + MEAN_BYTES);
    strait_pool_give(&s->pool, piece);
    return good ? 0
                : strait_refuse(err, "dynamiq", "expected a stream of %zu values with this budget",
                                n_elems);
}

static int decode_agreed(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_agreed by, struct strait_error *err)
{
    const struct dynamiq *s = state;
    if (len_bytes >= HEAD_BYTES && !(strait_get16(in + 2) & AGREED))
        return decode(state, y, n_elems, in, len_bytes, err);
    if (strait_check_head(&strait_codec_dynamiq, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(&strait_codec_dynamiq, in[1], n_elems, err) != 0)
        return -1;
    size_t bytes = HEAD_BYTES;
    for (size_t i = 0, n; i < n_elems; i += n) {
        n = values_from(by.first + i, n_elems - i);
        bytes += strait_dynamiq_bytes(n, by.words[(by.first + i) / SUPER] & 3);
    }
    if (bytes != len_bytes)
        return strait_refuse(err, "dynamiq", "expected a stream of %zu values as agreed", n_elems);
    const float n_ranks = (float)(strait_get16(in + 2) & (AGREED - 1));
    const unsigned char *p = in + HEAD_BYTES;
    for (size_t i = 0, n; i < n_elems; i += n) {
        const uint32_t word = by.words[(by.first + i) / SUPER];
        n = values_from(by.first + i, n_elems - i);
        p = strait_dynamiq_get(&s->levels, y + i, n, n_ranks * mean_in(word), word & 3, p);
    }
    return 0;
}

static const struct strait_codec_statistics statistics = {
    .param = STATISTICS,
    .n_words = supers_of,
    .measure = measure,
    .merge = merge,
    .settle = settle,
    .decode = decode_agreed,
    .predict = agreed_bytes,
};

const struct strait_codec_ops strait_codec_dynamiq = {
    .name = "dynamiq",
    .family = "quantiser",
    .source = "DynamiQ (Han et al., SIGCOMM 2026)",
    .id = 45,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct dynamiq),
    .init = init,
    .close = close_all,
    .max_bytes = max_bytes,
    .encode = encode,
    .decode = decode,
    .statistics = &statistics,
};
