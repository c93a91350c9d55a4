/* Axes of figures: names, units, scales, categories. */
#include "analysis/plot/axis.h"

#include <math.h>
#include "tests/kit/suite.h"

static json_t *values_of(const char *text)
{
    json_t *values = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    return values;
}

static void is(const json_t *axis, const char *label, double scale, bool log)
{
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(axis, "label")), label);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(axis, "scale")), scale, 1e-9 * scale);
    CU_ASSERT_EQUAL(json_is_true(json_object_get(axis, "log")), log);
    CU_ASSERT(json_is_null(json_object_get(axis, "names")));
}

/* The unit is what the least value reaches; logarithmic from a factor of 16 on, where asked or
 * where nothing is said, and only of what is above 0. */
static void numbers(void)
{
    static const struct {
        const char *pointer, *values;
        int logs;
        const char *label;
        double scale;
        bool log;
    } cases[] = {{"/round_s", "[1, 15.9]", -1, "time of a round (s)", 1, false},
                 {"/rounds_s", "[1, 16]", -1, "time of a round (s)", 1, true},
                 {"/ratio", "[0, 16]", -1, "compression ratio", 1, false},
                 {"/ratio", "[1, 2]", 1, "compression ratio", 1, true},
                 {"/ratio", "[0, 2]", 1, "compression ratio", 1, false},
                 {"/ratio", "[-1, 2]", 1, "compression ratio", 1, false},
                 {"/ratio", "[1, 100]", 0, "compression ratio", 1, false},
                 {"/network/client/rate", "[\"100 Mbps\", \"1599 Mbps\"]", -1, "client rate (Mbps)",
                  1e6, false},
                 {"/network/client/rate", "[\"1.6 Gbps\", \"100 Mbps\"]", -1, "client rate (Mbps)",
                  1e6, true},
                 {"/network/client/rtt", "[\"20 ms\", \"2 s\"]", 0, "client rtt (ms)", 1e-3, false},
                 {"/strategy/fusion", "[\"1 MB\", \"64 MB\"]", 0, "fusion (MB)", 1e6, false},
                 {"/strategy/fusion", "[\"1 MiB\", \"64 KiB\"]", 0, "fusion (KiB)", 1024, false},
                 {"/strategy/fusion", "[\"1 GiB\", \"64 MiB\"]", 0, "fusion (MiB)", 1048576, false},
                 {"/strategy/fusion", "[\"1 GiB\", \"64 MB\"]", 0, "fusion (MB)", 1e6, false},
                 {"/bytes/payload", "[2e6, 3e9]", 0, "payload (MB)", 1e6, false},
                 {"/peak_bytes", "[2000]", 0, "peak bytes (KB)", 1e3, false},
                 {"/path_s/transfer", "[1]", 0, "critical path: transfer (s)", 1, false},
                 {"/busy_s/client/encode", "[1]", 0, "encode (s)", 1, false},
                 {"/own_s", "[1]", 0, "own (s)", 1, false},
                 {"/s", "[1]", 0, "s", 1, false},
                 {"/clients", "[1, 2]", 0, "clients", 1, false},
                 {"/training/spread/loss/sd", "[1]", 0, "training spread loss sd", 1, false},
                 {"/utilisation/server_in/mean", "[1]", 0, "utilisation server in mean", 1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *values = values_of(cases[i].values),
               *axis = strait_plot_axis(cases[i].pointer, values, cases[i].logs);
        strait_test_context("%s of %s", cases[i].values, cases[i].pointer);
        is(axis, cases[i].label, cases[i].scale, cases[i].log);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(axis, "pointer")),
                               cases[i].pointer);
        json_decref(axis);
        json_decref(values);
    }
}

static double at(const json_t *axis, const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    const double found = strait_plot_axis_at(axis, value);
    json_decref(value);
    return found;
}

static void positions(void)
{
    json_t *values = values_of("[\"100 Mbps\", \"1 Gbps\"]"),
           *axis = strait_plot_axis("/rate", values, 0);
    CU_ASSERT_DOUBLE_EQUAL(at(axis, "\"1 Gbps\""), 1000, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(at(axis, "5e6"), 5, 1e-9);
    CU_ASSERT(isnan(at(axis, "\"1 s\"")) && isnan(at(axis, "null")));
    json_decref(axis);
    json_decref(values);
    values = values_of("[1, 2]");
    axis = strait_plot_axis("/clients", values, 0);
    CU_ASSERT_EQUAL(at(axis, "3"), 3);
    CU_ASSERT(isnan(at(axis, "\"3\"")));
    json_decref(axis);
    json_decref(values);
}

/* Numbers, and texts with a unit, in their order; other texts in that in which they come. */
static void categories(void)
{
    static const struct {
        const char *values, *names;
        bool asked; /* else nothing but categories is possible */
    } cases[] = {{"[4, 2, 4, 1]", "[\"1\",\"2\",\"4\"]", true},
                 {"[\"1 Gbps\", \"100 Mbps\", \"1 Gbps\"]", "[\"100 Mbps\",\"1 Gbps\"]", true},
                 {"[\"b\", \"a\", \"b\"]", "[\"b\",\"a\"]", false},
                 {"[\"1 Gbps\", \"a\", 7]", "[\"1 Gbps\",\"a\",\"7\"]", false},
                 {"[2, \"1 Gbps\"]", "[\"2\",\"1 Gbps\"]", false},
                 {"[]", "[]", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *values = values_of(cases[i].values), *names = values_of(cases[i].names),
               *axis = cases[i].asked ? strait_plot_categories("/a/rate", values)
                                      : strait_plot_axis("/a/rate", values, 1);
        strait_test_context("%s", cases[i].values);
        CU_ASSERT(json_equal(json_object_get(axis, "names"), names));
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(axis, "label")), "a rate");
        CU_ASSERT_FALSE(json_is_true(json_object_get(axis, "log")));
        for (size_t k = 0; k < json_array_size(values); k++) {
            const json_t *value = json_array_get(values, k);
            const double place = strait_plot_axis_at(axis, value);
            CU_ASSERT(place >= 0 && place < (double)json_array_size(names));
        }
        CU_ASSERT(isnan(at(axis, "\"other\"")));
        json_decref(axis);
        json_decref(names);
        json_decref(values);
    }
    json_t *values = values_of("[4, 2, 1]"), *axis = strait_plot_categories("/clients", values);
    CU_ASSERT_EQUAL(at(axis, "1"), 0);
    CU_ASSERT_EQUAL(at(axis, "4"), 2);
    json_decref(axis);
    json_decref(values);
}

static const struct strait_test tests[] = {
    {"a number has its name, its unit and its scale", numbers},
    {"values stand where their unit puts them", positions},
    {"what is no number is a category", categories},
};
STRAIT_SUITE("analysis/plot/axis", tests);
