/* dynamiq where ranks agree on statistics before they sum (sections 3.1, 3.2 and 3.5 of the paper):
 * words, widths, streams and the errors of a ring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { SUPER = 256, N_SUPERS = 200, N = N_SUPERS * SUPER - 100, RANKS = 8, UNIT_AND_SCALES = 18 };

static const struct strait_codec_statistics *statistics(void)
{
    return strait_codec_dynamiq.statistics;
}

static void *open_with(double budget)
{
    const double values[] = {budget, 0, 0};
    void *state;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(&strait_codec_dynamiq, &state, values, NULL), 0);
    return state;
}

static float upper(uint32_t word)
{
    float x;
    word &= 0xffff0000u;
    memcpy(&x, &word, sizeof(x));
    return x;
}

static unsigned bits_of(uint32_t word)
{
    return 2u << (word & 3);
}

/* About normal with a mean, every super-group's size drawn over 2^spread: ranks have their large
 * values in the same places. */
static void draw(float *x, double spread, uint64_t values)
{
    struct strait_sequence of_size = strait_sequence_at(7), s = strait_sequence_at(values);
    double size = 1;
    for (size_t i = 0; i < N; i++) {
        if (i % SUPER == 0)
            size = exp2(spread * (strait_sequence_unit(&of_size) - 1));
        double sum = -2;
        for (int k = 0; k < 4; k++)
            sum += strait_sequence_unit(&s);
        x[i] = (float)(size * (sum + 0.1));
    }
}

static void agree(uint32_t *words, void *state, double spread)
{
    static float x[N];
    static uint32_t sum[N_SUPERS], more[N_SUPERS];
    for (unsigned rank = 0; rank < RANKS; rank++) {
        draw(x, spread, 100 + rank);
        statistics()->measure(rank == 0 ? sum : more, x, N);
        if (rank > 0)
            statistics()->merge(sum, more, N_SUPERS);
    }
    CU_ASSERT_EQUAL_FATAL(statistics()->settle(state, words, sum, N_SUPERS, RANKS, NULL), 0);
}

/* Two ranks, two super-groups and one of 3 values: means 1 and 3, 0 and 0, -2 and 4; squares 256
 * and 9 256, 0 and 256 / 4, 12 and 48. All are numbers of 8 bits. A budget that gives all 8 bits
 * leaves the means: 2, 0 and 1. */
static void words_add_up(void)
{
    enum { SHORT = 2 * SUPER + 3 };
    static float a[SHORT], b[SHORT];
    uint32_t sum[3], more[3], words[3];
    static const float means[] = {4, 0, 2}, squares[] = {2560, 64, 60};
    for (int i = 0; i < SHORT; i++) {
        a[i] = i < SUPER ? 1 : i < 2 * SUPER ? 0 : -2;
        b[i] = i < SUPER ? 3 : i >= 2 * SUPER ? 4 : i % 2 == 0 ? 0.5f : -0.5f;
    }
    CU_ASSERT_EQUAL(statistics()->n_words(SHORT), 3);
    statistics()->measure(sum, a, SHORT);
    statistics()->measure(more, b, SHORT);
    statistics()->merge(sum, more, 3);
    void *state = open_with(8.75);
    CU_ASSERT_EQUAL(statistics()->settle(state, words, sum, 3, 2, NULL), 0);
    for (int j = 0; j < 3; j++) {
        CU_ASSERT_EQUAL(upper(sum[j]), means[j]);
        CU_ASSERT_EQUAL(upper(sum[j] << 16), squares[j]);
        CU_ASSERT_EQUAL(upper(words[j]), means[j] / 2);
        CU_ASSERT_EQUAL(bits_of(words[j]), 8);
    }
    strait_codec_dynamiq.close(state);
}

/* Values too large for their squares, infinite and not a number stay finite in words, which travel
 * as numbers. */
static void words_are_finite(void)
{
    static const float odd[] = {3e38f, INFINITY, NAN, -3e38f};
    uint32_t sum, more;
    for (size_t k = 0; k < 4; k++) {
        const float x[] = {odd[k], odd[k]};
        statistics()->measure(&sum, x, 2);
        statistics()->measure(&more, x, 2);
        statistics()->merge(&sum, &more, 1);
        CU_ASSERT(isfinite(upper(sum)) && isfinite(upper(sum << 16)));
    }
}

/* The budget less 32 bits a super-group for words and 144 for unit and scales is filled with codes
 * up to a step of 256 times 2 or 4 bits: 4.3125 of 5 bits a value (section 3.5). A super-group of a
 * larger sum of squares never has fewer bits, nor has one behind another of the same. */
static void budget_is_filled(void)
{
    static uint32_t words[N_SUPERS], sum[N_SUPERS], more[N_SUPERS];
    static float x[N];
    for (int spread = 0; spread <= 8; spread += 8)
        for (double budget = 3; budget <= 8; budget += 0.5) {
            void *state = open_with(budget);
            double bits = 0;
            for (unsigned rank = 0; rank < 2; rank++) {
                draw(x, spread, 100 + rank);
                statistics()->measure(rank == 0 ? sum : more, x, N);
            }
            statistics()->merge(sum, more, N_SUPERS);
            statistics()->settle(state, words, sum, N_SUPERS, 2, NULL);
            const double most = N_SUPERS * (256 * budget - 32 - 144);
            for (size_t j = 0; j < N_SUPERS; j++)
                bits += 256 * bits_of(words[j]);
            CU_ASSERT_AT_MOST(bits, most);
            CU_ASSERT(bits > most - 1024);
            for (size_t j = 0; j < N_SUPERS; j++)
                for (size_t k = 0; k < N_SUPERS; k++) {
                    const float a = upper(sum[j] << 16), b = upper(sum[k] << 16);
                    if (a > b || (a == b && j < k))
                        CU_ASSERT_AT_MOST(bits_of(words[k]), bits_of(words[j]));
                }
            strait_codec_dynamiq.close(state);
        }
}

struct coded {
    void *state;
    unsigned char bytes[4 * N];
    size_t len_bytes;
};

static void encode(struct coded *c, const float *x, size_t n, struct strait_request request)
{
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(&strait_codec_dynamiq, c->state, c->bytes,
                                              sizeof(c->bytes), &c->len_bytes, x, n, request, NULL),
                          0);
}

/* A part from any value to any other, of the sum of three ranks: unit, scales and codes of each
 * super-group or piece of one, 4 bytes before; values are three times the ranks' mean and levels. */
static void parts_by_definition(void)
{
    static const double epsilon[] = {0.23, 0.18, 0.1};
    static const size_t from[] = {0, 1, 255, 256, 300, 1000},
                        length[] = {1, 15, 256, 257, 700, 2000};
    static float x[N], y[N];
    static struct coded c;
    static uint32_t words[N_SUPERS];
    c.state = open_with(5);
    agree(words, c.state, 8);
    draw(x, 8, 3);
    for (size_t f = 0; f < 6; f++)
        for (size_t l = 0; l < 6; l++) {
            const size_t first = from[f], n = length[l];
            const struct strait_agreed agreed = {words, first, 3};
            encode(&c, x + first, n, (struct strait_request){.key = 5, .agreed = agreed});
            CU_ASSERT_EQUAL_FATAL(statistics()->decode(c.state, y, n, c.bytes, c.len_bytes,
                                                       (struct strait_agreed){words, first, 0},
                                                       NULL),
                                  0);
            CU_ASSERT_EQUAL(strait_get16(c.bytes + 2), 0x8003);
            const unsigned char *p = c.bytes + 4;
            for (size_t i = 0, piece; i < n; i += piece) {
                const uint32_t word = words[(first + i) / SUPER];
                const unsigned width = word & 3, bits = 2u << width, last = (1u << (bits - 1)) - 1;
                const size_t to_end = SUPER - (first + i) % SUPER;
                piece = to_end < n - i ? to_end : n - i;
                const size_t n_groups = (piece + 15) / 16;
                const double unit = (double)upper((uint32_t)strait_get16(p) << 16),
                             base = 1 + 2 * epsilon[width] * epsilon[width],
                             mean = 3 * (double)upper(word);
                const unsigned char *codes = p + 2 + n_groups;
                for (size_t k = 0; k < piece; k++) {
                    const unsigned code =
                        (unsigned)codes[k * bits / 8] >> k * bits % 8 & ((1u << bits) - 1);
                    const double scale = p[2 + k / 16] * unit,
                                 level = (pow(base, code & last) - 1) / (pow(base, last) - 1),
                                 want = mean + (code > last ? -1 : 1) * level * scale;
                    CU_ASSERT_DOUBLE_EQUAL(y[i + k], want, 1e-5 * (fabs(mean) + scale));
                    CU_ASSERT_DOUBLE_EQUAL(y[i + k], x[first + i + k], 256 * unit);
                }
                p = codes + (piece * bits + 7) / 8;
            }
            CU_ASSERT_EQUAL(p - c.bytes, c.len_bytes);
            CU_ASSERT_AT_MOST(c.len_bytes, strait_codec_dynamiq.max_bytes(c.state, n));
        }
    strait_codec_dynamiq.close(c.state);
}

/* A ring of seven, parts that begin anywhere: its bytes follow from the words, and are at most the
 * budget's, 4.875 bits of 5 a value, and what pieces of super-groups at 6 borders take more. */
static void bytes_of_a_ring(void)
{
    enum { PARTS = 7 };
    static float x[N];
    static struct coded c;
    static uint32_t words[N_SUPERS];
    size_t all = 0, expected = 0;
    c.state = open_with(5);
    agree(words, c.state, 8);
    draw(x, 8, 3);
    for (size_t i = 0; i < PARTS; i++) {
        const size_t lo = i * N / PARTS, hi = (i + 1) * N / PARTS;
        encode(&c, x + lo, hi - lo,
               (struct strait_request){.key = i, .agreed = {words, lo, RANKS}});
        all += c.len_bytes;
        expected += 4;
        for (size_t at = lo, end; at < hi; at = end) {
            end = (at / SUPER + 1) * SUPER < hi ? (at / SUPER + 1) * SUPER : hi;
            expected +=
                2 + (end - at + 15) / 16 + ((end - at) * bits_of(words[at / SUPER]) + 7) / 8;
        }
    }
    CU_ASSERT_EQUAL(all, expected);
    CU_ASSERT_AT_MOST((double)all, N_SUPERS * SUPER * 4.875 / 8 + 4 * PARTS + 4 * (PARTS - 1));
    CU_ASSERT_EQUAL(statistics()->predict(c.state, 8000), 4 + 4875);
    strait_codec_dynamiq.close(c.state);
}

/* Bytes that are no such stream: shorter, longer, of another count or of other words. A stream by
 * its own statistics is decoded as such. */
static void other_streams(void)
{
    static float x[N], y[N], z[N];
    static struct coded c;
    static uint32_t words[N_SUPERS], others[N_SUPERS];
    const size_t n = 3 * SUPER;
    c.state = open_with(5);
    agree(words, c.state, 8);
    memcpy(others, words, sizeof(others));
    others[0] ^= (words[0] & 3) == 0 ? 1 : 3; /* 4 bits instead of 2 or 8, 8 instead of 4 */
    draw(x, 8, 3);
    const struct strait_agreed agreed = {words, 0, 2}, other = {others, 0, 2};
    encode(&c, x, n, (struct strait_request){.agreed = agreed});
    const struct strait_codec_statistics *s = statistics();
    CU_ASSERT(s->decode(c.state, y, n, c.bytes, c.len_bytes - 1, agreed, NULL) != 0);
    CU_ASSERT(s->decode(c.state, y, n, c.bytes, c.len_bytes + 1, agreed, NULL) != 0);
    CU_ASSERT(s->decode(c.state, y, n + 1, c.bytes, c.len_bytes, agreed, NULL) != 0);
    CU_ASSERT(s->decode(c.state, y, n, c.bytes, 3, agreed, NULL) != 0);
    CU_ASSERT(s->decode(c.state, y, n, c.bytes, c.len_bytes, other, NULL) != 0);
    CU_ASSERT(strait_codec_dynamiq.decode(c.state, y, n, c.bytes, c.len_bytes, NULL) != 0);
    encode(&c, x, n, (struct strait_request){0});
    CU_ASSERT_EQUAL(s->decode(c.state, y, n, c.bytes, c.len_bytes, agreed, NULL), 0);
    CU_ASSERT_EQUAL(strait_codec_dynamiq.decode(c.state, z, n, c.bytes, c.len_bytes, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(y, z, n * sizeof(*y)), 0);
    strait_codec_dynamiq.close(c.state);
}

/* Squared error of a ring over eight, over the sum's squares. */
static double error_of(double budget, double spread, bool agrees)
{
    static float sum[N], x[N], y[N];
    static double exact[N];
    static struct coded c;
    static uint32_t words[N_SUPERS];
    double squares = 0, off = 0;
    c.state = open_with(budget);
    agree(words, c.state, spread);
    memset(sum, 0, sizeof(sum));
    memset(exact, 0, sizeof(exact));
    for (unsigned rank = 0; rank < RANKS; rank++) {
        struct strait_request request = {
            .key = 1000 + rank, .common = 1, .rank = rank, .n_ranks = RANKS};
        if (agrees)
            request.agreed = (struct strait_agreed){words, 0, rank + 1};
        draw(x, spread, 100 + rank);
        for (size_t i = 0; i < N; i++) {
            exact[i] += (double)x[i];
            x[i] += sum[i];
        }
        encode(&c, x, N, request);
        if (agrees)
            statistics()->decode(c.state, y, N, c.bytes, c.len_bytes, request.agreed, NULL);
        else
            strait_codec_dynamiq.decode(c.state, y, N, c.bytes, c.len_bytes, NULL);
        memcpy(sum, y, sizeof(sum));
    }
    strait_codec_dynamiq.close(c.state);
    for (size_t i = 0; i < N; i++) {
        squares += exact[i] * exact[i];
        off += ((double)sum[i] - exact[i]) * ((double)sum[i] - exact[i]);
    }
    return off / squares;
}

/* Where super-groups are alike, as little error as by each hop's own statistics, which send 14 bits
 * less of codes each. Where sizes are spread over 2^8, a quarter to a third more at 5 bits, since a
 * hop's own widths also follow the errors of the hops before it. */
static void errors(void)
{
    CU_ASSERT_AT_MOST(error_of(5, 0, true), 1.01 * error_of(5, 0, false));
    CU_ASSERT_AT_MOST(error_of(6, 0, true), 0.98 * error_of(6, 0, false));
    const double more = error_of(5, 8, true) / error_of(5, 8, false);
    CU_ASSERT(more > 1.1 && more < 1.4);
    CU_ASSERT_AT_MOST(error_of(5, 8, true), 0.006);
    CU_ASSERT_AT_MOST(error_of(6, 8, true), error_of(5, 8, true) / 4);
}

static const struct strait_test tests[] = {
    {"words of ranks add up, and settle to means and widths", words_add_up},
    {"words are finite", words_are_finite},
    {"codes fill the budget, the larger super-groups first", budget_is_filled},
    {"parts from any value to any other decode as the text says", parts_by_definition},
    {"a ring's bytes follow from the words", bytes_of_a_ring},
    {"bytes that are no stream by these words are refused", other_streams},
    {"a ring's errors are as small where super-groups are alike, and no third larger elsewhere",
     errors},
};
STRAIT_SUITE("codecs/quantise/dynamiq_agreed", tests);
