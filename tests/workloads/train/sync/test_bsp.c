/* Bulk-synchronous training and the parameter server: bytes, streams, legal pairs, fresh gradients.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "workloads/rank/backend.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

static const char *const text =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"
    "\"strategy\":{\"name\":\"bsp\",\"rounds\":1},"
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}}}";

enum { CNN_ELEMS = 105866, MAX_RANKS = 9, SITE_SIZE = 2 };
static const char *const collectives[] = {
    "ring",        "halving",      "tree", "all_to_all", "ring_encoded",
    "double_tree", "hierarchical", "gloo", "open_mpi",   "pat"};
enum {
    N_COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]),
    RING_ENCODED = 4,
    DOUBLE_TREE,
    GLOO = 7, /* these two take no codec */
    OPEN_MPI
};

static json_t *bsp(int n, const char *collective)
{
    return json_pack("{s:i, s:s, s:i}", "/clients", n, "/strategy/collective", collective,
                     "/strategy/site_size", SITE_SIZE);
}

static json_t *ps(int n, int n_servers, const char *placement)
{
    return json_pack("{s:i, s:{s:s, s:i, s:i, s:s}}", "/clients", n, "/strategy", "name", "ps",
                     "rounds", 1, "servers", n_servers, "placement", placement);
}

static struct strait_outcome run(json_t *settings, const struct strait_backend *backend,
                                 bool real_payload)
{
    return strait_outcome_of(text, settings, "default", backend,
                             (struct strait_trial_options){.real_payload = real_payload});
}

/* Ranks beyond the largest power of two. */
static int n_folded(int n)
{
    int p = 1;
    while (2 * p <= n)
        p *= 2;
    return n - p;
}

/* All-reduces of n ranks send 2 (n - 1) times the model, whichever way. Inside of sites of two, and
 * n odd: floor(n / 2) members up and down, and a ring of ceil(n / 2) leaders. Servers beside
 * workers get n - 1 shares of the model and send as many; of n - s workers behind their own, all.
 * Open MPI's pairs that fold exchange halves, then a half and all go between them: half a model
 * more than twice. */
static void bytes(void)
{
    for (int n = 1; n <= (IS_SANITIZED ? 4 : MAX_RANKS); n++) {
        for (int c = 0; c < N_COLLECTIVES; c++) {
            struct strait_outcome o = run(bsp(n, collectives[c]), &strait_fluid, false);
            const int times =
                c != DOUBLE_TREE + 1 ? 2 * (n - 1) : 2 * (n / 2) + 2 * ((n + 1) / 2 - 1);
            const int half = c == OPEN_MPI ? n_folded(n) : 0;
            CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)(2 * times + half) * 2 * CNN_ELEMS);
            strait_outcome_free(&o);
        }
        for (int s = 1; s <= n; s += 2) {
            struct strait_outcome o = run(ps(n, s, "colocated"), &strait_fluid, false);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(n - 1) * 4 * CNN_ELEMS);
            CU_ASSERT_EQUAL(o.n_messages, 2 * (uint64_t)(n - 1) * (uint64_t)s);
            strait_outcome_free(&o);
        }
        for (int s = 1; s < n; s += 2) {
            struct strait_outcome o = run(ps(n, s, "separate"), &strait_fluid, false);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * (uint64_t)(n - s) * 4 * CNN_ELEMS);
            CU_ASSERT_EQUAL(o.n_messages, 2 * (uint64_t)(n - s) * (uint64_t)s);
            strait_outcome_free(&o);
        }
    }
}

/* Streams that carried something are the ones that were declared, no more and no less. */
static void check_streams(json_t *settings)
{
    struct strait_outcome o = run(settings, &strait_fluid, false);
    const struct strait_run *of = &o.point->run;
    bool *used = calloc((size_t)of->n_ranks * (size_t)of->n_ranks * STRAIT_MAX_CHANNELS, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(used);
    for (int dst = 0; dst < of->n_ranks; dst++)
        for (size_t i = 0; i < of->logs[dst].n_spans; i++) {
            const struct strait_span span = strait_spans_at(&of->logs[dst].spans, i), *s = &span;
            if (s->kind == STRAIT_SPAN_TRANSFER)
                used[(s->peer * of->n_ranks + dst) * STRAIT_MAX_CHANNELS + s->channel] = true;
        }
    for (int src = 0; src < of->n_ranks; src++)
        for (int dst = 0; dst < of->n_ranks; dst++)
            for (int c = 0; c < STRAIT_MAX_CHANNELS; c++)
                CU_ASSERT_EQUAL(of->uses_stream(of, src, dst, c),
                                used[(src * of->n_ranks + dst) * STRAIT_MAX_CHANNELS + c]);
    free(used);
    strait_outcome_free(&o);
}

static void streams(void)
{
    static const int counts[] = {1, 2, 3, 6, 9};
    for (size_t k = 0; k < (IS_SANITIZED ? 3 : sizeof(counts) / sizeof(counts[0])); k++) {
        const int n = counts[k];
        for (int c = 0; c < N_COLLECTIVES; c++)
            check_streams(bsp(n, collectives[c]));
        for (int s = 1; s <= n; s += 2)
            check_streams(ps(n, s, "colocated"));
        for (int s = 1; s < n; s += 2)
            check_streams(ps(n, s, "separate"));
    }
}

/* The same figures from SimGrid's event loop, ramp and idle restarts included. */
static void same_on_simgrid(void)
{
    for (int c = 0; c < N_COLLECTIVES + 2; c++) {
        double total_s[2];
        for (int b = 0; b < 2; b++) {
            json_t *settings = c < N_COLLECTIVES    ? bsp(5, collectives[c])
                               : c == N_COLLECTIVES ? ps(5, 2, "colocated")
                                                    : ps(5, 2, "separate");
            if (c != GLOO && c != OPEN_MPI)
                json_object_set_new(
                    settings, "/codec",
                    json_pack("{s:s, s:{s:f}}", "name", "sz", "bound", "abs", 1e-3));
            struct strait_outcome o = run(settings, b == 0 ? &strait_fluid : &strait_sim, false);
            total_s[b] = o.total_s;
            strait_outcome_free(&o);
        }
        CU_ASSERT(total_s[0] > 0);
        /* SimGrid's events are exact to 1e-9 s; of Gloo's ring 16 segments follow one another */
        CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], c == GLOO ? 16e-9 : 1e-9 * total_s[0]);
    }
}

/* Strategies with Open MPI's collectives, by flows and by packets. */
static void library_on_simgrid(void)
{
    static const char *const strategies[] = {
        "{\"name\":\"grace\",\"rounds\":2,\"exchange\":\"allgather\",\"library\":\"open_mpi\"}",
        "{\"name\":\"grace\",\"rounds\":2,\"exchange\":\"broadcast\",\"library\":\"open_mpi\"}",
        "{\"name\":\"dgc\",\"rounds\":2,\"library\":\"open_mpi\"}",
        "{\"name\":\"dear\",\"rounds\":2,\"library\":\"open_mpi\"}"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(*strategies); i++)
        for (int packets = 0; packets < 2; packets++) {
            double total_s[2];
            for (int b = 0; b < 2; b++) {
                json_t *settings = json_pack("{s:i, s:o, s:s}", "/clients", 5, "/strategy",
                                             json_loads(strategies[i], 0, NULL), "/network/detail",
                                             packets ? "packets" : "flows");
                struct strait_outcome o =
                    run(settings, b == 0 ? &strait_fluid : &strait_sim, false);
                total_s[b] = o.total_s;
                strait_outcome_free(&o);
            }
            strait_test_context("%s by %s", strategies[i], packets ? "packets" : "flows");
            CU_ASSERT(total_s[0] > 0);
            CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-8 * total_s[0]);
        }
    strait_test_context("%s", "");
}

/* Sums of one round are not the gradients of the next: then three rounds send three times what one
 * does, to the byte, although sizes follow from the values. */
static void fresh_gradients(void)
{
    for (int c = 0; c < N_COLLECTIVES + 1; c++) {
        uint64_t sent[2];
        if (c == GLOO || c == OPEN_MPI)
            continue;
        for (int rounds = 1; rounds <= 3; rounds += 2) {
            json_t *settings = c < N_COLLECTIVES ? bsp(3, collectives[c]) : ps(3, 2, "colocated");
            if (c < N_COLLECTIVES)
                json_object_set_new(settings, "/strategy/rounds", json_integer(rounds));
            else
                json_object_set_new(json_object_get(settings, "/strategy"), "rounds",
                                    json_integer(rounds));
            json_object_set_new(settings, "/codec",
                                json_pack("{s:s, s:{s:f}}", "name", "sz", "bound", "abs", 1e-3));
            struct strait_outcome o = run(settings, &strait_fluid, true);
            sent[rounds / 2] = o.payload_bytes;
            strait_outcome_free(&o);
        }
        CU_ASSERT(sent[0] > 0 && sent[0] < 4 * 4 * (uint64_t)CNN_ELEMS);
        CU_ASSERT_EQUAL(sent[1], 3 * sent[0]);
    }
}

static void refuses(void)
{
    static const struct {
        const char *strategy, *codec, *where, *part;
    } cases[] = {
        {"{\"name\":\"bsp\"}", "\"topk\"", "t.json#/codec", "\"ring\" (none, zstd"},
        {"{\"name\":\"bsp\"}", "\"topk\"", "t.json#/codec", "found \"topk\""},
        {"{\"name\":\"bsp\",\"collective\":\"tree\"}", "\"signsgd\"", "t.json#/codec", "\"tree\""},
        {"{\"name\":\"bsp\",\"collective\":\"halving\"}", "\"randomk\"", "t.json#/codec",
         "\"halving\""},
        {"{\"name\":\"bsp\",\"collective\":\"all_to_all\"}", "\"powersgd\"", "t.json#/codec",
         "found \"powersgd\""},
        {"{\"name\":\"bsp\",\"collective\":\"all_to_all\"}", "{\"name\":\"topk\",\"momentum\":0.9}",
         "t.json#/codec", "without momentum"},
        {"{\"name\":\"bsp\",\"collective\":\"ring_encoded\"}",
         "{\"name\":\"sz\",\"bound\":{\"range\":1e-3}}", "t.json#/codec", "sz with an abs bound"},
        {"{\"name\":\"ps\",\"sums\":\"encoded\"}", "\"topk\"", "t.json#/codec",
         "\"sums encoded\" (none, "},
        {"{\"name\":\"wfbp\",\"sums\":\"encoded\"}", "\"fp16\"", "t.json#/strategy/sums",
         "\"exchange\" is not \"servers\""},
        {"{\"name\":\"dear\",\"sums\":\"encoded\"}", "\"qsgd\"", "t.json#/codec", "found \"qsgd\""},
        {"{\"name\":\"dear\",\"library\":\"open_mpi\"}", "\"fp16\"", "t.json#/codec",
         "\"open_mpi\" (none)"},
        {"{\"name\":\"grace\",\"library\":\"open_mpi\"}", "\"fp16\"", "t.json#/codec",
         "\"open_mpi\" (none)"},
        {"{\"name\":\"grace\",\"exchange\":\"all_to_all\",\"library\":\"open_mpi\"}", "\"topk\"",
         "t.json#/strategy/library", "where \"exchange\" is \"all_to_all\""},
        {"{\"name\":\"bsp\",\"collective\":\"hierarchical\"}", "\"onebit\"", "t.json#/codec",
         "\"hierarchical\""},
        {"{\"name\":\"bsp\",\"collective\":\"rig\"}", "\"none\"", "t.json#/strategy/collective",
         "did you mean \"ring\""},
        {"{\"name\":\"ps\",\"servers\":4}", "\"none\"", "t.json#/strategy/servers",
         "at most 3 servers for 3 clients, found 4"},
        {"{\"name\":\"ps\",\"servers\":3,\"placement\":\"separate\"}", "\"none\"",
         "t.json#/strategy/servers", "at most 2 servers for 3 clients, of whom some"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct strait_experiment *e;
        json_t *json = json_loads(text, 0, NULL);
        json_object_set_new(json, "strategy", json_loads(cases[i].strategy, 0, NULL));
        json_object_set_new(json, "codec", json_loads(cases[i].codec, JSON_DECODE_ANY, NULL));
        CU_ASSERT(strait_experiment_read(&e, "t.json", json, &err) != 0);
        json_decref(json);
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].where);
        if (!strstr(err.text, cases[i].part))
            fprintf(stderr, "case %zu: %s: %s\n", i, err.where, err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].part));
    }
}

/* What is not refused runs: every codec with every collective that takes it, on real gradients. */
static void legal_pairs_run(void)
{
    static const char *const codecs[] = {"fp16", "qsgd", "randomk", "topk", "signsgd", "thc"};
    static const unsigned refused[] = {
        0x180, 0x180 | 1u << RING_ENCODED, 0x180 | 1u << 1, 0x3F7, 0x3F7, 0x180 | 1u << 1};
    for (size_t k = 0; k < sizeof(codecs) / sizeof(codecs[0]); k += IS_SANITIZED ? 2 : 1)
        for (int c = 0; c < N_COLLECTIVES; c++) {
            if (refused[k] >> c & 1)
                continue;
            json_t *settings = bsp(3, collectives[c]);
            json_object_set_new(settings, "/codec", json_string(codecs[k]));
            struct strait_outcome o = strait_outcome_of(
                text, settings,
                strcmp(codecs[k], "thc") == 0 ? "tests/data/sketch-costs.json" : "default",
                &strait_fluid, (struct strait_trial_options){.real_payload = true});
            CU_ASSERT(o.payload_bytes > 0 && o.payload_bytes < 4 * 4 * (uint64_t)CNN_ELEMS);
            strait_outcome_free(&o);
        }
}

/* Gloo's file names an all-reduce, which wfbp does not take; Open MPI's also what dear does. */
static void rows_say_whose(void)
{
    static const struct {
        const char *strategy, *constant;
        bool is_own;
    } cases[] = {{"bsp", "collective", false},
                 {"wfbp", "collective", true},
                 {"dear", "collective", true},
                 {"dear", "library", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        json_t *settings = json_pack("{s:{s:s}, s:{s:{s:s}, s:{s:{s:s}}}}", "/strategy", "name",
                                     cases[i].strategy, "/software", "constants", cases[i].constant,
                                     "open_mpi", "from", cases[i].constant, "source", "s");
        struct strait_outcome o = run(settings, &strait_fluid, false);
        const struct strait_row_context context = {.backend = "fluid", .key = "k"};
        json_t *row = strait_row_new(o.point, &context, &err);
        char *notes = json_dumps(json_object_get(row, "approximations"), 0);
        strait_test_context("%s, %s", cases[i].strategy, cases[i].constant);
        CU_ASSERT_EQUAL(strstr(notes, "collectives are our own") != NULL, cases[i].is_own);
        free(notes);
        json_decref(row);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Seconds that the third of so many rounds takes beside its step, for sums of 10 MB. */
static double third_sum_s(int n, const char *rate, const char *rtt, double step_ms, double skew_ms)
{
    double total_s[2];
    for (int i = 0; i < 2; i++) {
        char step[32], skew[32];
        snprintf(step, sizeof(step), "%g ms", step_ms);
        snprintf(skew, sizeof(skew), "%g ms", skew_ms);
        json_t *settings = bsp(n, "open_mpi");
        json_object_set_new(settings, "/strategy/rounds", json_integer(2 + i));
        json_object_set_new(settings, "/strategy/skew", json_string(skew));
        json_object_set_new(settings, "/model",
                            json_pack("{s:s, s:s}", "params", "2.5 M", "step", step));
        json_object_set_new(settings, "/network/client/rate", json_string(rate));
        json_object_set_new(settings, "/network/client/rtt", json_string(rtt));
        struct strait_outcome o = run(settings, &strait_fluid, false);
        total_s[i] = o.total_s;
        strait_outcome_free(&o);
    }
    return total_s[1] - total_s[0] - step_ms / 1e3;
}

/* 10 MB in segments of 1448 of 1538 bytes, 2 (n - 1) / n of them each way: both ways at once, or
 * one after the other where a rank has read a question before it asks. That lasts as long as a
 * pause is shorter than 2.8 MB take to leave a connection's buffer: 0.12 s at 200 Mbps. Beside that
 * six delays of 5 ms, adding and copying. Measured over strait net run: 2.6 s; 0.48 or 0.90 s, and
 * 0.48 s after 100 ms. */
static void one_way_after_the_other(void)
{
    const double byte_s = 8 * 1538 / 1448.0, mbps = 1e6;
    const double four_s = 1.5 * 10e6 * byte_s / (100 * mbps), two_s = 10e6 * byte_s / (200 * mbps);
    for (int late = 0; late < 2; late++) /* the order in which connections open decides */
        CU_ASSERT_DOUBLE_EQUAL(third_sum_s(4, "100 Mbps", "0 ms", 50, 0.1 * late), 2 * four_s,
                               0.05 * four_s);
    for (int late = 0; late < 2; late++)
        CU_ASSERT_DOUBLE_EQUAL(third_sum_s(2, "200 Mbps", "5 ms", 50, 0.1 * late), two_s + 0.03,
                               0.05 * two_s);
    CU_ASSERT_DOUBLE_EQUAL(third_sum_s(2, "200 Mbps", "5 ms", 50, 1), 2 * two_s + 0.03,
                           0.05 * two_s);
    CU_ASSERT_DOUBLE_EQUAL(third_sum_s(2, "200 Mbps", "5 ms", 150, 1), two_s + 0.03, 0.05 * two_s);
}

static const struct strait_test tests[] = {
    {"every exchange sends the model's bytes as often as its closed form says", bytes},
    {"every exchange uses exactly the streams that it declares", streams},
    {"every exchange takes the same time on SimGrid and fluid", same_on_simgrid},
    {"Open MPI's collectives take the same time on SimGrid and fluid", library_on_simgrid},
    {"every round begins with gradients of its own", fresh_gradients},
    {"illegal pairs are refused with the legal ones named", refuses},
    {"ranks of Open MPI of which one was late once send one after the other",
     one_way_after_the_other},
    {"a row says where named software's collectives are not taken", rows_say_whose},
    {"codecs go with every collective that takes them", legal_pairs_run},
};
STRAIT_SUITE("workloads/train/sync/bsp", tests);
