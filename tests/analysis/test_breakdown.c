/* Critical paths by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "analysis/breakdown.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { MAX_RANKS = 8 };

static void add(struct strait_log *logs, int rank, enum strait_span_kind kind, double start_s,
                double end_s, int peer)
{
    const struct strait_span span = {.queued_s = start_s,
                                     .start_s = start_s,
                                     .end_s = end_s,
                                     .rank = rank,
                                     .peer = peer,
                                     .kind = kind};
    strait_log_add(&logs[rank], &span);
}

static void release(struct strait_log *logs, int n)
{
    for (int i = 0; i < n; i++)
        strait_log_release(&logs[i]);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b)); /* a few roundings of sums near 1 */
}

static double sum(const struct strait_breakdown *b)
{
    double s = 0;
    for (int i = 0; i < STRAIT_N_PHASES; i++)
        s += b->phase_s[i];
    return s;
}

/* Server 0, clients 1 and 2, one round from 0 to 2.0:
 *   down to 1: 0 .. 0.3        down to 2: 0 .. 0.4
 *   1 trains 0.3 .. 0.8, encodes 0.8 .. 0.9, upload 0.9 .. 1.2, decoded 1.2 .. 1.5
 *   2 trains 0.4 .. 0.9, encodes 0.9 .. 1.0, upload 1.0 .. 1.4, decoded 1.5 .. 1.8 (one core)
 *   the server adds 1.8 .. 1.9 and marks the round at 2.0.
 * Back from 2.0: other 0.1, aggregate 0.1, decode 0.3 (of 2), decode 0.3 (of 1: it held the core),
 * transfer 1.2 back to 0.9, encode 0.1, compute 0.5, transfer 0.3: in all 2.0. */
static void fedavg_round(struct strait_log *logs)
{
    add(logs, 1, STRAIT_SPAN_TRANSFER, 0, 0.3, 0);
    add(logs, 1, STRAIT_SPAN_COMPUTE, 0.3, 0.8, -1);
    add(logs, 1, STRAIT_SPAN_ENCODE, 0.8, 0.9, -1);
    add(logs, 1, STRAIT_SPAN_WAIT, 0, 0.3, 0);
    add(logs, 1, STRAIT_SPAN_WAIT, 0.9, 2.5, 0);
    add(logs, 2, STRAIT_SPAN_TRANSFER, 0, 0.4, 0);
    add(logs, 2, STRAIT_SPAN_COMPUTE, 0.4, 0.9, -1);
    add(logs, 2, STRAIT_SPAN_ENCODE, 0.9, 1.0, -1);
    add(logs, 2, STRAIT_SPAN_WAIT, 0, 0.4, 0);
    add(logs, 2, STRAIT_SPAN_WAIT, 1.0, 2.5, 0);
    add(logs, 0, STRAIT_SPAN_WAIT, 0, 1.2, 1);
    add(logs, 0, STRAIT_SPAN_TRANSFER, 0.9, 1.2, 1);
    add(logs, 0, STRAIT_SPAN_TRANSFER, 1.0, 1.4, 2);
    add(logs, 0, STRAIT_SPAN_DECODE, 1.2, 1.5, -1);
    add(logs, 0, STRAIT_SPAN_DECODE, 1.5, 1.8, -1);
    add(logs, 0, STRAIT_SPAN_AGGREGATE, 1.8, 1.9, -1);
    add(logs, 0, STRAIT_SPAN_ROUND, 0, 2.0, -1);
}

static void test_path(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    fedavg_round(logs);
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 3, true, NULL) == 0);
    CU_ASSERT_EQUAL(b.n_rounds, 1);
    CU_ASSERT(near(b.round_s, 2.0));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_OTHER], 0.1));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_AGGREGATE], 0.1));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_DECODE], 0.6));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_TRANSFER], 0.6));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_ENCODE], 0.1));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_COMPUTE], 0.5));
    CU_ASSERT(near(sum(&b), b.round_s));
    strait_breakdown_release(&b);
    release(logs, 3);
}

static double mean_wait_s(const struct strait_breakdown *b, const struct strait_log *logs, int n,
                          bool has_server)
{
    struct strait_waits waits = strait_waits_begin(b, has_server);
    for (int r = 0; r < n; r++) {
        struct strait_span_walk walk;
        strait_spans_begin(&walk, &logs[r].spans);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));)
            strait_waits_add(&waits, s);
    }
    return strait_waits_mean_s(&waits, b, n);
}

/* The clients wait 0.3 + (2.0 - 0.9) = 1.4 and 0.4 + (2.0 - 1.0) = 1.4: what lies behind the last
 * round is not counted, nor is the server's waiting. */
static void test_wait(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    fedavg_round(logs);
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 3, true, NULL) == 0);
    CU_ASSERT(near(mean_wait_s(&b, logs, 3, true), 1.4));
    CU_ASSERT(near(b.server_busy_s[STRAIT_SPAN_DECODE], 0.6));
    CU_ASSERT(near(b.client_busy_s[STRAIT_SPAN_DECODE], 0));
    CU_ASSERT(near(b.client_busy_s[STRAIT_SPAN_COMPUTE], 0.5));
    strait_breakdown_release(&b);
    /* without a server all three count: (1.2 + 1.4 + 1.4) / 3 */
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 3, false, NULL) == 0);
    CU_ASSERT(near(mean_wait_s(&b, logs, 3, false), 4.0 / 3));
    CU_ASSERT(isnan(b.server_busy_s[STRAIT_SPAN_DECODE]));
    strait_breakdown_release(&b);
    release(logs, 3);
}

/* Two rounds of rank 0: 0 .. 1 and 1 .. 1.5; one job from 0.2 to 1.3 is cut at 1: the first round
 * has other 0.2, compute 0.8; the second compute 0.3, other 0.2. Means 0.55 and 0.2. */
static void test_cut(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    add(logs, 0, STRAIT_SPAN_ROUND, 1, 1.5, -1);
    add(logs, 0, STRAIT_SPAN_ROUND, 0, 1, -1);
    add(logs, 0, STRAIT_SPAN_COMPUTE, 0.2, 1.0, -1);
    add(logs, 0, STRAIT_SPAN_COMPUTE, 0.9, 1.3, -1);
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 1, false, NULL) == 0);
    CU_ASSERT_EQUAL(b.n_rounds, 2);
    CU_ASSERT(near(b.rounds_s[0], 1));
    CU_ASSERT(near(b.rounds_s[1], 0.5));
    CU_ASSERT(near(b.total_s, 1.5));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_COMPUTE], 0.55));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_OTHER], 0.2));
    strait_breakdown_release(&b);
    release(logs, 1);
}

/* A ring of two ranks, no server. Rank 0's round ends at 1.0 with the arrival of what 1 posted at
 * 0.7, after adding 0.6 .. 0.7 what had arrived there at 0.6, posted by 0 at 0.3 after computing
 * 0 .. 0.3: transfer 0.3 + 0.3, aggregate 0.1, compute 0.3. */
static void test_ring(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    add(logs, 0, STRAIT_SPAN_COMPUTE, 0, 0.3, -1);
    add(logs, 1, STRAIT_SPAN_COMPUTE, 0, 0.2, -1);
    add(logs, 1, STRAIT_SPAN_TRANSFER, 0.3, 0.6, 0);
    add(logs, 1, STRAIT_SPAN_AGGREGATE, 0.6, 0.7, -1);
    add(logs, 0, STRAIT_SPAN_TRANSFER, 0.7, 1.0, 1);
    add(logs, 0, STRAIT_SPAN_ROUND, 0, 1.0, -1);
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 2, false, NULL) == 0);
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_TRANSFER], 0.6));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_AGGREGATE], 0.1));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_COMPUTE], 0.3));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_OTHER], 0));
    strait_breakdown_release(&b);
    release(logs, 2);
}

/* Two transfers without length in a circle at 0.5, and a message to oneself: the walk still ends,
 * and the round of 1 s is 0.5 compute and 0.5 other. */
static void test_circle(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    add(logs, 0, STRAIT_SPAN_COMPUTE, 0, 0.5, -1);
    add(logs, 1, STRAIT_SPAN_COMPUTE, 0, 0.5, -1);
    add(logs, 0, STRAIT_SPAN_TRANSFER, 0.5, 0.5, 1);
    add(logs, 1, STRAIT_SPAN_TRANSFER, 0.5, 0.5, 0);
    add(logs, 0, STRAIT_SPAN_TRANSFER, 0.2, 0.9, 0);
    add(logs, 0, STRAIT_SPAN_ROUND, 0, 1, -1);
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 2, false, NULL) == 0);
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_COMPUTE], 0.5));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_OTHER], 0.5));
    strait_breakdown_release(&b);
    release(logs, 2);
}

static void test_no_round(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    struct strait_error err = {0};
    add(logs, 0, STRAIT_SPAN_COMPUTE, 0, 0.5, -1);
    CU_ASSERT(strait_breakdown_of(&b, logs, 1, false, &err) == -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a round mark of rank 0, found none");
    release(logs, 1);
}

/* Three rounds of 1, 1 and 4 s that compute for a quarter and wait for the rest, in a log of four
 * spans beside the rounds: two rounds are known, the mean of 2 s is divided as they are. */
static void test_missing(void)
{
    struct strait_log logs[MAX_RANKS] = {{0}};
    struct strait_breakdown b;
    const double starts_s[] = {0, 1, 2}, ends_s[] = {1, 2, 6};
    logs[0].max_spans = 6;
    for (int i = 0; i < 3; i++) {
        const double work_s = (ends_s[i] - starts_s[i]) / 4;
        add(logs, 0, STRAIT_SPAN_COMPUTE, starts_s[i], starts_s[i] + work_s, -1);
        add(logs, 0, STRAIT_SPAN_WAIT, starts_s[i] + work_s, ends_s[i], -1);
        add(logs, 0, STRAIT_SPAN_ROUND, starts_s[i], ends_s[i], -1);
    }
    CU_ASSERT_EQUAL(logs[0].n_lost, 2);
    CU_ASSERT(near(logs[0].lost_from_s, 2));
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, 1, false, NULL) == 0);
    CU_ASSERT_EQUAL(b.n_rounds, 3);
    CU_ASSERT_EQUAL(b.n_known_rounds, 2);
    CU_ASSERT(near(b.round_s, 2));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_COMPUTE], 0.5));
    CU_ASSERT(near(b.phase_s[STRAIT_PHASE_OTHER], 1.5));
    CU_ASSERT(near(mean_wait_s(&b, logs, 1, false), 1.5));
    strait_breakdown_release(&b);
    release(logs, 1);
}

/* 10,000 clients, 10 rounds of 1 + 1e-5 n s: client k trains 1 s, its update arrives at once and
 * is decoded on one core behind the others in 1e-5 s: compute 1, decode 10,000 x 1e-5 = 0.1 s.
 * More than a minute here would be a quadratic walk (1e9 steps a round), so none is allowed. */
static void test_many(void)
{
    enum { N = 10001, ROUNDS = 10 };
    struct strait_log *logs = calloc(N, sizeof(*logs));
    struct strait_breakdown b;
    CU_ASSERT_FATAL(logs != NULL);
    const double round_s = 1.1, decode_s = 1e-5;
    for (int round = 0; round < ROUNDS; round++) {
        const double t = round * round_s;
        for (int k = 1; k < N; k++) {
            add(logs, k, STRAIT_SPAN_TRANSFER, t, t, 0);
            add(logs, k, STRAIT_SPAN_COMPUTE, t, t + 1, -1);
            add(logs, k, STRAIT_SPAN_WAIT, t + 1, t + round_s, 0);
            add(logs, 0, STRAIT_SPAN_TRANSFER, t + 1, t + 1, k);
            add(logs, 0, STRAIT_SPAN_DECODE, t + 1 + (k - 1) * decode_s, t + 1 + k * decode_s, -1);
        }
        add(logs, 0, STRAIT_SPAN_ROUND, t, t + round_s, -1);
    }
    CU_ASSERT_FATAL(strait_breakdown_of(&b, logs, N, true, NULL) == 0);
    /* sums of 10,000 terms near 1e1 lose a few 1e-16 each */
    CU_ASSERT_DOUBLE_EQUAL(b.phase_s[STRAIT_PHASE_DECODE], 0.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(b.phase_s[STRAIT_PHASE_COMPUTE], 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(mean_wait_s(&b, logs, N, true), 0.1, 1e-9);
    strait_breakdown_release(&b);
    release(logs, N);
    free(logs);
}

/* --- drawn logs ------------------------------------------------------------------------------- */

enum { DRAWN_RANKS = 3, MAX_DRAWN = 3000 };
static struct strait_span drawn[DRAWN_RANKS][MAX_DRAWN];

static bool is_busy(const struct strait_span *s)
{
    return s->kind != STRAIT_SPAN_TRANSFER;
}

/* Whether x is what rank waited for rather than y, or y is none. */
static bool is_later(const struct strait_span *x, const struct strait_span *y)
{
    if (!y || x->end_s != y->end_s)
        return !y || x->end_s > y->end_s;
    if (is_busy(x) != is_busy(y))
        return is_busy(x);
    return x->start_s != y->start_s ? x->start_s > y->start_s : x->peer >= y->peer;
}

/* Of all spans of the rank. */
static const struct strait_span *searched(int rank, size_t n, double t_s, int n_hops)
{
    const struct strait_span *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct strait_span *s = &drawn[rank][i];
        const bool instant_leads = !is_busy(s) && n_hops < 64;
        if (s->kind <= STRAIT_SPAN_TRANSFER && s->end_s <= t_s + 1e-9 &&
            (is_busy(s) ? s->end_s > s->start_s : s->peer != rank) &&
            (s->start_s < t_s || instant_leads) && is_later(s, best))
            best = s;
    }
    return best;
}

static void expect_step(const struct strait_breakdown *b, size_t *at, int rank,
                        const struct strait_span *s, double from_s, double to_s)
{
    if (!(to_s > from_s))
        return;
    CU_ASSERT_FATAL(*at < b->n_steps);
    const struct strait_path_step *found = &b->steps[(*at)++];
    CU_ASSERT_EQUAL(found->is_gap, s == NULL);
    CU_ASSERT_EQUAL(found->rank, rank);
    CU_ASSERT_EQUAL(found->from_s, from_s);
    CU_ASSERT_EQUAL(found->to_s, to_s);
    CU_ASSERT(!s || (found->kind == s->kind && found->peer == s->peer));
}

/* The same walk, each step searched among all spans. */
static void expect_path(const struct strait_breakdown *b, size_t n, double end_s)
{
    int rank = 0, n_hops = 0;
    size_t at = 0;
    for (double t_s = end_s; t_s > 0;) {
        const struct strait_span *s = searched(rank, n, t_s, n_hops);
        if (!s || s->end_s <= 0) {
            expect_step(b, &at, rank, NULL, 0, t_s);
            break;
        }
        const double to_s = fmin(s->end_s, t_s), from_s = fmax(fmin(s->start_s, to_s), 0);
        expect_step(b, &at, rank, NULL, to_s, t_s);
        expect_step(b, &at, rank, s, from_s, to_s);
        n_hops = from_s < t_s ? 0 : n_hops + 1;
        t_s = from_s;
        rank = is_busy(s) ? rank : s->peer;
    }
    CU_ASSERT_EQUAL(at, b->n_steps);
}

/* Spans of some lanes, in no order of their ends (of many blocks, too, where they are sorted), on
 * a grid of milliseconds, so that many end together. */
static void test_drawn(void)
{
    static const size_t sizes[] = {3, 40, 200, 700, MAX_DRAWN};
    struct strait_sequence q = strait_sequence_at(strait_test_seed());
    for (size_t i = 0; i < 3 * sizeof(sizes) / sizeof(*sizes); i++) {
        struct strait_log logs[MAX_RANKS] = {0};
        struct strait_breakdown b;
        struct strait_error err = {0};
        const size_t n = sizes[i / 3];
        const double end_s = 0.001 * floor(20 + (double)n / (i % 3 == 2 ? 40 : 4));
        strait_test_context("%zu spans, way %zu", n, i % 3);
        for (size_t k = 0; k < n; k++)
            for (int r = 0; r < DRAWN_RANKS; r++) {
                /* in the order of their ends, in none, and by steps in it */
                const double u = strait_sequence_unit(&q),
                             at = i % 3 == 0   ? ((double)k + 30 * u) / (double)(n + 30)
                                  : i % 3 == 1 ? u
                                               : (floor((double)k / 50) * 50 + 50 * u) / (double)n;
                const double to_s = 0.001 * floor(1000 * end_s * at),
                             long_s = 0.001 * floor(6 * strait_sequence_unit(&q));
                const enum strait_span_kind kind =
                    (enum strait_span_kind)floor(7 * strait_sequence_unit(&q));
                const int peer = (r + 1 + (int)floor(2 * strait_sequence_unit(&q))) % DRAWN_RANKS;
                const bool is_transfer = kind == STRAIT_SPAN_TRANSFER;
                if (kind == STRAIT_SPAN_ROUND || kind == STRAIT_SPAN_WAIT) {
                    drawn[r][k] = (struct strait_span){
                        .kind = STRAIT_SPAN_WAIT, .end_s = to_s, .start_s = to_s, .peer = -1};
                    add(logs, r, STRAIT_SPAN_WAIT, to_s, to_s, -1);
                    continue;
                }
                /* shorter than rounding: it ends by the moment at which it begins */
                const bool is_tiny = !is_transfer && strait_sequence_unit(&q) < 0.2;
                drawn[r][k] =
                    (struct strait_span){.kind = kind,
                                         .start_s = is_tiny ? to_s : fmax(0, to_s - long_s),
                                         .end_s = is_tiny ? to_s + 5e-10 : to_s,
                                         .peer = is_transfer ? peer : -1};
                add(logs, r, kind, drawn[r][k].start_s, drawn[r][k].end_s, drawn[r][k].peer);
            }
        add(logs, 0, STRAIT_SPAN_ROUND, 0, end_s, -1);
        CU_ASSERT_EQUAL_FATAL(strait_breakdown_of(&b, logs, DRAWN_RANKS, false, &err), 0);
        expect_path(&b, n, end_s);
        CU_ASSERT(near(sum(&b), end_s));
        strait_breakdown_release(&b);
        release(logs, DRAWN_RANKS);
    }
}

static const struct strait_test tests[] = {
    {"the path of a federated round is the one by hand and sums to the round", test_path},
    {"a client's waiting is counted inside the rounds, the server's is not", test_wait},
    {"a span across a round mark is cut there", test_cut},
    {"a transfer leads to its sender at the moment it was posted", test_ring},
    {"transfers without length in a circle do not hang the walk", test_circle},
    {"logs without a round are refused", test_no_round},
    {"a log that was full is reported", test_missing},
    {"the path is the one that a search among all spans finds", test_drawn},
    {"10,000 clients and 10 rounds take about a second", test_many},
};
STRAIT_SUITE("analysis/breakdown", tests);
