/* What a round would be if one thing were faster, against arithmetic; by fluid without slow
 * start. */
#include "campaign/planner/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "campaign/backends.h"
#include "campaign/planner/what_if.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

/* Payload bytes a second of 1 Gbps: 1448 of every 1514 bytes of a full frame. */
static const double GOODPUT = 1e9 / 8 * 1448 / 1514;
enum { N_CLIENTS = 4, N_STEPS = 3, FRAME = 96 };

static struct strait_profile *profile;
static struct strait_plan_setup setup;
static json_t *point;
static double message_s, step_s, add_s; /* of the model over a link of 1 Gbps; of adding it up */

/* Four clients at 1 Gbps, 40 ms away from a server at 1 Gbps; codec is JSON. */
static void set_up(const char *codec)
{
    char text[1000];
    struct strait_experiment *e;
    struct strait_error err = {0};
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"gpt2-small\", \"codec\": %s, "
             "\"clients\": %d, \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1, "
             "\"local_steps\": %d}, \"network\": {\"overhead\": \"0 B\", \"client\": {\"rate\": "
             "\"1 Gbps\", \"rtt\": \"40 ms\"}, \"server\": {\"rate\": \"1 Gbps\"}}}",
             codec, N_CLIENTS, N_STEPS);
    point = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(point);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, "default", &err), 0);
    setup =
        (struct strait_plan_setup){.file = "test.json", .profile = profile, .control = "no-ramp"};
    CU_ASSERT_EQUAL_FATAL(strait_plan_setup_hashes(&setup, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    const double model_bytes = 4.0 * (double)e->model->n_elems;
    message_s = (model_bytes + FRAME) / GOODPUT;
    step_s = e->model->fwd_s + e->model->bwd_s + e->model->opt_s;
    add_s = model_bytes / profile->add_bytes_per_s;
    strait_experiment_free(e);
}

static void tear_down(void)
{
    json_decref(point);
    strait_profile_free(profile);
}

static double round_s(enum strait_faster what, double factor)
{
    struct strait_error err = {0};
    json_t *row = strait_what_if(&setup, point, what, factor, NAN, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    const double found_s = strait_row_number(row, "round_s");
    json_decref(row);
    return found_s;
}

static void same(double found, double expected)
{
    CU_ASSERT_DOUBLE_EQUAL(found, expected, 1e-9 * (1 + expected));
}

/* As it is: four models down and four up through the server's port, a round trip, three steps, four
 * sums. A server's port of twice the rate halves its way; clients' alone change nothing, since they
 * get a quarter of their rate. Of a server's port of 8 times the rate, a client's port is left. */
static void links(void)
{
    set_up("\"none\"");
    const double rest_s = 0.040 + N_STEPS * step_s + N_CLIENTS * add_s;
    const double now_s = 2 * N_CLIENTS * message_s + rest_s;
    same(round_s(STRAIT_FASTER_NOTHING, 2), now_s);
    same(round_s(STRAIT_FASTER_SERVER_IN, 2), now_s - N_CLIENTS * message_s / 2);
    same(round_s(STRAIT_FASTER_SERVER_OUT, 2), now_s - N_CLIENTS * message_s / 2);
    same(round_s(STRAIT_FASTER_SERVER, 2), now_s - N_CLIENTS * message_s);
    same(round_s(STRAIT_FASTER_SERVER, 8), 2 * message_s + rest_s);
    same(round_s(STRAIT_FASTER_CLIENTS, 2), now_s);
    same(round_s(STRAIT_FASTER_CLIENT_IN, 2), now_s);
    same(round_s(STRAIT_FASTER_CLIENT_OUT, 2), now_s);
    same(round_s(STRAIT_FASTER_DELAYS, 2), now_s - 0.020);
    same(round_s(STRAIT_FASTER_COMPUTE, 2), now_s - N_STEPS * step_s / 2);
    same(round_s(STRAIT_FASTER_ADD, 2), now_s - N_CLIENTS * add_s / 2);
    tear_down();
}

/* A layer of 2 x 1000 x 8 x 64 x 2 B takes 2.048 ms at 1 GB/s and is computed with in 1 ms: 4
 * tokens of 4 layers end with the last one's computation, but for the first token's wait. */
static void host_link(void)
{
    set_up("\"none\"");
    struct strait_error err = {0};
    struct strait_experiment *e;
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_FALSE(strait_faster_applies(STRAIT_FASTER_HOST_LINK, e));
    strait_experiment_free(e);
    json_object_set_new(point, "strategy",
                        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s}", "name", "kvfull", "rounds",
                                  4, "tokens", 1000, "layers", 4, "kv_heads", 8, "head_dim", 64,
                                  "compute", "1 ms"));
    json_object_set_new(point, "device", json_pack("{s:{s:s}}", "link", "rate", "1 GB/s"));
    json_object_set_new(point, "clients", json_integer(1));
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_TRUE(strait_faster_applies(STRAIT_FASTER_HOST_LINK, e));
    strait_experiment_free(e);
    same(round_s(STRAIT_FASTER_NOTHING, 2), (16 * 2.048e-3 + 1e-3) / 4);
    same(round_s(STRAIT_FASTER_HOST_LINK, 2), (16 * 1.024e-3 + 1e-3) / 4);
    same(round_s(STRAIT_FASTER_HOST_LINK, 4), (0.512e-3 + 16 * 1e-3) / 4);
    same(round_s(STRAIT_FASTER_COMPUTE, 2), (16 * 2.048e-3 + 0.5e-3) / 4);
    tear_down();
}

/* A port that changes its rate, and one whose rate other traffic shares: of 1 Gbps in one step, and
 * of 0.8 left of it, which twice as fast leaves 1.8. The server has 100 Gbps, so that four clients
 * do not meet. */
static void ports(void)
{
    static const struct {
        const char *rate;
        double gbps, twice_gbps;
    } cases[] = {{"\"rate\": [{\"at\": \"0 s\", \"rate\": \"1 Gbps\"}]", 1, 2},
                 {"\"rate\": \"1 Gbps\", \"background\": \"200 Mbps\"", 0.8, 1.8}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[256];
        set_up("\"none\"");
        const double rest_s = 0.040 + N_STEPS * step_s + N_CLIENTS * add_s;
        snprintf(text, sizeof(text),
                 "{\"overhead\": \"0 B\", \"client\": {%s, \"rtt\": \"40 ms\"}, \"server\": "
                 "{\"rate\": \"100 Gbps\"}}",
                 cases[i].rate);
        json_object_set_new(point, "network", json_loads(text, 0, NULL));
        strait_test_context("%s", text);
        same(round_s(STRAIT_FASTER_NOTHING, 2), 2 * message_s / cases[i].gbps + rest_s);
        same(round_s(STRAIT_FASTER_CLIENTS, 2), 2 * message_s / cases[i].twice_gbps + rest_s);
        tear_down();
    }
}

/* Uploads arrive together and are decoded one after the other, so that twice as fast decoding and
 * twice as many cores halve the same time, and twice as fast encoding the clients'. */
static void codecs(void)
{
    set_up("{\"name\": \"sz\", \"bound\": {\"range\": 1e-3}, \"profile\": \"sz3-class\"}");
    struct strait_error err = {0};
    json_t *row = strait_what_if(&setup, point, STRAIT_FASTER_NOTHING, 1, NAN, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    const json_t *busy = json_object_get(row, "busy_s");
    const double now_s = strait_row_number(row, "round_s"),
                 decode_s = strait_row_number(json_object_get(busy, "server"), "decode"),
                 encode_s = strait_row_number(json_object_get(busy, "client"), "encode");
    json_decref(row);
    same(round_s(STRAIT_FASTER_DECODE, 2), now_s - decode_s / 2);
    same(round_s(STRAIT_FASTER_CORES, 2), now_s - decode_s / 2);
    same(round_s(STRAIT_FASTER_CORES, 4), now_s - 3 * decode_s / 4);
    same(round_s(STRAIT_FASTER_CORES, 100), now_s - 3 * decode_s / 4);
    same(round_s(STRAIT_FASTER_ENCODE, 2), now_s - encode_s / 2);
    tear_down();
}

/* Two of four clients are at another site than the server, over a link of 1 Gbps; all ports but
 * those of one kind have 100 Gbps. What crosses that kind is two models each way. */
static void sites(void)
{
    static const struct {
        const char *network;
        enum strait_faster narrow, broad;
    } cases[] = {
        {"\"site\": [{\"ranks\": 2, \"rate\": \"100 Gbps\", \"rtt\": \"10 ms\"}, {\"ranks\": 2, "
         "\"rate\": \"100 Gbps\"}], \"between\": [{\"from\": 0, \"to\": 1, \"rate\": \"1 Gbps\", "
         "\"rtt\": \"50 ms\"}]",
         STRAIT_FASTER_BETWEEN_SITES, STRAIT_FASTER_SITES},
        {"\"site\": [{\"ranks\": 2, \"rate\": \"1 Gbps\", \"rtt\": \"20 ms\"}, {\"ranks\": 2, "
         "\"rate\": \"1 Gbps\", \"rtt\": \"40 ms\"}]",
         STRAIT_FASTER_SITES, STRAIT_FASTER_COMPUTE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        struct strait_experiment *e;
        struct strait_error err = {0};
        set_up("\"none\"");
        CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
        CU_ASSERT_FALSE(strait_faster_applies(STRAIT_FASTER_SITES, e));
        CU_ASSERT_FALSE(strait_faster_applies(STRAIT_FASTER_BETWEEN_SITES, e));
        strait_experiment_free(e);
        snprintf(text, sizeof(text),
                 "{\"topology\": \"sites\", \"overhead\": \"0 B\", \"client\": {\"rate\": \"100 "
                 "Gbps\"}, \"server\": {\"rate\": \"100 Gbps\", \"site\": 1}, %s}",
                 cases[i].network);
        json_object_set_new(point, "network", json_loads(text, 0, NULL));
        strait_test_context("%s", text);
        CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
        CU_ASSERT_TRUE(strait_faster_applies(STRAIT_FASTER_SITES, e));
        CU_ASSERT_EQUAL(strait_faster_applies(STRAIT_FASTER_BETWEEN_SITES, e), i == 0);
        CU_ASSERT_TRUE(strait_faster_applies(STRAIT_FASTER_DELAYS, e));
        strait_experiment_free(e);
        const double now_s = 4 * message_s + 0.060 + N_STEPS * step_s + N_CLIENTS * add_s;
        same(round_s(STRAIT_FASTER_NOTHING, 1), now_s);
        same(round_s(cases[i].narrow, 2), now_s - 2 * message_s);
        same(round_s(STRAIT_FASTER_DELAYS, 2), now_s - 0.030);
        if (i == 0)
            same(round_s(cases[i].broad, 2), now_s);
        tear_down();
    }
}

/* One client of four is 1.5 times as slow, two are 3 times; each has a port of its own. The two
 * that are slowest become quicker, and the third one stays. */
static void stragglers(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e;
    char path[] = "/tmp/strait-slowness-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT(dprintf(fd, "slowness\n1\n1.5\n3\n3\n") > 0);
    close(fd);
    set_up("\"none\"");
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_FALSE(strait_faster_applies(STRAIT_FASTER_STRAGGLER, e));
    strait_experiment_free(e);
    json_object_set_new(json_object_get(json_object_get(point, "network"), "server"), "rate",
                        json_string("100 Gbps"));
    json_object_set_new(point, "device", json_pack("{s:s}", "slowness", path));
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "test.json", point, &err), 0);
    CU_ASSERT_TRUE(strait_faster_applies(STRAIT_FASTER_STRAGGLER, e));
    strait_experiment_free(e);
    const double rest_s = 2 * message_s + 0.040 + N_CLIENTS * add_s, steps_s = N_STEPS * step_s;
    same(round_s(STRAIT_FASTER_NOTHING, 2), rest_s + 3 * steps_s);
    same(round_s(STRAIT_FASTER_STRAGGLER, 1.5), rest_s + 2 * steps_s);
    same(round_s(STRAIT_FASTER_STRAGGLER, 100), rest_s + 1.5 * steps_s);
    same(round_s(STRAIT_FASTER_COMPUTE, 2), rest_s + 1.5 * steps_s);
    tear_down();
    unlink(path);
}

/* What an experiment does not have is not tried; the largest gain comes first; each has what
 * would limit the round then. */
static void order(void)
{
    set_up("\"none\"");
    struct strait_error err = {0};
    json_t *row = json_pack("{s:s}", "record", "row"), *try;
    json_t *why = strait_why(&setup, row, point, 2, 2, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    const json_t *faster = json_object_get(why, "faster");
    double before_s = INFINITY;
    size_t i;
    same(strait_row_number(json_object_get(why, "predicted"), "round_s"),
         round_s(STRAIT_FASTER_NOTHING, 1));
    CU_ASSERT_EQUAL(json_array_size(faster), 9); /* no codec, no sites, no straggler */
    CU_ASSERT_STRING_EQUAL(strait_text_of(json_array_get(faster, 0), "what"), "server_port");
    json_array_foreach (faster, i, try) {
        CU_ASSERT(strait_row_number(try, "saves_s") <= before_s);
        before_s = strait_row_number(try, "saves_s");
        CU_ASSERT_STRING_EQUAL(strait_text_of(json_object_get(try, "limits"), "by"), "link");
    }
    json_decref(why);
    json_decref(row);
    tear_down();
}

/* What changes the round by 0.1 % has an interval. Returns: how many have none. */
static int check_intervals(const json_t *why)
{
    const double round_s = strait_row_number(json_object_get(why, "predicted"), "round_s");
    size_t i;
    json_t *try;
    int n = 0;
    json_array_foreach (json_object_get(why, "faster"), i, try) {
        const bool has = json_is_array(json_object_get(try, "interval_s"));
        CU_ASSERT_EQUAL(has, fabs(strait_row_number(try, "saves_s")) >= 1e-3 * round_s);
        n += !has;
    }
    return n;
}

/* Of a folder with two rows, of which one is a reference that is not in the sweep. */
static void command(void)
{
    struct program p;
    program_set_up(&p);
    struct said s = PROGRAM_CALL(
        &p, "run", "wan-scaling", "--on", "fluid", "--set", "/clients=4", "--set",
        "/network/server/rate=1 Gbps", "--set", "/strategy/decode_cores=1", "--set",
        "/codec={\"name\": \"sz\", \"bound\": {\"range\": 1e-2}}", "--no-break-even", "--out", "r");
    CU_ASSERT_EQUAL(s.status, 0);
    said_release(&s);
    s = PROGRAM_CALL(&p, "why", "r");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "sz 1e-2");
    CU_ASSERT_CONTAINS(s.out, "none");
    CU_ASSERT_CONTAINS(s.out, "--point N");
    said_release(&s);
    int n_without = 0;
    for (int k = 1; k <= 2; k++) {
        s = PROGRAM_CALL(&p, "why", "r", "--json", "--point", k == 1 ? "1" : "2");
        CU_ASSERT_EQUAL(s.status, 0);
        json_t *why = json_loads(s.out, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(why);
        /* fluid again: the row's own round */
        CU_ASSERT_EQUAL(strait_row_number(json_object_get(why, "predicted"), "round_s"),
                        strait_row_number(json_object_get(why, "row"), "round_s"));
        CU_ASSERT(json_array_size(json_object_get(why, "faster")) >= 9);
        n_without += check_intervals(why);
        json_decref(why);
        said_release(&s);
    }
    CU_ASSERT(n_without > 0); /* adding up, at least */
    s = PROGRAM_CALL(&p, "why", "r", "--point", "2");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_CONTAINS(s.out, "What limits it: server port");
    CU_ASSERT_CONTAINS(s.out, "2 times as fast");
    said_release(&s);
    s = PROGRAM_CALL(&p, "why", "r", "--point", "3");
    CU_ASSERT_EQUAL(s.status, 2);
    CU_ASSERT_STRING_EQUAL(s.err,
                           "strait: why: expected a point from 1 to 2 after --point, found 3\n");
    said_release(&s);
    s = PROGRAM_CALL(&p, "why", "r", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *listed = json_loads(s.out, 0, NULL);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(listed, "points")), 2);
    json_decref(listed);
    said_release(&s);
    s = PROGRAM_CALL(&p, "why", "nowhere");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    s = PROGRAM_CALL(&p, "why");
    CU_ASSERT_EQUAL(s.status, 2);
    said_release(&s);
    program_tear_down(&p);
}

/* Three clients of two entries with names, then one entry without. */
static void named(void)
{
    static const struct {
        const char *network, *names;
    } cases[] = {
        {"{\"client\": [{\"name\": \"lab\", \"count\": 2, \"rate\": \"1 Gbps\"}, {\"name\": "
         "\"dsl\", "
         "\"rate\": \"1 Gbps\"}, {\"rate\": \"1 Gbps\"}], \"server\": {\"rate\": \"1 Gbps\"}}",
         "[\"clients 1 to 2 lab\", \"client 3 dsl\"]"},
        {"{\"client\": {\"rate\": \"1 Gbps\"}, \"server\": {\"rate\": \"1 Gbps\"}}", "[]"}};
    struct strait_error err = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        set_up("\"none\"");
        json_object_set_new(point, "network", json_loads(cases[i].network, 0, NULL));
        json_t *row = strait_what_if(&setup, point, STRAIT_FASTER_NOTHING, 1, NAN, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        json_t *why = strait_why(&setup, row, point, 2, 2, &err),
               *names = json_loads(cases[i].names, 0, NULL);
        CU_ASSERT(json_equal(json_object_get(why, "names"), names));
        json_decref(names);
        json_decref(why);
        json_decref(row);
        tear_down();
    }
}

static const struct strait_test tests[] = {
    {"what the file calls clients is said beside their numbers", named},
    {"links that are twice as fast save what they carry", links},
    {"a port that changes or is shared is twice as fast too", ports},
    {"sites' ports and the links between them are made faster apart", sites},
    {"the slowest clients alone are made faster", stragglers},
    {"a faster link to the accelerator saves what crosses it", host_link},
    {"codecs that are twice as fast save half their time", codecs},
    {"the largest gain comes first", order},
    {"any row of a folder is explained", command},
};
STRAIT_SUITE("campaign/planner/why", tests);
