/* Break-even in bandwidth and codec speed, against the formula of one client. */
#include "campaign/planner/breakeven_over.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "analysis/fields.h"
#include "core/units.h"
#include "tests/kit/suite.h"

/* One client sends an update of B bytes to a fast server through a port of goodput G, once in B /
 * G, or B / E + B / (r G) + B / D: it pays below G = (1 - 1/r) / (1/E + 1/D). The shipped profile
 * sz3-class states for updates at 1e-3 r 5.33, E 180 MB/s, D 380 MB/s; biases and norms, 1 value in
 * 1000, go another way; values are tried in steps of 2 %. */
static const double RATIO = 5.33, ENCODE = 180e6, DECODE = 380e6, STEP = 0.021;

static json_t *search(const char *pointer, const char *network, double span)
{
    char text[1000];
    struct strait_profile *profile;
    struct strait_error err = {0};
    json_t *record = NULL;
    const char *clients = strstr(network, "\"count\"") ? "" : "\"clients\": 1, ";
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"gpt2-small\", \"codec\": "
             "{\"name\": \"sz\", \"bound\": {\"range\": 1e-3}, \"profile\": \"sz3-class\"}, "
             "%s\"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, "
             "\"local_steps\": 1}, \"network\": %s}",
             clients, network);
    json_t *point = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    const struct strait_plan_setup setup = {
        .file = "test.json", .profile = profile, .control = "no-ramp"};
    CU_ASSERT_EQUAL(strait_breakeven_over(&record, &setup, point, pointer, span, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(record);
    json_decref(point);
    strait_profile_free(profile);
    return record;
}

#define CLIENT(rate, rtt)                                                                          \
    "{\"overhead\": \"0 B\", \"client\": {\"rate\": \"" rate "\", \"rtt\": \"" rtt                 \
    "\"}, \"server\": {\"rate\": \"1000 Gbps\"}}"

static const json_t *edge(const json_t *record, size_t interval, size_t end)
{
    return json_array_get(json_array_get(json_object_get(record, "pays"), interval), end);
}

static void bandwidth(void)
{
    json_t *record = search("/network/client/rate", CLIENT("1 Gbps", "20 ms"), 16);
    const double goodput = (1 - 1 / RATIO) / (1 / ENCODE + 1 / DECODE),
                 rate = goodput * 8 * 1514 / 1448;
    double from, to;
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(record, "pays")), 1);
    CU_ASSERT_EQUAL(strait_quantity_parse(&from, STRAIT_UNIT_LINK_RATE,
                                          json_string_value(edge(record, 0, 0)), NULL, NULL),
                    0);
    CU_ASSERT_EQUAL(strait_quantity_parse(&to, STRAIT_UNIT_LINK_RATE,
                                          json_string_value(edge(record, 0, 1)), NULL, NULL),
                    0);
    CU_ASSERT_DOUBLE_EQUAL(from, 1e9 / 16, 1);
    CU_ASSERT_DOUBLE_EQUAL(to, rate, STEP * rate);
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "up to ");
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "62.5 Mbps to ");
    json_decref(record);
}

/* What an experiment refuses is not looked at: a frame's overhead above 1 KB, but the values up to
 * that are, in steps of 2 %. */
static void allowed(void)
{
    json_t *record = search("/network/overhead",
                            "{\"overhead\": \"200 B\", \"client\": {\"rate\": \"1 Gbps\", \"rtt\": "
                            "\"20 ms\"}, \"server\": {\"rate\": \"1000 Gbps\"}}",
                            16);
    double first = 0, last = 0;
    CU_ASSERT_EQUAL(strait_quantity_parse(&first, STRAIT_UNIT_BYTES,
                                          strait_text_of(record, "first"), NULL, NULL),
                    0);
    CU_ASSERT_EQUAL(
        strait_quantity_parse(&last, STRAIT_UNIT_BYTES, strait_text_of(record, "last"), NULL, NULL),
        0);
    CU_ASSERT_EQUAL(first, 12); /* 12.5, to the even one */
    CU_ASSERT(last <= 1000 && last * 1.021 > 1000);
    json_decref(record);
}

/* Ports of an array are scaled together: of 1 Gbps the same edge, as a factor; likewise where a
 * port states each way by itself. */
static void ports(void)
{
    static const char *const networks[] = {
        "{\"overhead\": \"0 B\", \"client\": [{\"rate\": \"1 Gbps\", \"rtt\": \"20 ms\"}], "
        "\"server\": {\"rate\": \"1000 Gbps\"}}",
        "{\"overhead\": \"0 B\", \"client\": {\"out\": {\"rate\": \"1 Gbps\"}, \"in\": {\"rate\": "
        "\"1 Gbps\"}, \"rtt\": \"20 ms\"}, \"server\": {\"rate\": \"1000 Gbps\"}}"};
    const double rate = (1 - 1 / RATIO) / (1 / ENCODE + 1 / DECODE) * 8 * 1514 / 1448;
    for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
        json_t *record = search("/network/client/rate", networks[i], 16);
        strait_test_context("%s", networks[i]);
        CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(record, "pays")), 1);
        CU_ASSERT_DOUBLE_EQUAL(json_number_value(edge(record, 0, 1)), rate / 1e9,
                               STEP * rate / 1e9);
        CU_ASSERT_CONTAINS(strait_text_of(record, "text"), " times");
        json_decref(record);
    }
}

/* At 1 Gbps it pays from a codec that is (1/E + 1/D) G / (1 - 1/r) times as fast on. */
static void codec_speed(void)
{
    json_t *record = search("/codec/speed", CLIENT("1 Gbps", "20 ms"), 16);
    const double goodput = 1e9 / 8 * 1448 / 1514,
                 speed = (1 / ENCODE + 1 / DECODE) * goodput / (1 - 1 / RATIO);
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(record, "pays")), 1);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(edge(record, 0, 0)), speed, STEP * speed);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(record, "own")), 1);
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "from 1.2");
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), " on; ");
    json_decref(record);
}

/* Delays are the same with and without a codec: of a link at 100 Mbps it always pays, at 10 Gbps
 * never, whatever the round trip is. What is 0 or missing cannot be varied. */
static void others(void)
{
    json_t *record = search("/network/client/rtt", CLIENT("100 Mbps", "20 ms"), 4);
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "always; 5 ms to ");
    json_decref(record);
    record = search("/network/client/rtt", CLIENT("10 Gbps", "20 ms"), 4);
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "never; 5 ms to ");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(record, "pays")), 0);
    json_decref(record);
    record = search("/network/client/rtt", CLIENT("10 Gbps", "0 ms"), 4);
    CU_ASSERT_STRING_EQUAL(strait_text_of(record, "why"), "it is 0");
    json_decref(record);
    record = search("/network/site/rate", CLIENT("10 Gbps", "0 ms"), 4);
    CU_ASSERT_STRING_EQUAL(strait_text_of(record, "why"), "the experiment has no such number");
    json_decref(record);
    record = search("/clients", CLIENT("100 Mbps", "20 ms"), 4); /* whole numbers, each tried */
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(record, "first")), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(record, "last")), 4);
    CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "always; 1 to 4 looked at");
    json_decref(record);
}

/* Clients of a list are as many times as many of each kind, at least one: 6 and 2, a quarter to
 * four times, are 2 + 1 to 24 + 8. Four tiers need four clients: of eight a quarter is too few. */
static void clients_of_a_list(void)
{
    json_t *record =
        search("/clients",
               "{\"client\": [{\"rate\": \"100 Mbps\", \"count\": 6}, {\"rate\": \"50 Mbps\", "
               "\"count\": 2}], \"server\": {\"rate\": \"100 Mbps\"}}",
               4);
    CU_ASSERT_STRING_EQUAL(strait_text_of(record, "text"), "always; 3 to 32 looked at");
    json_decref(record);
    record =
        search("/clients",
               "{\"client\": [{\"rate\": \"1 Gbps\", \"count\": 8}], \"server\": {\"rate\": "
               "\"2 Gbps\"}}, \"seed\": 3, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 4, "
               "\"tiers\": 4, \"clients_per_round\": 2}",
               4);
    CU_ASSERT_STRING_EQUAL(strait_text_of(record, "why"),
                           "fewer or more clients are not possible with these settings");
    json_decref(record);
}

/* Values are in the unit of the file: from half of what is there on. */
static void units(void)
{
    static const struct {
        const char *pointer, *network, *first;
    } cases[] = {
        {"/network/overhead",
         "{\"overhead\": \"400 B\", \"client\": {\"rate\": \"100 Mbps\"}, \"server\": "
         "{\"rate\": \"10 Gbps\"}}",
         "200 B"},
        {"/device/add", CLIENT("100 Mbps", "1 ms") ", \"device\": {\"add\": \"1 GB/s\"}",
         "500000000 B/s"},
        {"/strategy/share_spread",
         CLIENT("100 Mbps", "1 ms") ", \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, "
                                    "\"local_steps\": 1, \"share_spread\": \"3 %\"}",
         "1.5 %"},
        {"/network/client/rtt", CLIENT("100 Mbps", "3 ms"), "0.0015 s"},
        {"/network/server/rate", CLIENT("100 Mbps", "3 ms"), "5e+11 bps"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strait_test_context("%s", cases[i].pointer);
        json_t *record = search(cases[i].pointer, cases[i].network, 2);
        const char *first = json_string_value(edge(record, 0, 0));
        CU_ASSERT_STRING_EQUAL(first ? first : "nothing", cases[i].first);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(record, "pays")), 1);
        CU_ASSERT_CONTAINS(strait_text_of(record, "text"), "always; ");
        json_decref(record);
    }
}

static const struct strait_test tests[] = {
    {"values that an experiment refuses are not looked at", allowed},
    {"values have the unit of the file", units},
    {"a codec pays up to a bandwidth", bandwidth},
    {"ports of an array are scaled together", ports},
    {"clients of a list are scaled together", clients_of_a_list},
    {"a codec pays from a speed on", codec_speed},
    {"what makes no difference is always or never", others},
};
STRAIT_SUITE("campaign/planner/breakeven_over", tests);
