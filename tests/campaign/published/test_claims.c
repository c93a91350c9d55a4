/* Claims with both halves: a claim is reached where time and accuracy hold on one row. */
#include "campaign/published/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/training/target.h"
#include "campaign/published/claims_rows.h"
#include "campaign/published/claims_search.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"

/* A trained row of three seeds. */
static void add(json_t *rows, const char *codec, double ratio, double accuracy, double sd)
{
    json_array_append_new(
        rows,
        json_pack("{s:s, s:s, s:i, s:f, s:{s:s}, s:{s:s}, s:{s:s, s:i, s:{s:{s:f, s:f}}}}",
                  "strategy", "fedavg", "model", "cnn", "clients", 8, "ratio", ratio, "codec",
                  "name", codec, "download_codec", "name", "none", "training", "task",
                  "fashion-cnn", "seeds", 3, "spread", "accuracy", "mean", accuracy, "sd", sd));
}

static const char file[] =
    "{\"schema\":\"strait-published/1\",\"rows\":["
    "{\"case\":\"a\",\"claim\":\"smaller\",\"source\":\"s\",\"kind\":\"up to\",\"published\":10,"
    "\"unit\":\"x\",\"halves\":{\"accuracy\":\"kept\",\"commands\":[\"strait run x\"],\"rows\":"
    "{\"where\":{\"codec/name\":\"sz\"},\"against\":{\"codec/name\":\"none\"},"
    "\"metric\":\"ratio\"}}},"
    "{\"case\":\"b\",\"claim\":\"share\",\"source\":\"s\",\"published\":5,\"unit\":\"%\","
    "\"halves\":{\"sense\":\"at most\"}}]}";

static json_t *claims_of(const json_t *rows)
{
    char path[] = "/tmp/strait-claims-XXXXXX";
    struct strait_error err = {0};
    struct strait_profile *profile;
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, file, sizeof(file) - 1) == (ssize_t)sizeof(file) - 1);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    json_t *claims = strait_claims(path, rows, profile, 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(claims);
    CU_ASSERT_EQUAL(json_array_size(claims), 2);
    unlink(path);
    strait_profile_free(profile);
    return claims;
}

static void expect(const json_t *rows, const char *first, const char *accuracy, const char *verdict)
{
    json_t *claims = claims_of(rows), *claim = json_array_get(claims, 0);
    const json_t *half = json_object_get(claim, "accuracy");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(claim, "first")), first);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(half, "state")), accuracy);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(claim, "verdict")), verdict);
    json_decref(claims);
}

static void both(void)
{
    json_t *rows = json_array();
    add(rows, "none", 1, 0.80, 0.01);
    add(rows, "sz", 12, 0.60, 0.01); /* small enough, but it lost 20 points */
    expect(rows, "holds", "lost", "not reached");
    add(rows, "sz", 8, 0.795, 0.01); /* kept, but not small enough: two halves of two rows do not
                                       make one */
    expect(rows, "fails", "kept", "not reached");
    add(rows, "sz", 11, 0.795, 0.01);
    expect(rows, "holds", "kept", "reached");
    json_decref(rows);
}

/* Means of 0.79 and 0.80, deviations of 0.03 and 0.04 over three seeds: the difference's is
 * 0.05 / sqrt 3 = 0.028868; t of two degrees of freedom is 4.303: -0.01 +- 0.12422. */
static void interval(void)
{
    json_t *rows = json_array();
    add(rows, "none", 1, 0.80, 0.03);
    add(rows, "sz", 11, 0.79, 0.04);
    json_t *claims = claims_of(rows);
    const json_t *half = json_object_get(json_array_get(claims, 0), "accuracy"),
                 *bounds = json_object_get(half, "interval");
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(half, "difference")), -0.01, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(bounds, 0)), -0.13422, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(bounds, 1)), 0.11422, 1e-5);
    json_decref(claims);
    json_decref(rows);
}

/* 14 points below with a deviation of 6: 4.303 sqrt((0.06^2 + 0.01^2) / 3) = 15.1 points, so that
 * the interval has 0, which says how little three seeds tell and not that nothing was lost. */
static void too_few(void)
{
    json_t *rows = json_array();
    add(rows, "none", 1, 0.80, 0.01);
    add(rows, "sz", 12, 0.66, 0.06);
    expect(rows, "holds", "unclear", "unclear");
    json_decref(rows);
}

static void silence(void)
{
    json_t *rows = json_array();
    expect(rows, "not measured here", "not measured here", "not measured here");
    add(rows, "sz", 12, 0.80, 0.01); /* nothing to hold it against */
    expect(rows, "not measured here", "not measured here", "not measured here");
    json_t *claims = claims_of(rows);
    const json_t *other = json_array_get(claims, 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(other, "verdict")),
                           "not measured here");
    json_decref(claims);
    json_decref(rows);
}

/* A row like add()'s of another task and run, with what each of three seeds took to its target. */
static void add_run(json_t *rows, const char *task, const char *command, const char *codec,
                    double accuracy, const double took_s[3])
{
    add(rows, codec, 12, accuracy, 0.01);
    json_t *row = json_array_get(rows, json_array_size(rows) - 1),
           *training = json_object_get(row, "training");
    json_object_set_new(row, "command", json_string(command));
    json_object_set_new(training, "task", json_string(task));
    json_object_set_new(json_object_get(training, "spread"), "reached_s",
                        json_pack("{s:[f, f, f]}", "each", took_s[0], took_s[1], took_s[2]));
}

/* Kept on one task and lost on the other: the claim is of both. */
static void tasks(void)
{
    static const double took_s[] = {1, 1, 1};
    json_t *rows = json_array();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", "a", "sz", 0.80, took_s);
    expect(rows, "holds", "kept", "reached");
    add_run(rows, "fashion-mlp", "a", "none", 0.80, took_s);
    add_run(rows, "fashion-mlp", "a", "sz", 0.60, took_s);
    expect(rows, "holds", "lost", "not reached");
    add_run(rows, "fashion-mlp", "b", "none", 0.80, took_s); /* another run, another setting */
    add_run(rows, "fashion-mlp", "b", "sz", 0.80, took_s);
    expect(rows, "holds", "kept", "reached");
    json_decref(rows);
}

/* The same of tasks that were run apart, one for fewer rounds; another setting is another run. */
static void tasks_apart(void)
{
    static const double took_s[] = {1, 1, 1};
    static const char mlp[] = "strait run x --set '/training={\"task\":\"m\"}' --set '/seeds=3'",
                      cnn[] = "strait run x --set '/training={\"task\":\"c\"}' "
                              "--set '/strategy/rounds=60' --set '/seeds=3'",
                      other[] = "strait run x --set '/training={\"task\":\"c\"}'";
    json_t *rows = json_array();
    add_run(rows, "fashion-mlp", mlp, "none", 0.80, took_s);
    add_run(rows, "fashion-mlp", mlp, "sz", 0.60, took_s);
    add_run(rows, "fashion-cnn", cnn, "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", cnn, "sz", 0.80, took_s);
    expect(rows, "holds", "lost", "not reached");
    add_run(rows, "fashion-cnn", other, "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", other, "sz", 0.80, took_s);
    expect(rows, "holds", "kept", "reached");
    json_decref(rows);
}

/* Of a run without its own uncompressed row nothing is known, whatever other runs have. */
static void runs(void)
{
    static const double took_s[] = {1, 1, 1};
    json_t *rows = json_array();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", "b", "sz", 0.80, took_s);
    expect(rows, "not measured here", "not measured here", "not measured here");
    json_decref(rows);
}

/* 4 / 2, 9 / 3 and 4 / 1 are 2, 3 and 4: mean 3, deviation 1, and 4.303 / sqrt 3 = 2.484 on either
 * side. A seed that never got there leaves no figure. */
static void times_of_seeds(void)
{
    static const double plain_s[] = {4, 9, 4}, coded_s[] = {2, 3, 1}, never_s[] = {2, NAN, 1};
    json_t *rows = json_array(),
           *asked = json_pack("{s:{s:{s:s}, s:{s:s}, s:s}}", "rows", "where", "codec/name", "sz",
                              "against", "codec/name", "none", "times", "reached_s"),
           *claim = json_object();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, plain_s);
    add_run(rows, "fashion-cnn", "a", "sz", 0.80, coded_s);
    published_search(claim, asked, rows);
    const json_t *interval = json_object_get(claim, "interval");
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(claim, "ours")), 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(interval, 0)), 0.516, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(interval, 1)), 5.484, 1e-3);
    json_decref(claim);
    json_array_clear(rows);
    claim = json_object();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, plain_s);
    add_run(rows, "fashion-cnn", "a", "sz", 0.80, never_s);
    published_search(claim, asked, rows);
    CU_ASSERT_PTR_NULL(json_object_get(claim, "ours"));
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_object_get(claim, "accuracy"), "state")), "kept");
    json_decref(claim);
    json_decref(asked);
    json_decref(rows);
}

/* Deviations over clients of 4, 9, 4 and 3, 9, 2: the ratios 0.75, 1, 0.5 have the mean 0.75 and
 * the deviation 0.25, so 25 % is saved, +- 100 x 4.303 x 0.25 / sqrt(3). */
static void saved_of_seeds(void)
{
    static const double plain_sd[] = {4, 9, 4}, own_sd[] = {3, 9, 2};
    json_t *rows = json_array(),
           *asked = json_pack("{s:{s:{s:s}, s:{s:s}, s:s}}", "rows", "where", "codec/name", "sz",
                              "against", "codec/name", "none", "saved", "reached_s"),
           *claim = json_object();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, plain_sd);
    add_run(rows, "fashion-cnn", "a", "sz", 0.80, own_sd);
    published_search(claim, asked, rows);
    const json_t *interval = json_object_get(claim, "interval");
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(claim, "ours")), 25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(interval, 0)), 25 - 62.109, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_array_get(interval, 1)), 25 + 62.109, 1e-3);
    json_decref(claim);
    json_decref(asked);
    json_decref(rows);
}

/* A claim of a policy is answered by runs that were commanded so; null is a key that a row has not,
 * as rows before it was thought of. */
static void of_a_command(void)
{
    static const double took_s[] = {1, 1, 1};
    json_t *rows = json_array(),
           *asked = json_pack("{s:{s:{s:s, s:s, s:n}, s:{s:s}, s:s}}", "rows", "where",
                              "codec/name", "sz", "command", "\"fair\"", "codec/new", "against",
                              "codec/name", "none", "metric", "ratio"),
           *claim = json_object();
    add_run(rows, "fashion-cnn", "run --set 'policy=\"fixed\"'", "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", "run --set 'policy=\"fixed\"'", "sz", 0.80, took_s);
    published_search(claim, asked, rows);
    CU_ASSERT_PTR_NULL(json_object_get(claim, "ours"));
    add_run(rows, "fashion-cnn", "run --set 'policy=\"fair\"'", "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", "run --set 'policy=\"fair\"'", "sz", 0.80, took_s);
    published_search(claim, asked, rows);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(claim, "ours")), 12);
    json_decref(claim);
    json_decref(asked);
    json_decref(rows);
}

/* What is kept is read again with its command; a command's old rows go, those of one seed stay
 * out. */
static void kept(void)
{
    static const double took_s[] = {1, 1, 1};
    char path[] = "/tmp/strait-kept-XXXXXX";
    struct strait_error err = {0};
    json_t *rows = json_array();
    add_run(rows, "fashion-cnn", "a", "none", 0.80, took_s);
    add_run(rows, "fashion-cnn", "b", "none", 0.70, took_s);
    add_run(rows, "fashion-cnn", "b", "sz", 0.60, took_s);
    json_t *first = strait_claims_keep(NULL, rows);
    json_array_clear(rows);
    add_run(rows, "fashion-cnn", "b", "none", 0.75, took_s);
    add_run(rows, "fashion-cnn", "b", "sz", 0.65, took_s);
    json_object_set_new(json_object_get(json_array_get(rows, 1), "training"), "seeds",
                        json_integer(1));
    json_t *second = strait_claims_keep(first, rows);
    const int fd = mkstemp(path);
    char *text = strait_claims_text(second);
    CU_ASSERT_FATAL(fd >= 0 && dprintf(fd, "%s", text) > 0);
    close(fd);
    free(text);
    json_t *read = strait_claims_rows(path, &err), *row = json_array_get(read, 1);
    CU_ASSERT_EQUAL_FATAL(json_array_size(read), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "command")), "b");
    CU_ASSERT_DOUBLE_EQUAL(strait_spread_of(row, "accuracy").mean, 0.75, 1e-9);
    unlink(path);
    json_decref(read);
    json_decref(second);
    json_decref(first);
    json_decref(rows);
}

/* What claims ask of a row is kept whole, and nothing else. */
static void slim(void)
{
    static const char row[] =
        "{\"model\":\"m\",\"strategy\":\"s\",\"clients\":3,\"labels\":{\"/a\":\"b\"},\"codec\":{"
        "\"name\":\"sz\"},\"download_codec\":null,\"bytes\":7,\"ratio\":2.5,\"round_s\":1.5,"
        "\"wall_s\":9,%s\"training\":{\"task\":\"t\",\"until\":{\"x\":1},\"seeds\":2,%s\"spread\":{"
        "\"accuracy\":{\"mean\":0.5,\"sd\":0.1,\"each\":[0.4,0.6]%s},\"loss\":{\"mean\":1},"
        "\"time_s\":{\"mean\":2},\"bytes\":{\"mean\":3},\"reached_s\":{\"each\":[4,null]},"
        "\"reached_round\":{\"mean\":5},\"clients_sd\":{\"mean\":6}%s}}}";
    char text[1024];
    json_t *rows = json_array();
    snprintf(text, sizeof(text), row, "\"command\":\"c\",\"key\":\"k\",", "\"batch\":8,",
             ",\"n\":2", ",\"steps\":{\"mean\":1},\"reached_s\":{\"mean\":null,\"each\":[4,null]}");
    json_array_append_new(rows, json_loads(text, 0, NULL));
    json_t *kept = strait_claims_keep(NULL, rows),
           *run = json_array_get(json_object_get(kept, "runs"), 0);
    snprintf(text, sizeof(text), row, "", "", "", "");
    json_t *wanted = json_loads(text, 0, NULL);
    json_object_del(wanted, "download_codec"); /* null */
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(kept, "schema")), "strait-trained/1");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(run, "command")), "c");
    CU_ASSERT_TRUE(json_equal(json_array_get(json_object_get(run, "rows"), 0), wanted));
    json_decref(wanted);
    json_decref(kept);
    json_decref(rows);
}

static void command(void)
{
    json_t *header =
               json_pack("{s:{s:s, s:{s:i, s:s}}, s:[{s:s}]}", "experiment", "file", "fashion.json",
                         "set", "/seeds", 5, "/codec", "none", "runs", "backend", "fluid"),
           *text = strait_claims_command(header);
    CU_ASSERT_STRING_EQUAL(
        json_string_value(text),
        "strait run fashion --on fluid --set '/seeds=5' --set '/codec=\"none\"'");
    json_decref(text);
    json_decref(header);
}

/* Every claim that ships says how each half is had, or why not. */
static void shipped(void)
{
    json_t *all = json_load_file(DATA("traces/claims.json"), 0, NULL), *row;
    size_t i;
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(all, "rows")), 28);
    json_array_foreach (json_object_get(all, "rows"), i, row) {
        const json_t *halves = json_object_get(row, "halves");
        CU_ASSERT(json_is_object(halves));
        CU_ASSERT(json_is_string(json_object_get(row, "reason")));
        CU_ASSERT(!json_object_get(halves, "rows") ||
                  json_array_size(json_object_get(halves, "commands")) > 0);
    }
    json_decref(all);
}

static const struct strait_test tests[] = {
    {"a claim is reached where both halves hold on one row", both},
    {"the interval of the accuracy's difference is Student's", interval},
    {"an interval that is too wide to tell keeps nothing", too_few},
    {"what nothing was run for is not measured here", silence},
    {"of several tasks the worst counts", tasks},
    {"of tasks that were run apart too", tasks_apart},
    {"rows are held against those of their own run", runs},
    {"times are compared seed by seed, with Student's interval", times_of_seeds},
    {"what is saved is compared so, too", saved_of_seeds},
    {"a claim of a setting is answered by runs commanded so", of_a_command},
    {"kept rows are those of the last run of each command", kept},
    {"of a kept row there is what claims ask", slim},
    {"a folder's header gives the command that ran", command},
    {"every claim that ships says how its halves are had", shipped},
};
STRAIT_SUITE("campaign/published/claims", tests);
