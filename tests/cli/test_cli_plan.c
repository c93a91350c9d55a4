/* strait plan from outside: the answer of a shipped plan is derived again from its own rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static double number(const json_t *one, const char *key)
{
    const double value = strait_row_number(one, key);
    return isfinite(value) ? value : INFINITY;
}

/* To so many digits, as tables show it. */
static double shown(double value, int digits)
{
    char text[40];
    snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    return isfinite(value) ? strtod(text, NULL) : value;
}

/* Better in one thing and worse in none, in the digits that are shown: four of times and
 * accuracies, else three. */
static bool beats(const json_t *a, const json_t *b)
{
    static const char *const small[] = {"time_s", "bytes_a_round", "money_a_round",
                                        "energy_a_round_j"};
    const double accuracy_a = strait_row_number(a, "accuracy"),
                 accuracy_b = strait_row_number(b, "accuracy");
    const double known_a = isfinite(accuracy_a) ? shown(accuracy_a, 4) : -1,
                 known_b = isfinite(accuracy_b) ? shown(accuracy_b, 4) : -1;
    bool worse = known_a<known_b, better = known_a> known_b;
    for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++) {
        const int digits = i == 0 ? 4 : 3;
        const double x = shown(number(a, small[i]), digits), y = shown(number(b, small[i]), digits);
        worse = worse || x > y;
        better = better || x < y;
    }
    return better && !worse;
}

/* The recommendation is the eligible candidate that is soonest at the accuracy; the front are those
 * that nobody beats; times are rounds times their number. */
static void from_its_rows(void)
{
    struct program p;
    program_set_up(&p);
    struct said s = PROGRAM_CALL(&p, "plan", "accuracy", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *answer = json_loads(s.out, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
    const json_t *ranked = json_object_get(answer, "ranked"), *first = NULL;
    size_t i, k, n_front = 0, n_eligible = 0;
    json_t *one, *other;
    CU_ASSERT_EQUAL(json_array_size(ranked),
                    64); /* 8 codecs, 2 ports, 2 numbers of cores, pieces */
    json_array_foreach (ranked, i, one) {
        bool beaten = false;
        json_array_foreach (ranked, k, other)
            beaten = beaten || beats(other, one);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(one, "front")), !beaten);
        n_front += !beaten;
        if (json_is_real(json_object_get(one, "time_s")))
            CU_ASSERT_DOUBLE_EQUAL(number(one, "time_s"),
                                   number(one, "rounds") * number(one, "round_s"), 1e-9);
        if (!json_is_true(json_object_get(one, "eligible")))
            continue;
        n_eligible++;
        const size_t twin = (size_t)number(one, "equal_to") - 1;
        CU_ASSERT(twin <= i);
        CU_ASSERT_EQUAL(shown(number(json_array_get(ranked, twin), "round_s"), 4),
                        shown(number(one, "round_s"), 4));

        if (!first || number(one, "time_s") < number(first, "time_s"))
            first = one;
    }
    CU_ASSERT(n_front > 0 && n_front < 64);
    CU_ASSERT(n_eligible > 0 && n_eligible < 64);
    CU_ASSERT(json_equal(json_object_get(first, "labels"),
                         json_object_get(json_array_get(ranked, 0), "labels")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(answer, "best")), 5);
    CU_ASSERT_STRING_EQUAL(
        strait_text_of(json_array_get(json_object_get(answer, "best"), 0), "name"),
        strait_text_of(json_array_get(ranked, 0), "name"));
    json_array_foreach (json_object_get(answer, "best"), i, one) {
        CU_ASSERT_DOUBLE_EQUAL(number(json_object_get(one, "sim"), "round_s"),
                               number(one, "round_s"), 1e-6); /* SimGrid, fluid */
        CU_ASSERT(json_is_object(json_object_get(json_object_get(one, "sim"), "limits")));
    }
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json_object_get(answer, "break_even"), "axes")),
                    4);
    json_decref(answer);
    said_release(&s);
    program_tear_down(&p);
}

static void on_the_screen(void)
{
    static const char *const parts[] = {
        "Take ",       "What limits it: ", "What it rests on: ", "limited by",
        "rests on",    "what to buy next", "how busy",           "Where the codec",
        "The front, ", "Not considered"};
    struct program p;
    program_set_up(&p);
    struct said s = PROGRAM_CALL(&p, "plan", "accuracy", "--wide");
    CU_ASSERT_EQUAL(s.status, 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        CU_ASSERT_CONTAINS(s.out, parts[i]);
    CU_ASSERT_PTR_NULL(strstr(s.out, "EUR")); /* no price, no money */
    said_release(&s);
    /* nothing keeps a round of a microsecond */
    program_write(&p, "no.json",
                  "{\"schema\": \"strait-plan/1\", \"experiment\": \"wan-scaling\", \"set\": "
                  "{\"/clients\": 2}, \"target\": {\"round\": \"1 us\"}, \"vary\": "
                  "{\"/network/server/rate\": [\"1 Gbps\", \"10 Gbps\"]}}");
    s = PROGRAM_CALL(&p, "plan", "no.json");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.out, "Take server rate 10 Gbps: a round");
    CU_ASSERT_CONTAINS(s.out, "which misses the target of 1.00 us");
    said_release(&s);
    /* what is not possible is said on one screen too, with its place; so is a price of nothing, and
     * whose codec pays where the recommended one has none */
    program_write(&p, "one.json",
                  "{\"schema\": \"strait-plan/1\", \"experiment\": \"wan-scaling\", \"set\": "
                  "{\"/clients\": 2}, \"target\": {\"round\": \"1 h\"}, \"prices\": {\"per_hour\": "
                  "{\"/network/srver/rate\": {\"1 Gbps\": \"1 EUR/h\"}}}, \"vary\": {\"/codec\": "
                  "[\"none\", \"fp16\"], \"/network/server/rate\": [\"1 Gbps\", \"-1 Gbps\"]}}");
    s = PROGRAM_CALL(&p, "plan", "one.json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "Take none, server rate 1 Gbps: a round");
    CU_ASSERT_CONTAINS(s.out, "The codec of fp16, server rate 1 Gbps pays: ");
    CU_ASSERT_CONTAINS(s.out, "2 candidates: /network/server/rate: expected a rate above 0");
    CU_ASSERT_CONTAINS(s.out, "takes them): fp16");
    CU_ASSERT_CONTAINS(s.out, "prices an hour of /network/srver/rate, which no candidate has");
    said_release(&s);
    /* a deadline that lossless codecs miss */
    s = PROGRAM_CALL(&p, "plan", "sites");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.out, "which misses the target of 300.0 s");
    CU_ASSERT_CONTAINS(s.out, "It would be kept by sz ");
    said_release(&s);
    s = PROGRAM_CALL(&p, "plan", "sites", "--any-accuracy", "--all");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "Take sz ");
    CU_ASSERT_CONTAINS(s.out, "All 80 candidates, by rank:"); /* 5 codecs, 2 ways down, 2 2 2 */
    said_release(&s);
    s = PROGRAM_CALL(&p, "plan", "wann");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: expected a plan that ships (strait list plans) or a "
                                  "path, found \"wann\", did you mean \"wan\"?\n");
    said_release(&s);
    s = PROGRAM_CALL(&p, "plan");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: plan: expected a file, found none\n");
    said_release(&s);
    program_tear_down(&p);
}

/* Where it is in the plan's file, and whose file it is. */
static void places(void)
{
    static const struct {
        const char *experiment, *rest, *says;
    } cases[] = {
        {"\"wan-check\"", "1",
         "strait: p.json#/vary: expected an object of JSON Pointers and arrays, as \"vary\" of an "
         "experiment, found 1\n"},
        {"\"wan-check\"", "{\"/clients\": []}",
         "strait: p.json#/vary/~1clients: expected an array of at least one value, found none\n"},
        {"{\"clients\": 0}", "{\"/codec\": [\"none\"]}",
         "strait: p.json#/experiment/clients: expected an integer of at least 1, found 0\n"},
        {"\"wan-check\"", "{\"/network/client/rate\": [\"1 Gbs\"]}",
         "strait: p.json#/vary/~1network~1client~1rate: expected a rate such as \"1 Gbps\", "
         "found "
         "\"1 Gbs\"\n"},
    };
    struct program p;
    program_set_up(&p);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-plan/1\", \"experiment\": %s, \"target\": {\"round\": "
                 "\"2 min\"}, \"vary\": %s}",
                 cases[i].experiment, cases[i].rest);
        program_write(&p, "p.json", text);
        struct said s = PROGRAM_CALL(&p, "plan", "p.json");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.err, cases[i].says);
        said_release(&s);
    }
    struct said s = PROGRAM_CALL(&p, "run", "p.json");
    CU_ASSERT_STRING_EQUAL(s.err, "strait: p.json#/schema: expected \"strait-experiment/1\", found "
                                  "\"strait-plan/1\" (strait plan reads it)\n");
    said_release(&s);
    program_write(&p, "e.json", "{\"schema\": \"strait-experiment/1\"}");
    s = PROGRAM_CALL(&p, "plan", "e.json");
    CU_ASSERT_STRING_EQUAL(s.err, "strait: e.json#/schema: expected \"strait-plan/1\", found "
                                  "\"strait-experiment/1\" (strait run reads it)\n");
    said_release(&s);
    program_tear_down(&p);
}

static const struct strait_test tests[] = {
    {"what is wrong is named where it stands in the plan", places},
    {"a plan's answer follows from its rows", from_its_rows},
    {"a plan's answer in full has its parts, and money only with prices", on_the_screen},
};
STRAIT_SUITE_WITH("cli/cli_plan", tests, .release = true);
