/* Names for people: of axes, values, codecs and what --set put in. */
#include "analysis/label.h"

#include <stdlib.h>
#include "tests/kit/suite.h"

static void says(char *found, const char *expected)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_STRING_EQUAL(found, expected);
    free(found);
}

/* The last word, with the one before it where the last alone says little. */
static void axes(void)
{
    static const char *const cases[][2] = {{"/network/server/rate", "server rate"},
                                           {"/network/client/rtt", "client rtt"},
                                           {"/a/b_c/loss", "b c loss"},
                                           {"/a/b/jitter", "b jitter"},
                                           {"/a/b/queue", "b queue"},
                                           {"/codec/profile", "codec profile"},
                                           {"/codec/name", "codec name"},
                                           {"/strategy/decode_cores", "decode cores"},
                                           {"/a/rates", "rates"},
                                           {"/rate", "rate"},
                                           {"/clients", "clients"},
                                           {"plain_word", "plain word"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        says(strait_label_axis(cases[i][0]), cases[i][1]);
}

static void kinds(void)
{
    CU_ASSERT_TRUE(strait_label_is_codec("/codec"));
    CU_ASSERT_TRUE(strait_label_is_codec("/codec/bound/range"));
    CU_ASSERT_TRUE(strait_label_is_codec("/download_codec"));
    CU_ASSERT_TRUE(strait_label_is_codec("/download_codec/name"));
    CU_ASSERT_FALSE(strait_label_is_codec("/codecs"));
    CU_ASSERT_FALSE(strait_label_is_codec("/download"));
    CU_ASSERT_FALSE(strait_label_is_codec("/strategy/codec"));
    CU_ASSERT_TRUE(strait_label_is_clients("/clients"));
    CU_ASSERT_FALSE(strait_label_is_clients("/clients/0"));
    CU_ASSERT_FALSE(strait_label_is_clients("/strategy/clients"));
}

/* Numbers with the fewest digits that give them back, powers of ten below 0.1 as such. */
static void values(void)
{
    static const char *const cases[][2] = {
        {"\"100 Mbps\"", "100 Mbps"},
        {"true", "true"},
        {"null", "null"},
        {"[1,{\"b\":2,\"a\":1.5}]", "[1,{\"a\":1.5,\"b\":2}]"},
        {"0", "0"},
        {"-2.5", "-2.5"},
        {"4.5", "4.5"},
        {"1", "1"},
        {"20", "20"},
        {"999999", "999999"},
        {"1000000", "1e+6"},
        {"1e20", "1e+20"},
        {"0.1", "0.1"},
        {"0.05", "0.05"},
        {"0.01", "1e-2"},
        {"0.00001", "1e-5"},
        {"1e-10", "1e-10"},
        {"0.25", "0.25"},
        {"1000000.5", "1000000.5"},
        {"9007199254740993", "9007199254740993"},
        {"-9007199254740993", "-9007199254740993"},
        {"{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}", "sz 1e-3"},
        {"{\"name\":\"sz\",\"bound\":{\"abs\":0.05}}", "sz abs 0.05"},
        {"{\"name\":\"sz\",\"bound\":{\"range\":1e-3},\"profile\":\"a/b/sz3.json\"}",
         "sz 1e-3 [sz3]"},
        {"{\"name\":\"sz\",\"profile\":\"sz3.class\"}", "sz [sz3.class]"},
        {"{\"name\":\"sz\",\"profile\":\"plain\",\"speed\":2}", "sz x2 [plain]"},
        {"{\"name\":\"topk\",\"ratio\":0.01,\"momentum\":true,\"own\":false,\"lossless\":\"zstd\","
         "\"cutoff\":5}",
         "topk ratio=1e-2,momentum=yes,own=no"},
        {"{\"name\":\"topk\",\"settings\":\"ratio=1\",\"momentum\":true,\"bound\":{\"range\":1}}",
         "topk ratio=1 1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *value = json_loads(cases[i][0], JSON_DECODE_ANY, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        says(strait_label_value(value), cases[i][1]);
        json_decref(value);
    }
    says(strait_label_value(NULL), "-");
}

static void rows(void)
{
    static const struct {
        const char *row, *label;
        bool plain;
    } cases[] = {
        {"{\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},\"download_codec\":{\"name\":"
         "\"zstd\"}}",
         "sz 1e-3, down zstd", false},
        {"{\"codec\":{\"name\":\"none\"},\"download_codec\":{\"name\":\"zstd\"}}",
         "none, down zstd", false},
        {"{\"codec\":{\"name\":\"fp16\"},\"download_codec\":{\"name\":\"none\"}}", "fp16", false},
        {"{\"codec\":{\"name\":\"none\"},\"download_codec\":{\"name\":\"none\"}}", "none", true},
        {"{}", "none", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *row = json_loads(cases[i].row, 0, NULL);
        says(strait_label_row_codec(row), cases[i].label);
        CU_ASSERT_EQUAL(strait_label_row_is_plain(row), cases[i].plain);
        json_decref(row);
    }
}

static void sets(void)
{
    json_t *set = json_pack("{s:i, s:s, s:[i, i], s:{s:s}, s:f}", "/clients", 64, "/a/rate",
                            "100 Mbps", "/b", 1, 2, "/codec", "name", "sz", "/c", 1e-3);
    says(strait_label_set(set),
         "/clients=64, /a/rate=100 Mbps, /b=[1,2], /codec={\"name\":\"sz\"}, /c=1e-3");
    json_decref(set);
    says(strait_label_set(NULL), "");
}

static const struct strait_test tests[] = {
    {"an axis is called by its last word, or its last two", axes},
    {"pointers to codecs and to clients are known", kinds},
    {"values have the fewest digits, codecs their bound and settings", values},
    {"rows are called by the codecs of both ways", rows},
    {"what was set is listed", sets},
};
STRAIT_SUITE("analysis/label", tests);
