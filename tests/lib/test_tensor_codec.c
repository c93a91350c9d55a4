/* The installed functions: what they return for good and bad arguments. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/strait.h"
#include "tests/kit/suite.h"

enum { N = 1024, N_ROWS = 32 };

/* A ramp from -1 to 1 - 2/N: max - min = 2 - 2/N. */
static void ramp(float *x)
{
    for (int i = 0; i < N; i++)
        x[i] = 2.0f * (float)i / N - 1;
}

static void keeps_bound(void)
{
    float x[N], y[N];
    struct strait_error err = {0};
    struct strait_tensor_codec *c;
    size_t len_bytes;
    ramp(x);
    CU_ASSERT_EQUAL_FATAL(strait_tensor_codec_new(&c, "sz:abs=0.01", N, N_ROWS, &err), 0);
    const size_t cap_bytes = strait_tensor_codec_max_bytes(c);
    unsigned char *out = malloc(cap_bytes);
    CU_ASSERT_EQUAL(strait_tensor_codec_encode(c, out, cap_bytes, &len_bytes, x, 0, &err), 0);
    CU_ASSERT(len_bytes < sizeof(x) / 2); /* a ramp is what its predictor is made for */
    CU_ASSERT_EQUAL(strait_tensor_codec_decode(c, y, out, len_bytes, &err), 0);
    for (int i = 0; i < N; i++)
        CU_ASSERT(fabs((double)x[i] - (double)y[i]) <= 0.01);
    CU_ASSERT_EQUAL(strait_tensor_codec_decode(c, y, out, len_bytes - 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    free(out);
    strait_tensor_codec_free(c);
}

/* Half of the values are sent, the larger ones: what was left goes with the next round's. */
static void remembers(void)
{
    const float x[4] = {4, 3, 2, 1};
    float y[4];
    struct strait_error err = {0};
    struct strait_tensor_codec *c;
    size_t len_bytes;
    unsigned char out[4096];
    CU_ASSERT_EQUAL_FATAL(
        strait_tensor_codec_new(&c, "topk:ratio=0.5,error_feedback=yes", 4, 0, &err), 0);
    CU_ASSERT_FATAL(strait_tensor_codec_max_bytes(c) <= sizeof(out));
    static const float expected[3][4] = {
        {4, 3, 0, 0}, /* 2 and 1 stay */
        {4, 0, 4, 0}, /* 4 3 4 2: 3 and 2 stay */
        {4, 3, 0, 0}, /* forgotten: as at first */
    };
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            CU_ASSERT_EQUAL(strait_tensor_codec_reset(c, &err), 0);
        CU_ASSERT_EQUAL(strait_tensor_codec_encode(c, out, sizeof(out), &len_bytes, x, 0, &err), 0);
        CU_ASSERT_EQUAL(strait_tensor_codec_decode(c, y, out, len_bytes, &err), 0);
        for (int k = 0; k < 4; k++)
            CU_ASSERT_EQUAL(y[k], expected[i][k]);
    }
    strait_tensor_codec_free(c);
}

static void expect_refused(const char *spec, size_t n_elems, size_t n_rows, const char *text)
{
    struct strait_error err = {0};
    struct strait_tensor_codec *c;
    CU_ASSERT_EQUAL(strait_tensor_codec_new(&c, spec, n_elems, n_rows, &err), -1);
    CU_ASSERT_PTR_NULL(c);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
}

static void refuses(void)
{
    expect_refused("szz:range=1e-3", 16, 0, "szz");
    expect_refused("sz", 16, 0, "expected a bound that this codec keeps, found \"none\"");
    expect_refused("zstd:range=1e-3", 16, 0, "range");
    expect_refused("none", 16, 3, "divides 16 elements, found 3");
    struct strait_tensor_codec *c;
    CU_ASSERT_EQUAL(strait_tensor_codec_new(&c, "szz", 16, 0, NULL), -1); /* err may be NULL */
    strait_tensor_codec_free(NULL);
}

/* What a program declares without a value, or has from an earlier failure. */
static void any_error(void)
{
    struct strait_error err;
    struct strait_tensor_codec *c;
    struct strait_tensor_cost cost;
    char *rows;
    memset(&err, 0x7f, sizeof(err));
    CU_ASSERT_EQUAL(strait_tensor_codec_new(&c, "szz", 16, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_CONTAINS(err.text, "found \"szz\"");
    CU_ASSERT_EQUAL(strait_tensor_cost(&cost, NULL, "qsgdd", "update", 16, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "found \"qsgdd\"");
    CU_ASSERT_EQUAL(strait_predict(&rows, "wan-check", "emu", NULL, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
    CU_ASSERT_EQUAL_FATAL(strait_tensor_codec_new(&c, "none", 16, 0, &err), 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    strait_tensor_codec_free(c);
}

static void small_buffer(void)
{
    const float x[16] = {0};
    unsigned char out[8];
    struct strait_error err = {0};
    struct strait_tensor_codec *c;
    size_t len_bytes;
    CU_ASSERT_EQUAL_FATAL(strait_tensor_codec_new(&c, "none", 16, 0, &err), 0);
    CU_ASSERT_EQUAL(strait_tensor_codec_encode(c, out, sizeof(out), &len_bytes, x, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    strait_tensor_codec_free(c);
}

/* codecs/profiles/fl-runner-class.json states 7.39, 50 MB/s in and 100 MB/s out; 4 MB here. */
static void costs(void)
{
    struct strait_tensor_cost cost;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(
        strait_tensor_cost(&cost, "fl-runner-class", "sz:range=1e-2", "update", 1000000, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(cost.ratio, 7.39, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(cost.encode_s, 4e6 / 50e6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(cost.decode_s, 4e6 / 100e6, 1e-12);
    CU_ASSERT_EQUAL(
        strait_tensor_cost(&cost, "fl-runner-class", "sz:range=0.9", "update", 1000000, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
}

static void predictions(void)
{
    static const char *const backends[] = {"emu", "both", ""};
    char *rows;
    for (size_t i = 0; i < 3; i++) {
        struct strait_error err = {0};
        CU_ASSERT_EQUAL(strait_predict(&rows, "wan-check", backends[i], NULL, NULL, &err), -1);
        CU_ASSERT_PTR_NULL(rows);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "expected sim or fluid, found"));
    }
    struct strait_error err = {0};
    const char *const settings[] = {"/clients=-1", NULL};
    CU_ASSERT_EQUAL(strait_predict(&rows, "wan-check", "fluid", NULL, settings, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    strait_rows_free(NULL);
}

/* Beside each row with a codec that of the same point without one, as strait run has it. */
static void references(void)
{
    static const char *const settings[] = {"/codec=sz:range=1e-3", NULL};
    struct strait_error err = {0};
    char *text;
    size_t k, n_references = 0;
    json_t *row;
    CU_ASSERT_EQUAL_FATAL(strait_predict(&text, "wan-check", "fluid", NULL, settings, &err), 0);
    json_t *rows = json_loads(text, 0, NULL);
    json_array_foreach (rows, k, row) {
        const bool is_reference = json_is_true(json_object_get(row, "reference"));
        const char *codec =
            json_string_value(json_object_get(json_object_get(row, "codec"), "name"));
        CU_ASSERT_STRING_EQUAL(codec, is_reference ? "none" : "sz");
        n_references += is_reference;
    }
    CU_ASSERT_AT_LEAST(n_references, 1);
    CU_ASSERT_EQUAL(2 * n_references, json_array_size(rows));
    json_decref(rows);
    strait_rows_free(text);
}

/* What was set stands in each row, and only where something was. */
static void what_was_set(void)
{
    static const char *const settings[] = {"/clients=3", NULL}, *const none[] = {NULL};
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        char *text;
        CU_ASSERT_EQUAL_FATAL(
            strait_predict(&text, "wan-check", "fluid", NULL, i == 0 ? settings : none, &err), 0);
        json_t *rows = json_loads(text, 0, NULL), *row;
        size_t k;
        CU_ASSERT_AT_LEAST(json_array_size(rows), 1);
        json_array_foreach (rows, k, row) {
            const json_t *set = json_object_get(row, "set");
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(set, "/clients")), i == 0 ? 3 : 0);
            CU_ASSERT_EQUAL(set != NULL, i == 0);
            if (i == 0)
                CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "clients")), 3);
            CU_ASSERT_PTR_NULL(json_object_get(row, "facts_constants"));
        }
        json_decref(rows);
        strait_rows_free(text);
    }
    FILE *f = fopen("VERSION", "r");
    char version[32] = "";
    CU_ASSERT_FATAL(f && fgets(version, sizeof(version), f));
    fclose(f);
    version[strcspn(version, "\n")] = '\0';
    CU_ASSERT_STRING_EQUAL(strait_version(), version);
    char macros[32];
    snprintf(macros, sizeof(macros), "%d.%d.%d", STRAIT_VERSION_MAJOR, STRAIT_VERSION_MINOR,
             STRAIT_VERSION_PATCH);
    CU_ASSERT_STRING_EQUAL(macros, version);
    CU_ASSERT_EQUAL(STRAIT_VERSION_HEX, (STRAIT_VERSION_MAJOR * 256 + STRAIT_VERSION_MINOR) * 256 +
                                            STRAIT_VERSION_PATCH);
}

static const struct strait_test tests[] = {
    {"predictions have the rows that codecs are held against", references},
    {"rows of a prediction say what was set", what_was_set},
    {"a tensor comes back within its bound, a cut stream does not", keeps_bound},
    {"what error feedback left is sent in the next round, until it is reset", remembers},
    {"a wrong spec, a missing bound and odd rows are refused", refuses},
    {"a buffer that is too small is refused", small_buffer},
    {"an error is that of its own call, whatever the struct held before", any_error},
    {"a cost is what the profile says", costs},
    {"a prediction runs on sim or fluid, and says what is wrong", predictions},
};
STRAIT_SUITE("lib/tensor_codec", tests);
