/* strait tune from outside: what it finds, what it prints, what it refuses. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)
#define TUNE(...) CALL("tune", "e.json", "--param", "/strategy/fusion", __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"tests/data/schedule.csv\","
    "\"clients\":4,\"strategy\":{\"name\":\"dear\",\"rounds\":6,\"fusion\":\"100 KB\"},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}";

static void set_up(const char *text)
{
    program_set_up(&program);
    program_write(&program, "e.json", text);
}

/* Mean round as `strait run` has it. */
static double run_s(const char *setting)
{
    struct said s = CALL("run", "e.json", "--on", "fluid", "--json", "--fresh", "--set", setting);
    json_t *row = json_loads(s.out, JSON_DISABLE_EOF_CHECK, NULL);
    const double round_s = json_number_value(json_object_get(row, "round_s"));
    CU_ASSERT_EQUAL(s.status, 0);
    json_decref(row);
    said_release(&s);
    return round_s;
}

static double number(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

/* Trials are what runs give, the best is the least of them, the file's own is the first. */
static void finds(void)
{
    set_up(experiment);
    struct said s = TUNE("--range", "100 KB..6 MB", "--trials", "8", "--json");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    double min_s = INFINITY, first_s = NAN;
    size_t n_trials = 0;
    json_t *best = NULL;
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
        if (strcmp(json_string_value(json_object_get(record, "record")), "best") == 0) {
            best = record;
            continue;
        }
        const double value = number(record, "value"), round_s = number(record, "round_s");
        CU_ASSERT(value >= 1e5 && value <= 6e6);
        if (n_trials++ == 0) {
            first_s = round_s;
            CU_ASSERT_EQUAL(value, 1e5);
        }
        min_s = fmin(min_s, round_s);
        json_decref(record);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(best);
    CU_ASSERT(n_trials >= 3 && n_trials <= 8);
    CU_ASSERT_EQUAL(number(best, "round_s"), min_s);
    CU_ASSERT_EQUAL(number(best, "own_round_s"), first_s);
    CU_ASSERT(min_s < first_s); /* six start-ups of 1 ms a step against few */
    char setting[128];
    snprintf(setting, sizeof(setting), "/strategy/fusion=%s",
             json_string_value(json_object_get(best, "text")));
    CU_ASSERT_DOUBLE_EQUAL(run_s(setting), min_s, 1e-12);
    json_decref(best);
    said_release(&s);
    s = TUNE("--range", "100 KB..6 MB", "--trials", "3", "--on", "sim");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "the file's own"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "--set '/strategy/fusion="));
    said_release(&s);
    program_tear_down(&program);
}

/* The file's own value outside of the range: shown, but no trial; whole numbers stay whole. */
static void other_kinds(void)
{
    static const char text[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
        "\"strategy\":{\"name\":\"fedavg\",\"rounds\":2},\"codec\":\"none\","
        "\"network\":{\"client\":{\"rate\":\"100 Mbps\"},\"server\":{\"rate\":\"1 Gbps\"}}}";
    set_up(text);
    struct said s = CALL("tune", "e.json", "--param", "/strategy/pieces", "--range", "2..9",
                         "--trials", "3", "--json", "--log");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    for (char *line = strtok(s.out, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        const double value = number(record, "value");
        CU_ASSERT(value >= 2 && value <= 9 && value == round(value));
        if (strcmp(json_string_value(json_object_get(record, "record")), "best") == 0)
            CU_ASSERT_EQUAL(number(record, "own_value"), 1);
        json_decref(record);
    }
    said_release(&s);
    program_tear_down(&program);
}

static const char fedavg[] =
    "{\"schema\":\"strait-experiment/1\",\"title\":\"kinds\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1},\"codec\":\"none\","
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\"},\"server\":{\"rate\":\"1 Gbps\"}}}";

/* What is found is told as an experiment has it, in the parameter's unit. */
static void units(void)
{
    static const struct {
        const char *param, *range, *unit;
        double lo, hi, of_base; /* in base units, and what the text's number is of them */
    } cases[] = {{"/strategy/deadline", "50 s..60 s", " s", 50, 60, 1},
                 {"/strategy/share_spread", "1 %..2 %", " %", 0.01, 0.02, 0.01},
                 {"/strategy/pieces", "2..4", "", 2, 4, 1}};
    set_up(fedavg);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct said s = CALL("tune", "e.json", "--param", cases[i].param, "--range", cases[i].range,
                             "--trials", "2", "--json", "--set", "/clients=3");
        strait_test_context("%s", cases[i].param);
        CU_ASSERT_EQUAL(s.status, 0);
        const char *last = strstr(s.out, "{\"record\":\"best\"");
        last = last ? last : strstr(s.out, "\"best\"");
        const char *line = last;
        while (line && line > s.out && line[-1] != '\n')
            line--;
        json_t *best = line ? json_loads(line, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
        const char *text = json_string_value(json_object_get(best, "text"));
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        char *unit = NULL;
        const double value = number(best, "value"), told = strtod(text, &unit) * cases[i].of_base;
        CU_ASSERT_STRING_EQUAL(unit, cases[i].unit);
        CU_ASSERT_DOUBLE_EQUAL(told, value, 1e-8 * value);
        CU_ASSERT_AT_LEAST(value, cases[i].lo);
        CU_ASSERT_AT_MOST(value, cases[i].hi);
        CU_ASSERT_DOUBLE_EQUAL(number(best, "speed_up"),
                               number(best, "own_round_s") / number(best, "round_s"), 1e-12);
        CU_ASSERT_EQUAL(
            json_integer_value(json_object_get(json_object_get(best, "set"), "/clients")), 3);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(best, "backend")), "fluid");
        json_decref(best);
        said_release(&s);
    }
    struct said s = CALL("tune", "e.json", "--param", "/strategy/pieces", "--range", "2..4",
                         "--trials", "2", "--set", "/clients=3");
    CU_ASSERT_EQUAL(strncmp(s.out, "kinds\nset: /clients=3\n\n", 23), 0);
    CU_ASSERT_CONTAINS(s.out, "\nThe file's own 1: ");
    CU_ASSERT_CONTAINS(s.out, " times as fast\n  --set '/strategy/pieces=");
    said_release(&s);
    program_tear_down(&program);
}

/* Ends that the parameter does not take, in its unit. */
static void ends(void)
{
    static const struct {
        const char *param, *range, *more, *said;
    } cases[] = {
        {"/strategy/dropout", "0 %..200 %", "--json",
         "expected a range within 0 %..100 %, which is what /strategy/dropout takes, found "
         "\"0 %..200 %\""},
        {"/strategy/deadline", "0 s..2000000000 s", "--json",
         "expected a range within 0 s..1e+09 s, which is what /strategy/deadline takes, found "
         "\"0 s..2000000000 s\""},
        {"/strategy/over_selection", "0.5..2", "--json",
         "expected a range within 1..1000000, which is what /strategy/over_selection takes, found "
         "\"0.5..2\""},
        {"/strategy/clients_per_round", "0..2", "--log",
         "expected values above 0 with --log, found \"0..2\""},
        {"/strategy/over_selection", "1..x", "--json",
         "expected a number at each end of --range, found \"x\""},
        {"/strategy/over_selection", "..2", "--json",
         "expected a number at each end of --range, found \"\""},
        {"/strategy/over_selection", "2..2", "--json",
         "expected the smaller value first after --range, found \"2..2\""},
        {"/strategy/over_selection", "1..2", "--trials=257",
         "expected at most 256 trials, found \"257\""},
    };
    set_up(fedavg);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[256];
        struct said s = CALL("tune", "e.json", "--param", cases[i].param, "--range", cases[i].range,
                             cases[i].more);
        snprintf(line, sizeof(line), "strait: tune: %s\n", cases[i].said);
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_STRING_EQUAL(s.err, line);
        said_release(&s);
    }
    program_tear_down(&program);
}

static void refuses(void)
{
    static const struct {
        const char *args[6], *said;
    } all[] = {
        {{"--param", "/strategy/fusio", "--range", "1 MB..2 MB"},
         "strait: tune: expected a parameter of \"dear\" after --param (/strategy/fusion, "
         "/strategy/fusion_min, /strategy/fusion_max, /strategy/trials, /strategy/trial_rounds, "
         "/strategy/launch, /strategy/update, /strategy/skew), found "
         "\"/strategy/fusio\"\n"},
        {{"--param", "/strategy/tuner", "--range", "0..1"}, NULL},
        {{"--param", "/strategy/fusion", "--range", "1..2"},
         "strait: tune: expected a size such as \"64 KiB\", found \"1\"\n"},
        {{"--param", "/strategy/fusion", "--range", "1 MB"},
         "strait: tune: expected two values with \"..\" between them after --range, found \"1 "
         "MB\"\n"},
        {{"--param", "/strategy/fusion", "--range", "2 MB..1 MB"},
         "strait: tune: expected the smaller value first after --range, found \"2 MB..1 MB\"\n"},
        {{"--param", "/strategy/trials", "--range", "1..9999"},
         "strait: tune: expected a range within 1..256, which is what /strategy/trials takes, "
         "found \"1..9999\"\n"},
        {{"--param", "/strategy/fusion", "--range", "1 MB..2 MB", "--on", "emu"},
         "strait: tune: expected sim or fluid after --on, found \"emu\"\n"},
        {{"--range", "1 MB..2 MB"},
         "strait: tune: expected --param /strategy/NAME, found nothing\n"},
        {{"--param", "/strategy/fusion"},
         "strait: tune: expected --range \"MIN..MAX\", found nothing\n"},
    };
    set_up(experiment);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const char *args[9] = {"tune", "e.json"};
        memcpy(args + 2, all[i].args, sizeof(all[i].args));
        struct said s = program_call(&program, args);
        CU_ASSERT_EQUAL(s.status, 2);
        if (all[i].said)
            CU_ASSERT_STRING_EQUAL(s.err, all[i].said);
        CU_ASSERT_STRING_EQUAL(s.out, "");
        said_release(&s);
    }
    char text[sizeof(experiment) + 64];
    snprintf(text, sizeof(text), "%.*s,\"vary\":{\"/clients\":[2,4]}}", (int)sizeof(experiment) - 2,
             experiment);
    program_write(&program, "e.json", text);
    struct said s = TUNE("--range", "1 MB..2 MB");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err, "strait: tune: expected an experiment of one point, found 2: "
                                  "choose with --set /clients=VALUE\n");
    said_release(&s);
    s = TUNE("--range", "1 MB..2 MB", "--trials", "2", "--set", "/clients=2");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a tuned threshold is what a run with it takes, and the best that was tried", finds},
    {"whole numbers stay whole, and the file's own value may lie outside", other_kinds},
    {"what was found is told in the parameter's unit", units},
    {"ends of a range are refused in the parameter's unit", ends},
    {"what cannot be tuned is refused in one line", refuses},
};
STRAIT_SUITE("cli/cli_tune", tests);
