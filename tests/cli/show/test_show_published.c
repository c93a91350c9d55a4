/* Published figures beside ours, made by hand. */
#include <jansson.h>
#include "campaign/published/published.h"
#include "tests/cli/show/shown.h"
#include "tests/kit/suite.h"

static json_t *claim(const char *kind, double published, double ours, double relative)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:s, s:f, s:f, s:s}", "case", "C", "claim", "speed",
                     "kind", kind, "published", published, "unit", "times", "ours", ours,
                     "relative", relative, "source", "table 2");
}

/* Figures, bounds and what is doubted; a broken order under its reason; means by model. */
static json_t *published(void)
{
    json_t *rows = json_array();
    for (int i = 0; i < 7; i++)
        json_array_append_new(rows, claim(i < 4 ? "figure" : i == 4 ? "from" : "to", 2, 2.5, 0.25));
    json_object_set_new(json_array_get(rows, 0), "setting", json_string("e.json"));
    json_object_set_new(json_array_get(rows, 0), "reason", json_string("another card"));
    json_object_set_new(json_array_get(rows, 1), "input", json_true());
    json_object_set_new(json_array_get(rows, 2), "suspect", json_string("a slip"));
    json_object_set_new(json_array_get(rows, 2), "unreachable", json_real(3.5));
    json_object_set_new(json_array_get(rows, 3), "ours", json_null());
    json_object_set_new(json_array_get(rows, 4), "reached", json_true());
    json_object_set_new(json_array_get(rows, 5), "covered", json_true());
    return rows;
}

static void figures(void)
{
    struct strait_error err = {0};
    json_t *all = json_pack("{s:o}", "rows", published());
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_published(f, all, &err), 0);
    const char *shown = end(f);
    CU_ASSERT_CONTAINS(shown, "case claim published ours difference\n");
    CU_ASSERT_CONTAINS(shown, "1 C speed 2.000 times 2.500 +25.0 %\n"
                              "2 C speed 2.000 times 2.500 input, +25.0 %\n"
                              "3 C speed 2.000 times 2.500 suspect, +25.0 %\n"
                              "4 C speed 2.000 times - not reached\n"
                              "5 C speed from 2.000 times 2.500 reached, +25.0 %\n"
                              "6 C speed up to 2.000 times 2.500 begins before, +25.0 %\n"
                              "7 C speed up to 2.000 times 2.500 not reached, +25.0 %\n");
    CU_ASSERT_CONTAINS(shown, "\n1 speed: table 2\nstrait run e.json\nanother card\n2 speed");
    CU_ASSERT_CONTAINS(shown, "3 speed: table 2\nsuspect: a slip\ncannot be reached with these "
                              "inputs: its bytes need 3.5 times as long\n");
    json_decref(all);
}

static json_t *pair(const char *low, const char *high, bool even, const char *reason)
{
    return json_pack("{s:s, s:s, s:b, s:[f, f], s:[f, f], s:s}", "low", low, "high", high, "even",
                     even, "published", 1.0, 2.0, "ours", 4.0, 3.0, "reason", reason);
}

/* Ours the other way about; of pairs with one reason this is told once. */
static void orders(void)
{
    struct strait_error err = {0};
    json_t *broken = json_array();
    json_array_append_new(broken, pair("a", "b", false, "R"));
    json_array_append_new(broken, pair("a", "c", true, "S"));
    json_array_append_new(broken, pair("b", "d", false, "R"));
    json_t *all = json_pack(
        "{s:[], s:[{s:s, s:o, s:{s:s, s:s, s:b}, s:{s:f, s:f, s:s}}, {s:s, s:[], s:{s:s, s:s, "
        "s:b}}], s:{s:{s:i, s:f, s:f, s:s}, s:n}}",
        "rows", "orders", "group", "G", "broken", broken, "wins", "published", "a", "ours", "b",
        "same", 0, "errors", "median", 0.031, "worst", -0.152, "worst_claim", "speed", "group", "H",
        "broken", "wins", "published", "a", "ours", "a", "same", 1, "errors", "all", "rows", 7,
        "median", 0.05, "worst", 0.25, "worst_claim", "time", "none");
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_published(f, all, &err), 0);
    const char *shown = end(f);
    CU_ASSERT_CONTAINS(shown,
                       "\nG: order not as published; median error 3.1 %, worst -15.2 % (speed)\n"
                       "wins: published a, ours b: another\n"
                       "order broken: published a < b (1, 2), ours b < a (3, 4)\n"
                       "order broken: published b < d (1, 2), ours d < b (3, 4)\nR\n"
                       "order broken: published a < c (1, 2), ours a = c (4, 3)\nS\n"
                       "\nH: order as published\nwins: published a, ours a\n"
                       "\nall, 7 figures: median error 5.0 %, worst +25.0 % (time)\n");
    json_decref(all);
}

static void models(void)
{
    struct strait_error err = {0};
    json_t *all = json_pack(
        "{s:[], s:[{s:s, s:s, s:{s:f, s:i, s:f, s:f}, s:{s:f, s:i}, s:{s:f, s:i}}], s:[{s:s, s:f, "
        "s:i, s:s, s:s, s:s, s:{s:i, s:f, s:f}}, {s:s, s:f, s:i, s:s, s:s, s:s, s:{s:i, s:f, "
        "s:f}}]}",
        "rows", "models", "case", "C", "model", "M", "all", "mean", 0.05, "rows", 9, "median", 0.04,
        "worst", 0.2, "not_linear", "mean", 0.0, "rows", 0, "closed", "mean", 0.125, "rows", 4,
        "constants", "constant", "K", "value", 1.5, "figures", 1, "model", "M", "device", "D",
        "error", "small", "own", "rows", 3, "mean", 0.01, "without", 0.5, "constant", "L", "value",
        2.0, "figures", 2, "model", "M", "device", "D", "error", "none", "others", "rows", 6,
        "mean", 0.02, "without", 0.25);
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_published(f, all, &err), 0);
    const char *shown = end(f);
    CU_ASSERT_CONTAINS(shown, "case model mean error not trivial communication alone closed form "
                              "median worst\n");
    CU_ASSERT_CONTAINS(shown, "C M 5.0 % of 9 - - 12.5 % of 4 4.0 % 20.0 %\n");
    CU_ASSERT_CONTAINS(shown, "\nconstant K, 1.5: rests on 1 figure of M on D, error small\n"
                              "3 figures of this model and device: mean error 1.0 %, without it "
                              "50.0 %\n");
    CU_ASSERT_CONTAINS(shown, "\nconstant L, 2: rests on 2 figures of M on D, error none\n"
                              "6 figures of other models or devices: mean error 2.0 %, without it "
                              "25.0 %\n");
    json_decref(all);
}

static const struct strait_test tests[] = {
    {"figures, bounds and doubts are told apart", figures},
    {"orders that are broken stand under their reasons", orders},
    {"models and constants have their errors", models},
};
STRAIT_SUITE("cli/show/show_published", tests);
