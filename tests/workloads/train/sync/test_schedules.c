/* Data-parallel schedules against max-plus recurrences of their papers, written down again here:
 * what is ready when, what waits for what. The model's sizes divide by the number of ranks, so all
 * ranks do the same at the same time and the recurrences are exact. */
#include <math.h>
#include <stdlib.h>

#include "workloads/train/plans/fusion_plan.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { N_LAYERS = 6, ROUNDS = 3 };

static const char *const text =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"tests/data/schedule.csv\","
    "\"clients\":4,\"strategy\":{\"name\":\"wfbp\",\"rounds\":3},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"100 us\"},"
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}";

static struct strait_outcome outcome(const char *strategy, int n_ranks, const char *rtt,
                                     json_t *more)
{
    json_t *settings = json_pack("{s:o, s:i, s:s}", "/strategy",
                                 json_pack("{s:s, s:i}", "name", strategy, "rounds", ROUNDS),
                                 "/clients", n_ranks, "/network/client/rtt", rtt);
    json_object_update(settings, more);
    json_decref(more);
    return strait_outcome_of(text, settings, "default", &strait_fluid,
                             (struct strait_trial_options){0});
}

/* tests/data/schedule.csv, with the iterations' totals: 6 and 12 ms for 5.7 and 11.15 ms. */
static const double elems[N_LAYERS] = {120000, 24, 360000, 2400, 600000, 240000};
static const double fwd_s[N_LAYERS] = {.9e-3 * 6 / 5.7, .1e-3 * 6 / 5.7,  2.5e-3 * 6 / 5.7,
                                       .3e-3 * 6 / 5.7, 1.5e-3 * 6 / 5.7, .4e-3 * 6 / 5.7};
static const double bwd_s[N_LAYERS] = {1.7e-3 * 12 / 11.15, .25e-3 * 12 / 11.15,
                                       4.4e-3 * 12 / 11.15, .7e-3 * 12 / 11.15,
                                       3.1e-3 * 12 / 11.15, 1e-3 * 12 / 11.15};
static const double FWD_S = 6e-3, OPT_S = 1.2e-3, ALL_ELEMS = 1322424;

/* Half of a ring: n - 1 steps of a part each; a reduce-scatter adds, an all-gather copies. */
struct wire {
    int n;
    double delay_s, add_s_per_byte, copy_s_per_byte;
    double launch_s; /* of a collective: an all-reduce, or one half that is called by itself */
    double negotiate_s, update_s; /* of a call, in order, beside transfers; of a tensor */
};

static struct wire wire_of(const struct strait_outcome *o, double delay_s)
{
    return (struct wire){o->experiment->n_ranks,
                         delay_s,
                         1 / o->point->add_bytes_per_s,
                         1 / o->point->copy_bytes_per_s,
                         strait_experiment_param(o->experiment, "launch"),
                         0,
                         0};
}

/* Of a strategy that negotiates: a constant and so much each time the ranks double. */
static struct wire negotiating(struct wire w, const struct strait_outcome *o)
{
    if (w.n == 1)
        return w;
    w.negotiate_s = strait_experiment_param(o->experiment, "negotiate") +
                    strait_experiment_param(o->experiment, "negotiate_hop") * log2(w.n);
    w.update_s = strait_experiment_param(o->experiment, "update");
    return w;
}

static double half_s(const struct wire *w, double s_per_byte, double n_elems)
{
    const double part = 4 * n_elems / w->n;
    return (w->n - 1) * (w->delay_s + (part + 96) / (1e9 / 8 * 1448 / 1538) + part * s_per_byte);
}

static double scatter_s(const struct wire *w, double n_elems)
{
    return half_s(w, w->add_s_per_byte, n_elems);
}

static double gather_s(const struct wire *w, double n_elems)
{
    return half_s(w, w->copy_s_per_byte, n_elems);
}

/* Forward; gradients from the last layer on; a bucket's all-reduce begins when its first layer's
 * gradient is there and the one before it is through; step. first: of each bucket, and N_LAYERS. */
static double overlapped_s(const struct wire *w, const int *first, int n_buckets)
{
    double ready_s = FWD_S, agreed_s = 0, end_s = 0;
    for (int g = n_buckets - 1; g >= 0; g--) {
        double n_elems = 0;
        for (int l = first[g + 1] - 1; l >= first[g]; l--) {
            ready_s += bwd_s[l];
            n_elems += elems[l];
        }
        agreed_s = fmax(agreed_s, ready_s) + w->negotiate_s;
        end_s = fmax(end_s, agreed_s) + w->launch_s + scatter_s(w, n_elems) + gather_s(w, n_elems);
    }
    return end_s + N_LAYERS * w->update_s + OPT_S;
}

static void expect_overlapped(struct strait_outcome o, double delay_s, const int *first,
                              int n_buckets)
{
    const struct wire w = wire_of(&o, delay_s);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, ROUNDS * overlapped_s(&w, first, n_buckets),
                           1e-9 * o.total_s);
    /* every element goes 2 (n - 1) times over a link, in n_buckets x 2 (n - 1) messages a rank */
    CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)(ROUNDS * 2 * (w.n - 1) * 4 * ALL_ELEMS));
    CU_ASSERT_EQUAL(o.n_messages, (uint64_t)(ROUNDS * n_buckets * 2 * (w.n - 1) * w.n));
    strait_outcome_free(&o);
}

static const int ranks[] = {1, 2, 3, 4, 6};
enum { N_RANKS = sizeof(ranks) / sizeof(*ranks) };

static void wfbp(void)
{
    for (int i = 0; i < N_RANKS; i++)
        expect_overlapped(outcome("wfbp", ranks[i], "100 us", NULL), 1e-4,
                          (const int[]){0, 1, 2, 3, 4, 5, 6}, 6);
}

/* A call is negotiated after those before it, beside their transfers; each of six tensors, one a
 * layer, is updated in the end. 3 ms is more than most transfers take, 0.1 ms less than all. A rank
 * alone has nobody to negotiate with, and its updates queue behind its passes. */
static void negotiated(void)
{
    static const char *const each[] = {"3 ms", "100 us"};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N_RANKS; i++) {
            struct strait_outcome o =
                outcome("wfbp", ranks[i], "100 us",
                        json_pack("{s:s, s:s, s:s}", "/strategy/negotiate", each[k],
                                  "/strategy/negotiate_hop", "200 us", "/strategy/update", "2 ms"));
            const struct wire w = negotiating(wire_of(&o, 1e-4), &o);
            CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                                   ROUNDS * overlapped_s(&w, (const int[]){0, 1, 2, 3, 4, 5, 6}, 6),
                                   1e-9 * o.total_s);
            strait_outcome_free(&o);
        }
}

/* Each tensor by itself, the last of a layer first: as many bytes as layers send, start-ups and
 * messages for each tensor. tests/data/schedule-tensors.csv: three layers, six tensors, totals as
 * above; layers take 5.7 and 11.15 ms of them. */
static void wfbp_of_tensors(void)
{
    static const double tensors[3][3] = {{120000, 24}, {360000}, {2400, 1200, 2400}},
                        backward_s[3] = {3.7e-3 * 12 / 11.15, 4.4e-3 * 12 / 11.15,
                                         3.05e-3 * 12 / 11.15};
    const double n_elems = 486024;
    for (int i = 0; i < N_RANKS; i++) {
        struct strait_outcome o =
            outcome("wfbp", ranks[i], "100 us",
                    json_pack("{s:s, s:s}", "/model", "tests/data/schedule-tensors.csv",
                              "/strategy/grain", "tensor"));
        const struct wire w = wire_of(&o, 1e-4);
        double ready_s = FWD_S, end_s = 0;
        for (int l = 2; l >= 0; l--) {
            ready_s += backward_s[l];
            for (int k = 2; k >= 0; k--)
                if (tensors[l][k] > 0)
                    end_s = fmax(end_s, ready_s) + scatter_s(&w, tensors[l][k]) +
                            gather_s(&w, tensors[l][k]);
        }
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, ROUNDS * (end_s + OPT_S), 1e-9 * o.total_s);
        CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)(ROUNDS * 2 * (w.n - 1) * 4 * n_elems));
        CU_ASSERT_EQUAL(o.n_messages, (uint64_t)(ROUNDS * 6 * 2 * (w.n - 1) * w.n));
        strait_outcome_free(&o);
    }
}

/* Layers of 960000, 2400000, 9600, 1440000, 96 and 480000 bytes from the end. The first bucket is
 * closed at 1 MiB: the last two layers; the next at 1.4 MB: the two before; then the first two. */
static void ddp(void)
{
    for (int i = 0; i < N_RANKS; i++)
        expect_overlapped(
            outcome("fusion", ranks[i], "100 us", json_pack("{s:s}", "/strategy/bucket", "1.4 MB")),
            1e-4, (const int[]){0, 2, 4, 6}, 3);
    expect_overlapped(outcome("fusion", 4, "100 us", NULL), 1e-4, (const int[]){0, 4, 6}, 2);
}

/* What the rule gives at 4 ranks, by hand, from a start-up of 6 (delay + 96 / 117.69 MB/s) and
 * 1.5 / 117.69 MB/s = 12.75 ns a byte (13.0 with adding and copying). Gradients come at 1.08, 4.41,
 * 5.17, 9.90, 10.17, 12 ms. delay 0.1 ms: alpha 0.605 ms. Layer 5: 1.08 to 14.2; layer 4 comes 3.3
 * later: alone. Layer 4 from 14.2 on, when all others are there already: all in one.
 * delay 1 ms: alpha 6.0 ms: layer 4 comes 3.3 after 5 and is merged, from 4.41 on; layer 3 0.75
 * later, from 5.17 on; layer 2 comes 4.7 later, from 9.90 on; layers 1 and 0 0.3 and 1.8 later. */
static void mgwfbp(void)
{
    expect_overlapped(outcome("mgwfbp", 4, "100 us", NULL), 1e-4, (const int[]){0, 5, 6}, 2);
    expect_overlapped(outcome("mgwfbp", 4, "1 ms", NULL), 1e-3, (const int[]){0, 6}, 1);
    expect_overlapped(outcome("mgwfbp", 1, "1 ms", NULL), 1e-3, (const int[]){0, 1, 2, 3, 4, 5, 6},
                      6);
}

/* terngrad sends 2 bits a value, a sixteenth: a plan for raw bytes (2.4 ms and 13.0 ns a byte, as
 * above) merges all that layer 4 delays, the plan for what is sent does not wait for the 4.7 ms
 * until layer 2. The best plan for the bytes that travel is faster than that for the raw ones. */
static void mgwfbp_encoded(void)
{
    double total_s[2];
    for (int raw = 0; raw < 2; raw++) {
        json_t *more = json_pack("{s:s, s:s}", "/codec", "terngrad", "/strategy/merge", "best");
        if (raw) {
            json_object_set_new(more, "/strategy/plan_alpha", json_string("2.4 ms"));
            json_object_set_new(more, "/strategy/plan_rate", json_string("76.9 MB/s"));
        }
        struct strait_outcome o = outcome("mgwfbp", 4, "400 us", more);
        const uint64_t n_buckets = o.n_messages / (uint64_t)(ROUNDS * 2 * 3 * 4);
        CU_ASSERT(raw ? n_buckets == 2 : n_buckets > 2);
        total_s[raw] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT(total_s[0] < total_s[1]);
}

/* One bucket (1 ms of delay): the plan's cost is what its all-reduce takes, but for the frames'
 * and tensors' fixed costs, which are spread over the bytes. */
static void encoded_cost(void)
{
    struct strait_outcome o = outcome("mgwfbp", 4, "2 ms", json_pack("{s:s}", "/codec", "fp16"));
    const struct strait_codec_cost *c = &o.point->up;
    const double rate = 1e9 / 8 * 1448 / 1538, m = 4 * ALL_ELEMS,
                 encode = 1 / c->encode_bytes_per_s, decode = 1 / c->decode_bytes_per_s,
                 add = 1 / o.point->add_bytes_per_s;
    /* 3 parts sent, decoded, added and encoded; one encoded, four decoded, three sent */
    const double part_s =
        m / 4 * (6 * 0.5 / rate + 3 * (encode + decode + add) + encode + 4 * decode);
    CU_ASSERT_EQUAL(o.n_messages, (uint64_t)(ROUNDS * 2 * 3 * 4));
    CU_ASSERT_DOUBLE_EQUAL(o.total_s / ROUNDS,
                           FWD_S + 12e-3 + OPT_S + 6 * (2e-3 + 96 / rate) + part_s,
                           0.005 * o.total_s / ROUNDS);
    strait_outcome_free(&o);
}

/* Rank 0 takes 100 ms to announce each of six layers, from the first gradient on, far longer than
 * all else: the last is layer 0, after whose sum all others are there. A control word and the rest
 * of a ring's start take less than 1 ms. */
static void announced(void)
{
    struct strait_outcome o =
        outcome("bytescheduler", 4, "100 us",
                json_pack("{s:s, s:i, s:s}", "/strategy/partition", "1 GB", "/strategy/credit", 6,
                          "/strategy/announce", "100 ms"));
    const struct wire w = {4, 1e-4, 1 / o.point->add_bytes_per_s, 1 / o.point->copy_bytes_per_s, 0,
                           0, 0};
    const double round_s =
        FWD_S + bwd_s[5] + 6 * 0.1 + scatter_s(&w, elems[0]) + gather_s(&w, elems[0]) + OPT_S;
    CU_ASSERT(o.total_s > ROUNDS * round_s && o.total_s < ROUNDS * (round_s + 1e-3));
    if (!(o.total_s > ROUNDS * round_s && o.total_s < ROUNDS * (round_s + 1e-3)))
        fprintf(stderr, "found %g, expected a little more than %g\n", o.total_s, ROUNDS * round_s);
    strait_outcome_free(&o);
}

/* Reduce-scatters in backward order as groups are ready, a barrier, then gather g + 1 beside the
 * forward pass of g, whose step comes first. */
static double dear_s(const struct wire *w, const int *first, int n_groups)
{
    double now_s = 0, gathered_s[N_LAYERS + 1] = {0}, n_elems[N_LAYERS] = {0};
    for (int g = 0; g < n_groups; g++)
        for (int l = first[g]; l < first[g + 1]; l++)
            n_elems[g] += elems[l];
    for (int round = 0; round <= ROUNDS; round++) {
        for (int g = 0; g < n_groups; g++) {
            if (round > 0) {
                now_s = fmax(now_s, gathered_s[g]);
                if (g + 1 < n_groups)
                    gathered_s[g + 1] = now_s + w->launch_s + gather_s(w, n_elems[g + 1]);
                now_s += OPT_S * n_elems[g] / ALL_ELEMS;
            }
            for (int l = first[g]; l < first[g + 1] && round < ROUNDS; l++)
                now_s += fwd_s[l];
        }
        double scattered_s = 0;
        for (int g = n_groups - 1; g >= 0 && round < ROUNDS; g--) {
            for (int l = first[g + 1] - 1; l >= first[g]; l--)
                now_s += bwd_s[l];
            scattered_s = fmax(scattered_s, now_s) + w->launch_s + scatter_s(w, n_elems[g]);
        }
        now_s = fmax(now_s, scattered_s);
        gathered_s[0] = now_s + w->launch_s + gather_s(w, n_elems[0]);
    }
    return now_s;
}

/* From the start, groups below 1.925 MB: 480000 + 96 + 1440000 = 1920096 bytes, 9600, 2400000
 * alone, 960000. */
static void dear(void)
{
    static const int some[] = {0, 3, 4, 5, 6}, all[] = {0, 6}, each[] = {0, 1, 2, 3, 4, 5, 6};
    static const struct {
        const char *bytes;
        const int *first;
        int n_groups;
    } plans[] = {{"1.925 MB", some, 4}, {"25 MiB", all, 1}, {"1 B", each, 6}};
    for (int i = 0; i < N_RANKS; i++)
        for (size_t k = 0; k < sizeof(plans) / sizeof(*plans); k++) {
            struct strait_outcome o = outcome(
                "dear", ranks[i], "100 us", json_pack("{s:s}", "/strategy/fusion", plans[k].bytes));
            const struct wire w = wire_of(&o, 1e-4);
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, dear_s(&w, plans[k].first, plans[k].n_groups),
                                   1e-9 * o.total_s);
            CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)(ROUNDS * 2 * (w.n - 1) * 4 * ALL_ELEMS));
            CU_ASSERT_EQUAL(o.n_messages,
                            (uint64_t)(ROUNDS * plans[k].n_groups * 2 * (w.n - 1) * w.n));
            strait_outcome_free(&o);
        }
}

/* Calling a collective takes its time: of each layer's all-reduce, of each bucket's, and of both
 * halves that DeAR calls. The plan of mgwfbp counts it: at 0.1 ms of delay alpha is 0.605 ms and
 * layer 5 goes alone; 5.4 ms of launch more, and it waits 3.3 for layer 4. A plan by figures from
 * elsewhere does not look: an alpha of 0 merges nothing that is not late anyway. */
static void launched(void)
{
    json_t *launch = json_pack("{s:s}", "/strategy/launch", "5.4 ms");
    expect_overlapped(outcome("wfbp", 4, "100 us", json_incref(launch)), 1e-4,
                      (const int[]){0, 1, 2, 3, 4, 5, 6}, 6);
    expect_overlapped(outcome("mgwfbp", 4, "100 us", json_incref(launch)), 1e-4,
                      (const int[]){0, 6}, 1);
    expect_overlapped(outcome("fusion", 4, "100 us", json_incref(launch)), 1e-4,
                      (const int[]){0, 4, 6}, 2);
    expect_overlapped(outcome("mgwfbp", 4, "1 ms",
                              json_pack("{s:s, s:s}", "/strategy/plan_alpha", "0.605 ms",
                                        "/strategy/plan_rate", "76.9 MB/s")),
                      1e-3, (const int[]){0, 5, 6}, 2);
    /* A thousand times that rate: every all-reduce ends before the next gradient, so that a layer
     * waits where that is there within alpha. 2 waits 0.27 ms for 1; 4 would wait 0.75 for 3. */
    expect_overlapped(outcome("mgwfbp", 4, "1 ms",
                              json_pack("{s:s, s:s}", "/strategy/plan_alpha", "0.605 ms",
                                        "/strategy/plan_rate", "76.9 GB/s")),
                      1e-3, (const int[]){0, 1, 3, 4, 5, 6}, 5);
    json_object_set_new(launch, "/strategy/fusion", json_string("1 B"));
    struct strait_outcome o = outcome("dear", 4, "100 us", launch);
    const struct wire w = wire_of(&o, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(w.launch_s, 5.4e-3, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, dear_s(&w, (const int[]){0, 1, 2, 3, 4, 5, 6}, 6),
                           1e-9 * o.total_s);
    strait_outcome_free(&o);
}

/* Whatever is merged, the best plan is at most as slow as no merging, as one bucket and as the
 * rule: all four times are exact, and it was chosen among them. */
static void order(void)
{
    static const char *const rtts[] = {"0 s", "20 us", "200 us", "1 ms", "5 ms"};
    for (int i = 0; i < 5; i++) {
        const struct {
            const char *name;
            json_t *more;
        } all[] = {{"mgwfbp", json_pack("{s:s}", "/strategy/merge", "best")},
                   {"mgwfbp", NULL},
                   {"wfbp", NULL},
                   {"fusion", json_pack("{s:s}", "/strategy/bucket", "1.4 MB")},
                   {"bsp", NULL}};
        double total_s[5];
        for (int k = 0; k < 5; k++) {
            struct strait_outcome o = outcome(all[k].name, 4, rtts[i], all[k].more);
            total_s[k] = o.total_s;
            strait_outcome_free(&o);
        }
        for (int k = 1; k < 5; k++)
            CU_ASSERT(total_s[0] <= total_s[k] * (1 + 1e-12));
        CU_ASSERT(total_s[1] <= total_s[2] * (1 + 1e-12));
        if (i == 0) /* start-ups all but free: to wait for nothing is better than to wait for all */
            CU_ASSERT(total_s[2] < total_s[4]);
        if (i == 4) /* six start-ups of 30 ms against one */
            CU_ASSERT(total_s[2] > total_s[4]);
    }
}

static const struct strait_test tests[] = {
    {"wait-free back-propagation takes what its recurrence says", wfbp},
    {"tensors that are sent alone pay a start-up each", wfbp_of_tensors},
    {"calls are negotiated in order, beside transfers; tensors are updated in the end", negotiated},
    {"partitions that rank 0 announces slowly wait for that", announced},
    {"what calling a collective takes is paid once for each, and planned with", launched},
    {"fixed buckets take what their recurrence says", ddp},
    {"merged gradients are those of the rule, and take what the recurrence says", mgwfbp},
    {"with a codec plans are for the bytes that it sends", mgwfbp_encoded},
    {"an encoded all-reduce takes what plans count for it", encoded_cost},
    {"DeAR takes what its recurrence says, and sends what an all-reduce does", dear},
    {"the best plan is never slower than any other", order},
};
STRAIT_SUITE("workloads/train/sync/schedules", tests);
