/* The experiment file: what is read, what is refused and with which words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/ask/experiment.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"

static struct strait_experiment *read_text(const char *text, struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    strait_experiment_read(&e, "wan.json", json, err);
    json_decref(json);
    return e;
}

#define HEAD "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":3,"
#define NET                                                                                        \
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"50 ms\"},"                             \
    "\"server\":{\"rate\":\"10 Gbps\"}}"
#define FEDAVG "\"strategy\":{\"name\":\"fedavg\",\"decode_cores\":\"clients\"},"

static void reads(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e = read_text(
        HEAD FEDAVG "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}," NET "}", &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(e->n_ranks, 4); /* three clients and the server */
    CU_ASSERT_EQUAL(strait_experiment_param(e, "decode_cores"), 3);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "local_steps"), 20);
    CU_ASSERT_STRING_EQUAL(e->up.spec.ops->name, "sz");
    CU_ASSERT_EQUAL(e->up.spec.bound.kind, STRAIT_BOUND_RANGE);
    CU_ASSERT_STRING_EQUAL(e->down.spec.ops->name, "none");
    CU_ASSERT_DOUBLE_EQUAL(strait_path_rtt_s(e->network, 0, 2), 0.05, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_rtt_s(e->network, 1, 2), 0.1, 1e-15);
    /* 1e9 / 8 x 1448 / 1538 */
    CU_ASSERT_DOUBLE_EQUAL(strait_goodput_bytes_per_s(e->network, &e->network->out[1]), 117685305.6,
                           0.1);
    /* 2 x 125 MB/s x 100 ms, from client to client */
    CU_ASSERT_DOUBLE_EQUAL(e->network->tcp.window_bytes, 25e6, 1);
    strait_experiment_free(e);
}

/* A machine's profile is for codecs that name none, both ways. */
static void device_profiles(void)
{
    static const char sz[] = "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}",
                      own[] = "{\"name\":\"sz\",\"bound\":{\"range\":1e-3},"
                              "\"profile\":\"default\"}";
    const struct {
        const char *up, *down, *found[2];
    } cases[] = {{sz, sz, {"grace-v100", "grace-v100"}},
                 {own, sz, {"default", "grace-v100"}},
                 {sz, own, {"grace-v100", "default"}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        struct strait_error err = {0};
        snprintf(text, sizeof(text),
                 HEAD FEDAVG "\"codec\":%s,\"download_codec\":%s,\"device\":{\"profile\":"
                             "\"grace-v100\"}," NET "}",
                 cases[i].up, cases[i].down);
        struct strait_experiment *e = read_text(text, &err);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_STRING_EQUAL(e->up.profile, cases[i].found[0]);
        CU_ASSERT_STRING_EQUAL(e->down.profile, cases[i].found[1]);
        strait_experiment_free(e);
    }
}

/* Four ranks, 0.42 MB up and down each: about 2300 segments of 1448 bytes a round, so that the
 * million is reached between 100 and 10,000 rounds. A round of fedasync is one client's update, of
 * fedbuff those of 10: 580 and 5800 segments, where 31 ranks would have 18,000. */
static void takes_packets(void)
{
    static const char text[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":%d,\"strategy\":"
        "{\"name\":\"%s\",\"rounds\":%d},\"network\":{\"client\":{\"rate\":\"1 Gbps\"},"
        "\"server\":{\"rate\":\"1 Gbps\"}%s}}";
    static const char *const cubic = ",\"tcp\":{\"congestion\":\"cubic\"}",
                             *const flows =
                                 ",\"tcp\":{\"congestion\":\"cubic\"},\"detail\":\"flows\"",
                             *const at_once = ",\"tcp\":{\"initial_window\":\"1 GB\"}";
    const struct {
        int n_clients;
        const char *strategy;
        int n_rounds;
        const char *more;
        bool packets;
    } cases[] = {
        {3, "fedavg", 100, cubic, true},    {3, "fedavg", 100, "", false},
        {3, "fedavg", 10000, cubic, false}, {1, "fedavg", 100, cubic, false},
        {3, "bsp", 100, cubic, true},       {3, "fedavg", 100, flows, false},
        {3, "switchml", 100, "", true},     {3, "switchml", 10000, "", false},
        {3, "switchml", 100, flows, false}, {3, "switchml", 100, at_once, false},
        {30, "fedavg", 120, cubic, false},  {30, "fedasync", 120, cubic, true},
        {30, "fedbuff", 120, cubic, true},  {30, "fedasync", 10000, cubic, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        char all[512];
        snprintf(all, sizeof(all), text, cases[i].n_clients, cases[i].strategy, cases[i].n_rounds,
                 cases[i].more);
        strait_test_context("%s", all);
        struct strait_experiment *e = read_text(all, &err);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_PTR_NOT_NULL_FATAL(e);
        CU_ASSERT_EQUAL(strait_network_by_packets(e->network), cases[i].packets);
        strait_experiment_free(e);
    }
}

static void refuses(void)
{
    static const struct {
        const char *text, *where, *part;
    } cases[] = {
        {HEAD FEDAVG "\"codex\":\"none\"," NET "}", "wan.json", "did you mean \"codec\""},
        {HEAD FEDAVG "\"codec\":\"sy\"," NET "}", "wan.json#/codec", "did you mean \"sz\""},
        {HEAD FEDAVG "\"codec\":\"sz\"," NET "}", "wan.json#/codec", "bound"},
        {HEAD FEDAVG "\"codec\":{\"name\":\"none\",\"bound\":{\"range\":1}}," NET "}",
         "wan.json#/codec/bound", "expected no bound"},
        {HEAD FEDAVG "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1,\"abs\":1}}," NET "}",
         "wan.json#/codec/bound", "one bound"},
        {HEAD FEDAVG "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":-1}}," NET "}",
         "wan.json#/codec/bound/range", "-1"},
        {HEAD "\"strategy\":{\"name\":\"fedavg\",\"locl_steps\":3}," NET "}", "wan.json#/strategy",
         "did you mean \"local_steps\""},
        {HEAD "\"strategy\":{\"name\":\"fedavg\",\"rounds\":0}," NET "}",
         "wan.json#/strategy/rounds", "0"},
        {HEAD "\"strategy\":{\"name\":\"fedvg\"}," NET "}", "wan.json#/strategy/name",
         "did you mean \"fedavg\""},
        {HEAD FEDAVG "\"network\":{\"client\":{\"rate\":\"-1 Gbps\"},"
                     "\"server\":{\"rate\":\"1 Gbps\"}}}",
         "wan.json#/network/client/rate", "expected a rate above 0, found \"-1 Gbps\""},
        {HEAD FEDAVG "\"network\":{\"client\":{\"rate\":7},\"server\":{\"rate\":\"1 Gbps\"}}}",
         "wan.json#/network/client/rate", "expected"},
        {HEAD FEDAVG "\"network\":{\"client\":{\"rate\":\"1 Gbps\"}}}", "wan.json#/network/server",
         "expected"},
        {HEAD FEDAVG "\"network\":{\"topology\":\"torus\"}}", "wan.json#/network/topology",
         "torus"},
        {"{\"schema\":\"strait-experiment/9\"}", "wan.json#/schema", "strait-experiment/1"},
        {"{\"schema\":\"strait-experiment/1\",\"model\":\"gpt9\",\"clients\":1}", "wan.json#/model",
         "gpt"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(read_text(cases[i].text, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        if (!strstr(err.text, cases[i].part))
            fprintf(stderr, "case %zu: %s: %s\n", i, err.where, err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].part));
    }
}

/* A replay's lanes take what flows of others would need. */
static void flows_beside_a_replay(void)
{
    static const char *const backgrounds[] = {"",
                                              ", \"background\": {\"flows\": 2, \"way\": \"in\"}"};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        struct strait_error err = {0};
        snprintf(text, sizeof(text),
                 "{\"schema\": \"strait-experiment/1\", \"trace\": \"%s\", \"clients\": 3, "
                 "\"strategy\": {\"name\": \"replay\", \"speed\": 1e9}, \"network\": "
                 "{\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"2 ms\"%s}, "
                 "\"server\": {\"rate\": \"1 Gbps\"}}}",
                 DATA("experiments/traces/data-parallel.ti"), backgrounds[i]);
        struct strait_experiment *e = read_text(text, &err);
        CU_ASSERT_EQUAL(e == NULL, i == 1);
        CU_ASSERT_STRING_EQUAL(err.where, i ? "wan.json#/network" : "");
        CU_ASSERT_STRING_EQUAL(
            err.text, i ? "expected no flows of others (\"background\") beside a replay" : "");
        strait_experiment_free(e);
    }
}

/* Of several wrong parts the one that is read first is named. Each is right before its turn. */
static void first_error(void)
{
    static const struct {
        const char *key, *good, *bad; /* NULL: left out */
        const char *where;
    } parts[] = {
        {"clients", "3", "0", "/clients"},
        {"seed", "1", "-1", "/seed"},
        {"table", "\"scaling\"", "\"round\"", "/table"},
        {"model", "\"cnn\"", "{\"params\": 0}", "/model"},
        {"network",
         "{\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"50 ms\"}, "
         "\"server\": {\"rate\": \"1 Gbps\"}}",
         NULL, "wan.json#/network"},
        {"software", "\"none\"", "7", "/software"},
        {"device", "\"none\"", "7", "/device"},
        {"strategy", "{\"name\": \"fedavg\"}", "{\"name\": \"fedsum\"}", "/strategy/name"},
        {"training", "{\"task\": \"quadratic\"}", "{\"task\": 7}", "/training/task"},
        {"codec", "\"none\"", "\"nobody\"", "/codec"},
        {"download_codec", "\"none\"", "\"nobody\"", "/download_codec"},
    };
    enum { N_PARTS = sizeof(parts) / sizeof(*parts) };
    for (size_t first = 0; first < N_PARTS; first++) {
        char text[2048];
        struct strait_error err = {0};
        size_t n = (size_t)snprintf(text, sizeof(text), "{\"schema\":\"strait-experiment/1\"");
        for (size_t i = 0; i < N_PARTS; i++) {
            const bool is_good = i < first;
            if (is_good && strstr("software device", parts[i].key))
                continue; /* without them nothing is said of any */
            if (is_good || parts[i].bad)
                n += (size_t)snprintf(text + n, sizeof(text) - n, ", \"%s\": %s", parts[i].key,
                                      is_good ? parts[i].good : parts[i].bad);
        }
        snprintf(text + n, sizeof(text) - n, "}");
        strait_experiment_free(read_text(text, &err));
        strait_test_context("%s: %s", parts[first].key, err.text);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_CONTAINS(err.where, parts[first].where);
    }
}

static struct strait_sweep *sweep_of(const char *text, const char *const *settings, size_t n,
                                     struct strait_error *err)
{
    struct strait_sweep *s;
    char path[] = "/tmp/strait-test-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    strait_sweep_load(&s, path, settings, n, err);
    unlink(path);
    return s;
}

static void sweeps(void)
{
    struct strait_error err = {0};
    const char *text = HEAD FEDAVG
        "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},\"vary\":{\"/clients\":[1,2,4],"
        "\"/codec/bound/range\":[1e-2,1e-3]}," NET "}";
    struct strait_sweep *s = sweep_of(text, NULL, 0, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->n_points, 6);
    json_t *labels, *point = strait_sweep_point(s, 3, &labels, &err); /* (2, 1e-3) */
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "clients")), 2);
    CU_ASSERT_EQUAL(json_real_value(json_object_get(labels, "/codec/bound/range")), 1e-3);
    CU_ASSERT_PTR_NULL(json_object_get(point, "vary"));
    json_decref(point);
    json_decref(labels);
    strait_sweep_free(s);

    const char *settings[] = {"/clients=7", "/network/client/rtt=10 ms"};
    s = sweep_of(text, settings, 2, &err); /* a set pointer replaces its axis */
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->n_points, 2);
    point = strait_sweep_point(s, 0, NULL, &err);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(point, "clients")), 7);
    json_decref(point);
    strait_sweep_free(s);
}

static void refuses_sweeps(void)
{
    static const struct {
        const char *vary, *part;
    } cases[] = {{"[1]", "#/vary"},
                 {"{\"/clients\":[]}", "#/vary/~1clients"},
                 {"{\"/clients\":[1,0]}", "#/clients"},
                 {"{\"/nowhere/deep\":[1]}", "#/nowhere/deep"},
                 {"{\"clients\":[1]}", "#clients"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        char text[1024];
        snprintf(text, sizeof(text), HEAD FEDAVG NET ",\"vary\":%s}", cases[i].vary);
        CU_ASSERT_PTR_NULL(sweep_of(text, NULL, 0, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.where, cases[i].part));
    }
}

static const struct strait_test tests[] = {
    {"no flows of others go beside a replay", flows_beside_a_replay},
    {"of several wrong parts the first is named", first_error},
    {"an experiment is read with its units and defaults", reads},
    {"a machine's profile is for codecs that name none, both ways", device_profiles},
    {"several clients whose congestion control is named take packets, if few", takes_packets},
    {"a bad experiment names its place and what was expected", refuses},
    {"vary gives the product of its axes and --set replaces one", sweeps},
    {"a bad sweep names its place", refuses_sweeps},
};
STRAIT_SUITE("workloads/ask/experiment", tests);
