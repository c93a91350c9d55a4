/* Networks of regions: what the shipped matrix says, where the server stands, what is refused. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "workloads/ask/named.h"
#include "workloads/ask/network.h"
#include "tests/kit/suite.h"

/* Ohio, Frankfurt and Tokyo with 2, 1 and 1 ranks; expanded twice, as a point of a sweep is. */
static json_t *expanded(const char *regions, const char *server, struct strait_error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"network\": {\"topology\": \"regions\", \"regions\": %s, \"client\": {\"rate\": "
             "\"10 Gbps\"}, \"server\": {\"rate\": \"5 Gbps\"%s}}}",
             regions, server);
    json_t *json = json_loads(text, 0, NULL);
    strait_test_context("%s", text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    if (strait_named_expand(json, "x.json", err) == 0) {
        json_t *once = json_deep_copy(json);
        CU_ASSERT_EQUAL(strait_named_expand(json, "x.json", err), 0);
        CU_ASSERT(json_equal(json, once));
        json_decref(once);
        return json;
    }
    json_decref(json);
    return NULL;
}

#define THREE                                                                                      \
    "[{\"name\": \"Ohio\", \"ranks\": 2}, {\"name\": \"Frankfurt\", \"ranks\": 1},"                \
    " {\"name\": \"Tokyo\", \"ranks\": 1, \"rate\": \"0.3 Gbps\"}]"

/* arXiv 2206.01288: Ohio to Frankfurt 99 ms and 0.799 Gbps, to Tokyo 130 ms and 0.694, Frankfurt to
 * Tokyo 223 ms and 0.36. What Ohio's ranks share is the sum of its links unless it is said. */
static void published(void)
{
    struct strait_error err = {0};
    struct strait_object o;
    struct strait_network *n = NULL;
    json_t *json = expanded(THREE, ", \"region\": \"Frankfurt\"", &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "", json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_network_read(&n, &o, 5, true, &err), 0);
    static const int site[] = {1, 0, 0, 1, 2}; /* rank 0 is the server, in Frankfurt */
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(strait_network_site(n, i), site[i]);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_rtt_s(n, 0, 1), 0.099, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_rtt_s(n, 1, 4), 0.130, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_rtt_s(n, 4, 0), 0.223, 1e-12);
    CU_ASSERT_EQUAL(strait_path_rtt_s(n, 3, 0), 0); /* in one region */
    CU_ASSERT_DOUBLE_EQUAL(strait_path_bits_per_s(n, 1, 0), 0.799e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_bits_per_s(n, 1, 4), 0.3e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_bits_per_s(n, 3, 0), 5e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(n->site_out[0].rate_bits_per_s, 1.493e9, 1);
    strait_network_free(n);
    json_decref(json);
}

/* Ten regions, each pair once; the distances of a globe need at least their light's time in fibre:
 * no round trip is below 10 ms or above 300. */
static void whole(void)
{
    struct strait_error err = {0};
    struct strait_object o;
    char path[4096];
    size_t i, k;
    json_t *pair, *other, *json = strait_named_load(&o, path, "region", "aws", "x.json", "m", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    const json_t *pairs = json_object_get(json, "pairs");
    CU_ASSERT_EQUAL(json_array_size(pairs), 10 * 9 / 2);
    json_array_foreach (pairs, i, pair) {
        double rtt_s, bits_per_s;
        const char *from = json_string_value(json_object_get(pair, "from")),
                   *to = json_string_value(json_object_get(pair, "to"));
        CU_ASSERT_EQUAL(strait_quantity_parse(&rtt_s, STRAIT_UNIT_TIME,
                                              json_string_value(json_object_get(pair, "rtt")), "",
                                              &err),
                        0);
        CU_ASSERT_EQUAL(strait_quantity_parse(&bits_per_s, STRAIT_UNIT_LINK_RATE,
                                              json_string_value(json_object_get(pair, "rate")), "",
                                              &err),
                        0);
        CU_ASSERT(rtt_s > 0.01 && rtt_s < 0.3 && bits_per_s > 0.3e9 && bits_per_s < 1.2e9);
        json_array_foreach (pairs, k, other)
            CU_ASSERT(k == i ||
                      strcmp(json_string_value(json_object_get(other, "from")), from) != 0 ||
                      strcmp(json_string_value(json_object_get(other, "to")), to) != 0);
    }
    json_decref(json);
}

static void refused(void)
{
    static const struct {
        const char *regions, *server, *where, *why;
    } cases[] = {
        {"[]", "", "x.json#/network/regions", "an array of regions"},
        {"[{\"name\": \"Toky\", \"ranks\": 1}]", "", "x.json#/network/regions/0",
         "did you mean \"Tokyo\"?"},
        {"[{\"name\": \"Ohio\", \"ranks\": 1, \"count\": 2}]", "", "x.json#/network/regions/0",
         "each region once"},
        {"[{\"name\": \"Ohio\", \"ranks\": 1}, {\"name\": \"Ohio\", \"ranks\": 1}]", "",
         "x.json#/network/regions/1", "a region whose link to \"Ohio\" the matrix has"},
        {"[{\"name\": \"Ohio\", \"ranks\": 1}]", ", \"region\": \"Seoul\"",
         "x.json#/network/server/region", "one of the network's regions, found \"Seoul\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(expanded(cases[i].regions, cases[i].server, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_CONTAINS(err.text, cases[i].why);
    }
}

static const struct strait_test tests[] = {
    {"paths between regions are the published ones", published},
    {"the shipped matrix has each pair of ten regions once", whole},
    {"unknown and repeated regions are refused", refused},
};
STRAIT_SUITE("workloads/ask/regions", tests);
