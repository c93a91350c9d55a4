/* Which settings strait codec bench and strait calibrate codecs measure where none are named, and
 * what they say of them that is no time. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/program.h"

enum { N = 2000 };

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

/* Sevenths, which neither half precision nor a code with a bound holds. */
static void begin(void)
{
    float x[N];
    program_set_up(&program);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)i / 7;
    program_write_bytes(&program, "x.f32", x, sizeof(x));
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

/* Those with bounds at three of the range, looser ones first; the reference last, unless one of
 * them is it; of an exact codec the error is 0. */
static void benched(void)
{
    static const char *const specs[] = {
        "zfp:range=0.01", "zfp:range=1e-3", "zfp:range=1e-4", "none", "bf16", "sz:abs=0.5", "fp16"};
    char *line, *rest;
    size_t i = 0;
    begin();
    struct said s =
        CALL("codec", "bench", "x.f32", "--codec", "zfp", "--codec", "none", "--codec", "bf16",
             "--codec", "sz:abs=0.5", "--against", "fp16", "--repeats", "1", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    for (line = strtok_r(s.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), i++) {
        json_t *row = json_loads(line, 0, NULL);
        const json_t *against = json_object_get(row, "against");
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_FATAL(i < sizeof(specs) / sizeof(*specs));
        strait_test_context("%s", specs[i]);
        const bool lossless = strcmp(specs[i], "none") == 0;
        const double sent_bytes = number_of(row, "encoded_bytes"), ratio = number_of(row, "ratio");
        CU_ASSERT_STRING_EQUAL(text_of(row, "spec"), specs[i]);
        CU_ASSERT_EQUAL(strncmp(text_of(row, "codec"), specs[i], strcspn(specs[i], ":")), 0);
        CU_ASSERT_STRING_EQUAL(text_of(row, "tensors"), "all");
        CU_ASSERT_EQUAL(number_of(row, "n_tensors"), 1);
        CU_ASSERT_EQUAL(number_of(row, "raw_bytes"), 4 * N);
        CU_ASSERT_DOUBLE_EQUAL(ratio * sent_bytes, 4 * N, 1e-9);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(row, "exact")), lossless);
        CU_ASSERT_EQUAL(number_of(row, "relative_l2_error") > 0, !lossless);
        CU_ASSERT_EQUAL(json_is_null(json_object_get(row, "error_over_bound")),
                        strchr(specs[i], ':') == NULL);
        CU_ASSERT_STRING_EQUAL(text_of(against, "spec"), "fp16");
        /* half-precision numbers have a head of a byte */
        CU_ASSERT_DOUBLE_EQUAL(number_of(against, "ratio"), ratio / (4.0 * N / (2 * N + 1)), 1e-9);
        CU_ASSERT(number_of(row, "encode_bytes_per_s") > 0);
        CU_ASSERT_EQUAL(number_of(against, "encode") == 1, i == 6);
        CU_ASSERT_EQUAL(number_of(against, "decode") == 1, i == 6);
        json_decref(row);
    }
    CU_ASSERT_EQUAL(i, sizeof(specs) / sizeof(*specs));
    said_release(&s);
    s = CALL("codec", "bench", "x.f32", "--codec", "fp16", "--codec", "sz:rms=0.1", "--against",
             "zfp", "--repeats", "2", "--json"); /* which has no rms of 0.1 of fp16 */
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 3);
    CU_ASSERT_CONTAINS(s.out, "\"spec\":\"zfp:rms=0.1\"");
    said_release(&s);
    s = CALL("codec", "bench", "x.f32", "--codec", "none", "--repeats", "100");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out,
                       "1 tensor, 8.00 KB; speeds are MB of float32 a second, medians of 100");
    said_release(&s);
    program_tear_down(&program);
}

/* The whole grids of bounds, from the shortest to the longest code. */
static void calibrated(void)
{
    static const struct {
        const char *kind;
        double values[10];
    } grids[] = {{"range", {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6}},
                 {"abs", {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}},
                 {"rms", {1, 0.5, 1e-1, 3e-2, 1e-2, 1e-3}},
                 {"pointwise", {1e-1, 1e-2, 1e-3, 1e-4}},
                 {"ratio", {2, 4, 8, 16, 32, 64}}};
    size_t n = 0;
    begin();
    struct said s = CALL("calibrate", "codecs", "x.f32", "--codec", "sz", "--codec", "none",
                         "--codec", "sz:abs=7", "--repeats", "1", "--json", "--title", "of ours");
    json_t *profile = json_loads(s.out, 0, NULL), *entries = json_object_get(profile, "entries");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(text_of(profile, "title"), "of ours");
    CU_ASSERT_STRING_EQUAL(text_of(profile, "source"),
                           "strait calibrate codecs on files of the user's, one thread");
    CU_ASSERT_TRUE(json_is_false(json_object_get(profile, "stated")));
    for (size_t g = 0; g < sizeof(grids) / sizeof(*grids); g++)
        for (size_t i = 0; grids[g].values[i] > 0; i++, n++) {
            const json_t *entry = json_array_get(entries, n),
                         *bound = json_object_get(entry, "bound");
            strait_test_context("%s %zu", grids[g].kind, i);
            CU_ASSERT_STRING_EQUAL(text_of(entry, "codec"), "sz");
            CU_ASSERT_STRING_EQUAL(text_of(entry, "kind"), "any");
            CU_ASSERT_EQUAL(json_object_size(bound), 1);
            CU_ASSERT_EQUAL(number_of(bound, grids[g].kind), grids[g].values[i]);
        }
    CU_ASSERT_STRING_EQUAL(text_of(json_array_get(entries, n), "codec"), "none");
    CU_ASSERT_PTR_NULL(json_object_get(json_array_get(entries, n), "bound"));
    CU_ASSERT_EQUAL(number_of(json_object_get(json_array_get(entries, n + 1), "bound"), "abs"), 7);
    CU_ASSERT_EQUAL(json_array_size(entries), n + 2);
    json_decref(profile);
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"codecs are measured at three bounds of the range, and beside a reference", benched},
    {"a profile has the whole grids of bounds", calibrated},
};
STRAIT_SUITE("cli/codec/measured_settings", tests);
