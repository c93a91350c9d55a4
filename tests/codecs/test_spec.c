#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/spec.h"
#include "tests/kit/suite.h"

/* A codec that the table does not have: texts of settings need no codec that works. */
static const char *const payloads[] = {"packed", "published", NULL};
static const struct strait_param params[] = {
    {.name = "ratio", .doc = "", .min = 1e-6, .max = 1, .fallback = 0.01},
    {.name = "payload", .doc = "", .min = 0, .max = 1, .choices = payloads},
    {.name = "levels", .doc = "", .min = 1, .max = 65536, .fallback = 64}};
static const struct strait_codec_ops made_up = {.name = "madeup",
                                                .bounds = 1u << STRAIT_BOUND_NONE |
                                                          1u << STRAIT_BOUND_RANGE,
                                                .params = params,
                                                .n_params = 3,
                                                .memory = {.residual = true, .decay = 1}};

static bool same(const struct strait_codec_spec *a, const struct strait_codec_spec *b)
{
    return a->ops == b->ops &&
           memcmp(a->params, b->params, a->ops->n_params * sizeof(a->params[0])) == 0 &&
           a->bound.kind == b->bound.kind && a->bound.value == b->bound.value &&
           a->memory.residual == b->memory.residual && a->memory.momentum == b->memory.momentum &&
           a->memory.decay == b->memory.decay;
}

static void check_round_trip(const struct strait_codec_spec *spec)
{
    struct strait_error err = {0};
    struct strait_codec_spec again;
    char text[STRAIT_SPEC_CHARS], text_again[STRAIT_SPEC_CHARS];
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&again, strait_codec_spec_text(text, spec), &err),
                          0);
    CU_ASSERT(same(spec, &again));
    CU_ASSERT_STRING_EQUAL(strait_codec_spec_text(text_again, &again), text);
}

/* Every parameter at both ends, with every bound that the codec keeps, and with other memory. */
static void check_codec(const struct strait_codec_ops *ops)
{
    char text[STRAIT_SPEC_CHARS];
    const struct strait_codec_spec plain = strait_codec_spec_default(ops);
    CU_ASSERT_STRING_EQUAL(strait_codec_spec_text(text, &plain), ops->name);
    CU_ASSERT_STRING_EQUAL(strait_codec_settings_text(text, &plain), "");
    check_round_trip(&plain);
    for (unsigned i = 0; i < ops->n_params; i++) {
        struct strait_codec_spec spec = plain;
        const struct strait_param *p = &ops->params[i];
        CU_ASSERT(p->min <= p->fallback && p->fallback <= p->max);
        spec.params[i] = p->min;
        check_round_trip(&spec);
        spec.params[i] = p->max;
        check_round_trip(&spec);
        for (unsigned k = 0; p->choices && p->choices[k]; k++) {
            CU_ASSERT(k <= p->max);
            spec.params[i] = k;
            check_round_trip(&spec);
        }
    }
    for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++) {
        struct strait_codec_spec spec = plain;
        spec.bound = (struct strait_bound){(enum strait_bound_kind)k, 1.0 / 3 + 1};
        if (ops->bounds & 1u << k)
            check_round_trip(&spec);
    }
    struct strait_codec_spec spec = plain;
    spec.memory.residual = !spec.memory.residual;
    check_round_trip(&spec);
    spec.memory.decay = 0.9375;
    check_round_trip(&spec);
}

static void round_trips(void)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n; i++)
        check_codec(codecs[i]);
}

static void texts(void)
{
    char text[STRAIT_SPEC_CHARS];
    struct strait_codec_spec spec = strait_codec_spec_default(&made_up);
    spec.params[1] = 1;
    spec.params[0] = 0.1;
    CU_ASSERT_STRING_EQUAL(strait_codec_spec_text(text, &spec),
                           "madeup:ratio=0.1,payload=published");
    spec.memory.residual = false;
    spec.memory.momentum = 0.9;
    spec.bound = (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3};
    CU_ASSERT_STRING_EQUAL(
        strait_codec_spec_text(text, &spec),
        "madeup:ratio=0.1,payload=published,error_feedback=no,momentum=0.9,range=1e-3");
    CU_ASSERT_STRING_EQUAL(strait_codec_settings_text(text, &spec),
                           "ratio=0.1,payload=published,error_feedback=no,momentum=0.9");
}

static void numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {64, "64"},
        {100, "100"},
        {65536, "65536"},
        {0.01, "0.01"},
        {0.25, "0.25"},
        {1e-3, "1e-3"},
        {3e-4, "3e-4"},
        {1e7, "1e7"},
        {1.5e-9, "1.5e-9"},
        {-2, "-2"},
        {0.1 + 0.2, "0.30000000000000004"} /* a double that needs 17 digits */,
        {5e-324, "5e-324"} /* the least double */,
    };
    char text[64];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CU_ASSERT_STRING_EQUAL(strait_codec_param_text(text, &params[0], cases[i].value),
                               cases[i].text);
        CU_ASSERT(strtod(text, NULL) == cases[i].value);
    }
    CU_ASSERT_STRING_EQUAL(strait_codec_param_text(text, &params[1], 1), "published");
}

static void reads(void)
{
    struct strait_error err = {0};
    struct strait_codec_spec spec;
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "sz:range=1e-3", &err), 0);
    CU_ASSERT_STRING_EQUAL(spec.ops->name, "sz");
    CU_ASSERT_EQUAL(spec.bound.kind, STRAIT_BOUND_RANGE);
    CU_ASSERT_EQUAL(spec.bound.value, 1e-3);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "sz", &err), 0);
    CU_ASSERT_EQUAL(spec.bound.kind, STRAIT_BOUND_NONE);
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_spec_parse(&spec, "none:error_feedback=yes,momentum=0.5", &err), 0);
    CU_ASSERT(spec.memory.residual && spec.memory.momentum == 0.5 && spec.memory.decay == 1);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "dcttopk:feedback_decay=0.9", &err), 0);
    CU_ASSERT(spec.memory.residual && spec.memory.decay == 0.9);
    CU_ASSERT(strait_feedback_needed(&spec));
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "none", &err), 0);
    CU_ASSERT_FALSE(strait_feedback_needed(&spec));
}

static void bad_texts(void)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "expected a codec (strait codec list), found \"\""},
        {"szz", "expected a codec (strait codec list), found \"szz\", did you mean \"sz\"?"},
        {"sz:", "expected settings such as \"range=1e-3\", found \"\""},
        {"sz:range", "expected settings such as \"range=1e-3\", found \"range\""},
        {"sz:range=", "expected settings such as \"range=1e-3\", found \"range=\""},
        {"sz:=1", "expected settings such as \"range=1e-3\", found \"=1\""},
        {"sz:range=1e-3,", "expected settings such as \"range=1e-3\", found \"\""},
        {"sz:rnage=1e-3", "unknown setting \"rnage\" of sz, did you mean \"range\"?"},
        {"sz:range=1e-3,abs=1", "expected one bound, found range and abs"},
        {"sz:range=1e-3,range=1e-3", "expected each setting once, found range again"},
        {"sz:range=-1", "expected a bound range of at least 0, found \"-1\""},
        {"sz:range=nan", "expected a bound range of at least 0, found \"nan\""},
        {"sz:range=1e999", "expected a bound range of at least 0, found \"1e999\""},
        {"sz:range=0x1p-3", "expected a bound range of at least 0, found \"0x1p-3\""},
        {"sz:range= 1", "expected a bound range of at least 0, found \" 1\""},
        {"none:range=1e-3", "expected a bound that none keeps (none), found \"range\""},
        {"none:quux=1",
         "unknown setting \"quux\" of none; known: error_feedback, momentum, feedback_decay"},
        {"none:feedback_decay=0", "expected feedback_decay above 0 and up to 1, found \"0\""},
        {"none:momentum=1", "expected momentum of at least 0 and below 1, found \"1\""},
        {"none:error_feedback=on", "expected error_feedback of yes or no, found \"on\""},
        {"zstd:level=1000000", "expected level between "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_codec_spec spec;
        CU_ASSERT_EQUAL(strait_codec_spec_parse(&spec, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        const bool is_named = strncmp(err.text, "expected a codec", 16) == 0; /* in the text */
        CU_ASSERT_STRING_EQUAL(err.where, is_named ? "" : cases[i].text);
        CU_ASSERT_EQUAL(strncmp(err.text, cases[i].expected, strlen(cases[i].expected)), 0);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fprintf(stderr, "%s:\n  %s\n  %s\n", cases[i].text, err.text, cases[i].expected);
    }
}

static void choices(void)
{
    struct strait_error err = {0};
    double value;
    CU_ASSERT_EQUAL(strait_codec_param_parse(&value, &params[1], "published", "here", &err), 0);
    CU_ASSERT_EQUAL(value, 1);
    CU_ASSERT_EQUAL(strait_codec_param_parse(&value, &params[1], "publishd", "here", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected payload of packed, published, found \"publishd\", "
                                     "did you mean \"published\"?");
    CU_ASSERT_STRING_EQUAL(err.where, "here");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_codec_param_parse(&value, &params[1], "1", "here", &err), -1);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_codec_param_parse(&value, &params[0], "2", "here", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected ratio between 1e-6 and 1, found \"2\"");
}

/* 16 parameters of 21 letters each with a value of 19 do not fit 256 letters. */
static void long_text(void)
{
    static const struct strait_param p = {.name = "a_long_parameter_name", .max = 1};
    struct strait_param many[STRAIT_MAX_CODEC_PARAMS];
    for (size_t i = 0; i < STRAIT_MAX_CODEC_PARAMS; i++)
        many[i] = p;
    const struct strait_codec_ops ops = {
        .name = "long", .params = many, .n_params = STRAIT_MAX_CODEC_PARAMS};
    struct strait_codec_spec spec = strait_codec_spec_default(&ops);
    char text[STRAIT_SPEC_CHARS];
    for (size_t i = 0; i < STRAIT_MAX_CODEC_PARAMS; i++)
        spec.params[i] = 0.1 + 0.2;
    strait_codec_spec_text(text, &spec);
    CU_ASSERT(strlen(text) < STRAIT_SPEC_CHARS);
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 3, "...");
}

static const struct strait_test tests[] = {
    {"text of every codec reads back as the same, at the ends of every parameter", round_trips},
    {"settings that are the default are left out, and the bound is last", texts},
    {"numbers are the shortest decimals that read back", numbers},
    {"a bound, a parameter and memory are read", reads},
    {"a wrong word is named, with what was expected and the nearest key", bad_texts},
    {"a parameter with names takes these names only", choices},
    {"a text that does not fit is not taken for a whole one", long_text},
};
STRAIT_SUITE("codecs/spec", tests);
