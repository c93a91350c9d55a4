/* JSON Pointers of axes and settings: where they lead, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/ask/experiment.h"
#include "tests/kit/suite.h"

/* One client on the cnn, with what stands in the place of the dots. */
static int load(struct strait_sweep **s, const char *more, const char *const *settings, size_t n,
                struct strait_error *err)
{
    char path[] = "/tmp/strait-sweep-XXXXXX.json";
    memset(err, 0, sizeof(*err));
    const int fd = mkstemps(path, 5);
    CU_ASSERT_FATAL(fd >= 0);
    dprintf(fd,
            "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":1,"
            "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1},"
            "\"network\":{\"client\":[{\"rate\":\"1 Mbps\"},{\"rate\":\"2 Mbps\"}],"
            "\"server\":{\"rate\":\"1 Mbps\"}}%s}",
            more);
    close(fd);
    const int failed = strait_sweep_load(s, path, settings, n, err);
    unlink(path);
    return failed;
}

static const json_t *rate(const json_t *point, size_t client)
{
    const json_t *network = json_object_get(point, "network");
    return json_object_get(json_array_get(json_object_get(network, "client"), client), "rate");
}

/* Three axes of 2, 3 and 2 values: point 7 is 1 x 6 + 0 x 2 + 1. */
static void order(void)
{
    struct strait_sweep *s;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(load(&s,
                               ",\"vary\":{\"/clients\":[1,2],\"/seed\":[7,8,9],"
                               "\"/strategy/local_steps\":[5,6]}",
                               NULL, 0, &err),
                          0);
    CU_ASSERT_EQUAL(s->n_points, 12);
    CU_ASSERT_EQUAL(s->n_axes, 3);
    for (size_t i = 0; i < 12; i++) {
        json_t *labels, *point = strait_sweep_point(s, i, &labels, &err);
        const json_t *strategy = json_object_get(point, "strategy");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "clients")),
                        1 + (json_int_t)(i / 6));
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "seed")),
                        7 + (json_int_t)(i / 2 % 3));
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(strategy, "local_steps")),
                        5 + (json_int_t)(i % 2));
        CU_ASSERT_EQUAL(json_object_size(labels), 3);
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(labels, "/clients")),
                        1 + (json_int_t)(i / 6));
        json_decref(labels);
        json_decref(point);
    }
    strait_sweep_free(s);
}

/* Elements of arrays by number; the value as JSON where it is JSON, else as text. */
static void settings(void)
{
    static const char *const all[] = {"/network/client/1/rate=3 Mbps", "/clients=2",
                                      "/strategy={\"name\":\"fedavg\",\"rounds\":4}", "/title=a=b"};
    struct strait_sweep *s;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        load(&s, ",\"vary\":{\"/clients\":[1,2],\"/seed\":[7,8,9]}", all, 4, &err), 0);
    CU_ASSERT_EQUAL(s->n_points, 3); /* that of /clients is gone */
    json_t *point = strait_sweep_point(s, 2, NULL, &err);
    CU_ASSERT_STRING_EQUAL(json_string_value(rate(point, 0)), "1 Mbps");
    CU_ASSERT_STRING_EQUAL(json_string_value(rate(point, 1)), "3 Mbps");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "clients")), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "seed")), 9);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(point, "title")), "a=b");
    CU_ASSERT_EQUAL(
        json_integer_value(json_object_get(json_object_get(point, "strategy"), "rounds")), 4);
    json_decref(point);
    strait_sweep_free(s);
}

static void refused(const char *more, const char *setting, const char *where, const char *text)
{
    struct strait_sweep *s = (struct strait_sweep *)1;
    struct strait_error err;
    CU_ASSERT_EQUAL(load(&s, more, &setting, setting ? 1 : 0, &err), -1);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, where));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
    if (!strstr(err.where, where) || !strstr(err.text, text))
        printf("    found: %s: %s\n", err.where, err.text);
}

static void refusals(void)
{
    refused("", "clients=2", "--set", "expected /pointer=value such as /clients=64, found \"cl");
    refused("", "/clients", "--set", "expected /pointer=value such as /clients=64");
    refused("", "/vary={}", "--set", "expected a setting, which takes its axis' place");
    refused("", "/network/nowhere/rate=1", "--set#/network/nowhere/rate",
            "found nothing to enter at \"nowhere\"");
    refused("", "/network/client/2=1", "--set#/network/client/2",
            "a key of an object or an element of an array, found \"2\"");
    refused("", "/network/client/one=1", "--set#/network/client/one", "found \"one\"");
    refused("", "/clients/x=1", "--set#/clients/x", "found nothing to enter at \"clients\"");
    refused(",\"vary\":{\"clients\":[1]}", NULL, "#clients",
            "expected a JSON Pointer such as /clients, found \"clients\"");
    refused(",\"vary\":[1]", NULL, "#/vary", "expected an object of JSON Pointers and arrays");
    refused(",\"vary\":{\"/clients\":[]}", NULL, "#/vary/~1clients",
            "expected an array of at least one value");
    refused(",\"vary\":{\"/clients\":3}", NULL, "#/vary/~1clients",
            "expected an array of at least one value");
    /* the names of keys cross as RFC 6901 says: ~1 is /, ~0 is ~ */
    refused(",\"vary\":{\"/a~1b~0c\":[3]}", NULL, ".json", "unknown key \"a/b~c\"");
    refused("", "/a~1b~0c=3", ".json", "unknown key \"a/b~c\"");
}

/* 1001 x 1000 points are too many; who asked for them is named. */
static void too_many(void)
{
    char *more = malloc(20000), *p = more;
    for (int axis = 0; axis < 2; axis++) {
        p += sprintf(p, axis == 0 ? ",\"vary\":{\"/seed\":[" : "],\"/clients\":[");
        for (int i = 1; i <= 1001 - axis; i++)
            p += sprintf(p, i > 1 ? ",%d" : "%d", i);
    }
    sprintf(p, "]}");
    refused(more, NULL, "#/vary/~1clients", "expected at most 1000000 points in all");
    free(more);
}

/* The long form of what is named in short; the same point, so that results are found again. */
static void short_codecs(void)
{
    static const struct {
        const char *setting, *more, *codec;
    } cases[] = {
        {"/codec=sz:range=1e-3", NULL, "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}"},
        {"/codec=sz:abs=2", "/codec/cutoff=0",
         "{\"name\":\"sz\",\"bound\":{\"abs\":2},\"cutoff\":0}"},
        {"/codec=topk:ratio=.01,payload=published,error_feedback=no", NULL,
         "{\"name\":\"topk\",\"ratio\":0.01,\"payload\":\"published\","
         "\"error_feedback\":false}"},
        {"/codec=zstd", NULL, "\"zstd\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *const settings[] = {cases[i].setting, cases[i].more};
        struct strait_sweep *s;
        struct strait_error err;
        json_t *expected = json_loads(cases[i].codec, JSON_DECODE_ANY, NULL);
        strait_test_context("%s", cases[i].setting);
        CU_ASSERT_EQUAL_FATAL(load(&s, "", settings, cases[i].more ? 2 : 1, &err), 0);
        json_t *point = strait_sweep_point(s, 0, NULL, &err);
        CU_ASSERT(json_equal(json_object_get(point, "codec"), expected));
        json_decref(point);
        json_decref(expected);
        strait_sweep_free(s);
    }
}

/* As values of an axis, and with a setting in each of them. */
static void short_codecs_vary(void)
{
    static const char *const set = "/codec/cutoff=7";
    struct strait_sweep *s;
    struct strait_error err;
    CU_ASSERT_EQUAL_FATAL(
        load(&s, ",\"vary\":{\"/codec\":[\"none\",\"sz:range=1e-3\",\"topk:ratio=0.5\"]}", &set, 1,
             &err),
        0);
    CU_ASSERT_EQUAL(s->n_points, 3);
    json_t *point = strait_sweep_point(s, 1, NULL, &err),
           *expected =
               json_pack("{s:s, s:{s:f}, s:i}", "name", "sz", "bound", "range", 1e-3, "cutoff", 7);
    CU_ASSERT(json_equal(json_object_get(point, "codec"), expected));
    json_decref(point);
    json_decref(expected);
    strait_sweep_free(s);
}

static const struct strait_test tests[] = {
    {"the first axis is the slowest", order},
    {"settings reach into arrays, and are JSON where they can be", settings},
    {"what leads nowhere is refused by its place", refusals},
    {"more than a million points are refused", too_many},
    {"a codec's short form is its long form", short_codecs},
    {"short forms are values of an axis", short_codecs_vary},
};
STRAIT_SUITE("workloads/ask/sweep", tests);
