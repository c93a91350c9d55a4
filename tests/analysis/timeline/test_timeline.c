/* Timelines: letters, the Trace Event Format, Paje, and files of spans. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/timeline/spans_file.h"
#include "analysis/timeline/timeline.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* A server and two clients. Client 1 computes from 0 to 2 s and client 2 from 0 to 4; both send 100
 * bytes, which arrive at 4 and 8; the server adds until 10. Two transfers overlap from 4 to 4, none
 * else; the path is client 2's compute, its transfer and the sum. */
static const struct strait_span spans[] = {
    {0, 0, 10, 0, 0, 0, 0, -1, 0, 0, 0, STRAIT_SPAN_ROUND},
    {0, 0, 8, 0, 0, 0, 0, -1, 0, 0, 0, STRAIT_SPAN_WAIT},
    {2, 2, 6, 100, 400, 0, 0, 1, 0, 0, 0, STRAIT_SPAN_TRANSFER},
    {4, 4, 8, 100, 400, 0, 0, 2, 0, 0, 0, STRAIT_SPAN_TRANSFER},
    {8, 8, 10, 0, 400, 0, 0, -1, 0, 0, 0, STRAIT_SPAN_AGGREGATE},
    {0, 0, 2, 0, 0, 1, 0, -1, 0, 0, 0, STRAIT_SPAN_COMPUTE},
    {0, 0, 4, 0, 0, 2, 0, -1, 0, 0, 0, STRAIT_SPAN_COMPUTE},
};

struct world {
    struct strait_log logs[3];
    struct strait_breakdown b;
    struct strait_timeline t;
};

static void begin(struct world *w)
{
    *w = (struct world){.t = {.title = "one round", .n_ranks = 3, .has_server = true, .to_s = 10}};
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        strait_log_add(&w->logs[spans[i].rank], &spans[i]);
    CU_ASSERT_EQUAL_FATAL(strait_breakdown_of(&w->b, w->logs, 3, true, NULL), 0);
    w->t.logs = w->logs;
    w->t.path = w->b.steps;
    w->t.n_path = w->b.n_steps;
}

static void end(struct world *w)
{
    strait_breakdown_release(&w->b);
    for (int r = 0; r < 3; r++)
        strait_log_release(&w->logs[r]);
}

static char *text_of(int (*write)(FILE *, const struct strait_timeline *, struct strait_error *),
                     const struct strait_timeline *t)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    CU_ASSERT_EQUAL(write(out, t, NULL), 0);
    fclose(out);
    return text;
}

static int write_letters(FILE *out, const struct strait_timeline *t, struct strait_error *err)
{
    return strait_timeline_text(out, t, 12 + 50, err); /* 5 letters a second */
}

static void letters(void)
{
    struct world w;
    begin(&w);
    char *text = text_of(write_letters, &w.t);
    /* a wait of 2 s; transfers from 2 to 8, from 4 on the path; the sum to 10 */
    CU_ASSERT_CONTAINS(text, "server      ..........ttttttttttTTTTTTTTTTTTTTTTTTTTAAAAAAAAAA\n");
    CU_ASSERT_CONTAINS(text, "client 1    cccccccccc                                        \n");
    CU_ASSERT_CONTAINS(text, "client 2    CCCCCCCCCCCCCCCCCCCC                              \n");
    free(text);
    w.t.n_ranks = 65;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_timeline_text(stdout, &w.t, 80, &err), -1);
    CU_ASSERT_CONTAINS(err.text, "expected at most 64 ranks for --format text, found 65");
    w.t.n_ranks = 3;
    end(&w);
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static bool is(const json_t *event, const char *key, const char *text)
{
    const char *found = json_string_value(json_object_get(event, key));
    return found && strcmp(found, text) == 0;
}

/* Slices of a thread follow each other or lie inside each other: those of the format must. */
static void check_slices(const json_t *events)
{
    size_t i, k;
    json_t *a, *b;
    json_array_foreach (events, i, a)
        json_array_foreach (events, k, b) {
            if (i == k || !is(a, "ph", "X") || !is(b, "ph", "X") ||
                number(a, "pid") != number(b, "pid") || number(a, "tid") != number(b, "tid"))
                continue;
            const double end = number(a, "ts") + number(a, "dur");
            CU_ASSERT(number(b, "ts") >= end - 1e-3 ||
                      number(b, "ts") + number(b, "dur") <= number(a, "ts") + 1e-3);
        }
}

/* What an event of metadata says of a process or a thread. */
static const json_t *said(const json_t *events, const char *what, int pid, int tid)
{
    size_t i;
    json_t *event;
    json_array_foreach (events, i, event)
        if (is(event, "name", what) && number(event, "pid") == pid && number(event, "tid") == tid)
            return json_object_get(event, "args");
    return NULL;
}

/* The path stands above the ranks; threads are sorted by what they show: waiting, work,
 * arrivals. */
static void named(void)
{
    struct world w;
    begin(&w);
    w.logs[0].spans.newest[3].queued_s = 3.5; /* the second transfer waited half a second */
    char *text = text_of(strait_timeline_chrome, &w.t);
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *event;
    const json_t *events = json_object_get(trace, "traceEvents");
    static const struct {
        const char *what, *name;
        int pid, tid;
    } names[] = {
        {"process_name", "critical path", 3, 0},   {"thread_name", "rounds", 3, 0},
        {"thread_name", "critical path", 3, 1},    {"process_name", "server", 0, 0},
        {"process_name", "client 2", 2, 0},        {"thread_name", "lane 0 waiting", 0, 0},
        {"thread_name", "lane 0 receiving", 0, 1}, {"thread_name", "lane 0 receiving 2", 0, 2},
        {"thread_name", "lane 0 work", 0, 3}};
    static const struct {
        const char *what;
        int pid, tid, order;
    } orders[] = {{"process_sort_index", 3, 0, 0}, {"process_sort_index", 0, 0, 1},
                  {"process_sort_index", 2, 0, 3}, {"thread_sort_index", 0, 0, 0},
                  {"thread_sort_index", 0, 1, 2},  {"thread_sort_index", 0, 2, 2},
                  {"thread_sort_index", 0, 3, 1}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CU_ASSERT_STRING_EQUAL(
            json_string_value(
                json_object_get(said(events, names[i].what, names[i].pid, names[i].tid), "name")),
            names[i].name);
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
        CU_ASSERT_EQUAL(
            number(said(events, orders[i].what, orders[i].pid, orders[i].tid), "sort_index"),
            orders[i].order);
    CU_ASSERT(is(json_object_get(trace, "otherData"), "title", "one round"));
    size_t i, n_queued = 0;
    json_array_foreach (events, i, event) {
        const json_t *args = json_object_get(event, "args");
        n_queued += json_object_get(args, "queued_s") != NULL;
        if (is(event, "name", "from client 2")) {
            CU_ASSERT_EQUAL(number(args, "queued_s"), 0.5);
            CU_ASSERT_EQUAL(number(args, "raw_bytes"), 400);
            CU_ASSERT_EQUAL(number(args, "round"), 0);
            CU_ASSERT(is(event, "cat", "transfer"));
        }
        CU_ASSERT_FALSE(is(event, "name", "compute") && json_object_get(args, "bytes"));
    }
    CU_ASSERT_EQUAL(n_queued, 1);
    json_decref(trace);
    free(text);
    end(&w);
}

/* From 4 to 8 s: what begins then, and the steps of the path that pass. */
static void part(void)
{
    struct world w;
    begin(&w);
    w.t.from_s = 4;
    w.t.to_s = 8;
    char *text = text_of(strait_timeline_chrome, &w.t);
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *event;
    size_t i, n_slices = 0;
    json_array_foreach (json_object_get(trace, "traceEvents"), i, event)
        if (is(event, "ph", "X")) {
            n_slices++;
            CU_ASSERT_DOUBLE_EQUAL(number(event, "ts"), 4e6, 1e-3);
            CU_ASSERT(is(event, "name", "from client 2") || is(event, "name", "server: transfer"));
        }
    CU_ASSERT_EQUAL(n_slices, 2);
    json_decref(trace);
    free(text);
    text = text_of(strait_timeline_paje, &w.t); /* counts from its beginning */
    CU_ASSERT_CONTAINS(text, "\n6 0.000000000 STATE r0.0 k4\n");
    CU_ASSERT_CONTAINS(text, "\n8 0.000000000 LINK run 100 r2 m0.0\n");
    CU_ASSERT_CONTAINS(text, "\n7 4.000000000 STATE r0.0\n9 4.000000000 LINK run 100 r0 m0.0\n5 "
                             "4.000000000 RUN run\n");
    free(text);
    end(&w);
}

/* 10 s over 910 points behind labels of 90: 91 a second; a rank's tracks are 7 lower each. */
static void picture(void)
{
    struct world w;
    struct strait_error err = {0};
    begin(&w);
    char *text = text_of(strait_timeline_svg, &w.t);
    /* three ranks of 25 and a line for the scale */
    CU_ASSERT_CONTAINS(text, "over 10 seconds\" viewBox=\"0 0 1000 93\">\n");
    CU_ASSERT_CONTAINS(text, "<text x=\"0\" y=\"11\">server</text>\n");
    CU_ASSERT_CONTAINS(text, "<text x=\"0\" y=\"61\">client 2</text>\n");
    CU_ASSERT_CONTAINS(text, "<rect class=\"transfer\" x=\"272.0\" y=\"7\" width=\"364.0\" "
                             "height=\"6\"/>\n"); /* from 2 to 6 s */
    CU_ASSERT_CONTAINS(text, "<rect class=\"transfer critical\" x=\"454.0\" y=\"14\" "
                             "width=\"364.0\" height=\"6\"/>\n");
    CU_ASSERT_CONTAINS(text, "<rect class=\"compute critical\" x=\"90.0\" y=\"50\" "
                             "width=\"364.0\" height=\"6\"/>\n");
    CU_ASSERT_CONTAINS(text, "<text x=\"90\" y=\"89\">0 s</text><text x=\"1000\" y=\"89\" "
                             "text-anchor=\"end\">10 s</text>\n</svg>\n");
    CU_ASSERT_PTR_NULL(strstr(text, "\"wait"));
    free(text);
    w.t.to_s = 0; /* nothing to be seen */
    CU_ASSERT_EQUAL(strait_timeline_svg(stdout, &w.t, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.text, "expected at most 64 ranks and 4000 spans in a picture");
    end(&w);
}

static void chrome(void)
{
    struct world w;
    begin(&w);
    char *text = text_of(strait_timeline_chrome, &w.t);
    json_t *trace = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    size_t i, n_critical = 0, n_slices = 0;
    double path_us = 0;
    check_slices(events);
    json_array_foreach (events, i, event) {
        CU_ASSERT(is(event, "ph", "X") || is(event, "ph", "M"));
        CU_ASSERT(json_is_integer(json_object_get(event, "pid")));
        n_slices += is(event, "ph", "X");
        n_critical += json_is_true(json_object_get(json_object_get(event, "args"), "critical"));
        path_us += is(event, "cat", "critical") ? number(event, "dur") : 0;
        if (is(event, "name", "from client 2")) {
            CU_ASSERT_DOUBLE_EQUAL(number(event, "ts"), 4e6, 1e-3);
            CU_ASSERT_DOUBLE_EQUAL(number(event, "dur"), 4e6, 1e-3);
            CU_ASSERT_EQUAL(number(json_object_get(event, "args"), "bytes"), 100);
        }
    }
    CU_ASSERT_EQUAL(n_slices, 6 + 1 + 3); /* the spans, the round, the path of three steps */
    CU_ASSERT_EQUAL(n_critical, 3);
    CU_ASSERT_DOUBLE_EQUAL(path_us, 10e6, 1e-3); /* all of the round */
    json_decref(trace);
    free(text);
    end(&w);
}

/* Events in the order of time, each state that begins ends. */
static void paje(void)
{
    struct world w;
    begin(&w);
    char *text = text_of(strait_timeline_paje, &w.t);
    double last_s = 0;
    unsigned n_pushed = 0, n_popped = 0, n_links = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int kind;
        double at_s;
        if (line[0] == '%' || sscanf(line, "%d %lf", &kind, &at_s) != 2 || kind < 4)
            continue;
        CU_ASSERT(at_s >= last_s);
        last_s = at_s;
        n_pushed += kind == 6;
        n_popped += kind == 7;
        n_links += kind == 8;
    }
    CU_ASSERT_DOUBLE_EQUAL(last_s, 10, 1e-9);
    CU_ASSERT_EQUAL(n_pushed, 6);
    CU_ASSERT_EQUAL(n_popped, 6);
    CU_ASSERT_EQUAL(n_links, 2);
    free(text);
    end(&w);
}

static void kept(void)
{
    struct world w;
    char folder[] = "/tmp/strait-spans-XXXXXX", path[64];
    struct strait_log *logs;
    struct strait_error err = {0};
    int n_ranks;
    begin(&w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s.jsonl", folder);
    w.logs[0].spans.newest[1].end_s = 0.1 + 0.2; /* 17 digits */
    CU_ASSERT_EQUAL(strait_spans_write(path, w.logs, 3, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_spans_read(&logs, &n_ranks, path, &err), 0);
    CU_ASSERT_EQUAL(n_ranks, 3);
    for (int r = 0; r < 3; r++) {
        CU_ASSERT_EQUAL_FATAL(logs[r].n_spans, w.logs[r].n_spans);
        for (size_t i = 0; i < logs[r].n_spans; i++) {
            const struct strait_span got = strait_spans_at(&logs[r].spans, i),
                                     was = strait_spans_at(&w.logs[r].spans, i);
            CU_ASSERT_EQUAL(memcmp(&got, &was, sizeof(got)), 0);
        }
        strait_log_release(&logs[r]);
    }
    free(logs);
    /* what is known ends where the first log lost a span */
    w.logs[1].n_lost = w.logs[2].n_lost = 3;
    w.logs[1].lost_from_s = 4;
    w.logs[2].lost_from_s = 6;
    CU_ASSERT_EQUAL(strait_spans_write(path, w.logs, 3, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_spans_read(&logs, &n_ranks, path, &err), 0);
    CU_ASSERT(logs[0].n_lost > 0);
    CU_ASSERT_EQUAL(logs[0].lost_from_s, 4);
    for (int r = 0; r < 3; r++)
        strait_log_release(&logs[r]);
    free(logs);
    folder_remove(folder);
    end(&w);
}

static void damaged(void)
{
    static const char head[] = "{\"schema\":\"strait-spans/1\",\"ranks\":2,\"from_s\":null}\n";
    static const struct {
        const char *text, *where;
    } cases[] = {{"", ":1"},
                 {"{\"schema\":\"strait-spans/2\",\"ranks\":2}\n", ":1"},
                 {"{\"schema\":\"strait-spans/1\",\"ranks\":0}\n", ":1"},
                 {"H[2,0,\"wait\",0,0,0,1,0,0,-1,0,0]\n", ":2"},  /* no such rank */
                 {"H[0,0,\"sleep\",0,0,0,1,0,0,-1,0,0]\n", ":2"}, /* nor kind */
                 {"H[0,0,\"wait\",0,0,2,1,0,0,-1,0,0]\n", ":2"},  /* ends before it begins */
                 {"H[0,0,\"wait\",0,0,0,1,0,0,-1,0,0]\n[0,0,\"wa", ":3"},
                 {"H[0,0,\"wait\",0,0,0,1,0,0,5,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,-1,0,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,0,-1,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,0,0,2,0,0]\n", ":2"}, /* peers 0 and 1 */
                 {"H[0,0,\"wait\",0,0,0,1,0,0,-2,0,0]\n", ":2"},
                 {"H[-1,0,\"wait\",0,0,0,1,0,0,-1,0,0]\n", ":2"},
                 {"H[0,16384,\"wait\",0,0,0,1,0,0,-1,0,0]\n", ":2"}, /* 2^14 lanes */
                 {"H[0,-1,\"wait\",0,0,0,1,0,0,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",1e9,0,0,1,0,0,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,0,0,-1,1e9,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,0,0,-1,0,16384]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,9e15,0,0,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,\"1\",0,0,-1,0,0]\n", ":2"},
                 {"H[0,0,\"wait\",0,0,0,1,0,0,-1,0]\n", ":2"},
                 {"{\"schema\":\"strait-spans/1\",\"ranks\":1048577}\n", ":1"}};
    char folder[] = "/tmp/strait-spans-XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s.jsonl", folder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_log *logs;
        struct strait_error err = {0};
        int n_ranks;
        FILE *out = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        fprintf(out, "%s%s", cases[i].text[0] == 'H' ? head : "",
                cases[i].text + (cases[i].text[0] == 'H'));
        fclose(out);
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(strait_spans_read(&logs, &n_ranks, path, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where + strlen(path), cases[i].where);
        CU_ASSERT_PTR_NULL(logs);
    }
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"letters say what a rank did for most of a time, capitals the path", letters},
    {"slices of a thread do not overlap, and the path fills the round", chrome},
    {"processes and threads have names and an order, slices what is known of them", named},
    {"a part of a run has what begins in it, and the path through it", part},
    {"a picture has a bar where and as long as a span is", picture},
    {"a Paje trace is in the order of time", paje},
    {"spans come back from a file as they were", kept},
    {"damaged files of spans are refused by line", damaged},
};
STRAIT_SUITE("analysis/timeline/timeline", tests);
