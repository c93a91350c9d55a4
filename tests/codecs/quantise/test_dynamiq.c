/* dynamiq against its definition: a stream read as the text says, with levels by pow, widths by one
 * threshold that is as low as the budget allows, and sums over hops beside MXFP6. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "core/bytes.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { SUPER = 256, N_SUPERS = 200, N = N_SUPERS * SUPER - 100, MAX_BYTES = 4 * N, E3M2 = 2 };

struct coded {
    const struct strait_codec_ops *ops;
    void *state;
    unsigned char bytes[MAX_BYTES];
    size_t len_bytes;
};

static void open_as(struct coded *c, const struct strait_codec_ops *ops, double budget_or_type,
                    bool independent)
{
    const double values[] = {budget_or_type, independent, 0};
    c->ops = ops;
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(ops, &c->state, values, NULL), 0);
}

static void open(struct coded *c, const struct strait_codec_ops *ops, double budget_or_type)
{
    open_as(c, ops, budget_or_type, false);
}

static void round_trip_by(struct coded *c, float *y, const float *x, size_t n,
                          struct strait_request request)
{
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(c->ops, c->state, c->bytes, sizeof(c->bytes),
                                              &c->len_bytes, x, n, request, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(c->ops->decode(c->state, y, n, c->bytes, c->len_bytes, NULL), 0);
}

static void round_trip(struct coded *c, float *y, const float *x, size_t n, uint64_t key)
{
    round_trip_by(c, y, x, n, (struct strait_request){.key = key});
}

/* About normal, a super-group's size drawn over 2^8 (size: the ranks' own draws of one seed, since
 * gradients of ranks have their large values in the same places). */
static void skewed(float *x, uint64_t sizes, uint64_t values)
{
    struct strait_sequence of_size = strait_sequence_at(sizes), s = strait_sequence_at(values);
    double size = 1;
    for (size_t i = 0; i < N; i++) {
        if (i % SUPER == 0)
            size = exp2(8 * strait_sequence_unit(&of_size) - 8);
        double sum = -2;
        for (int k = 0; k < 4; k++)
            sum += strait_sequence_unit(&s);
        x[i] = (float)(size * (sum + 0.1));
    }
}

static float bfloat(const unsigned char *p)
{
    const uint32_t bits = strait_get16(p) << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static void by_definition(void)
{
    static const double epsilon[] = {0.23, 0.18, 0.1};
    static float x[N], y[N];
    static struct coded c;
    skewed(x, 1, 2);
    open(&c, &strait_codec_dynamiq, 5);
    round_trip(&c, y, x, N, 3);
    const unsigned char *p = c.bytes + 4 + N_SUPERS / 4;
    unsigned seen = 0;
    for (size_t j = 0; j < N_SUPERS; j++) {
        const unsigned width = c.bytes[4 + j / 4] >> j % 4 * 2 & 3, bits = 2u << width,
                       last = (1u << (bits - 1)) - 1;
        const size_t n = j + 1 < N_SUPERS ? SUPER : N - j * SUPER, n_groups = (n + 15) / 16;
        const double mean = (double)bfloat(p), unit = (double)bfloat(p + 2),
                     base = 1 + 2 * epsilon[width] * epsilon[width];
        const unsigned char *codes = p + 4 + n_groups;
        seen |= 1u << width;
        for (size_t i = 0; i < n; i++) {
            const unsigned byte = codes[i * bits / 8],
                           code = byte >> i * bits % 8 & ((1u << bits) - 1), r = code & last;
            const double scale = p[4 + i / 16] * unit,
                         level = (pow(base, r) - 1) / (pow(base, last) - 1),
                         want = mean + (code > last ? -1 : 1) * level * scale;
            CU_ASSERT_DOUBLE_EQUAL(y[j * SUPER + i], want, 1e-5 * (fabs(mean) + scale));
        }
        p = codes + (n * bits + 7) / 8;
    }
    CU_ASSERT_EQUAL(seen, 7); /* all three widths */
    CU_ASSERT_EQUAL(p - c.bytes, c.len_bytes);
    c.ops->close(c.state);
}

/* Bits for a threshold, by section 3.2: T(4, 8) = 512 / 17 T(2, 4). */
static double bits_for(const double *norm, double threshold)
{
    double bits = 0;
    for (size_t j = 0; j < N_SUPERS; j++)
        bits += 256 * (norm[j] > threshold * 512 / 17 ? 8 : norm[j] > threshold ? 4 : 2);
    return bits;
}

/* The budget holds; a threshold of 1 / 1000 less, at which some super-group would get more, breaks
 * it. A super-group has 16 bits of mean, 16 of unit, 8 of each group and 2 of width. */
static void widths(void)
{
    static float x[N], y[N];
    static struct coded c;
    static double norm[N_SUPERS];
    skewed(x, 4, 5);
    for (size_t i = 0; i < N; i++)
        norm[i / SUPER] += (double)x[i] * (double)x[i];
    for (double budget = 3; budget <= 8; budget++) {
        double low = 0, high = 1e9; /* of all norms that got more bits, by either threshold */
        open(&c, &strait_codec_dynamiq, budget);
        round_trip(&c, y, x, N, 6);
        c.ops->close(c.state);
        for (size_t j = 0; j < N_SUPERS; j++) {
            const unsigned width = c.bytes[4 + j / 4] >> j % 4 * 2 & 3;
            const double at[] = {norm[j], norm[j] * 17 / 512};
            for (unsigned k = 0; k < 2; k++) {
                high = width > k ? fmin(high, at[k]) : high;
                low = width <= k ? fmax(low, at[k]) : low;
            }
        }
        const double most = N_SUPERS * (256 * budget - 8 * 16 - 34);
        CU_ASSERT(low < high * (1 + 1e-6));
        CU_ASSERT_AT_MOST(bits_for(norm, low * (1 + 1e-6)), most);
        CU_ASSERT(low == 0 || bits_for(norm, low * 0.999) > most);
        CU_ASSERT_AT_MOST(8.0 * (double)c.len_bytes, N_SUPERS * 256 * budget + 40);
    }
}

enum { RANKS = 8 };

static struct strait_request request_of(uint64_t sum, unsigned rank)
{
    return (struct strait_request){
        .key = 1000 * sum + rank, .common = sum, .rank = rank, .n_ranks = RANKS};
}

static float steps[RANKS][N]; /* of each hop: from a value's level to the next */

/* Of the values x by their stream: between the levels that hold (x - mean) / scale. */
static void steps_of(float *step, const struct coded *c, const float *x)
{
    static const double epsilon[] = {0.23, 0.18, 0.1};
    const unsigned char *p = c->bytes + 4 + N_SUPERS / 4;
    for (size_t j = 0; j < N_SUPERS; j++) {
        const unsigned width = c->bytes[4 + j / 4] >> j % 4 * 2 & 3, bits = 2u << width,
                       last = (1u << (bits - 1)) - 1;
        const size_t n = j + 1 < N_SUPERS ? SUPER : N - j * SUPER, n_groups = (n + 15) / 16;
        const double mean = (double)bfloat(p), unit = (double)bfloat(p + 2),
                     base = 1 + 2 * epsilon[width] * epsilon[width], all = pow(base, last) - 1;
        for (size_t i = 0; i < n; i++) {
            const double scale = p[4 + i / 16] * unit,
                         share = fabs((double)x[j * SUPER + i] - mean) / fmax(scale, 1e-30),
                         r = fmin(floor(log1p(share * all) / log(base)), last - 1);
            step[j * SUPER + i] = (float)(scale * pow(base, r) * (base - 1) / all);
        }
        p += 4 + n_groups + (n * bits + 7) / 8;
    }
}

/* The sum over eight ranks: of what each codes of its own, or a ring's, coded at every hop.
 * Returns: squared error over the sum's squares */
static double error_of(const struct strait_codec_ops *ops, double budget, bool independent,
                       bool ring)
{
    static float sum[N], x[N], y[N];
    static double exact[N];
    static struct coded c;
    double squares = 0, off = 0;
    open_as(&c, ops, budget, independent);
    memset(sum, 0, sizeof(sum));
    memset(exact, 0, sizeof(exact));
    for (unsigned rank = 0; rank < RANKS; rank++) {
        skewed(x, 7, 100 + rank);
        for (size_t i = 0; i < N; i++) {
            exact[i] += (double)x[i];
            x[i] += ring ? sum[i] : 0;
        }
        round_trip_by(&c, y, x, N, request_of(1, rank));
        if (ops == &strait_codec_dynamiq)
            steps_of(steps[rank], &c, x);
        for (size_t i = 0; i < N; i++)
            sum[i] = y[i] + (ring ? 0 : sum[i]);
    }
    c.ops->close(c.state);
    for (size_t i = 0; i < N; i++) {
        squares += exact[i] * exact[i];
        off += ((double)sum[i] - exact[i]) * ((double)sum[i] - exact[i]);
    }
    return off / squares;
}

static double error_over_hops(const struct strait_codec_ops *ops, double budget)
{
    return error_of(ops, budget, false, true);
}

/* The paper's order (table 3): 5 bits have less error than MXFP6 of 6.25 bits (E3M2), and 6 bits
 * less than 5. That 5 bits also have less than MXFP8 holds for its gradients of language models,
 * whose norms differ by more than these. */
static void over_hops(void)
{
    const double five = error_over_hops(&strait_codec_dynamiq, 5),
                 six = error_over_hops(&strait_codec_dynamiq, 6),
                 mxfp6 = error_over_hops(&strait_codec_mx, E3M2);
    CU_ASSERT_AT_MOST(five, mxfp6);
    CU_ASSERT_AT_MOST(six, five);
}

/* Hop h of eight draws in the eighth 5 h + shift mod 8. The covariance of two draws d eighths apart
 * is ((n^2 - 1) / 12 - d (n - d) / 2) / n^2; so is that of two errors, in steps, where values'
 * places are independent and equally likely; an error's variance is 1 / 6. Squared error over that
 * of independent draws, by the steps of all hops. */
static double expected_over_hops(void)
{
    double all = 0, alone = 0;
    for (int h = 0; h < RANKS; h++)
        for (int k = 0; k < RANKS; k++) {
            const int d = 5 * abs(h - k) % RANKS;
            const double covariance = (63 / 12.0 - d * (RANKS - d) / 2.0) / 64;
            double squares = 0;
            for (size_t i = 0; i < N; i++)
                squares += (double)steps[h][i] * (double)steps[k][i];
            all += squares * (h == k ? 1.0 / 6 : covariance);
            alone += h == k ? squares / 6 : 0;
        }
    return all / alone;
}

static double correlated_over_independent(double budget, bool ring)
{
    const double apart = error_of(&strait_codec_dynamiq, budget, true, ring);
    return error_of(&strait_codec_dynamiq, budget, false, ring) / apart;
}

/* Scales are drawn independently, which adds an error of some hundredths. In a ring a sum's place
 * depends on the hop before too, so that more is left. */
static void correlated_over_hops(void)
{
    static const double budgets[] = {8.75, 5, 3};
    for (int k = 0; k < 3; k++) {
        const double of_all = correlated_over_independent(budgets[k], false),
                     expected = expected_over_hops();
        CU_ASSERT_DOUBLE_EQUAL(of_all, expected, 0.04);
        const double of_ring = correlated_over_independent(budgets[k], true);
        CU_ASSERT(of_ring > expected_over_hops() && of_ring < 0.8);
    }
}

/* Eight ranks with the same values, among them 15 + p of 127 levels' steps: of each value n p ranks
 * round up, to within one, so that its mean over the ranks is within a step / n. A rank alone has
 * the mean of its values: over 50 sums within 4.5 deviations, sqrt(1 / 4 / 50) of a step at
 * most. Scales are whole numbers of units: largest magnitude 255 in units of 1. */
static void ranks_make_up_for_each_other(void)
{
    enum { SUMS = 50 };
    static struct coded c;
    static float x[SUPER], y[SUPER];
    static double of_rank[SUPER], of_sum[SUPER];
    float worst_step = 0;
    struct strait_sequence s = strait_sequence_at(8);
    memset(of_rank, 0, sizeof(of_rank));
    for (size_t i = 0; i < SUPER; i += 2) {
        x[i] = i % 16 == 0 ? 255 : (float)(255 * strait_sequence_unit(&s));
        x[i + 1] = -x[i]; /* the mean is 0 */
    }
    /* f's last step is its largest: base^126 (base - 1) / (base^127 - 1) of 255, base 1.02 */
    worst_step = (float)(255 * pow(1.02, 126) * 0.02 / (pow(1.02, 127) - 1));
    open(&c, &strait_codec_dynamiq, 8.75);
    for (uint64_t sum = 0; sum < SUMS; sum++) {
        memset(of_sum, 0, sizeof(of_sum));
        for (unsigned rank = 0; rank < RANKS; rank++) {
            round_trip_by(&c, y, x, SUPER, request_of(sum, rank));
            for (size_t i = 0; i < SUPER; i++) {
                of_sum[i] += (double)y[i] / RANKS;
                of_rank[i] += rank == 3 ? (double)y[i] / SUMS : 0;
            }
        }
        for (size_t i = 0; i < SUPER; i++)
            CU_ASSERT_DOUBLE_EQUAL(of_sum[i], (double)x[i], 1.001 * (double)worst_step / RANKS);
    }
    for (size_t i = 0; i < SUPER; i++)
        CU_ASSERT_DOUBLE_EQUAL(of_rank[i], (double)x[i],
                               4.5 * (double)worst_step * 0.5 / sqrt(SUMS));
    c.ops->close(c.state);
}

static const struct strait_test tests[] = {
    {"a stream decodes as its text says", by_definition},
    {"widths have one threshold, the lowest that the budget allows", widths},
    {"over eight hops 5 bits have less error than MXFP6", over_hops},
    {"correlated roundings have the error of their covariance", correlated_over_hops},
    {"ranks with the same values round up in their share, each without bias",
     ranks_make_up_for_each_other},
};
STRAIT_SUITE("codecs/quantise/dynamiq", tests);
