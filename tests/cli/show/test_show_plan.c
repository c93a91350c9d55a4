/* A plan's answer, made by hand, on one screen. */
#include "cli/show/show_plan.h"

#include <jansson.h>
#include "tests/cli/show/shown.h"
#include "tests/kit/suite.h"

static json_t *candidate(const char *name, int rank, int equal_to, bool front, double round_s)
{
    return json_pack("{s:s, s:i, s:i, s:b, s:b, s:s, s:f, s:[f, f], s:f}", "name", name, "rank",
                     rank, "equal_to", equal_to, "front", front, "eligible", rank != 2, "holds",
                     "probably", "round_s", round_s, "interval_s", round_s - 1, round_s + 1,
                     "bytes_a_round", 2.5e6);
}

/* Three candidates: the second of unknown accuracy, the third equal to the first. */
static json_t *answer(void)
{
    json_t *best = candidate("a", 1, 1, true, 4);
    json_object_set_new(
        best, "sim",
        json_pack("{s:f, s:[f, f], s:{s:s, s:s, s:f}, s:{s:s, s:s}, s:{s:{s:i, s:f, "
                  "s:f, s:s}}}",
                  "round_s", 4.25, "interval_s", 4.0, 4.5, "limits", "by", "link", "at",
                  "server port in", "share", 0.5, "evidence", "basis", "extrapolated", "why",
                  "of other networks", "utilisation", "server_in", "n", 1, "mean", 0.5, "most",
                  0.75, "at", "server"));
    return json_pack(
        "{s:s, s:s, s:{s:s}, s:[o], s:[{s:s, s:f, s:f, s:f}, {s:s, s:f, s:n}], s:[{s:s, s:f}, "
        "{s:s, s:f}, {s:s, "
        "s:f}], s:{s:s, s:[{s:s, s:s}, {s:s, s:s}]}, s:[o, o, o], s:[{s:s, s:f, s:[f, f], s:f, "
        "s:b, "
        "s:b}, {s:s, s:f, s:[f, f], s:f, s:b, s:b}, {s:s, s:f, s:[f, f], s:f, s:b, s:b}], s:[s]}",
        "title", "Which?", "text", "Take a.", "limits", "text", "a port", "best", best, "buy",
        "text", "rate 10 instead of 1", "saves_s", 2.0, "more_per_hour", 3.0, "more_money_a_round",
        0.01, "text", "cores 2 instead of 1", "saves_s", 1.0, "more_per_hour", "faster", "text",
        "the server's port", "saves_s", 1.0, "text", "sending", "saves_s", 0.05, "text",
        "computing", "saves_s", 0.03, "break_even", "of", "a", "axes", "pointer",
        "/network/client/rate", "text", "below 1 Gbps", "pointer", "/clients", "why",
        "it always pays", "ranked", candidate("a", 1, 1, true, 4), candidate("b", 2, 2, true, 5),
        candidate("c", 3, 1, true, 4), "check", "name", "a", "predicted_s", 4.25, "interval_s", 4.0,
        4.5, "measured_s", 4.4, "valid", 1, "inside", 1, "name", "b", "predicted_s", 5.0,
        "interval_s", 4.0, 6.0, "measured_s", 6.4, "valid", 1, "inside", 0, "name", "c",
        "predicted_s", 5.0, "interval_s", 4.0, 6.0, "measured_s", 5.4, "valid", 0, "inside", 1,
        "not_considered", "prices");
}

/* Rules are left out, and so is one of two dashes. Savings are shares of the best round by fluid,
 * 4 s; what saves less than 1 % of it when it is twice as fast is not told. */
static void screen(void)
{
    static const char *const parts[] = {
        "Which?\nTake a.\nWhat limits it: a port.\nWhat it rests on: extrapolated: of other "
        "networks.\n",
        "candidate round s 90 % within s sent target limited by rests on\n",
        "a 4.250 4.00 to 4.50 2.50 MB probably server port in, 50 % extrapolated\n",
        "what to buy next saves % for\n",
        "rate 10 instead of 1 2.000 s 50.0 3.00 EUR/h more, 0.0100 a round\n"
        "cores 2 instead of 1 1.000 s 25.0 no price\n"
        "2 times: the server's port 1.000 s 25.0 no price\n"
        "2 times: sending 50.0 ms 1.2 no price\n\n",
        "how busy n mean % worst % left % the worst\n",
        " 1 50.0 75.0 25.0 server\n",
        "Where the codec of \"a\" pays:\nclient rate: below 1 Gbps\nclients: it always pays\n",
        "The front, 2 of 3 candidates: none is better in all; equal ones once (-all):\n",
        "a 4.000 3.00 to 5.00 2.50 MB probably\nb 5.000 4.00 to 6.00 2.50 MB probably, accuracy?\n",
        "a 4.250 4.00 to 4.50 4.400 inside\nb 5.000 4.00 to 6.00 6.400 outside\n"
        "c 5.000 4.00 to 6.00 5.400 INVALID\n",
        "\nNot considered, or not modelled:\nprices\n"};
    struct strait_error err = {0};
    json_t *a = answer();
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_plan(f, a, "EUR", STRAIT_PLAN_FRONT, &err), 0);
    const char *shown = end(f);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (i != 1 && i != 2 && i != 9) /* with prices: below */
            CU_ASSERT_CONTAINS(shown, parts[i]);
    CU_ASSERT_CONTAINS(shown, " sent EUR a round target ");
    CU_ASSERT_PTR_NULL(strstr(shown, "computing"));
    f = begin();
    CU_ASSERT_EQUAL(strait_show_plan(f, a, "", STRAIT_PLAN_ALL, &err), 0);
    shown = end(f);
    CU_ASSERT_CONTAINS(shown, parts[1]);
    CU_ASSERT_CONTAINS(shown, parts[2]);
    CU_ASSERT_CONTAINS(shown, parts[9]);
    CU_ASSERT_CONTAINS(shown, "All 3 candidates, by rank:\n");
    CU_ASSERT_CONTAINS(shown, "c 4.000 3.00 to 5.00 2.50 MB probably\n");
    json_decref(a);
}

/* Columns that some candidate fills: 7200 J are 2 Wh. */
static void columns(void)
{
    struct strait_error err = {0};
    json_t *a = answer(), *second = json_array_get(json_object_get(a, "ranked"), 1);
    json_object_set_new(second, "energy_a_round_j", json_real(7200));
    json_object_set_new(second, "accuracy", json_real(0.875));
    json_object_set_new(second, "time_s", json_real(90));
    json_object_set_new(second, "money_a_round", json_real(1.5));
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_plan(f, a, "USD", STRAIT_PLAN_FRONT, &err), 0);
    const char *shown = end(f);
    CU_ASSERT_CONTAINS(shown, "sent USD a round Wh a round accuracy % in all target\n");
    CU_ASSERT_CONTAINS(shown, "b 5.000 4.00 to 6.00 2.50 MB 1.50 2.00 87.50 90.00 s probably, "
                              "accuracy?\n");
    json_decref(a);
}

/* What both of the best have is said once; three things to buy, of which one has no price. */
static void brief(void)
{
    struct strait_error err = {0};
    json_t *a = answer(), *best = json_object_get(a, "best"), *first = json_array_get(best, 0);
    json_t *second = json_deep_copy(first);
    json_object_set_new(first, "name", json_string("sz 1e-3, rate 10, cores 2"));
    json_object_set_new(second, "name", json_string("sz 1e-2, rate 10, cores 2"));
    json_object_set_new(second, "eligible", json_false());
    json_object_set_new(json_object_get(json_object_get(second, "sim"), "limits"), "by",
                        json_string("compute"));
    json_array_append_new(best, second);
    json_object_set(json_object_get(a, "break_even"), "of", json_object_get(first, "name"));
    json_t *axes = json_object_get(json_object_get(a, "break_even"), "axes");
    json_object_set_new(json_array_get(axes, 0), "text", json_string("below 1 Gbps; not at 2"));
    json_array_append_new(axes, json_pack("{s:s, s:s}", "pointer", "/seed", "text", "always"));
    json_array_insert_new(json_object_get(a, "not_considered"), 0, json_string("codecs of others"));
    FILE *f = begin();
    CU_ASSERT_EQUAL(strait_show_plan(f, a, "", STRAIT_PLAN_BRIEF, &err), 0);
    const char *shown = end(f);
    CU_ASSERT_CONTAINS(shown, "The best 2, all with rate 10, cores 2:\n"
                              "candidate round s 90 % within s target limited by\n");
    CU_ASSERT_CONTAINS(shown, "sz 1e-3 4.250 4.00 to 4.50 probably server port in\n"
                              "sz 1e-2 4.250 4.00 to 4.50 probably, accuracy? compute\n");
    CU_ASSERT_CONTAINS(shown, "2 times: the server's port 1.000 s 25.0 no price\n\n");
    CU_ASSERT_CONTAINS(shown, " 25 %.\nThe codec pays: client rate below 1 Gbps (not at 2); seed "
                              "always.\n");
    CU_ASSERT_CONTAINS(shown, "\nNot considered: codecs of others.\n2 of 3 candidates are on the "
                              "front: ");
    CU_ASSERT_PTR_NULL(strstr(shown, "how busy n mean"));
    /* a codec that is not the recommended candidate's has a name */
    json_object_set(json_object_get(a, "break_even"), "of", json_object_get(second, "name"));
    f = begin();
    CU_ASSERT_EQUAL(strait_show_plan(f, a, "", STRAIT_PLAN_BRIEF, &err), 0);
    CU_ASSERT_CONTAINS(end(f), "The codec of sz 1e-2, rate 10, cores 2 pays: client rate below 1 "
                               "Gbps (not at 2); seed always.\n");
    json_decref(a);
}

static const struct strait_test tests[] = {
    {"on one screen what the best have in common is said once", brief},
    {"an answer is told in words and tables", screen},
    {"money, energy, accuracy and time have columns where they are known", columns},
};
STRAIT_SUITE("cli/show/show_plan", tests);
