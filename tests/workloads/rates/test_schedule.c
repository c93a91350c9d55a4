/* Rates over time: what is read of them, and how many bits a link carries by when. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/rates/schedule.h"
#include "tests/kit/suite.h"

static struct strait_schedule *read_rate(const char *rate, struct strait_error *err)
{
    char text[1024];
    struct strait_object o;
    struct strait_schedule *s;
    snprintf(text, sizeof(text), "{\"rate\": %s}", rate);
    json_t *json = json_loads(text, 0, NULL);
    strait_test_context("%s", rate);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "/client", json, err), 0);
    const int failed = strait_schedule_read(&s, &o, err);
    CU_ASSERT_EQUAL(failed == 0, s != NULL);
    json_decref(json);
    return s;
}

#define STEPS                                                                                      \
    "[{\"at\": \"0 s\", \"rate\": \"8 Mbps\"}, {\"at\": \"1 s\", \"rate\": \"2 Mbps\"},"           \
    " {\"at\": \"4 s\", \"rate\": \"16 Mbps\"}]"

/* 8, 3 x 2 = 6 and then 16 Mbit a second; repeated after 5 s a period has 30 Mbit. */
static void steps(void)
{
    for (int repeats = 0; repeats < 2; repeats++) {
        struct strait_error err = {0};
        struct strait_schedule *s =
            read_rate(repeats ? "{\"steps\": " STEPS ", \"repeat\": \"5 s\"}" : STEPS, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        CU_ASSERT_EQUAL(s->max_bits_per_s, 16e6);
        CU_ASSERT_EQUAL(strait_schedule_bits_per_s(s, 0), 8e6);
        CU_ASSERT_EQUAL(strait_schedule_bits_per_s(s, 0.999), 8e6);
        CU_ASSERT_EQUAL(strait_schedule_bits_per_s(s, 1), 2e6);
        CU_ASSERT_EQUAL(strait_schedule_bits_per_s(s, 4.5), 16e6);
        CU_ASSERT_EQUAL(strait_schedule_bits_per_s(s, 11.5), repeats ? 2e6 : 16e6);
        CU_ASSERT_EQUAL(strait_schedule_next_s(s, 0), 1);
        CU_ASSERT_EQUAL(strait_schedule_next_s(s, 1), 4);
        CU_ASSERT_EQUAL(strait_schedule_next_s(s, 4), repeats ? 5 : INFINITY);
        CU_ASSERT_EQUAL(strait_schedule_next_s(s, 5), repeats ? 6 : INFINITY);
        CU_ASSERT_EQUAL(strait_schedule_next_s(s, 13), repeats ? 14 : INFINITY);
        CU_ASSERT_DOUBLE_EQUAL(strait_schedule_bits(s, 0.5, 4.5), 4e6 + 6e6 + 8e6, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(strait_schedule_bits(s, 4.5, 6.5), repeats ? 8e6 + 8e6 + 1e6 : 32e6,
                               1e-6);
        CU_ASSERT_DOUBLE_EQUAL(strait_schedule_end_s(s, 0.5, 10e6), 4, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(strait_schedule_end_s(s, 0.5, 18e6), 4.5, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(strait_schedule_end_s(s, 2, 4e6 + 16e6 + 300e6),
                               repeats ? 55 : 4 + 316.0 / 16, 1e-9);
        strait_schedule_free(s);
    }
}

/* Every next change is later than the time that was asked about, whatever the rounding. */
static void progress(void)
{
    static const double at_s[] = {0, 0.1, 0.3}, rates[] = {1e6, 2e6, 3e6};
    struct strait_schedule *s = strait_schedule_new(3, at_s, rates, 0.7);
    double t_s = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int i = 1; i <= 30000; i++) {
        const double next_s = strait_schedule_next_s(s, t_s);
        CU_ASSERT_FATAL(next_s > t_s);
        t_s = next_s;
    }
    /* three changes a period; one may be met twice, a rounding apart */
    CU_ASSERT_DOUBLE_EQUAL(t_s, 10000 * 0.7, 1e-6);
    strait_schedule_free(s);
}

static struct strait_schedule *of_trace(const char *trace, const char *window,
                                        struct strait_error *err)
{
    char path[] = "/tmp/strait-mahimahi-XXXXXX", rate[128];
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, trace, strlen(trace)), (ssize_t)strlen(trace));
    close(fd);
    snprintf(rate, sizeof(rate), "{\"mahimahi\": \"%s\"%s}", path, window);
    struct strait_schedule *s = read_rate(rate, err);
    unlink(path);
    return s;
}

/* Packets of 12,000 bits: three by 100 ms (the one at 100 ms too), none by 200 and 300 ms, two by
 * 400 ms, one at 450 ms, where the trace begins again. */
static void mahimahi(void)
{
    struct strait_error err = {0};
    struct strait_schedule *s = of_trace("0\n50\n100\n310\n310\n450\n", "", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL_FATAL(s->n, 3);
    CU_ASSERT_EQUAL(s->period_s, 0.45);
    CU_ASSERT_DOUBLE_EQUAL(s->bits_per_s[0], 36000 / 0.1, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(s->at_s[1], 0.1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s->bits_per_s[1], 24000 / 0.3, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(s->at_s[2], 0.4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(s->bits_per_s[2], 12000 / 0.05, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(strait_schedule_bits(s, 0, 4.5), 10 * 6 * 12000, 1e-3);
    strait_schedule_free(s);
    s = of_trace("0\n50\n100\n310\n310\n450\n", ", \"window\": \"10 s\"", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->n, 1);
    CU_ASSERT_DOUBLE_EQUAL(s->bits_per_s[0], 6 * 12000 / 0.45, 1e-6);
    strait_schedule_free(s);
    s = of_trace("1\n", ", \"window\": \"1 ms\"", &err); /* Mahimahi's 12 Mbps */
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_DOUBLE_EQUAL(s->bits_per_s[0], 12e6, 1e-6);
    strait_schedule_free(s);
}

static void bad_traces(void)
{
    static const struct {
        const char *trace, *line, *found;
    } cases[] = {
        {"5\n4\n", ":2", "found \"4\""},
        {"5\nx\n", ":2", "found \"x\""},
        {"5 6\n", ":1", "found \"5 6\""},
        {"-5\n", ":1", "found \"-5\""},
        {"1.5\n", ":1", "found \"1.5\""},
        {"1\n\n2\n", ":2", "found \"\""},
        {"", "mahimahi", "found none"},
        {"0\n0\n", "mahimahi", "found none"},
        {"99999999999999999999\n", ":1", "found \"9999"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(of_trace(cases[i].trace, "", &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_CONTAINS(err.where, cases[i].line);
        CU_ASSERT_CONTAINS(err.text, cases[i].found);
    }
}

static void refused(void)
{
    static const struct {
        const char *rate, *where, *why;
    } cases[] = {
        {"[]", "x.json#/client/rate", "an array of 1 to"},
        {"[{\"at\": \"1 s\", \"rate\": \"1 Gbps\"}]", "x.json#/client/rate/0/at",
         "expected 0 s in the first step, found 1 s"},
        {"[{\"at\": \"0 s\", \"rate\": \"0 bps\"}]", "x.json#/client/rate/0/rate", "above 0"},
        {"[{\"at\": 0, \"rate\": \"1 bps\"}]", "x.json#/client/rate/0/at", "a time such as"},
        {"[{\"at\": \"0 s\", \"rate\": \"1 bps\"}, {\"at\": \"0 s\", \"rate\": \"1 bps\"}]",
         "x.json#/client/rate/1/at", "a time after 0 s"},
        {"[{\"at\": \"0 s\", \"rate\": \"1 bps\", \"rtt\": \"1 s\"}]", "x.json#/client/rate/0",
         "unknown key \"rtt\""},
        {"{\"steps\": " STEPS ", \"repeat\": \"4 s\"}", "x.json#/client/rate/repeat",
         "a time after 4 s"},
        {"{\"repeat\": \"4 s\"}", "x.json#/client/rate/steps", "an array of 1 to"},
        {"{\"mahimahi\": \"/none\"}", "x.json#/client/rate/mahimahi", "/none: No such file"},
        {"{\"mahimahi\": \"/dev/null\", \"window\": \"0 s\"}", "x.json#/client/rate/window",
         "expected a time"},
        {"{\"mahimahi\": \"/dev/null\", \"steps\": []}", "/dev/null", "found none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(read_rate(cases[i].rate, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_CONTAINS(err.text, cases[i].why);
    }
}

static const struct strait_test tests[] = {
    {"steps give rates, changes and bits, repeated or not", steps},
    {"time goes on from change to change", progress},
    {"deliveries of a Mahimahi trace are averaged over windows", mahimahi},
    {"bad traces are refused by their line", bad_traces},
    {"bad schedules are refused by their place", refused},
};
STRAIT_SUITE("workloads/rates/schedule", tests);
