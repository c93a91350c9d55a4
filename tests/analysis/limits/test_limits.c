/* What limits a round, against arithmetic: one client, a shared port, slow decoding, a straggler, a
 * long path, sites. Simulated by fluid without slow start unless stated. */
#include "analysis/limits/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "analysis/limits/carried.h"
#include "analysis/row.h"
#include "tests/kit/forms/oracle.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

/* Payload bytes a second of 1 Gbps: 1448 of every 1514 bytes of a full frame. */
static const double GOODPUT = 1e9 / 8 * 1448 / 1514;
static const double FRAME = 96;
static double model_bytes, step_s, add_bytes_per_s; /* of the last run */

/* The row of a point of federated averaging with the model gpt2-small: `rest` follows in its
 * JSON. */
static json_t *run(const char *rest, const char *control)
{
    char text[2000];
    struct strait_error err = {0};
    struct strait_experiment *e;
    struct strait_profile *profile;
    struct strait_trial *p;
    const struct strait_trial_options options = {.control = control};
    const struct strait_row_context context = {.backend = "fluid", .key = "k"};
    snprintf(
        text, sizeof(text),
        "{\"schema\": \"strait-experiment/1\", \"model\": \"gpt2-small\", \"codec\": \"none\", %s}",
        rest);
    json_t *point = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(err.text, "");
    CU_ASSERT_EQUAL(strait_trial_new(&p, e, profile, &options, &err), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(err.text, "");
    CU_ASSERT_EQUAL(strait_trial_run(p, &strait_fluid, &err), 0);
    json_t *row = strait_row_new(p, &context, &err);
    CU_ASSERT_STRING_EQUAL_FATAL(err.text, "");
    model_bytes = 4.0 * (double)e->model->n_elems;
    step_s = e->model->fwd_s + e->model->bwd_s + e->model->opt_s;
    add_bytes_per_s = p->add_bytes_per_s;
    strait_trial_free(p);
    strait_experiment_free(e);
    strait_profile_free(profile);
    json_decref(point);
    return row;
}

static double part_s(const json_t *row, const char *part)
{
    return strait_row_number(json_object_get(json_object_get(row, "critical_path"), part), "s");
}

static const char *part_at(const json_t *row, const char *part)
{
    return strait_text_of(json_object_get(json_object_get(row, "critical_path"), part), "at");
}

static double used(const json_t *row, const char *resource, const char *which)
{
    return strait_row_number(json_object_get(json_object_get(row, "utilisation"), resource), which);
}

static const char *limit(const json_t *row, const char *key)
{
    return strait_text_of(json_object_get(row, "limits"), key);
}

/* Times are sums of some dozen numbers of seconds. */
static void same(double found, double expected)
{
    CU_ASSERT_DOUBLE_EQUAL(found, expected, 1e-9 * (1 + fabs(expected)));
}

static void adds_up(const json_t *row)
{
    double sum_s = 0;
    const char *part;
    json_t *value;
    json_object_foreach (json_object_get(row, "critical_path"), part, value)
        sum_s += strait_row_number(value, "s");
    same(sum_s, strait_row_number(row, "round_s"));
}

#define FEDAVG(n, more)                                                                            \
    "\"clients\": " #n                                                                             \
    ", \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, \"local_steps\": 3" more "}"
#define STAR(client, rtt, server)                                                                  \
    "\"network\": {\"topology\": \"star\", \"overhead\": \"0 B\", \"client\": {\"rate\": "         \
    "\"" client "\", \"rtt\": \"" rtt "\"}, \"server\": {\"rate\": \"" server "\"}}"

/* The model goes down and up again: 2 (B + 96) / G on a link, and one round trip of 40 ms. */
static void one_client(void)
{
    json_t *row = run(FEDAVG(1, "") ", " STAR("1 Gbps", "40 ms", "1 Gbps"), "no-ramp");
    const double message_s = (model_bytes + FRAME) / GOODPUT,
                 round_s = strait_row_number(row, "round_s");
    same(part_s(row, "transfer"), 2 * message_s);
    same(part_s(row, "wait"), 0);
    same(part_s(row, "latency"), 0.040);
    same(part_s(row, "compute"), 3 * step_s);
    same(part_s(row, "aggregate"), model_bytes / add_bytes_per_s);
    same(round_s, 2 * message_s + 0.040 + 3 * step_s + model_bytes / add_bytes_per_s);
    adds_up(row);
    CU_ASSERT_STRING_EQUAL(part_at(row, "compute"), "client 1");
    same(used(row, "client_out", "most"), message_s / round_s);
    same(used(row, "server_in", "most"), message_s / round_s);
    same(used(row, "accelerators", "most"), 3 * step_s / round_s);
    same(used(row, "server_cores", "most"), model_bytes / add_bytes_per_s / round_s);
    json_decref(row);
}

/* Each round's model takes 40 s to a client and the server waits for 10 s: what it sent in the
 * second and third round waits behind the first. */
static void overfull(void)
{
    json_t *row = run("\"clients\": 1, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 3, "
                      "\"deadline\": \"10 s\"}, " STAR("100 Mbps", "2 ms", "1 Gbps"),
                      NULL);
    CU_ASSERT(model_bytes / (GOODPUT / 10) > 30);
    same(used(row, "client_in", "most"), 1);
    json_decref(row);
}

/* Four clients send at once through the server's port: it carries 4 messages each way, of which a
 * client's own is a quarter. */
static void shared_port(void)
{
    json_t *row = run(FEDAVG(4, "") ", " STAR("1 Gbps", "40 ms", "1 Gbps"), "no-ramp");
    const double message_s = (model_bytes + FRAME) / GOODPUT,
                 round_s = strait_row_number(row, "round_s");
    same(part_s(row, "transfer"), 2 * message_s);
    same(part_s(row, "wait"), 2 * 3 * message_s);
    same(part_s(row, "latency"), 0.040);
    adds_up(row);
    CU_ASSERT_CONTAINS(part_at(row, "wait"), "server port");
    same(used(row, "server_in", "most"), 4 * message_s / round_s);
    same(used(row, "server_out", "mean"), 4 * message_s / round_s);
    same(used(row, "client_out", "mean"), message_s / round_s);
    CU_ASSERT_EQUAL(used(row, "client_out", "n"), 4);
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "link");
    CU_ASSERT_STRING_EQUAL(limit(row, "at"), "server port out");
    same(strait_row_number(json_object_get(row, "limits"), "share"), 8 * message_s / round_s);
    CU_ASSERT_CONTAINS(limit(row, "text"), "the other way");
    json_decref(row);
}

static double server_decode_s(const json_t *row)
{
    const json_t *busy = json_object_get(json_object_get(row, "busy_s"), "server");
    return strait_row_number(busy, "decode");
}

/* Through a port of 100 Gbps four clients' uploads arrive together, and one core decodes 380 MB a
 * second of what comes out, one after the other: all that it decodes is on the path. Biases and
 * norms, 1 in 1000 values, go another way. */
static void slow_decoding(void)
{
    const char *const codec = ", \"codec\": {\"name\": \"sz\", \"bound\": {\"range\": 1e-3}, "
                              "\"profile\": \"sz3-class\"}";
    char rest[1000];
    snprintf(rest, sizeof(rest), "%s, %s%s", FEDAVG(4, ", \"decode_cores\": 1"),
             STAR("1 Gbps", "40 ms", "100 Gbps"), codec);
    json_t *row = run(rest, "no-ramp");
    const double decode_s = server_decode_s(row), round_s = strait_row_number(row, "round_s"),
                 add_s = 4 * model_bytes / add_bytes_per_s;
    CU_ASSERT_DOUBLE_EQUAL(decode_s, 4 * model_bytes / 380e6, 1e-3 * decode_s);
    same(part_s(row, "decode"), decode_s);
    CU_ASSERT_DOUBLE_EQUAL(part_s(row, "encode"), model_bytes / 180e6, 3e-3);
    adds_up(row);
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "decode");
    CU_ASSERT_STRING_EQUAL(limit(row, "at"), "server");
    same(used(row, "server_cores", "most"), (decode_s + add_s) / round_s);
    same(strait_row_number(json_object_get(row, "limits"), "utilisation"),
         (decode_s + add_s) / round_s);
    json_decref(row);
    /* four cores: all at once, so that a quarter of the time is left, and three quarters idle while
     * the sum is made */
    snprintf(rest, sizeof(rest), "%s, %s%s", FEDAVG(4, ", \"decode_cores\": 4"),
             STAR("1 Gbps", "40 ms", "100 Gbps"), codec);
    row = run(rest, "no-ramp");
    same(part_s(row, "decode"), decode_s / 4);
    same(used(row, "server_cores", "most"),
         (decode_s + add_s) / 4 / strait_row_number(row, "round_s"));
    json_decref(row);
}

/* Three clients on fast links, of which the third computes `slowness` times as long. */
static json_t *run_slowed(const char *strategy, int slowness)
{
    char folder[] = "/tmp/strait-limits-XXXXXX", rest[1000];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(rest, sizeof(rest), "%s/slowness.csv", folder);
    FILE *f = fopen(rest, "we");
    CU_ASSERT_FATAL(f && fprintf(f, "slowness\n1\n1\n%d\n", slowness) > 0 && fclose(f) == 0);
    snprintf(rest, sizeof(rest), "%s, %s, \"device\": {\"slowness\": \"%s/slowness.csv\"}",
             strategy, STAR("100 Gbps", "40 ms", "100 Gbps"), folder);
    json_t *row = run(rest, "no-ramp");
    folder_remove(folder);
    return row;
}

static void straggler(void)
{
    json_t *row = run_slowed(FEDAVG(3, ""), 3);
    const double round_s = strait_row_number(row, "round_s");
    same(part_s(row, "compute"), 9 * step_s);
    CU_ASSERT_STRING_EQUAL(part_at(row, "compute"), "client 3");
    same(used(row, "accelerators", "most"), 9 * step_s / round_s);
    same(used(row, "accelerators", "mean"), 5 * step_s / round_s); /* (3 + 3 + 9) / 3 */
    CU_ASSERT_STRING_EQUAL(limit(row, "at"), "client 3");
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "straggler");
    adds_up(row);
    json_decref(row);
}

/* The server has the two others' updates long before the deadline, and waits. */
static void deadline(void)
{
    json_t *row = run_slowed(FEDAVG(3, ", \"deadline\": \"40 s\""), 900);
    const double round_s = strait_row_number(row, "round_s");
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "deadline");
    CU_ASSERT_CONTAINS(limit(row, "text"), "waiting for the deadline of the round: ");
    CU_ASSERT_AT_LEAST(part_s(row, "other"), 0.5 * round_s);
    adds_up(row);
    json_decref(row);
}

/* A round trip of 8 s and slow start from 10 segments: what the connection takes longer than the
 * bytes on an idle link is latency, once each way. */
static void long_path(void)
{
    json_t *row = run(FEDAVG(1, "") ", " STAR("1 Gbps", "8 s", "1 Gbps"), NULL);
    const double bytes = model_bytes + FRAME;
    const double way_s = strait_oracle_ramp_s(1, bytes, 10 * 1448, GOODPUT, 8);
    same(part_s(row, "transfer"), 2 * bytes / GOODPUT);
    same(part_s(row, "latency"), 2 * (way_s - bytes / GOODPUT));
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "latency");
    CU_ASSERT_STRING_EQUAL(limit(row, "at"), "");
    CU_ASSERT_CONTAINS(part_at(row, "latency"), "server");
    adds_up(row);
    json_decref(row);
}

/* By hand: on rank 1's way in 100 bytes from 0 to 10 s and 100 from 5 to 10 s, frames included. At
 * 5 s 50 are there, at 7.5 s 75 + 50; before and after nothing happens. A message without duration
 * arrives as a whole. */
static void carried(void)
{
    struct strait_link ports[6] = {{0}};
    const struct strait_network n = {
        .n_ranks = 3, .out = ports, .in = ports + 3, .tcp = {.n_connections = 1}};
    const struct strait_span spans[] = {
        {.start_s = 0, .end_s = 10, .bytes = 4, .rank = 1, .peer = 0, .kind = STRAIT_SPAN_TRANSFER},
        {.start_s = 5, .end_s = 10, .bytes = 4, .rank = 1, .peer = 2, .kind = STRAIT_SPAN_TRANSFER},
        {.start_s = 0, .end_s = 9, .rank = 1, .peer = -1, .kind = STRAIT_SPAN_COMPUTE},
        {.start_s = 12,
         .end_s = 12,
         .bytes = 4,
         .rank = 1,
         .peer = 2,
         .kind = STRAIT_SPAN_TRANSFER}};
    struct strait_log logs[3] = {{0}};
    struct strait_carried_question asked[] = {/* rank 1, in */
                                              {.link = 3, .from_s = 0, .to_s = 5},
                                              {.link = 3, .from_s = -1, .to_s = 7.5},
                                              {.link = 3, .from_s = 5, .to_s = 10},
                                              {.link = 3, .from_s = 10, .to_s = 11.5},
                                              {.link = 3, .from_s = 11, .to_s = 20}};
    const double bytes[] = {50, 125, 150, 0, 100};
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
        strait_log_add(&logs[1], &spans[i]);
    CU_ASSERT_EQUAL_FATAL(strait_carried_answer(asked, 5, NULL, logs, 3, &n, NULL), 0);
    for (int i = 0; i < 5; i++)
        same(asked[i].bytes, bytes[i]);
    strait_log_release(&logs[1]);
}

/* From ranks 1 and 2 to rank 0, n transfers each from begin_s on, of a second and 100 bytes with
 * their frame, one after the other, but logged in fours from the last to the first. In [a, b]
 * 100 (b - a) bytes left each of the two, and twice as many came in. Unless far_s is 0, one more
 * comes that long after the first. */
static void carried_one_after_the_other(int n_each, double begin_s, double far_s)
{
    enum { N_ASKED = 4 };
    struct strait_link ports[6] = {{0}};
    const struct strait_network n = {
        .n_ranks = 3, .out = ports, .in = ports + 3, .tcp = {.n_connections = 1}};
    struct strait_log logs[3] = {{0}};
    const double end_s = begin_s + n_each;
    struct strait_carried_question asked[N_ASKED] = {
        {.link = 4, .from_s = begin_s + 1.5, .to_s = begin_s + 2000},
        {.link = 1, .from_s = begin_s, .to_s = end_s},
        {.link = 2, .from_s = begin_s - 9, .to_s = begin_s + 2.25},
        {.link = 4, .from_s = end_s - 2, .to_s = end_s + 2}};
    const double bytes[N_ASKED] = {199850, 200.0 * n_each, 225, 200};
    for (int i = 0; i < 2 * n_each; i++) {
        const int second = i / 2 / 4 * 4 + 3 - i / 2 % 4;
        const struct strait_span s = {.start_s = begin_s + second,
                                      .end_s = begin_s + second + 1,
                                      .bytes = 4,
                                      .peer = 1 + i % 2,
                                      .kind = STRAIT_SPAN_TRANSFER};
        strait_log_add(&logs[0], &s);
    }
    const struct strait_span far = {.start_s = begin_s + far_s,
                                    .end_s = begin_s + far_s + 1,
                                    .bytes = 4,
                                    .peer = 1,
                                    .kind = STRAIT_SPAN_TRANSFER};
    if (far_s > 0)
        strait_log_add(&logs[0], &far);
    CU_ASSERT_EQUAL_FATAL(strait_carried_answer(asked, N_ASKED, NULL, logs, 3, &n, NULL), 0);
    for (int i = 0; i < N_ASKED; i++)
        same(asked[i].bytes, bytes[i]);
    strait_log_release(&logs[0]);
}

/* More than are looked at together or kept from the first walk, and fewer; times before 0 too; and
 * times of which all but one lie in the same part. */
static void many_carried(void)
{
    carried_one_after_the_other(200000, 0, 0);
    carried_one_after_the_other(4000, 0, 0);
    carried_one_after_the_other(4000, -1500.25, 0);
    carried_one_after_the_other(4000, 0, 1e9);
}

static void names(void)
{
    char name[STRAIT_LINK_NAME_CHARS];
    struct strait_network n = {.n_ranks = 3, .n_sites = 2, .has_server = true};
    CU_ASSERT_STRING_EQUAL(strait_link_name(name, &n, 1), "server port in");
    CU_ASSERT_STRING_EQUAL(strait_link_name(name, &n, 4), "client 2 port out");
    CU_ASSERT_STRING_EQUAL(strait_link_name(name, &n, 9), "site 1 port in");
    CU_ASSERT_STRING_EQUAL(strait_link_name(name, &n, 11), "link from site 0 to site 1");
    n.has_server = false;
    CU_ASSERT_STRING_EQUAL(strait_link_name(name, &n, 0), "rank 0 port out");
}

/* A ring of four ranks over two sites of two: each site's port carries the 6 messages of a quarter
 * of the model that pass from its second rank to the other site's first one. */
static void sites(void)
{
    json_t *row =
        run("\"clients\": 4, \"strategy\": {\"name\": \"bsp\", \"rounds\": 1, \"collective\": "
            "\"ring\"}, \"network\": {\"topology\": \"sites\", \"overhead\": \"0 B\", \"client\": "
            "{\"rate\": \"100 Gbps\", \"rtt\": \"0 ms\"}, \"site\": {\"ranks\": 2, \"rate\": \"1 "
            "Gbps\", \"rtt\": \"0 ms\"}}",
            "no-ramp");
    const double ring_s = 6 * (model_bytes / 4 + FRAME) / GOODPUT,
                 round_s = strait_row_number(row, "round_s");
    same(used(row, "site_out", "most"), ring_s / round_s);
    same(used(row, "site_in", "mean"), ring_s / round_s);
    same(used(row, "client_out", "most"), ring_s / 100 / round_s);
    CU_ASSERT_EQUAL(used(row, "site_out", "n"), 2);
    CU_ASSERT_PTR_NULL(json_object_get(json_object_get(row, "utilisation"), "server_in"));
    CU_ASSERT_STRING_EQUAL(limit(row, "by"), "link");
    CU_ASSERT_CONTAINS(limit(row, "at"), "site ");
    CU_ASSERT_CONTAINS(part_at(row, "compute"), "rank ");
    adds_up(row);
    json_decref(row);
}

/* A client whose port has 1 Gbps for the first second and 0.5 after: what its links could have
 * carried in a round of r seconds is 1 + (r - 1) / 2 Gbit, of which the model takes its part. */
static void changing_rate(void)
{
    json_t *row =
        run(FEDAVG(1, "") ", \"network\": {\"overhead\": \"0 B\", \"client\": {\"rate\": [{\"at\": "
                          "\"0 s\", \"rate\": \"1 Gbps\"}, {\"at\": \"1 s\", \"rate\": \"500 "
                          "Mbps\"}]}, \"server\": {\"rate\": \"100 Gbps\"}}",
            "no-ramp");
    const double round_s = strait_row_number(row, "round_s"),
                 most_bytes = GOODPUT * (1 + (round_s - 1) / 2), bytes = model_bytes + FRAME;
    CU_ASSERT(round_s > 1);
    same(used(row, "client_out", "most"), bytes / most_bytes);
    same(used(row, "client_in", "most"), bytes / most_bytes);
    /* the links are never idle while they carry: the first second, then at half of the rate */
    same(part_s(row, "transfer"), 1 + (bytes - GOODPUT) / (GOODPUT / 2) + bytes / (GOODPUT / 2));
    same(part_s(row, "latency"), 0);
    adds_up(row);
    json_decref(row);
}

/* For how long client 1's port is needed between two moments, of a rate over time. */
static double needs_s(const char *rate, double from_s, double to_s, double bytes)
{
    char text[1000];
    struct strait_experiment *e;
    struct strait_error err = {0};
    snprintf(
        text, sizeof(text),
        "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"codec\": \"none\", "
        "\"clients\": 1, "
        "\"strategy\": {\"name\": \"fedavg\"}, \"network\": {\"overhead\": \"0 B\", \"client\": "
        "{\"rate\": %s}, \"server\": {\"rate\": \"1 Gbps\"}}}",
        rate);
    json_t *point = json_loads(text, 0, NULL);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    const double found_s = strait_carried_needs_s(e->network, 2, from_s, to_s, bytes);
    strait_experiment_free(e);
    json_decref(point);
    return found_s;
}

/* What 10 Mbps carries in half a second, within two. A port that fell from 1 Gbps to that after a
 * tenth of a second may have carried it all in the end, and one that rises after a second in the
 * beginning: neither was quick by being quick while nobody could send. More than it can carry takes
 * longer than there is. */
static void slowed(void)
{
    static const char falls[] = "[{\"at\": \"0 s\", \"rate\": \"1 Gbps\"}, {\"at\": \"0.1 s\", "
                                "\"rate\": \"10 Mbps\"}]",
                      rises[] = "[{\"at\": \"0 s\", \"rate\": \"10 Mbps\"}, {\"at\": \"1 s\", "
                                "\"rate\": \"1 Gbps\"}]";
    const double bytes = 0.5 * GOODPUT / 100;
    same(needs_s("\"10 Mbps\"", 0, 2, bytes), 0.5);
    same(needs_s(falls, 0, 2, bytes), 0.5);
    same(needs_s(rises, 0, 2, bytes), 0.5);
    same(needs_s(falls, 0.1, 2, bytes), 0.5);
    same(needs_s("\"10 Mbps\"", 0, 2, 5 * bytes), 2.5);
}

static const struct strait_test tests[] = {
    {"one client has its link to itself", one_client},
    {"a link is used whole at most", overfull},
    {"clients wait for each other at the server's port", shared_port},
    {"updates wait for the server's cores", slow_decoding},
    {"a straggler is named", straggler},
    {"and a deadline that is waited for", deadline},
    {"slow start over a long path is latency", long_path},
    {"a link is filled by what its rate was then", changing_rate},
    {"a link that becomes slow, or was, is needed while it is slow", slowed},
    {"what a link carried by then is a sum of lines", carried},
    {"links are looked at a few at a time", many_carried},
    {"links have names", names},
    {"sites have ports of their own", sites},
};
STRAIT_SUITE("analysis/limits/limits", tests);
