#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/json.h"
#include "core/names.h"
#include "tests/kit/suite.h"

/* Load text through a file of its own; shown becomes the error's where without the folder. */
static json_t *load(const char *text, struct strait_error *err, const char **shown)
{
    char path[] = "/tmp/strait-test-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    const size_t len = strlen(text);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
    close(fd);
    json_t *json = strait_json_load(path, err);
    unlink(path);
    if (shown) {
        CU_ASSERT_EQUAL(strncmp(err->where, path, strlen(path)), 0);
        *shown = err->where + strlen(path);
    }
    return json;
}

static json_t *parse(const char *text)
{
    struct strait_error err = {0};
    json_t *json = load(text, &err, NULL);
    if (!json)
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

/* The error, and that it is one about the input. */
static void says(struct strait_error *err, const char *where, const char *text)
{
    if (strcmp(err->where, where) != 0 || strcmp(err->text, text) != 0)
        fprintf(stderr, "%s: %s\n", err->where, err->text);
    CU_ASSERT_EQUAL(err->code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err->where, where);
    CU_ASSERT_STRING_EQUAL(err->text, text);
    *err = (struct strait_error){0};
}

static void syntax_errors(void)
{
    static const struct {
        const char *text, *where, *says;
    } cases[] = {
        {"{\"a\": 1,\n \"b\" 2}", ":2:6", "expected ':' after a name, found '2'"},
        {"{\"a\": 1\n \"b\": 2}", ":2:4", "expected ',' or '}', found \"b\""},
        {"{\"a\": [1 2]}", ":1:10", "expected ',' or ']', found '2'"},
        {"{\"a\": 1,}", ":1:9", "expected a name in double quotes, found '}'"},
        {"{a: 1}", ":1:2", "expected a name in double quotes, found 'a'"},
        {"{\"a\": [1,]}", ":1:10", "expected a value, found ']'"},
        {"{\"a\": nan}", ":1:9", "expected a value, found 'nan'"},
        {"{\"a\": ", ":1:6", "expected a value, found the end of the text"},
        {"{\"a\": 1,\n \"a\": 2}", ":2:4", "expected each name once in an object, found \"a\""},
        {"{\"twenty_letters_at_least\": 1, \"twenty_letters_at_least\": 2}", ":1:56",
         "expected each name once in an object"},
        {"", ":1:0", "expected an object or a list, found the end of the text"},
        {"{\"a\": 1} x", ":1:10", "expected the end of the text, found 'x'"},
        {"{\"a\": \"b", ":1:8", "expected a closing quote, found the end of the text"},
        {"{\"a\": \"b\n\"}", ":1:8", "expected a closing quote, found the end of the line"},
        {"{\"a\": \"b\t\"}", ":1:8",
         "expected an escape such as \\n or \\t, found a control character"},
        {"{\"a\": \"\\x\"}", ":1:9", "expected an escape such as \\n or \\u00e9, found \"\\x"},
        {"{\"a\": \"\\ud800\"}", ":1:14", "expected an escape of one character, found '\\uD800'"},
        {"{\"a\": \"\\u0000\"}", ":1:14", "expected a string without \\u0000, found one with it"},
        {"{\"\\u0000\": 1}", ":1:9", "expected a name without \\u0000, found one with it"},
        {"{\"a\": \"\xff\"}", ":1:7", "expected UTF-8, found byte 0xff"},
        {"{\"a\": 1e999}", ":1:11", "expected a number below 1.8e308, found '1e999'"},
        {"{\"a\": 99999999999999999999}", ":1:26",
         "expected an integer of at most 64 bits, found '99999999999999999999'"},
        {"{\"a\": -99999999999999999999}", ":1:27", "expected an integer of at most 64 bits"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        const char *shown;
        CU_ASSERT_PTR_NULL(load(cases[i].text, &err, &shown));
        strait_test_context("%s", cases[i].text);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(shown, cases[i].where);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].says);
    }
}

static void unreadable_files(void)
{
    struct strait_error err = {0};
    CU_ASSERT_PTR_NULL(strait_json_load("/nowhere/x.json", &err));
    CU_ASSERT_EQUAL(err.saved_errno, ENOENT);
    says(&err, "/nowhere/x.json", "expected a JSON file: No such file or directory");
    CU_ASSERT_PTR_NULL(strait_json_load("/tmp", &err));
    says(&err, "/tmp", "expected a JSON file: Is a directory");
}

static void good_object(void)
{
    json_t *json = parse("{\"name\": \"fedavg\", \"n\": 5, \"x\": 2, \"on\": true,"
                         " \"rate\": \"1 Gbps\", \"in\": {\"rtt\": \"50 ms\"}}");
    struct strait_error err = {0};
    struct strait_object o, child;
    const char *name = NULL, *other = NULL;
    long n = 0, m = 0;
    double x = 0, rate = 0, rtt = 0, loss = 0, y = 0;
    bool on = false, off = true;
    CU_ASSERT_EQUAL(strait_object_open(&o, "f", "", json, &err), 0);
    CU_ASSERT_EQUAL(strait_object_string(&o, &name, "name", &err), 0);
    CU_ASSERT_EQUAL(strait_object_string_or(&o, &other, "other", "star", &err), 0);
    CU_ASSERT_EQUAL(strait_object_integer(&o, &n, "n", 1, 5, &err), 0);
    CU_ASSERT_EQUAL(strait_object_integer_or(&o, &m, "m", 1, 5, -7, &err), 0);
    CU_ASSERT_EQUAL(strait_object_number(&o, &x, "x", 0, 2, &err), 0);
    CU_ASSERT_EQUAL(strait_object_number_or(&o, &y, "y", 0, 2, 9.5, &err), 0);
    CU_ASSERT_EQUAL(strait_object_bool_or(&o, &on, "on", false, &err), 0);
    CU_ASSERT_EQUAL(strait_object_bool_or(&o, &off, "off", false, &err), 0);
    CU_ASSERT_EQUAL(
        strait_object_quantity(&o, &rate, "rate", STRAIT_UNIT_LINK_RATE, DBL_MIN, INFINITY, &err),
        0);
    CU_ASSERT_EQUAL(strait_object_enter(&child, &o, "in", false, &err), 0);
    CU_ASSERT_EQUAL(
        strait_object_quantity(&child, &rtt, "rtt", STRAIT_UNIT_TIME, 0, INFINITY, &err), 0);
    CU_ASSERT_EQUAL(
        strait_object_quantity_or(&child, &loss, "loss", STRAIT_UNIT_PERCENT, 0, 1, 0.25, &err), 0);
    CU_ASSERT_EQUAL(strait_object_close(&child, &err), 0);
    CU_ASSERT_EQUAL(strait_object_close(&o, &err), 0);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    CU_ASSERT_STRING_EQUAL(name, "fedavg");
    CU_ASSERT_STRING_EQUAL(other, "star");
    CU_ASSERT(n == 5 && m == -7 && x == 2 && y == 9.5 && on && !off);
    CU_ASSERT(rate == 1e9 && rtt == 0.05 && loss == 0.25);
    json_decref(json);
}

static void wrong_types(void)
{
    json_t *json = parse("{\"a\": 7, \"b\": \"x\", \"c\": null, \"d\": [1], \"e\": {}, \"f\": 0.1,"
                         " \"g\": true}");
    struct strait_error err = {0};
    struct strait_object o, child;
    const char *s = NULL;
    double x;
    long n;
    bool b;
    strait_object_open(&o, "wan.json", "", json, &err);
    CU_ASSERT_EQUAL(strait_object_string(&o, &s, "a", &err), -1);
    says(&err, "wan.json#/a", "expected a string, found 7");
    CU_ASSERT_EQUAL(strait_object_string(&o, &s, "none", &err), -1);
    says(&err, "wan.json#/none", "expected a string, found nothing");
    CU_ASSERT_EQUAL(strait_object_string_or(&o, &s, "c", "x", &err), -1);
    says(&err, "wan.json#/c", "expected a string, found null");
    CU_ASSERT_EQUAL(strait_object_number(&o, &x, "b", 0, 1, &err), -1);
    says(&err, "wan.json#/b", "expected a number, found \"x\"");
    CU_ASSERT_EQUAL(strait_object_integer(&o, &n, "f", 0, 1, &err), -1);
    says(&err, "wan.json#/f", "expected an integer, found 0.1");
    CU_ASSERT_EQUAL(strait_object_integer_or(&o, &n, "d", 0, 1, 0, &err), -1);
    says(&err, "wan.json#/d", "expected an integer, found a list");
    CU_ASSERT_EQUAL(strait_object_bool_or(&o, &b, "e", true, &err), -1);
    says(&err, "wan.json#/e", "expected true or false, found an object");
    CU_ASSERT_EQUAL(strait_object_enter(&child, &o, "g", true, &err), -1);
    says(&err, "wan.json#/g", "expected an object, found true");
    CU_ASSERT_EQUAL(strait_object_enter(&child, &o, "network", false, &err), -1);
    says(&err, "wan.json#/network", "expected an object, found nothing");
    CU_ASSERT_EQUAL(strait_object_quantity(&o, &x, "a", STRAIT_UNIT_LINK_RATE, 0, 1, &err), -1);
    says(&err, "wan.json#/a", "expected a rate such as \"1 Gbps\", found 7");
    CU_ASSERT_EQUAL(strait_object_quantity(&o, &x, "b", STRAIT_UNIT_TIME, 0, 1, &err), -1);
    says(&err, "wan.json#/b", "expected a time such as \"50 ms\", found \"x\"");
    json_decref(json);
    json = parse("[1]");
    CU_ASSERT_EQUAL(strait_object_open(&o, "wan.json", "", json, &err), -1);
    says(&err, "wan.json", "expected an object, found a list");
    json_decref(json);
}

static void ranges(void)
{
    json_t *json = parse("{\"rate\": \"-1 Gbps\", \"loss\": \"120 %\", \"n\": 0, \"x\": 1.5,"
                         " \"zero\": 0, \"rtt\": \"1 ms\"}");
    struct strait_error err = {0};
    struct strait_object o;
    double x = 42;
    long n = 42;
    strait_object_open(&o, "wan.json", "/network/client", json, &err);
    strait_object_quantity(&o, &x, "rate", STRAIT_UNIT_LINK_RATE, DBL_MIN, INFINITY, &err);
    says(&err, "wan.json#/network/client/rate", "expected a rate above 0, found \"-1 Gbps\"");
    strait_object_quantity(&o, &x, "loss", STRAIT_UNIT_PERCENT, 0, 1, &err);
    says(&err, "wan.json#/network/client/loss",
         "expected a percentage of at most 100 %, found \"120 %\"");
    strait_object_quantity_or(&o, &x, "rtt", STRAIT_UNIT_TIME, 0.01, 1, 0.5, &err);
    says(&err, "wan.json#/network/client/rtt", "expected a time of at least 10 ms, found \"1 ms\"");
    strait_object_integer(&o, &n, "n", 1, 64, &err);
    says(&err, "wan.json#/network/client/n", "expected an integer of at least 1, found 0");
    strait_object_number(&o, &x, "x", 0, 1, &err);
    says(&err, "wan.json#/network/client/x", "expected a number of at most 1, found 1.5");
    strait_object_number(&o, &x, "x", 2.25, 3, &err);
    says(&err, "wan.json#/network/client/x", "expected a number of at least 2.25, found 1.5");
    strait_object_number(&o, &x, "zero", DBL_MIN, 1, &err);
    says(&err, "wan.json#/network/client/zero", "expected a number above 0, found 0");
    CU_ASSERT(x == 42 && n == 42); /* nothing is stored on failure */
    json_decref(json);
}

static void unknown_keys(void)
{
    json_t *json = parse("{\"strategy\": {\"name\": \"fedavg\", \"locl_steps\": 20}, \"zz\": 1}");
    struct strait_error err = {0};
    struct strait_object o, child;
    strait_object_open(&o, "wan.json", "", json, &err);
    strait_object_enter(&child, &o, "strategy", false, &err);
    strait_object_has(&child, "name");
    strait_object_has(&child, "rounds");
    strait_object_has(&child, "local_steps");
    CU_ASSERT_EQUAL(strait_object_close(&child, &err), -1);
    says(&err, "wan.json#/strategy", "unknown key \"locl_steps\", did you mean \"local_steps\"?");
    CU_ASSERT_EQUAL(strait_object_close(&o, &err), -1);
    says(&err, "wan.json", "unknown key \"zz\"; known: strategy");
    json_decref(json);
}

static void absent_object(void)
{
    struct strait_error err = {0};
    struct strait_object o, child, grandchild;
    double x = 0;
    CU_ASSERT_EQUAL(strait_object_open(&o, "f", "/a", NULL, &err), 0);
    CU_ASSERT_EQUAL(strait_object_enter(&child, &o, "b", true, &err), 0);
    CU_ASSERT_EQUAL(strait_object_enter(&grandchild, &child, "c/~d", true, &err), 0);
    CU_ASSERT_EQUAL(strait_object_number_or(&grandchild, &x, "x", 0, 1, 0.5, &err), 0);
    CU_ASSERT_EQUAL(x, 0.5);
    CU_ASSERT_EQUAL(strait_object_close(&grandchild, &err), 0);
    CU_ASSERT_EQUAL(strait_object_number(&grandchild, &x, "y/~", 0, 1, &err), -1);
    /* RFC 6901: ~ is ~0 and / is ~1 */
    says(&err, "f#/a/b/c~1~0d/y~1~0", "expected a number, found nothing");
}

/* Names of any length and nesting of any depth end in an error, never outside of a buffer. */
static void long_names(void)
{
    struct strait_error err = {0};
    struct strait_object o, child;
    char name[1000], where[32];
    memset(name, '/', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    json_t *json = json_object(), *inner = json_object();
    json_object_set_new(json, name, inner);
    json_object_set_new(inner, "x", json_integer(1));
    strait_object_open(&o, "f", "", json, &err);
    CU_ASSERT_EQUAL(strait_object_close(&o, &err), -1);
    CU_ASSERT_EQUAL(strncmp(err.text, "unknown key \"///", 16), 0);
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL(strait_object_enter(&child, &o, name, false, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    err = (struct strait_error){0};
    strait_object_where(&o, name, where, sizeof(where));
    CU_ASSERT(strlen(where) < sizeof(where));
    CU_ASSERT_EQUAL(strncmp(where, "f#/~1~1~1", 9), 0);
    json_decref(json);

    char *deep = malloc(100001);
    CU_ASSERT_PTR_NOT_NULL_FATAL(deep);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    CU_ASSERT_PTR_NULL(load(deep, &err, NULL));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "expected less nesting, found more"));
    free(deep);
}

static void nearest(void)
{
    static const char *const names[] = {"local_steps", "rounds", "rate", "rtt", "sz", NULL};
    CU_ASSERT_STRING_EQUAL(strait_nearest("locl_steps", names), "local_steps"); /* one missing */
    CU_ASSERT_STRING_EQUAL(strait_nearest("ruonds", names), "rounds");          /* two swapped */
    CU_ASSERT_STRING_EQUAL(strait_nearest("rat", names), "rate"); /* 1 of 4; "rtt" is 1 of 3 */
    CU_ASSERT_STRING_EQUAL(strait_nearest("rtts", names), "rtt"); /* 1 of 4; "rate" is 2 of 4 */
    CU_ASSERT_STRING_EQUAL(strait_nearest("SZ", names), "sz");    /* case does not count */
    CU_ASSERT_PTR_NULL(strait_nearest("x", names));
    CU_ASSERT_PTR_NULL(strait_nearest("colour", names));
    CU_ASSERT_PTR_NULL(strait_nearest("", names));
    CU_ASSERT_PTR_NULL(strait_nearest("rate", names + 5));
}

/* Nobody writes it: a reader that waited would wait for ever. */
static void a_fifo_is_no_file_to_wait_for(void)
{
    char folder[] = "/tmp/strait-fifo-XXXXXX", path[64];
    struct strait_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f.json", folder);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    CU_ASSERT_PTR_NULL(strait_json_load(path, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    unlink(path);
    rmdir(folder);
}

/* What has an inside is taken apart, lists too, down to what is empty. */
static void leaves(void)
{
    json_t *value = json_loads("{\"a\": {\"b\": 1, \"c\": {\"d\": [1, {\"e\": 2}]}}, \"f\": null,"
                               " \"g\": [], \"h\": {}}",
                               0, NULL),
           *found = json_object(),
           *wanted = json_loads("{\"/x/a/b\": 1, \"/x/a/c/d/0\": 1, \"/x/a/c/d/1/e\": 2,"
                                " \"/x/f\": null, \"/x/g\": [], \"/x/h\": {}}",
                                0, NULL),
           *leaf = strait_json_leaf(value, "/a/c/d/1/e");
    strait_json_leaves(found, "/x", value);
    CU_ASSERT_TRUE(json_equal(found, wanted));
    CU_ASSERT_EQUAL(json_integer_value(leaf), 2);
    CU_ASSERT_PTR_NULL(strait_json_leaf(value, "/a/c"));
    CU_ASSERT_PTR_NULL(strait_json_leaf(value, "/i"));
    json_decref(leaf);
    json_decref(wanted);
    json_decref(found);
    json_decref(value);
}

/* /a differs in two ways, /c is in one alone; each once, in their order. */
static void differing(void)
{
    json_t *all = json_loads("[{\"/a\": 1, \"/b\": 2}, {\"/a\": 2, \"/b\": 2},"
                             " {\"/c\": 1, \"/a\": 3, \"/b\": 2}]",
                             0, NULL),
           *found = strait_json_differing(all), *none = json_array(),
           *of_none = strait_json_differing(none), *wanted = json_pack("[s, s]", "/a", "/c");
    CU_ASSERT_TRUE(json_equal(found, wanted));
    CU_ASSERT_EQUAL(json_array_size(of_none), 0);
    json_array_clear(all);
    json_array_append_new(all, json_pack("{s:i}", "/a", 1));
    json_t *of_one = strait_json_differing(all);
    CU_ASSERT_EQUAL(json_array_size(of_one), 0);
    json_decref(of_one);
    json_decref(wanted);
    json_decref(of_none);
    json_decref(none);
    json_decref(found);
    json_decref(all);
}

static const struct strait_test tests[] = {
    {"a FIFO is no file to wait for", a_fifo_is_no_file_to_wait_for},
    {"a syntax error names file, line and column", syntax_errors},
    {"a file that cannot be read is an error that names it", unreadable_files},
    {"a good object is read as it says", good_object},
    {"a wrong type tells what was expected and what was found", wrong_types},
    {"a value out of its range tells the end that it lies beyond", ranges},
    {"an unknown key is an error with the nearest known one", unknown_keys},
    {"an absent object gives its fallbacks and keeps its pointer", absent_object},
    {"long names and deep nesting are errors", long_names},
    {"the nearest name is found unless more than half differs", nearest},
    {"leaves are what has no inside of its own", leaves},
    {"what differs is told once, in its order", differing},
};
STRAIT_SUITE("core/json", tests);
