/* Networks of sites: their paths, what the reader takes and refuses, and both simulators on them.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "workloads/ask/network.h"
#include "workloads/ask/network_ports.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

#define PORT "{\"rate\": \"10 Gbps\", \"rtt\": \"1 ms\"}"

static struct strait_network *read_network(const char *network, int n_ranks, bool has_server,
                                           struct strait_error *err)
{
    char text[2048];
    struct strait_object o;
    struct strait_network *n = NULL;
    snprintf(text, sizeof(text), "{\"network\": {%s}}", network);
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL_FATAL(strait_object_open(&o, "x.json", "", json, err), 0);
    const int failed = strait_network_read(&n, &o, n_ranks, has_server, err);
    CU_ASSERT_EQUAL(failed == 0, n != NULL);
    json_decref(json);
    return n;
}

/* Server at the core, then two sites of two; 40 ms from site 0 to the core and back, 60 from site
 * 1; between them a link of their own with 100 ms. */
static const char *const two_sites =
    "\"topology\": \"sites\", \"client\": " PORT ", \"server\": {\"rate\": \"1 Gbps\"},"
    "\"site\": [{\"ranks\": 2, \"rate\": \"1 Gbps\", \"rtt\": \"40 ms\"},"
    "           {\"ranks\": 2, \"rate\": \"200 Mbps\", \"rtt\": \"60 ms\"}],"
    "\"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"50 Mbps\", \"rtt\": \"100 ms\"}]";

static void paths(void)
{
    struct strait_error err = {0};
    struct strait_network *n = read_network(two_sites, 5, true, &err);
    int links[STRAIT_MAX_HOPS];
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(n->n_sites, 2);
    const int site[] = {-1, 0, 0, 1, 1};
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(strait_network_site(n, i), site[i]);
    /* ranks' links 0 to 9, sites' 10 to 13, pairs' 14 to 17 */
    CU_ASSERT_EQUAL(strait_network_n_links(n), 18);
    CU_ASSERT_EQUAL(strait_network_path(n, 1, 2, links), 2); /* inside a site */
    CU_ASSERT_EQUAL(strait_network_path(n, 1, 0, links), 3);
    CU_ASSERT(links[0] == 2 && links[1] == 10 && links[2] == 1);
    CU_ASSERT_EQUAL(strait_network_path(n, 4, 1, links), 5);
    CU_ASSERT(links[0] == 8 && links[1] == 12 && links[2] == 16 && links[3] == 11 && links[4] == 3);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_delay_s(n, 1, 2), 0.001, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_delay_s(n, 1, 0), 0.0205, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_path_delay_s(n, 4, 1), 0.0005 + 0.03 + 0.05 + 0.02 + 0.0005,
                           1e-15);
    CU_ASSERT_EQUAL(strait_path_bits_per_s(n, 4, 1), 50e6);
    CU_ASSERT_EQUAL(strait_path_bits_per_s(n, 4, 0), 200e6);
    CU_ASSERT_EQUAL(strait_path_bits_per_s(n, 3, 4), 10e9);
    strait_network_free(n);
}

static void repeats(void)
{
    struct strait_error err = {0};
    struct strait_network *n =
        read_network("\"topology\": \"nodes\", \"client\": [{\"rate\": \"96 Gbps\"}, "
                     "{\"rate\": \"48 Gbps\"}], \"node\": {\"accelerators\": 4, "
                     "\"rate\": \"10 Gbps\"}",
                     10, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(n->n_sites, 3); /* 4, 4 and 2 accelerators */
    CU_ASSERT_EQUAL(strait_network_site(n, 7), 1);
    CU_ASSERT_EQUAL(strait_network_site(n, 8), 2);
    CU_ASSERT_EQUAL(n->out[4].rate_bits_per_s, 96e9);
    CU_ASSERT_EQUAL(n->in[5].rate_bits_per_s, 48e9);
    strait_network_free(n);
}

/* 3 and 2 clients, then again from the first; each way has its own rate. */
static void groups(void)
{
    static const char text[] =
        "\"client\": [{\"name\": \"office\", \"count\": 3, \"rate\": \"1 Gbps\"},"
        "{\"name\": \"dsl\", \"count\": 2, \"rtt\": \"30 ms\", \"in\": {\"rate\": \"100 "
        "Mbps\"}, \"out\": {\"rate\": \"40 Mbps\", \"delay\": \"20 ms\"}}],"
        "\"server\": {\"out\": {\"rate\": \"2 Gbps\"}, \"in\": {\"rate\": \"3 Gbps\"}}";
    static const double in[] = {3e9, 1e9, 1e9, 1e9, 100e6, 100e6, 1e9},
                        out[] = {2e9, 1e9, 1e9, 1e9, 40e6, 40e6, 1e9};
    struct strait_error err = {0};
    struct strait_network *n = read_network(text, 7, true, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    for (int i = 0; i < 7; i++) {
        CU_ASSERT_EQUAL(n->in[i].rate_bits_per_s, in[i]);
        CU_ASSERT_EQUAL(n->out[i].rate_bits_per_s, out[i]);
    }
    CU_ASSERT_EQUAL(n->in[4].delay_s, 0.015);
    CU_ASSERT_EQUAL(n->out[4].delay_s, 0.02);
    strait_network_free(n);
}

static double rate_at(const struct strait_link *l, double t_s)
{
    return strait_link_bits_per_s(l, t_s);
}

/* Events in any order, by name; a percentage is of the rate that the link has otherwise. */
static void events(void)
{
    static const char text[] =
        "\"client\": [{\"name\": \"office\", \"rate\": \"1 Gbps\"},"
        "{\"name\": \"dsl\", \"in\": {\"rate\": \"100 Mbps\"}, \"out\": {\"rate\": \"40 Mbps\"}}],"
        "\"server\": {\"rate\": \"10 Gbps\"},"
        "\"events\": [{\"at\": \"60 s\", \"on\": \"dsl\", \"rate\": \"100 %\"},"
        "{\"at\": \"30 s\", \"on\": \"dsl\", \"rate\": \"10 %\"},"
        "{\"at\": \"0 s\", \"on\": \"server\", \"way\": \"in\", \"rate\": \"2 Gbps\"},"
        "{\"at\": \"0 s\", \"on\": \"server\", \"way\": \"in\", \"rate\": \"3 Gbps\"}]";
    struct strait_error err = {0};
    struct strait_network *n = read_network(text, 4, true, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    for (int rank = 1; rank < 4; rank++)
        for (int way = 0; way < 2; way++) {
            const struct strait_link *l = way == 0 ? &n->out[rank] : &n->in[rank];
            const double base = rank == 2 ? way == 0 ? 40e6 : 100e6 : 1e9;
            CU_ASSERT_EQUAL(l->schedule != NULL, rank == 2);
            CU_ASSERT_EQUAL(rate_at(l, 29), base);
            CU_ASSERT_DOUBLE_EQUAL(rate_at(l, 30), rank == 2 ? base / 10 : base, 1e-6);
            CU_ASSERT_EQUAL(rate_at(l, 61), base);
        }
    CU_ASSERT_PTR_NULL(n->out[0].schedule);
    CU_ASSERT_EQUAL(rate_at(&n->in[0], 0), 3e9); /* of two at once, the later in the file */
    CU_ASSERT_EQUAL(n->in[0].rate_bits_per_s, 3e9);
    CU_ASSERT_EQUAL(strait_network_n_scheduled(n), 3);
    strait_network_free(n);
}

/* Between sites, and all sites; the others stay as they are. */
static void events_of_sites(void)
{
    char text[1024];
    struct strait_error err = {0};
    snprintf(
        text, sizeof(text), "%s,%s", two_sites,
        "\"events\": [{\"at\": \"5 s\", \"on\": \"sites\", \"way\": \"out\", \"rate\": \"50 %\"}]");
    struct strait_network *n = read_network(text, 5, true, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(strait_network_n_scheduled(n), 2);
    CU_ASSERT_EQUAL(rate_at(&n->site_out[1], 6), 100e6);
    CU_ASSERT_EQUAL(rate_at(&n->site_in[1], 6), 200e6);
    strait_network_free(n);
}

/* 1 Gbps and its steps without 300 Mbps that others take. */
static void background(void)
{
    static const char text[] =
        "\"client\": {\"rate\": \"1 Gbps\", \"background\": \"300 Mbps\", \"out\": {\"rate\":"
        "[{\"at\": \"0 s\", \"rate\": \"400 Mbps\"}, {\"at\": \"9 s\", \"rate\": \"2 Gbps\"}]}}";
    struct strait_error err = {0};
    struct strait_network *n = read_network(text, 2, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_DOUBLE_EQUAL(n->in[1].rate_bits_per_s, 0.7e9, 1);
    CU_ASSERT_PTR_NULL(n->in[1].schedule);
    CU_ASSERT_DOUBLE_EQUAL(rate_at(&n->out[1], 0), 0.1e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(rate_at(&n->out[1], 9), 1.7e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(n->out[1].rate_bits_per_s, 1.7e9, 1);
    CU_ASSERT_EQUAL(n->out[1].background_bits_per_s, 0.3e9);
    strait_network_free(n);
}

/* Two flows in one direction, beside a rate that is taken off there; 8 Mbps of two ports ask for
 * them, so the rank where they begin has twice 2 x 8 Mbps, at the core of the sites. */
static void flows_of_others(void)
{
    struct strait_error err = {0};
    struct strait_network *n = read_network(
        "\"topology\": \"sites\", \"site\": [{\"ranks\": 2, \"rate\": \"1 Gbps\"}], \"client\":"
        "{\"rate\": \"10 Mbps\", \"rtt\": \"8 ms\", \"background\": {\"rate\": \"2 Mbps\", "
        "\"flows\": 2, \"way\": "
        "\"in\"}}",
        2, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT(n->in[1].n_flows == 2 && n->out[1].n_flows == 0);
    CU_ASSERT(n->in[1].rate_bits_per_s == 8e6 && n->out[1].rate_bits_per_s == 10e6);
    CU_ASSERT_EQUAL(strait_network_n_flows(n), 4);
    CU_ASSERT_TRUE(strait_network_by_packets(n));
    struct strait_network *w = strait_network_with_others(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT(w->n_ranks == 3 && w->n_others == 1 && n->n_ranks == 2);
    CU_ASSERT(w->out[2].rate_bits_per_s == 32e6 && w->in[2].rate_bits_per_s == 32e6);
    CU_ASSERT(w->out[2].delay_s == 0 && isinf(w->out[2].queue_bytes));
    CU_ASSERT(w->site[2] == -1 && w->site[1] == 0);
    CU_ASSERT_EQUAL(w->site_in[0].rate_bits_per_s, 1e9);
    strait_network_free(w);
    w = strait_network_at_rate(n, 1.25);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT(w->n_ranks == 2 && w->n_others == 0 && w->in[1].n_flows == 2);
    CU_ASSERT(w->in[1].rate_bits_per_s == 10e6 && w->out[1].rate_bits_per_s == 12.5e6);
    CU_ASSERT(w->site_in[0].rate_bits_per_s == 1.25e9 && w->site_out[0].rate_bits_per_s == 1.25e9);
    CU_ASSERT_EQUAL(n->in[1].rate_bits_per_s, 8e6);
    strait_network_free(w);
    w = strait_network_off_delays(n, 0.5, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    const double off = w->in[1].delay_s / n->in[1].delay_s;
    CU_ASSERT(off != 1 && off >= 0.5 && off <= 1.5 && off != w->in[0].delay_s / n->in[0].delay_s);
    CU_ASSERT_DOUBLE_EQUAL(w->out[1].delay_s / n->out[1].delay_s, off, 1e-12);
    CU_ASSERT_EQUAL(w->in[1].rate_bits_per_s, 8e6);
    strait_network_free(w);
    strait_network_free(n);
}

/* Two offices of three ranks and three homes of one. */
static void groups_of_sites(void)
{
    static const char text[] =
        "\"topology\": \"sites\", \"client\": " PORT ","
        "\"site\": [{\"name\": \"office\", \"count\": 2, \"ranks\": 3, \"rate\": \"1 Gbps\"},"
        "{\"name\": \"home\", \"count\": 3, \"ranks\": 1, \"rate\": \"50 Mbps\"}]";
    static const int sites[] = {0, 0, 0, 1, 1, 1, 2, 3, 4};
    struct strait_error err = {0};
    struct strait_network *n = read_network(text, 9, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(n->n_sites, 5);
    for (int i = 0; i < 9; i++)
        CU_ASSERT_EQUAL(strait_network_site(n, i), sites[i]);
    CU_ASSERT_EQUAL(n->site_out[1].rate_bits_per_s, 1e9);
    CU_ASSERT_EQUAL(n->site_out[4].rate_bits_per_s, 50e6);
    strait_network_free(n);
    CU_ASSERT_PTR_NULL(read_network(text, 10, false, &err));
    CU_ASSERT_CONTAINS(err.text, "expected room for 10 ranks, found 9 places");
}

/* Who lists the clients need not count them. */
static void listed(void)
{
    static const struct {
        const char *network;
        int n;
    } cases[] = {
        {"{\"client\": {\"rate\": \"1 Gbps\"}}", 0},
        {"{\"client\": [{}, {}]}", 0}, /* taken in turn, as often as needed */
        {"{\"client\": {\"count\": 7}}", 7},
        {"{\"client\": [{\"count\": 30}, {\"count\": 9}, {}]}", 40},
        {"{\"client\": [{\"count\": 30}, {\"count\": -9}]}", 0},
        {"{\"client\": {}, \"site\": {\"ranks\": 4}}", 0},
        {"{\"client\": {}, \"site\": {\"ranks\": 4, \"count\": 2}}", 8},
        {"{\"client\": {}, \"site\": [{\"ranks\": 4}, {\"ranks\": 2, \"count\": 3}]}", 10},
        {"{\"client\": {}, \"node\": [{\"accelerators\": 8}]}", 8},
        {"{\"client\": {\"count\": 1000000000000}}", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *json = json_loads(cases[i].network, 0, NULL);
        strait_test_context("%s", cases[i].network);
        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        CU_ASSERT_EQUAL(strait_ports_n_clients(json), cases[i].n);
        json_decref(json);
    }
}

static void connections(void)
{
    struct strait_error err = {0};
    struct strait_network *n = read_network("\"client\": " PORT, 2, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(n->tcp.n_connections, 1);
    CU_ASSERT_EQUAL(strait_network_frame_bytes(n), 96);
    strait_network_free(n);
    n = read_network("\"client\": " PORT ", \"connections\": 16", 2, false, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    CU_ASSERT_EQUAL(strait_tcp_n_connections(&n->tcp), 16);
    CU_ASSERT_EQUAL(strait_network_frame_bytes(n), 1536); /* 16 times 96 */
    strait_network_free(n);
}

/* What makes a simulation move packets; what is asked for goes before. */
static void by_packets(void)
{
    static const struct {
        const char *client, *more;
        bool packets;
    } cases[] = {
        {"", "", false},
        {", \"loss\": \"0.1 %\"", "", true},
        {", \"in\": {\"jitter\": \"1 ms\"}", "", true},
        {", \"out\": {\"queue\": \"30 KB\"}", "", true},
        {", \"loss\": \"0 %\"", "", false},
        {"", ", \"tcp\": {\"congestion\": \"bbr\"}", true},
        {"", ", \"tcp\": {\"congestion\": \"cubic\"}", false},
        {"", ", \"detail\": \"packets\"", true},
        {", \"loss\": \"1 %\"", ", \"detail\": \"flows\"", false},
        {", \"loss\": \"1 %\"", ", \"detail\": \"formula\"", false},
        {", \"loss\": \"1 %\"", ", \"detail\": \"auto\"", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        char text[256];
        snprintf(text, sizeof(text), "\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"4 ms\"%s}%s",
                 cases[i].client, cases[i].more);
        strait_test_context("%s", text);
        struct strait_network *n = read_network(text, 3, false, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(n);
        CU_ASSERT_EQUAL(strait_network_by_packets(n), cases[i].packets);
        strait_network_free(n);
    }
}

static void refused(void)
{
    static const struct {
        const char *network, *message;
    } cases[] = {
        {"\"topology\": \"mesh\", \"client\": " PORT,
         "x.json#/network/topology: expected \"star\", \"sites\", \"nodes\" or \"regions\", found "
         "\"mesh\""},
        {"\"client\": []", "x.json#/network/client: expected a port, or an array of ports"},
        {"\"client\": [" PORT ", {\"rate\": \"-1 Gbps\"}]", "x.json#/network/client/1/rate: "},
        {"\"topology\": \"sites\", \"client\": " PORT, "x.json#/network/site: "},
        {"\"topology\": \"sites\", \"client\": " PORT
         ", \"site\": [{\"ranks\": 1, \"rate\": \"1 Gbps\"}, {\"ranks\": 2, \"rate\": \"1 Gbps\"}]",
         "x.json#/network/site: expected room for 4 ranks, found 3 places"},
        {"\"topology\": \"sites\", \"client\": " PORT
         ", \"site\": {\"ranks\": 2, \"rate\": \"1 Gbps\"},"
         "\"between\": [{\"from\": 1, \"to\": 1, \"rate\": \"1 Gbps\"}]",
         "x.json#/network/between/0/to: expected another site than 1"},
        {"\"topology\": \"sites\", \"client\": " PORT
         ", \"site\": {\"ranks\": 2, \"rate\": \"1 Gbps\"},"
         "\"between\": [{\"from\": 0, \"to\": 2, \"rate\": \"1 Gbps\"}]",
         "x.json#/network/between/0/to: "},
        {"\"client\": " PORT ", \"connections\": 17",
         "x.json#/network/connections: expected an integer of at most 16, found 17"},
        {"\"client\": " PORT ", \"connections\": 0",
         "x.json#/network/connections: expected an integer of at least 1, found 0"},
        {"\"client\": " PORT ", \"connections\": 2.5",
         "x.json#/network/connections: expected an integer"},
        {"\"client\": " PORT ", \"detail\": \"packet\"",
         "x.json#/network/detail: expected \"auto\", \"flows\", \"packets\" or \"formula\", found "
         "\"packet\", did "
         "you mean \"packets\"?"},
        {"\"client\": " PORT ", \"site\": {\"ranks\": 2, \"rate\": \"1 Gbps\"}",
         "x.json#/network: unknown key \"site\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_network *n = read_network(cases[i].network, 4, false, &err);
        char text[1024];
        snprintf(text, sizeof(text), "%s: %s", err.where, err.text);
        CU_ASSERT_PTR_NULL(n);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        const bool said = strncmp(text, cases[i].message, strlen(cases[i].message)) == 0;
        CU_ASSERT(said);
        if (!said)
            fprintf(stderr, "found \"%s\"\nexpected \"%s\"\n", text, cases[i].message);
        strait_network_free(n);
    }
}

/* Ranks 1 and 2 of site 0 send 1 MB each to 3 and 4 of site 1, rank 3 one to the server. */
enum { BYTES = 1000000 };
static void traffic(struct strait_rank *r)
{
    if (r->me == 1 || r->me == 2)
        strait_rig_send(r, r->me + 2, 0, 0, BYTES);
    if (r->me == 3)
        strait_rig_send(r, 0, 0, 0, BYTES);
    if (r->me == 0 || r->me >= 3) {
        const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 0);
        strait_note(r, 0, m.arrived_s);
    }
}

/* The two share the 50 Mbps between the sites; rank 3 has the 200 Mbps of its site's port, since
 * the way out is not the way in. Frames of 96 bytes count; there is no ramp. */
static void simulated(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    struct strait_error err = {0};
    const double share = 1448.0 / 1538 / 8, bytes = BYTES + 96;
    for (size_t b = 0; b < sizeof(backends) / sizeof(backends[0]); b++) {
        struct strait_rig rig;
        strait_rig_init(&rig, 5, strait_rig_link(1e9, 0.01), traffic);
        struct strait_network *n = read_network(two_sites, 5, true, &err), *star = rig.network;
        CU_ASSERT_PTR_NOT_NULL_FATAL(n);
        n->tcp.initial_window_bytes = INFINITY;
        rig.network = n;
        rig.run.network = n;
        strait_rig_run(&rig, backends[b]);
        CU_ASSERT_EQUAL(rig.rc, 0);
        if (rig.rc != 0)
            fprintf(stderr, "%s: %s\n", backends[b]->name, rig.err.text);
        const double pair_s = 2 * bytes / (50e6 * share) + 0.101, up_s = bytes / (200e6 * share);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 3, 0, 0), pair_s, 1e-9 * pair_s);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 4, 0, 0), pair_s, 1e-9 * pair_s);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 0, 0, 0), up_s + 0.0305, 1e-9);
        rig.network = star;
        strait_network_free(n);
        strait_rig_release(&rig);
    }
}

static const struct strait_test tests[] = {
    {"a path leaves its site, crosses the pair's link and enters the other site", paths},
    {"one port stands for all, several are taken in turn", repeats},
    {"groups of clients have their number, and each way its own rate", groups},
    {"groups of sites have their number", groups_of_sites},
    {"events change the rates of what they name", events},
    {"events reach sites", events_of_sites},
    {"background traffic is taken off the rate", background},
    {"flows of others are one direction's, and have a rank", flows_of_others},
    {"the clients that a network lists are counted", listed},
    {"a stream is one connection unless told otherwise", connections},
    {"imperfect links and BBR take packets, unless flows are asked for", by_packets},
    {"what cannot be a network is refused with its place", refused},
    {"both simulators carry flows between sites by max-min shares", simulated},
};
STRAIT_SUITE("workloads/ask/network", tests);
