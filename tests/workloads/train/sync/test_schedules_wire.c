/* Data-parallel schedules: their bytes at 1 to 9 ranks and odd sizes, their order, their tuner, and
 * that no two of them do the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/ask/strategy.h"
#include "workloads/rank/rank_state.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

#define NETWORK                                                                                    \
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"100 us\"},"                            \
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}"
#define SCHEDULE "tests/data/schedule.csv"

static struct strait_outcome outcome_at(const char *rate, const char *model, int n_ranks,
                                        const char *strategy, bool every_round, bool real)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"%s\",\"clients\":%d,"
             "\"strategy\":{%s}," NETWORK,
             model, n_ranks, strategy);
    return strait_outcome_of(
        text, json_pack("{s:s}", "/network/client/rate", rate), "default", &strait_fluid,
        (struct strait_trial_options){.every_round = every_round, .real_payload = real});
}

static struct strait_outcome outcome(const char *model, int n_ranks, const char *strategy,
                                     bool every_round, bool real)
{
    return outcome_at("1 Gbps", model, n_ranks, strategy, every_round, real);
}

/* cnn: layers of 640, 18560, 401664 and 2600 bytes, 105866 elements, which neither 2 nor 9 ranks
 * share evenly. A round moves every element 2 (n - 1) times, whatever the buckets; a bucket is
 * 2 (n - 1) messages of each rank. */
static void bytes(void)
{
    static const struct {
        const char *strategy;
        int n_buckets;  /* of a round */
        int n_controls; /* to each rank but rank 0, or from it, in a round */
        int n_goodbyes; /* the same, once */
    } all[] = {
        {"\"name\":\"wfbp\",\"rounds\":2", 4, 0, 0},
        /* 2600 + 401664 reach 300 KB; the others do not */
        {"\"name\":\"fusion\",\"rounds\":2,\"bucket\":\"300 KB\"", 2, 0, 0},
        /* one look, when all are there: 2600 | 401664, larger than a bucket | 18560 + 640 */
        {"\"name\":\"fusion\",\"rounds\":2,\"bucket\":\"300 KB\",\"style\":\"horovod\","
         "\"cycle\":\"1 s\"",
         3, 2, 0},
        /* as many as the network asks for */
        {"\"name\":\"mgwfbp\",\"rounds\":2,\"merge\":\"best\"", 0, 0, 0},
        /* 1 + 1 + 5 + 1 partitions, each announced */
        {"\"name\":\"bytescheduler\",\"rounds\":2,\"partition\":\"100 KB\"", 8, 8, 1},
        /* 640 + 18560 | 401664 reach 400 KB alone | 2600 */
        {"\"name\":\"dear\",\"rounds\":2,\"fusion\":\"400 KB\"", 3, 0, 0},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (int n = 1; n <= 9; n++) {
            const uint64_t hops = 2 * (uint64_t)(n - 1), peers = (uint64_t)n - 1;
            struct strait_outcome o = outcome("cnn", n, all[i].strategy, true, n == 3);
            CU_ASSERT_EQUAL(o.payload_bytes, 2 * hops * 4 * 105866);
            const uint64_t a_bucket = 2 * hops * (uint64_t)n;
            if (all[i].n_buckets > 0) {
                CU_ASSERT_EQUAL(o.n_messages,
                                (uint64_t)all[i].n_buckets * a_bucket +
                                    (uint64_t)(2 * all[i].n_controls + all[i].n_goodbyes) * peers);
            } else if (n > 1) { /* 1 to 4 all-reduces of layers */
                CU_ASSERT_EQUAL(o.n_messages % a_bucket, 0);
                CU_ASSERT(o.n_messages > 0 && o.n_messages <= 4 * a_bucket);
            }
            strait_outcome_free(&o);
        }
}

/* --- sums --------------------------------------------------------------------------------- */

/* The buckets of the strategy that runs: layers [first[g], first[g + 1]) of cnn. Set before the run
 * is forked. */
static const int *plan;

/* Part p of a bucket is the sum in ring order: rank p first, then p + 1, ... */
static void expected(struct strait_rank *r, float *sums)
{
    const struct strait_model *m = strait_model(r);
    const size_t n = (size_t)strait_n_ranks(r);
    float *of[9];
    for (size_t i = 0; i < n; i++) {
        of[i] = strait_alloc(r, m->n_elems, sizeof(float));
        strait_recorded(of[i], strait_rank_state_of(r)->point, STRAIT_GRADIENTS, (int)i);
    }
    size_t lo = 0;
    for (int g = 0, l = 0; l < (int)m->n_layers; g++) {
        size_t size = 0;
        for (; l < plan[g + 1]; l++)
            size += m->layers[l].n_elems;
        for (size_t part = 0; part < n; part++)
            for (size_t i = lo + part * size / n; i < lo + (part + 1) * size / n; i++) {
                sums[i] = of[part][i];
                for (size_t k = 1; k < n; k++)
                    sums[i] = of[(part + k) % n][i] + sums[i];
            }
        lo += size;
    }
}

/* Run the strategy, then look into every gradient that the rank has written. */
static void checked(struct strait_rank *r)
{
    const struct strait_rank_state *w = strait_rank_state_of(r);
    const size_t n_elems = strait_model(r)->n_elems;
    struct strait_error err = {0};
    int n_checked = 0;
    w->point->experiment->strategy->rank_main(r);
    float *sums = strait_alloc(r, n_elems, sizeof(float));
    expected(r, sums);
    for (const struct strait_tensor *t = w->tensors; t; t = t->next)
        if (t->kind == STRAIT_GRADIENTS && t->values) {
            n_checked++;
            if (memcmp(t->values, sums, n_elems * sizeof(float)) != 0)
                strait_error_set(&err, STRAIT_ERR_BACKEND, "sum",
                                 "rank %d: it is not in ring order", r->me);
        }
    if (n_checked != 2)
        strait_error_set(&err, STRAIT_ERR_BACKEND, "sum", "%d gradients written", n_checked);
    if (err.code != STRAIT_OK)
        strait_fail(r, &err);
}

/* Two rounds, each with a gradient of its own: the sum of what was recorded, bit by bit. */
static void exact_sums(void)
{
    static const int layers[] = {0, 1, 2, 3, 4}, in_two[] = {0, 2, 4}, in_three[] = {0, 2, 3, 4};
    static const struct {
        const char *strategy;
        const int *plan;
    } all[] = {
        {"\"name\":\"wfbp\",\"rounds\":2", layers},
        {"\"name\":\"fusion\",\"rounds\":2,\"bucket\":\"300 KB\"", in_two},
        {"\"name\":\"fusion\",\"rounds\":2,\"bucket\":\"300 KB\",\"style\":\"horovod\","
         "\"cycle\":\"1 s\"",
         in_three},
        {"\"name\":\"bytescheduler\",\"rounds\":2,\"partition\":\"1 GB\"", layers},
        {"\"name\":\"dear\",\"rounds\":2,\"fusion\":\"400 KB\"", in_three},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (int n = 1; n <= 4; n++) {
            struct strait_error err = {0};
            struct strait_outcome o = outcome("cnn", n, all[i].strategy, true, true);
            plan = all[i].plan;
            o.point->run.rank_main = checked;
            CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
            if (err.code != STRAIT_OK)
                fprintf(stderr, "%s: %s\n", all[i].strategy, err.text);
            strait_outcome_free(&o);
        }
}

/* --- ByteScheduler ------------------------------------------------------------------------ */

/* Elements that rank 1 received, part by part, in order. */
static void expect_arrivals(const char *strategy, const double *elems, int n_arrivals)
{
    struct strait_outcome o = outcome_at("100 Mbps", SCHEDULE, 2, strategy, true, false);
    const struct strait_log *log = &o.point->logs[1];
    int n = 0;
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_TRANSFER &&
            strait_spans_at(&log->spans, i).bytes > 0 && n < n_arrivals)
            CU_ASSERT_EQUAL((double)strait_spans_at(&log->spans, i).bytes, 4 * elems[n++]);
    CU_ASSERT_EQUAL(n, n_arrivals);
    strait_outcome_free(&o);
}

/* Two ranks, whole layers: each is a half there and a half back. At 100 Mbps the last layer's
 * 960 KB take 80 ms, so that all others have come when it is through. */
static void priority(void)
{
    static const double urgent[] = {120000, 120000, 60000, 60000, 12,     12,
                                    180000, 180000, 1200,  1200,  300000, 300000};
    static const double fifo[] = {120000, 120000, 300000, 300000, 1200,  1200,
                                  180000, 180000, 12,     12,     60000, 60000};
    expect_arrivals("\"name\":\"bytescheduler\",\"rounds\":1,\"partition\":\"1 GB\",\"credit\":1",
                    urgent, 12);
    /* everything announced as it comes: as it came */
    expect_arrivals("\"name\":\"bytescheduler\",\"rounds\":1,\"partition\":\"1 GB\",\"credit\":6",
                    fifo, 12);
}

/* --- Horovod ------------------------------------------------------------------------------ */

/* One look, 1 s after the first gradient: forward 6 ms, the last layer's 1 x 12 / 11.15 ms, 1 s,
 * the negotiation, one ring all-reduce of all, step 1.2 ms. The negotiation is once there for rank
 * 0, there and back for the others, 100 us and up to three frames each. */
static void cycle(void)
{
    struct strait_outcome o = outcome(SCHEDULE, 4,
                                      "\"name\":\"fusion\",\"rounds\":3,\"style\":\"horovod\","
                                      "\"bucket\":\"1 GB\",\"cycle\":\"1 s\"",
                                      true, false);
    const double rate = 1e9 / 8 * 1448 / 1538, part = 1322424.0;
    const double ring_s = 6 * (100e-6 + (part + 96) / rate) +
                          3 * part * (1 / o.point->add_bytes_per_s + 1 / o.point->copy_bytes_per_s);
    const double rest_s = 6e-3 + 1e-3 * 12 / 11.15 + 1 + ring_s + 1.2e-3;
    const double once_s = 100e-6 + 3 * 96 / rate;
    CU_ASSERT(o.total_s >= 3 * (rest_s + 100e-6));
    CU_ASSERT(o.total_s <= 3 * (rest_s + 2 * once_s + 3 * 96 / rate));
    strait_outcome_free(&o);
}

/* --- DeAR's tuner ------------------------------------------------------------------------- */

static double round_s(const struct strait_outcome *o, int round)
{
    const struct strait_log *log = &o->point->logs[0];
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_ROUND &&
            strait_spans_at(&log->spans, i).round == round)
            return strait_spans_at(&log->spans, i).end_s - strait_spans_at(&log->spans, i).start_s;
    return NAN;
}

/* Six trials of five rounds; the last round alone waits for its gathers. After the trials the best
 * threshold stays: at most as slow as any trial's last round. Each regrouping is a word to the
 * three others. */
static void tuner(void)
{
    enum { TRIALS = 6, ROUNDS = 40 };
    struct strait_outcome o = outcome(SCHEDULE, 4,
                                      "\"name\":\"dear\",\"rounds\":40,\"fusion\":\"100 KB\","
                                      "\"tuner\":\"bayes\",\"trials\":6,\"fusion_min\":\"100 KB\","
                                      "\"fusion_max\":\"8 MB\"",
                                      true, false);
    const double tuned_s = round_s(&o, ROUNDS - 2);
    double first_s = round_s(&o, 4);
    for (int trial = 0; trial < TRIALS; trial++)
        CU_ASSERT(tuned_s <= round_s(&o, 5 * trial + 4) * (1 + 1e-9));
    CU_ASSERT(tuned_s < first_s * 0.99);
    CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)ROUNDS * 6 * 4 * 1322424);
    CU_ASSERT_EQUAL(o.n_messages % 24, (uint64_t)TRIALS * 3 % 24); /* a group is 24 messages */
    strait_outcome_free(&o);
}

/* --- all ---------------------------------------------------------------------------------- */

static const char *const every[] = {
    "\"name\":\"bsp\"",
    "\"name\":\"wfbp\"",
    "\"name\":\"fusion\",\"bucket\":\"1.4 MB\"",
    "\"name\":\"fusion\",\"bucket\":\"1.4 MB\",\"style\":\"horovod\"",
    "\"name\":\"mgwfbp\"",
    "\"name\":\"bytescheduler\",\"partition\":\"500 KB\"",
    "\"name\":\"dear\",\"fusion\":\"1.4 MB\"",
    "\"name\":\"ps\"",
    "\"name\":\"wfbp\",\"exchange\":\"servers\",\"placement\":\"separate\"",
    "\"name\":\"bytescheduler\",\"exchange\":\"servers\",\"servers\":3",
};
enum { N_EVERY = sizeof(every) / sizeof(*every) };

static void distinct(void)
{
    double total_s[N_EVERY];
    for (int i = 0; i < N_EVERY; i++) {
        struct strait_outcome o = outcome(SCHEDULE, 4, every[i], true, false);
        total_s[i] = o.total_s;
        for (int k = 0; k < i; k++)
            CU_ASSERT(fabs(total_s[i] / total_s[k] - 1) > 1e-4);
        strait_outcome_free(&o);
    }
}

/* Rounds that repeat are extrapolated: the same time and messages as all of them simulated. */
static void repeats(void)
{
    for (int i = 0; i < N_EVERY; i++) {
        char strategy[256];
        snprintf(strategy, sizeof(strategy), "%s,\"rounds\":90", every[i]);
        struct strait_outcome all = outcome(SCHEDULE, 3, strategy, true, false),
                              some = outcome(SCHEDULE, 3, strategy, false, false);
        CU_ASSERT_PTR_NOT_NULL(json_object_get(some.point->facts.report, "steady"));
        CU_ASSERT_DOUBLE_EQUAL(some.total_s, all.total_s, 1e-9 * all.total_s);
        CU_ASSERT_EQUAL(some.n_messages, all.n_messages);
        CU_ASSERT_EQUAL(some.payload_bytes, all.payload_bytes);
        strait_outcome_free(&all);
        strait_outcome_free(&some);
    }
}

/* With all layers in one group the two halves of DeAR send what bsp's ring does, real gradients
 * coded and added encoded: of n ranks each adds n - 1 packets a round. */
static void encoded(void)
{
    for (int n = 1; n <= 4; n++) {
        uint64_t bytes[2], n_added[2] = {0};
        for (int i = 0; i < 2; i++) {
            char text[2048];
            snprintf(
                text, sizeof(text),
                "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":%d,"
                "\"codec\":{\"name\":\"sz\",\"bound\":{\"abs\":1e-3}},\"strategy\":{%s}," NETWORK,
                n,
                i == 0 ? "\"name\":\"bsp\",\"rounds\":2,\"collective\":\"ring_encoded\""
                       : "\"name\":\"dear\",\"rounds\":2,\"sums\":\"encoded\",\"fusion\":\"1 GB\"");
            struct strait_outcome o = strait_outcome_of(
                text, json_object(), "default", &strait_fluid,
                (struct strait_trial_options){.every_round = true, .real_payload = true});
            bytes[i] = o.payload_bytes;
            for (int r = 0; r < n; r++)
                n_added[i] += o.point->logs[r].n_added_encoded;
            strait_outcome_free(&o);
        }
        CU_ASSERT_EQUAL(bytes[0], bytes[1]);
        CU_ASSERT_EQUAL(n_added[0], 2 * (uint64_t)(n * (n - 1)));
        CU_ASSERT_EQUAL(n_added[1], 2 * (uint64_t)(n * (n - 1)));
    }
}

/* Streams of thc have a size by their shape, one of a packet and another of a sum, and add only
 * where all ranks agreed on their norms, each of them in a message to all others: so a sized run
 * sends what a real one does, to the byte, and in as many messages. */
static void agreed(void)
{
    static const char *const strategies[] = {
        "\"name\":\"bsp\",\"rounds\":2,\"collective\":\"ring_encoded\"",
        "\"name\":\"dear\",\"rounds\":2,\"sums\":\"encoded\",\"fusion\":\"300 KB\"",
        "\"name\":\"ps\",\"rounds\":2,\"sums\":\"encoded\",\"servers\":2",
        "\"name\":\"ps\",\"rounds\":2,\"sums\":\"encoded\",\"servers\":1,"
        "\"placement\":\"separate\"",
        "\"name\":\"bytescheduler\",\"rounds\":2,\"sums\":\"encoded\",\"exchange\":\"servers\","
        "\"partition\":\"100 KB\"",
        "\"name\":\"grace\",\"rounds\":2",
    };
    for (size_t i = 0; i < sizeof(strategies) / sizeof(*strategies); i++) {
        uint64_t bytes[2], n_messages[2];
        for (int real = 0; real < 2; real++) {
            char text[2048];
            snprintf(
                text, sizeof(text),
                "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":3,"
                "\"codec\":{\"name\":\"thc\",\"lossless\":\"none\"},\"strategy\":{%s}," NETWORK,
                strategies[i]);
            struct strait_outcome o = strait_outcome_of(
                text, json_object(), "tests/data/sketch-costs.json", &strait_fluid,
                (struct strait_trial_options){.every_round = true, .real_payload = real == 1});
            bytes[real] = o.payload_bytes;
            n_messages[real] = o.n_messages;
            strait_outcome_free(&o);
        }
        CU_ASSERT(bytes[0] > 0 && bytes[0] < (uint64_t)2 * 4 * 105866);
        CU_ASSERT_EQUAL(bytes[0], bytes[1]);
        CU_ASSERT_EQUAL(n_messages[0], n_messages[1]);
    }
}

static const struct strait_test tests[] = {
    {"every schedule sends what one ring all-reduce does, at any number of ranks", bytes},
    {"every schedule gives the float sum in ring order of each of its buckets", exact_sums},
    {"DeAR adds packets encoded as bsp's ring does", encoded},
    {"sums of thc: sized runs send what real ones do", agreed},
    {"ByteScheduler sends what is needed first, as far as credit lets it", priority},
    {"Horovod's cycle waits, asks rank 0 and reduces what is there", cycle},
    {"DeAR's tuner ends with the best threshold that it tried", tuner},
    {"no two schedules take the same time", distinct},
    {"schedules repeat round by round and are extrapolated exactly", repeats},
};
STRAIT_SUITE("workloads/train/sync/schedules_wire", tests);
