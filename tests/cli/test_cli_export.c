/* Results as a table, and run again. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/store.h"
#include "tests/kit/program.h"

static struct program program;
#define CALL(...) PROGRAM_CALL(&program, __VA_ARGS__)

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"title\":\"One, two\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1},\"codec\":\"none\","
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"},\"server\":{\"rate\":\"1 "
    "Gbps\"}},\"vary\":{\"/clients\":[2,3],\"/codec\":[\"none\",{\"name\":\"sz\",\"bound\":"
    "{\"range\":0.001}}]}}";

static void begin(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "r");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
}

/* Column i of a line without quotes before it; where it begins. */
static const char *column(const char *line, size_t i)
{
    while (i-- > 0)
        line = strchr(line, ',') + 1;
    return line;
}

static void exported(void)
{
    begin();
    struct said s = CALL("export", "r", "--csv"), again = CALL("export", "r", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.err, "");
    CU_ASSERT_EQUAL(strncmp(s.out, "/model,", 7), 0);
    const char *clients = strstr(s.out, ",/clients,");
    CU_ASSERT_PTR_NOT_NULL_FATAL(clients);
    size_t i = 1;
    for (const char *at = s.out; at < clients; at++)
        i += *at == ',';
    const char *line = strstr(s.out, "\r\n") + 2;
    CU_ASSERT_EQUAL(strncmp(line, "cnn,", 4), 0);
    CU_ASSERT_EQUAL(strtol(column(line, i), NULL, 10), 2);
    size_t n_lines = 0;
    for (const char *at = s.out; (at = strstr(at, "\r\n")); at++)
        n_lines++;
    CU_ASSERT_EQUAL(n_lines, 5); /* the names, and two counts with two codecs */
    CU_ASSERT_EQUAL(program_n_lines(again.out), 4);
    json_t *first = json_loadb(again.out, strcspn(again.out, "\n"), 0, NULL);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "/clients")), 2);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(first, "/network/client/rate")),
                           "1 Gbps");
    json_decref(first);
    said_release(&s);
    said_release(&again);
    s = CALL("export", "r", "--where", "/clients=3", "--out", "three.csv");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "");
    char *text = program_read(&program, "three.csv");
    CU_ASSERT_EQUAL(program_n_lines(text), 3);
    free(text);
    said_release(&s);
    s = CALL("run", "e.json", "--on", "fluid", "--set", "/clients=4", "--out", "four");
    said_release(&s);
    s = CALL("export", "r", "four");
    CU_ASSERT_EQUAL(strncmp(s.out, "/folder,/model,", 15), 0);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 7); /* the names, four rows and two */
    CU_ASSERT_CONTAINS(s.out, "\nr,cnn,");
    CU_ASSERT_CONTAINS(s.out, "\nfour,cnn,");
    said_release(&s);
    s = CALL("export", "r", "--where", "/clients=4");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "expected one of 2, 3, found \"4\"");
    said_release(&s);
    program_tear_down(&program);
}

/* A row whose line is damaged is missing from whatever reads the folder, which says so. */
static void damaged(void)
{
    static const char *const readers[] = {"export", "rerun", "why", "timeline"};
    char path[160];
    begin();
    char *text = program_read(&program, "r/results.jsonl"), *round = strstr(text, "\"round_s\":");
    round[strlen("\"round_s\":")] =
        round[strlen("\"round_s\":")] == '7' ? '8' : '7'; /* another digit */
    program_write(&program, "r/results.jsonl", text);
    snprintf(path, sizeof(path), "%s/r", program.folder);
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        struct said s = CALL(readers[i], "r");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_CONTAINS(s.err, "r/results.jsonl: 1 damaged line not believed\n");
        said_release(&s);
    }
    free(text);
    program_tear_down(&program);
}

/* The header says of which version and commit, and how to cite it. */
static void cited(void)
{
    char path[160];
    struct strait_store *store;
    begin();
    snprintf(path, sizeof(path), "%s/r", program.folder);
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, path, false, NULL), 0);
    const json_t *versions = json_object_get(strait_store_header(store), "versions");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(versions, "strait")), STRAIT_VERSION);
    CU_ASSERT(strlen(json_string_value(json_object_get(versions, "commit"))) > 0);
    CU_ASSERT_CONTAINS(json_string_value(json_object_get(versions, "citation")),
                       "Version " STRAIT_VERSION ", commit ");
    strait_store_free(store);
    program_tear_down(&program);
}

/* All numbers below are doubled. Returns: how many are not 0. */
static size_t doubled(json_t *object)
{
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach (object, key, value) {
        if (json_is_object(value))
            n += doubled(value);
        if (json_is_number(value) && json_number_value(value) != 0) {
            json_object_set_new(object, key, json_real(2 * json_number_value(value)));
            n++;
        }
    }
    return n;
}

/* Make one row of the folder say another number, of another version; many: all of some fields.
 * Returns: how many numbers differ. */
static size_t tamper(bool many)
{
    size_t n_numbers = 1;
    char path[160];
    struct strait_store *store;
    snprintf(path, sizeof(path), "%s/r", program.folder);
    CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, path, true, NULL), 0);
    json_t *header = json_deep_copy(strait_store_header(store));
    json_t *rows = strait_store_rows(store), *found = NULL, *row;
    size_t i;
    json_array_foreach (rows, i, row)
        if (json_integer_value(json_object_get(row, "clients")) == 3 && !found)
            found = json_deep_copy(row);
    json_object_set_new(json_object_get(header, "versions"), "strait", json_string("0.0.9"));
    json_object_set_new(found, "round_s",
                        json_real(2 * json_number_value(json_object_get(found, "round_s"))));
    if (many)
        n_numbers += doubled(json_object_get(found, "path_s")) +
                     doubled(json_object_get(found, "busy_s")) +
                     doubled(json_object_get(found, "utilisation"));
    json_object_del(found, "sweep");
    json_object_del(found, "check");
    json_object_del(header, "check");
    CU_ASSERT_EQUAL(strait_store_begin(store, header, NULL), 0);
    CU_ASSERT_EQUAL(strait_store_add(store, found, NULL), 0);
    json_decref(found);
    json_decref(rows);
    json_decref(header);
    strait_store_free(store);
    return n_numbers;
}

/* Of many differences twenty are shown and the others counted, all at half of what they were. */
static void many_differences(void)
{
    char last[160];
    size_t n_halves = 0;
    begin();
    const size_t n = tamper(true);
    CU_ASSERT_FATAL(n > 20);
    struct said s = CALL("rerun", "r");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_EQUAL(program_n_lines(s.out), 20 + 2);
    for (const char *at = s.out; (at = strstr(at, " (-50 %)\n")); at++)
        n_halves++;
    CU_ASSERT_EQUAL(n_halves, 20);
    snprintf(last, sizeof(last), "\nand %zu more (--json)\n3 of 4 rows are equal in every number\n",
             n - 20);
    CU_ASSERT_CONTAINS(s.out, last);
    said_release(&s);
    s = CALL("rerun", "r", "--json");
    json_t *found = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(found, "differences")), n);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(found, "equal")), 3);
    json_decref(found);
    said_release(&s);
    program_tear_down(&program);
}

static void run_again(void)
{
    begin();
    struct said s = CALL("rerun", "r");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "4 of 4 rows are equal in every number\n");
    said_release(&s);
    tamper(false);
    s = CALL("rerun", "r");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.err, "strait: strait was 0.0.9, is " STRAIT_VERSION "\n");
    CU_ASSERT_CONTAINS(s.out, "fluid, /clients=3, ");
    CU_ASSERT_CONTAINS(s.out, "none: /round_s was ");
    CU_ASSERT_CONTAINS(s.out, "(-50 %)"); /* the folder's is twice as long */
    CU_ASSERT_CONTAINS(s.out, "3 of 4 rows are equal in every number\n");
    CU_ASSERT_FALSE(program_has(&program, "experiment.json"));
    said_release(&s);
    s = CALL("rerun", "r", "--out", "kept", "--json");
    CU_ASSERT_EQUAL(s.status, 1);
    CU_ASSERT_CONTAINS(s.out, "\"pointer\":\"/round_s\"");
    CU_ASSERT(program_has(&program, "kept/results.jsonl"));
    said_release(&s);
    s = CALL("rerun", "r", "--out", "kept");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    program_tear_down(&program);
}

/* Who runs a row again whose sizes are those of the recorded tensors looks at the tensors again. */
static void sent_sizes(void)
{
    program_set_up(&program);
    program_write(&program, "e.json", experiment);
    struct said s = CALL("run", "e.json", "--on", "fluid", "--out", "r", "--sizes", "sent");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    said_release(&s);
    s = CALL("rerun", "r");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "4 of 4 rows are equal in every number\n");
    said_release(&s);
    s = CALL("why", "r", "--json", "--point", "2");
    json_t *why = json_loads(s.out, 0, NULL), *row = json_object_get(why, "row");
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_object_get(row, "bytes"), "sizes")), "sent");
    CU_ASSERT_TRUE(json_equal(json_object_get(json_object_get(why, "predicted"), "round_s"),
                              json_object_get(row, "round_s")));
    json_decref(why);
    said_release(&s);
    s = CALL("run", "e.json", "--on", "fluid", "--sizes", "guess");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_CONTAINS(s.err, "run: expected sent or profile after --sizes, found \"guess\"");
    said_release(&s);
    program_tear_down(&program);
}

/* Of a version whose experiments had a key that is no more, or that left the profile out: the
 * folder is named, not a file that is removed. */
static void of_another_version(void)
{
    static const char *const says[] = {
        "strait: r#/strategy: unknown key \"piece\", did you mean \"pieces\"?\n",
        "strait: r: expected a header with its profile, found none\n"};
    for (size_t i = 0; i < 2; i++) {
        char path[160];
        struct strait_store *store;
        begin();
        snprintf(path, sizeof(path), "%s/r", program.folder);
        CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, path, true, NULL), 0);
        json_t *header = json_deep_copy(strait_store_header(store)),
               *rows = strait_store_rows(store),
               *base = json_object_get(json_object_get(header, "experiment"), "base");
        if (i == 0)
            json_object_set_new(json_object_get(base, "strategy"), "piece", json_integer(8));
        else
            json_object_del(header, "profile");
        json_object_del(header, "check");
        CU_ASSERT_EQUAL(strait_store_begin(store, header, NULL), 0);
        json_t *row = json_copy(json_array_get(rows, 0));
        json_object_del(row, "check");
        CU_ASSERT_EQUAL(strait_store_add(store, row, NULL), 0);
        strait_store_free(store);
        struct said s = CALL("rerun", "r");
        CU_ASSERT_EQUAL(s.status, 2);
        CU_ASSERT_CONTAINS(s.err, says[i]);
        said_release(&s);
        json_decref(row);
        json_decref(rows);
        json_decref(header);
        program_tear_down(&program);
    }
}

/* What the header says of versions that are others now, a sentence each; which program it was
 * counts where the commit is the same, or not known. */
static void what_has_changed(void)
{
    static const struct {
        const char *keys[2], *says;
    } cases[] = {{{NULL}, ""},
                 {{"strait"}, "strait: strait was else, is " STRAIT_VERSION "\n"},
                 {{"program"}, "strait: the program was else, is %p\n"},
                 {{"commit", "program"}, "strait: the commit was else, is %c\n"},
                 {{"simgrid"}, "strait: SimGrid was else, is %s\n"},
                 {{"hash"}, "strait: the profile was else, is %h; that of the results is used\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char path[160], wanted[256] = "";
        struct strait_store *store;
        begin();
        snprintf(path, sizeof(path), "%s/r", program.folder);
        CU_ASSERT_EQUAL_FATAL(strait_store_open(&store, path, true, NULL), 0);
        json_t *header = json_deep_copy(strait_store_header(store)),
               *versions = json_object_get(header, "versions"),
               *profile = json_object_get(header, "profile");
        const char *percent = strchr(cases[i].says, '%');
        const char *now =
            !percent            ? ""
            : percent[1] == 'h' ? json_string_value(json_object_get(profile, "hash"))
            : percent[1] == 'p' ? json_string_value(json_object_get(versions, "program"))
            : percent[1] == 'c' ? json_string_value(json_object_get(versions, "commit"))
                                : json_string_value(json_object_get(versions, "simgrid"));
        if (percent)
            snprintf(wanted, sizeof(wanted), "%.*s%s%s", (int)(percent - cases[i].says),
                     cases[i].says, now, percent + 2);
        else
            snprintf(wanted, sizeof(wanted), "%s", cases[i].says);
        for (size_t k = 0; k < 2 && cases[i].keys[k]; k++)
            json_object_set_new(strcmp(cases[i].keys[k], "hash") == 0 ? profile : versions,
                                cases[i].keys[k], json_string("else"));
        json_object_del(header, "check");
        CU_ASSERT_EQUAL(strait_store_begin(store, header, NULL), 0);
        json_t *rows = strait_store_rows(store), *row = json_copy(json_array_get(rows, 0));
        json_object_del(row, "check");
        CU_ASSERT_EQUAL(strait_store_add(store, row, NULL), 0);
        json_decref(row);
        json_decref(rows);
        strait_store_free(store);
        struct said s = CALL("rerun", "r");
        strait_test_context("%s", cases[i].keys[0] ? cases[i].keys[0] : "");
        CU_ASSERT_EQUAL(s.status, 0);
        CU_ASSERT_STRING_EQUAL(s.err, wanted);
        said_release(&s);
        json_decref(header);
        program_tear_down(&program);
    }
}

/* A page with the title as text, its charts and a round; no second run spoils it. */
static void reported(void)
{
    begin();
    struct said s = CALL("report", "r", "--out", "page.html", "--title", "A <b> & c");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_STRING_EQUAL(s.out, "page.html\n");
    said_release(&s);
    char *page = program_read(&program, "page.html");
    CU_ASSERT_CONTAINS(page, "<title>A &lt;b&gt; &amp; c</title>");
    CU_ASSERT_CONTAINS(page, "<h2>One, two</h2>");
    /* what it needs stands in it: sheets of charts and page, and scripts before and behind */
    static const char *const parts[] = {
        "<style>\n.uplot, ", "\n/* Reports: light and dark",
        "\n</style>\n<script>\n/*! https://github.com/leeoniya/uPlot", "<body>",
        "<script>\n// Draws the figures of a report"};
    const char *from = page;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && from; i++) {
        CU_ASSERT_CONTAINS(from, parts[i]);
        from = strstr(from, parts[i]);
    }
    CU_ASSERT_CONTAINS(page,
                       "<svg class=\"timeline\" role=\"img\" aria-label=\"Timeline of 4 ranks");
    CU_ASSERT_CONTAINS(page, "strait report r --out page.html");
    free(page);
    s = CALL("report");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    s = CALL("report", "nowhere");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_FALSE(program_has(&program, "report.html"));
    said_release(&s);
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"rows are a table with all settings", exported},
    {"a damaged line is told wherever results are read", damaged},
    {"a header says version, commit and citation", cited},
    {"results are a page that needs nothing else", reported},
    {"a result's own experiment gives its rows again, or says what differs", run_again},
    {"rows with sizes as they are sent are run again with these", sent_sizes},
    {"a result of another version is refused by its folder's name", of_another_version},
    {"of many differences twenty are shown", many_differences},
    {"what computed the rows and is another now is said", what_has_changed},
};
STRAIT_SUITE("cli/cli_export", tests);
