/* Break-even of round times made by hand. */
#include <math.h>
#include <string.h>
#include "analysis/breakeven.h"
#include "tests/kit/suite.h"

struct world {
    double (*with_s)(long n);
    double (*without_s)(long n);
    int n_calls, fail_at;
};

static int times(double *with_s, double *without_s, long n, void *context, struct strait_error *err)
{
    struct world *w = context;
    w->n_calls++;
    if (n == w->fail_at)
        return strait_error_set(err, STRAIT_ERR_BACKEND, "fluid", "broke at %ld", n);
    *with_s = w->with_s(n);
    *without_s = w->without_s(n);
    return 0;
}

/* A server port of 10 s per 100 clients: n / 10 s without compression. */
static double plain(long n)
{
    return (double)n / 10;
}

/* Ratio 10, 2.05 s of coding: 2.05 + n / 100 < n / 10 from n > 22.78 on: 23. */
static double coded(long n)
{
    return 2.05 + (double)n / 100;
}

/* Serial decoding of 0.5 s a client beyond the 6th, and nothing else: 0.05 n up to 6, then
 * 0.3 + 0.5 (n - 6) < 0.1 n, so n < 6.75: pays at 1-6. Above 40 the server is given more cores
 * and the round is 0.05 n again: pays from 41 on. */
static double serial(long n)
{
    return n <= 6 || n > 40 ? 0.05 * (double)n : 0.3 + 0.5 * (double)(n - 6);
}

static double slow(long n)
{
    return plain(n) + 1;
}

static double fast(long n)
{
    return plain(n) / 2;
}

static double broken(long n)
{
    return n == 3 ? NAN : 1;
}

static const long swept[] = {64, 1, 2, 4, 8, 16, 32, 2};
enum { N_SWEPT = sizeof(swept) / sizeof(*swept) };

static struct strait_breakeven find(double (*with_s)(long), const long *counts, size_t n)
{
    struct world w = {with_s, plain, 0, -1};
    struct strait_breakeven b = {0};
    CU_ASSERT_EQUAL(strait_breakeven_find(&b, counts, n, times, &w, NULL), 0);
    return b;
}

static void test_one(void)
{
    char text[128];
    struct strait_breakeven b = find(coded, swept, N_SWEPT);
    CU_ASSERT_TRUE(b.every_count);
    CU_ASSERT_EQUAL_FATAL(b.n, 1);
    CU_ASSERT_EQUAL(b.pays[0].first, 23);
    CU_ASSERT_EQUAL(b.pays[0].last, 64);
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "from 23 clients on (1-64 looked at)");
    strait_breakeven_release(&b);
}

static void test_two(void)
{
    char text[128];
    struct strait_breakeven b = find(serial, swept, N_SWEPT);
    CU_ASSERT_EQUAL_FATAL(b.n, 2);
    CU_ASSERT_EQUAL(b.pays[0].first, 1);
    CU_ASSERT_EQUAL(b.pays[0].last, 6);
    CU_ASSERT_EQUAL(b.pays[1].first, 41);
    CU_ASSERT_EQUAL(b.pays[1].last, 64);
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "at 1-6 and from 41 clients on (1-64 looked at)");
    strait_breakeven_release(&b);
}

static void test_none(void)
{
    char text[128];
    struct strait_breakeven b = find(slow, swept, N_SWEPT);
    CU_ASSERT_EQUAL(b.n, 0);
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "never (1-64 clients)");
    strait_breakeven_release(&b);
    b = find(fast, swept, N_SWEPT);
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "always (1-64 clients)");
    strait_breakeven_release(&b);
    b = find(plain, swept, N_SWEPT); /* the same time is no gain */
    CU_ASSERT_EQUAL(b.n, 0);
    strait_breakeven_release(&b);
}

/* 1..1024 is more than 256 counts: the swept ones, then halving between 16 and 32. */
static void test_bisection(void)
{
    static const long wide[] = {1, 16, 32, 1024};
    char text[128];
    struct world w = {coded, plain, 0, -1};
    struct strait_breakeven b;
    CU_ASSERT_FATAL(strait_breakeven_find(&b, wide, 4, times, &w, NULL) == 0);
    CU_ASSERT_FALSE(b.every_count);
    CU_ASSERT_EQUAL_FATAL(b.n, 1);
    CU_ASSERT_EQUAL(b.pays[0].first, 23);
    CU_ASSERT_EQUAL(b.pays[0].last, 1024);
    CU_ASSERT(w.n_calls <= 4 + 4); /* 16 counts are halved 4 times */
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "from 23 clients on (1-1024 looked at, by bisection)");
    strait_breakeven_release(&b);
    /* serial() ends to pay behind 6 and begins again at 41 */
    static const long both[] = {1, 8, 64, 1024};
    w = (struct world){serial, plain, 0, -1};
    CU_ASSERT_FATAL(strait_breakeven_find(&b, both, 4, times, &w, NULL) == 0);
    CU_ASSERT_EQUAL_FATAL(b.n, 2);
    CU_ASSERT_EQUAL(b.pays[0].last, 6);
    CU_ASSERT_EQUAL(b.pays[1].first, 41);
    strait_breakeven_release(&b);
}

static void test_one_count(void)
{
    static const long one[] = {8};
    char text[128];
    struct strait_breakeven b = find(fast, one, 1);
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b, NULL),
                           "always (8 clients)");
    strait_breakeven_release(&b);
}

static void test_errors(void)
{
    static const long zero[] = {0, 4};
    struct strait_breakeven b;
    struct strait_error err = {0};
    struct world w = {broken, plain, 0, -1};
    CU_ASSERT(strait_breakeven_find(&b, swept, 0, times, &w, &err) == -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    err = (struct strait_error){0};
    CU_ASSERT(strait_breakeven_find(&b, zero, 2, times, &w, &err) == -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    err = (struct strait_error){0};
    CU_ASSERT(strait_breakeven_find(&b, swept, N_SWEPT, times, &w, &err) == -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a round time at 3 clients, found none");
    err = (struct strait_error){0};
    w = (struct world){coded, plain, 0, 5};
    CU_ASSERT(strait_breakeven_find(&b, swept, N_SWEPT, times, &w, &err) == -1);
    CU_ASSERT_STRING_EQUAL(err.text, "broke at 5");
}

/* Found at 11 to 64 of 1 to 64; at best from 9 on, at worst from 14 on. And the ends of gains that
 * disappear, or that are not sure anywhere. */
static void test_bounds(void)
{
    struct strait_interval from[] = {{11, 64}}, best[] = {{9, 64}}, worst[] = {{14, 64}},
                           some[] = {{3, 7}}, most[] = {{2, 9}}, least[] = {{4, 5}},
                           all[] = {{1, 64}};
    const struct {
        struct strait_interval *found, *perhaps, *surely;
        const char *text;
    } cases[] = {
        {from, best, worst, "from 11 (9 to 14) clients on (1-64 looked at)"},
        {from, from, from, "from 11 clients on (1-64 looked at)"},
        {from, best, NULL, "from 11 (9 at the earliest) clients on (1-64 looked at)"},
        {some, most, least, "at 3 (2 to 4)-7 (5 to 9) (1-64 looked at)"},
        {NULL, best, NULL, "never (1-64 clients), perhaps from 9 on"},
        {NULL, NULL, NULL, "never (1-64 clients)"},
        {NULL, all, NULL, "never (1-64 clients), perhaps always"},
        {all, all, worst, "always (1-64 clients), surely from 14 on"},
        {all, all, all, "always (1-64 clients)"},
        {all, all, NULL, "always (1-64 clients), surely nowhere"},
    };
    char text[128];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_breakeven b[3];
        struct strait_interval *const pays[] = {cases[i].found, cases[i].perhaps, cases[i].surely};
        for (int k = 0; k < 3; k++)
            b[k] = (struct strait_breakeven){pays[k], pays[k] != NULL, 1, 64, true};
        const struct strait_breakeven_bounds in = {&b[1], &b[2]};
        CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &b[0], &in),
                               cases[i].text);
    }
}

/* Three intervals, found or perhaps: a single count, some, and up to the last. */
static void test_several(void)
{
    struct strait_interval three[] = {{3, 3}, {5, 7}, {60, 64}}, two[] = {{2, 2}, {9, 9}};
    const struct strait_breakeven found = {three, 3, 1, 64, true}, pair = {two, 2, 1, 64, false},
                                  none = {NULL, 0, 1, 64, true};
    struct strait_breakeven_bounds in = {&found, &none};
    char text[128];
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &found, NULL),
                           "at 3, at 5-7 and from 60 clients on (1-64 looked at)");
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &pair, NULL),
                           "at 2 and at 9 (1-64 looked at, by bisection)");
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &none, &in),
                           "never (1-64 clients), perhaps at 3, at 5-7 and from 60 on");
    in.perhaps = &pair;
    CU_ASSERT_STRING_EQUAL(strait_breakeven_text(text, sizeof(text), &none, &in),
                           "never (1-64 clients), perhaps at 2 and at 9");
}

/* As many counts as are all looked at, and one more. */
static void test_most_counts(void)
{
    for (long extra = 0; extra < 2; extra++) {
        const long ends[] = {5, 5 + STRAIT_BREAKEVEN_MAX_COUNTS - 1 + extra};
        struct world w = {slow, plain, 0, -1};
        struct strait_breakeven b;
        CU_ASSERT_EQUAL_FATAL(strait_breakeven_find(&b, ends, 2, times, &w, NULL), 0);
        CU_ASSERT_EQUAL(b.every_count, extra == 0);
        CU_ASSERT_EQUAL(w.n_calls, extra ? 2 : STRAIT_BREAKEVEN_MAX_COUNTS);
        CU_ASSERT_EQUAL(b.first, ends[0]);
        CU_ASSERT_EQUAL(b.last, ends[1]);
        strait_breakeven_release(&b);
    }
}

/* A billionth is rounding, two are a gain; a failure within a bisection is passed on. */
static void test_edges(void)
{
    static const long far[] = {1, 1024};
    struct strait_error err = {0};
    struct strait_breakeven b;
    struct world w = {coded, plain, 0, 512}; /* half-way, the first that is halved */
    CU_ASSERT_FALSE(strait_breakeven_pays(1 - 0.5e-9, 1));
    CU_ASSERT_TRUE(strait_breakeven_pays(1 - 2e-9, 1));
    CU_ASSERT_FALSE(strait_breakeven_pays(0, 0));
    CU_ASSERT_EQUAL(strait_breakeven_find(&b, far, 2, times, &w, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "broke at 512");
    CU_ASSERT_EQUAL(w.n_calls, 3);
    CU_ASSERT_PTR_NULL(b.pays);
    CU_ASSERT_EQUAL(b.n, 0);
}

static const struct strait_test tests[] = {
    {"several gains are listed, and a single count as one", test_several},
    {"256 counts are all looked at, and one more is not", test_most_counts},
    {"what is rounding is no gain, and failures between counts are passed on", test_edges},
    {"an edge stands with the counts between which it lies", test_bounds},
    {"one crossing is found to the client", test_one},
    {"a gain that vanishes and comes back is two intervals", test_two},
    {"never and always are said as such, and equal times are no gain", test_none},
    {"above 256 counts the crossing is bisected, and the text says so", test_bisection},
    {"a single count is answered too", test_one_count},
    {"impossible counts, missing times and failures are errors", test_errors},
};
STRAIT_SUITE("analysis/breakeven", tests);
