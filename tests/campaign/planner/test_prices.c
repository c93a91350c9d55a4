/* Money and energy of a round, by arithmetic. */
#include "campaign/planner/prices.h"

#include <math.h>
#include "tests/kit/suite.h"

static int read_prices(struct strait_prices *p, const char *text, struct strait_error *err)
{
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    const int status = strait_prices_read(p, "p.json", "", json, err);
    json_decref(json);
    return status;
}

/* An hour: 4 accelerators at 2 EUR, 3 cores at 0.5, a port at 1.5: 11 EUR; 10 GB from the server at
 * 0.1 and 20 GB from clients at 0.02 EUR: 1.4. Busy: 2 h of accelerators at 300 W, 1 h of cores at
 * 10 W: 610 Wh. */
static void an_hour(void)
{
    struct strait_prices p;
    struct strait_error err = {0};
    const struct strait_use_of_round use = {.round_s = 3600,
                                            .n_accelerators = 4,
                                            .n_server_cores = 3,
                                            .server_bytes = 10e9,
                                            .clients_bytes = 20e9,
                                            .accelerator_busy_s = 7200,
                                            .core_busy_s = 3600};
    json_t *fast = json_pack("{s:s, s:i}", "/network/server/rate", "10 Gbps", "/clients", 4),
           *slow = json_pack("{s:s}", "/network/server/rate", "1 Gbps");
    CU_ASSERT_EQUAL_FATAL(
        read_prices(&p,
                    "{\"egress\": {\"server\": \"0.1 EUR/GB\", \"clients\": \"0.02 EUR/GB\"}, "
                    "\"accelerator\": \"2 EUR/h\", \"core\": \"0.5 EUR/h\", \"watts\": "
                    "{\"accelerator\": \"300 W\", \"core\": \"10 W\"}, \"per_hour\": "
                    "{\"/network/server/rate\": {\"10 Gbps\": \"1.5 EUR/h\"}}}",
                    &err),
        0);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_of_round(&p, &use, fast, NULL), 12.4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_of_round(&p, &use, slow, NULL), 10.9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_per_h(&p, fast, NULL), 1.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_energy_of_round_j(&p, &use), 610 * 3600.0, 1e-6);
    CU_ASSERT_STRING_EQUAL(p.currency, "EUR");
    strait_prices_release(&p);
    /* one price for all egress; what has no price costs nothing, but money is known */
    CU_ASSERT_EQUAL_FATAL(read_prices(&p, "{\"egress\": \"0.1 USD/GB\"}", &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_of_round(&p, &use, fast, NULL), 3, 1e-12);
    CU_ASSERT(isnan(strait_energy_of_round_j(&p, &use)));
    strait_prices_release(&p);
    /* watts alone are no money */
    CU_ASSERT_EQUAL_FATAL(read_prices(&p, "{\"watts\": {\"core\": \"10 W\"}}", &err), 0);
    CU_ASSERT(isnan(strait_prices_of_round(&p, &use, fast, NULL)));
    CU_ASSERT_DOUBLE_EQUAL(strait_energy_of_round_j(&p, &use), 36000, 1e-9);
    strait_prices_release(&p);
    json_decref(fast);
    json_decref(slow);
}

/* A price stands for the quantity, in whatever unit; what does not vary has its price too. */
static void an_hour_of_what_is_there(void)
{
    struct strait_prices p;
    struct strait_error err = {0};
    json_t *label = json_pack("{s:s}", "/network/server/rate", "5 Gbps"),
           *other = json_pack("{s:s}", "/codec", "none"),
           *point = json_pack("{s:{s:{s:s}}, s:i}", "network", "server", "rate", "5e3 Mbps",
                              "clients", 4);
    CU_ASSERT_EQUAL_FATAL(
        read_prices(&p,
                    "{\"per_hour\": {\"/network/server/rate\": {\"500 Mbps\": \"0.5 EUR/h\", "
                    "\"5000 Mbps\": \"1.5 EUR/h\"}, \"/clients\": {\"4\": \"8 EUR/h\"}}}",
                    &err),
        0);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_per_h(&p, label, NULL), 1.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_per_h(&p, other, NULL), 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(strait_prices_per_h(&p, other, point), 9.5, 1e-12);
    strait_prices_release(&p);
    json_decref(label);
    json_decref(other);
    json_decref(point);
}

static void refusals(void)
{
    static const struct {
        const char *text, *where, *error;
    } cases[] = {{"{\"egress\": \"0.1\"}", "p.json#/egress",
                  "expected an amount such as \"0.5 EUR/GB\", found \"0.1\""},
                 {"{\"egress\": \"0.1 EUR/h\"}", "p.json#/egress",
                  "expected an amount such as \"0.5 EUR/GB\", found \"0.1 EUR/h\""},
                 {"{\"core\": \"-1 EUR/h\"}", "p.json#/core",
                  "expected an amount such as \"0.5 EUR/h\", found \"-1 EUR/h\""},
                 {"{\"core\": \"1 EUR/h\", \"accelerator\": \"2 USD/h\"}", "p.json#/core",
                  "expected one currency, USD, found \"1 EUR/h\""},
                 {"{\"watts\": {\"core\": \"10\"}}", "p.json#/watts/core",
                  "expected a power such as \"300 W\", found \"10\""},
                 {"{\"per_hour\": {\"/clients\": \"1 EUR/h\"}}", "p.json#/per_hour",
                  "expected a JSON Pointer with an object of values and prices an hour, found "
                  "\"/clients\""},
                 {"{\"egres\": \"0.1 EUR/GB\"}", "p.json",
                  "unknown key \"egres\", did you mean \"egress\"?"},
                 {"{\"schema\": \"strait-plan/1\"}", "p.json",
                  "expected \"strait-prices/1\", found \"strait-plan/1\""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_prices p;
        struct strait_error err = {0};
        strait_test_context("%s", cases[i].text);
        CU_ASSERT_EQUAL(read_prices(&p, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].error);
        strait_prices_release(&p);
    }
}

static const struct strait_test tests[] = {
    {"an hour costs what its parts do", an_hour},
    {"what is there has its price an hour, whatever its unit", an_hour_of_what_is_there},
    {"wrong prices are refused by name", refusals},
};
STRAIT_SUITE("campaign/planner/prices", tests);
