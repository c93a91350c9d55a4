/* What a network says of its ranks: names, addresses, and the links of each. */
#include <math.h>
#include <stdlib.h>
#include "emu/programs/program_network.h"
#include "tests/kit/suite.h"
#include "workloads/ask/experiment.h"

/* Two clients and a server, or two peers; each link with figures of its own. */
static struct strait_experiment *experiment(const char *strategy)
{
    struct strait_experiment *e = NULL;
    struct strait_error err = {0};
    json_t *text = json_pack("{s:s, s:s, s:i, s:{s:s}, s:s, s:{s:{s:s}, s:{s:s}}}", "schema",
                             "strait-experiment/1", "model", "cnn", "clients", 2, "strategy",
                             "name", strategy, "codec", "none", "network", "client", "rate",
                             "1 Gbps", "server", "rate", "1 Gbps");
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "x.json", text, &err), 0);
    json_decref(text);
    for (int i = 0; i < e->n_ranks; i++) {
        e->network->out[i] = (struct strait_link){.rate_bits_per_s = 1e6 * (i + 1),
                                                  .delay_s = 0.001 * (i + 1),
                                                  .jitter_s = 0.0001 * (i + 1),
                                                  .loss_ratio = 0.01 * (i + 1),
                                                  .queue_bytes = INFINITY};
        e->network->in[i] =
            (struct strait_link){.rate_bits_per_s = INFINITY, .queue_bytes = 1000 * (i + 1)};
    }
    return e;
}

static double number(const json_t *rank, const char *way, const char *key)
{
    return json_number_value(json_object_get(json_object_get(rank, way), key));
}

static bool is_null(const json_t *rank, const char *way, const char *key)
{
    return json_is_null(json_object_get(json_object_get(rank, way), key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void each_rank(void)
{
    static const char *const hosts[2][3] = {{"server", "client1", "client2"},
                                            {"client1", "client2"}};
    for (int peers = 0; peers < 2; peers++) {
        struct strait_experiment *e = experiment(peers ? "bsp" : "fedavg");
        const struct strait_emu_registry place = {.name = "n"};
        const struct strait_emu_program_plan plan = {
            .place = &place, .experiment = e, .label = "x", .launcher = "root"};
        json_t *state = strait_emu_program_state(&plan, 42, true);
        json_t *ranks = json_object_get(state, "ranks"), *rank;
        size_t i;
        CU_ASSERT_STRING_EQUAL(text_of(state, "name"), "n");
        CU_ASSERT_STRING_EQUAL(text_of(state, "experiment"), "x");
        CU_ASSERT_STRING_EQUAL(text_of(state, "launcher"), "root");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(state, "supervisor")), 42);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(state, "has_server")), peers == 0);
        CU_ASSERT(json_is_true(json_object_get(state, "congestion_set")));
        CU_ASSERT_PTR_NULL(json_object_get(state, "hystart")); /* reno has none */
        CU_ASSERT_EQUAL_FATAL(json_array_size(ranks), peers ? 2 : 3);
        json_array_foreach (ranks, i, rank) {
            char address[32];
            snprintf(address, sizeof(address), "10.0.0.%zu", i + 1);
            strait_test_context("rank %zu of %zu", i, json_array_size(ranks));
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "rank")), (long)i);
            CU_ASSERT_STRING_EQUAL(text_of(rank, "host"), hosts[peers][i]);
            CU_ASSERT_STRING_EQUAL(text_of(rank, "address"), address);
            const double k = (double)(i + 1);
            CU_ASSERT_DOUBLE_EQUAL(number(rank, "out", "rate_bits_per_s"), 1e6 * k, 1e-6);
            CU_ASSERT_DOUBLE_EQUAL(number(rank, "out", "delay_s"), 0.001 * k, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(number(rank, "out", "jitter_s"), 0.0001 * k, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(number(rank, "out", "loss_ratio"), 0.01 * k, 1e-12);
            CU_ASSERT(is_null(rank, "out", "queue_bytes")); /* JSON has no infinity */
            CU_ASSERT_DOUBLE_EQUAL(number(rank, "in", "queue_bytes"), 1000 * k, 1e-6);
            CU_ASSERT(is_null(rank, "in", "rate_bits_per_s"));
        }
        json_decref(state);
        strait_experiment_free(e);
    }
}

static void hosts_file(void)
{
    struct strait_experiment *e = experiment("fedavg");
    char *text = strait_emu_program_hosts(e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, "127.0.0.1\tlocalhost\n"
                                 "10.0.0.1\tserver rank0\n"
                                 "10.0.0.2\tclient1 rank1\n"
                                 "10.0.0.3\tclient2 rank2\n");
    free(text);
    strait_experiment_free(e);
}

/* All of it, of a network on two hosts: which host has which rank, and how to get there. Cubic has
 * a slow start of its own, and a name that is no text is left out. */
static void on_hosts(void)
{
    static const char *const names[] = {"left", "right"};
    static const int host_of[] = {1, 0, 1};
    struct strait_experiment *e = experiment("fedavg");
    e->network->tcp.congestion = STRAIT_CUBIC;
    const struct strait_emu_registry place = {.name = "n.h1"};
    const struct strait_emu_part part = {
        .trunk = {.n_hosts = 2, .here = 1, .host_of = host_of, .mtu_bytes = 1450},
        .network = "n",
        .names = names,
        .launch = "ssh {host}",
        .program = "/bin/strait",
        .outside = "/run/out"};
    const struct strait_emu_program_plan plan = {
        .place = &place, .experiment = e, .label = "\xff", .launcher = "userns", .part = &part};
    json_t *state = strait_emu_program_state(&plan, 7, false), *ranks, *rank;
    json_t *hosts = json_pack("{s:s, s:i, s:[s, s], s:s, s:s, s:s, s:i}", "network", "n", "here", 1,
                              "names", "left", "right", "launch", "ssh {host}", "program",
                              "/bin/strait", "outside", "/run/out", "mtu_bytes", 1450);
    size_t i;
    CU_ASSERT(json_equal(json_object_get(state, "hosts"), hosts));
    CU_ASSERT_STRING_EQUAL(text_of(state, "schema"), "strait-net/1");
    CU_ASSERT_STRING_EQUAL(text_of(state, "experiment"), "an experiment");
    CU_ASSERT_STRING_EQUAL(text_of(state, "congestion"), "cubic");
    CU_ASSERT(json_is_false(json_object_get(state, "congestion_set")));
    CU_ASSERT(json_is_boolean(json_object_get(state, "hystart")));
    CU_ASSERT_EQUAL(json_number_value(json_object_get(state, "overhead_bytes")),
                    e->network->overhead_bytes);
    ranks = json_object_get(state, "ranks");
    CU_ASSERT_EQUAL_FATAL(json_array_size(ranks), 3);
    json_array_foreach (ranks, i, rank) {
        CU_ASSERT(json_is_integer(json_object_get(rank, "on")));
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "on")), host_of[i]);
    }
    json_decref(hosts);
    json_decref(state);
    strait_experiment_free(e);
}

static const struct strait_test tests[] = {
    {"of a part of a network it says where the others are", on_hosts},
    {"every rank has its name, its address and its own links", each_rank},
    {"the hosts file has a line a rank", hosts_file},
};
STRAIT_SUITE("emu/programs/program_state", tests);
