/* What a codec costs a run at another bound than the experiment's. */
#include <math.h>
#include "learn/task.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"
#include "workloads/rank/trial.h"

static const char text[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":2,"
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1},"
    "\"codec\":{\"name\":\"sz\",\"bound\":{\"range\":1e-3}},"
    "\"network\":{\"client\":{\"rate\":\"100 Mbps\"},\"server\":{\"rate\":\"1 Gbps\"}}}";

static struct strait_codec_cost cost_of(const char *control, double bound)
{
    struct strait_codec_cost cost;
    struct strait_outcome o = strait_outcome_of(text, json_object(), "default", &strait_fluid,
                                                (struct strait_trial_options){.control = control});
    CU_ASSERT_EQUAL_FATAL(strait_trial_cost(&cost, o.point, 0, false, bound, NULL), 0);
    strait_outcome_free(&o);
    return cost;
}

/* The control takes a codec's time from it and leaves its ratio, at every bound. */
static void no_codec_cost(void)
{
    static const double bounds[] = {1e-2, 1e-3};
    for (int i = 0; i < 2; i++) {
        const struct strait_codec_cost with = cost_of(NULL, bounds[i]),
                                       without = cost_of("no-codec-cost", bounds[i]);
        CU_ASSERT(isfinite(with.encode_bytes_per_s) && isfinite(with.decode_bytes_per_s));
        CU_ASSERT(with.ratio > 1);
        CU_ASSERT_EQUAL(without.ratio, with.ratio);
        CU_ASSERT(isinf(without.encode_bytes_per_s) && isinf(without.decode_bytes_per_s));
        CU_ASSERT_EQUAL(without.encode_fixed_s, 0);
        CU_ASSERT_EQUAL(without.decode_fixed_s, 0);
    }
    CU_ASSERT(cost_of(NULL, 1e-2).ratio > cost_of(NULL, 1e-3).ratio);
}

/* "speed": 4 divides a codec's times by 4 and leaves its ratio; measured codecs take none. */
static void codec_speed(void)
{
    const struct strait_codec_cost one = cost_of(NULL, 1e-2);
    struct strait_error err = {0};
    struct strait_trial *p;
    struct strait_outcome o =
        strait_outcome_of(text, json_pack("{s:i}", "/codec/speed", 4), "default", &strait_fluid,
                          (struct strait_trial_options){.control = NULL});
    struct strait_codec_cost four;
    CU_ASSERT_EQUAL_FATAL(strait_trial_cost(&four, o.point, 0, false, 1e-2, NULL), 0);
    CU_ASSERT_EQUAL(four.ratio, one.ratio);
    CU_ASSERT_EQUAL(four.encode_bytes_per_s, 4 * one.encode_bytes_per_s);
    CU_ASSERT_EQUAL(four.decode_bytes_per_s, 4 * one.decode_bytes_per_s);
    CU_ASSERT_EQUAL(four.encode_fixed_s, one.encode_fixed_s / 4);
    CU_ASSERT_EQUAL(strait_trial_new(&p, o.experiment, o.profile,
                                     &(const struct strait_trial_options){.measured_cost = true},
                                     &err),
                    -1);
    CU_ASSERT_CONTAINS(err.where, "#/codec/speed");
    CU_ASSERT_CONTAINS(err.text, "expected 1 where codecs are measured (emu), found 4");
    strait_outcome_free(&o);
}

/* Two codecs of one name and bound, four times as fast on one way: who receives decodes with the
 * sender's. The client decodes what came down, the server what came up. */
static void codec_each_way(void)
{
    double decode_s[3][2]; /* plain, fast up, fast down; server, client */
    for (int i = 0; i < 3; i++) {
        json_t *settings = json_pack("{s:i, s:{s:s, s:{s:f}, s:i}, s:i}", "/clients", 1,
                                     "/download_codec", "name", "sz", "bound", "range", 1e-3,
                                     "speed", i == 2 ? 4 : 1, "/codec/speed", i == 1 ? 4 : 1);
        struct strait_outcome o =
            strait_outcome_of(text, settings, "default", &strait_fluid,
                              (struct strait_trial_options){.every_round = true});
        for (int rank = 0; rank < 2; rank++)
            decode_s[i][rank] = o.point->logs[rank].total_s[STRAIT_SPAN_DECODE];
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(decode_s[1][0], decode_s[0][0] / 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(decode_s[1][1], decode_s[0][1], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(decode_s[2][0], decode_s[0][0], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(decode_s[2][1], decode_s[0][1] / 4, 1e-12);
    CU_ASSERT_AT_LEAST(decode_s[0][1], 1e-6);
}

/* What each of three clients has sent: equal where all send the values of the first, different
 * where each has its own (resnet's are tiled from an offset that depends on the rank). */
static void shared_values(void)
{
    for (int shares = 0; shares < 2; shares++) {
        struct strait_error err = {0};
        json_t *settings = json_pack("{s:s, s:i}", "/model", "resnet", "/clients", 3);
        struct strait_outcome o =
            strait_outcome_of(text, settings, "default", &strait_fluid,
                              (struct strait_trial_options){.every_round = true});
        struct strait_trial *p;
        CU_ASSERT_FALSE(o.point->shares_values); /* 5 MB in all */
        CU_ASSERT_EQUAL_FATAL(
            strait_trial_new(&p, o.experiment, o.profile,
                             &(const struct strait_trial_options){.real_payload = true}, &err),
            0);
        p->shares_values = shares;
        CU_ASSERT_EQUAL_FATAL(strait_trial_run(p, &strait_fluid, &err), 0);
        CU_ASSERT_EQUAL(p->shared_values != NULL, shares);
        const uint64_t first = p->logs[1].payload_bytes;
        CU_ASSERT_EQUAL(p->logs[2].payload_bytes == first, shares);
        CU_ASSERT_EQUAL(p->logs[3].payload_bytes == first, shares);
        strait_trial_free(p);
        strait_outcome_free(&o);
    }
}

/* 120 gradients of 5 ms for each of three seeds. */
static void training_of_all_seeds(void)
{
    const struct strait_experiment e = {.n_seeds = 3};
    const struct strait_trial p = {.experiment = &e, .n_batches = 120, .gradient_s = 0.005};
    CU_ASSERT_DOUBLE_EQUAL(strait_trial_training_s(&p), 1.8, 1e-12);
}

/* The first trial opens the task and leaves it, the second takes it, and neither closes it; without
 * a place for it each opens its own. */
static void lent_task(void)
{
    struct strait_error err = {0};
    struct strait_learn *learn = NULL;
    struct strait_trial *p[3];
    json_t *settings = json_pack("{s:s, s:{s:s, s:i}}", "/model", "quadratic", "/training", "task",
                                 "quadratic", "dim", 1000);
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const struct strait_trial_options lends = {.real_payload = true, .learn = &learn},
                                      alone = {.real_payload = true};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL_FATAL(
            strait_trial_new(&p[i], o.experiment, o.profile, i < 2 ? &lends : &alone, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(learn);
    CU_ASSERT_PTR_EQUAL(p[0]->learn, learn);
    CU_ASSERT_PTR_EQUAL(p[1]->learn, learn);
    CU_ASSERT_PTR_NOT_EQUAL(p[2]->learn, learn);
    for (int i = 0; i < 3; i++)
        strait_trial_free(p[i]);
    CU_ASSERT_EQUAL(strait_learn_n_elems(learn), 1000);
    strait_learn_free(learn);
    strait_outcome_free(&o);
}

/* When two rounds of two clients end, packet by packet. */
static double end_s_of(const char *loss, int seed)
{
    json_t *settings =
        json_pack("{s:i, s:s, s:{s:s}, s:s, s:{s:s, s:i}}", "/seed", seed, "/network/client/loss",
                  loss, "/network/tcp", "congestion", "cubic", "/network/client/rtt", "20 ms",
                  "/strategy", "name", "fedavg", "rounds", 2);
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){.every_round = true});
    CU_ASSERT(strait_network_by_packets(o.experiment->network));
    const double s = o.total_s;
    strait_outcome_free(&o);
    return s;
}

/* docs/intervals.md: a time is one draw of losses, by the seed; on clean links nothing is drawn. */
static void one_draw(void)
{
    CU_ASSERT_EQUAL(end_s_of("0 %", 1), end_s_of("0 %", 2));
    CU_ASSERT_NOT_EQUAL(end_s_of("1 %", 1), end_s_of("1 %", 2));
    CU_ASSERT_EQUAL(end_s_of("1 %", 1), end_s_of("1 %", 1));
}

/* What an all-reduce sends is partial sums: where a profile has them for as many ranks, they count,
 * for strategies that encode sums, and the same all-reduce. The made-up entry has a ratio of 2,
 * which sz never has here. */
static void partial_sums(void)
{
    static const struct {
        const char *strategy, *collective, *kind;
        int n_clients;
        bool sums;
    } cases[] = {{"bsp", "ring", "grad sum 2", 2, true},
                 {"bsp", "ring", "grad sum 2", 3, false},
                 {"bsp", "halving", "grad sum 2", 2, true}, /* for want of its own */
                 {"bsp", "halving", "grad halving 2", 2, true},
                 {"bsp", "tree", "grad tree 2", 2, true},
                 {"bsp", "all_to_all", "grad all_to_all 2", 2, true},
                 {"bsp", "ring", "grad tree 2", 2, false},
                 {"fusion", NULL, "grad sum 2", 2, true},
                 {"ps", NULL, "grad sum 2", 2, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_error err = {0};
        struct strait_trial *p;
        struct strait_codec_cost cost;
        json_t *settings =
            json_pack("{s:{s:s, s:i, s:s*}, s:i}", "/strategy", "name", cases[i].strategy, "rounds",
                      1, "collective", cases[i].collective, "/clients", cases[i].n_clients);
        struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                    (struct strait_trial_options){.control = NULL});
        struct strait_profile_entry entry = {.codec = "sz",
                                             .model = "cnn",
                                             .bound = {STRAIT_BOUND_RANGE, 1e-3},
                                             .ratio = 2,
                                             .encode_bytes_per_s = 1e9,
                                             .decode_bytes_per_s = 1e9};
        snprintf(entry.kind, sizeof(entry.kind), "%s", cases[i].kind);
        const struct strait_profile more = {.entries = &entry, .n_entries = 1};
        CU_ASSERT_EQUAL_FATAL(strait_profile_merge(o.profile, &more, &err), 0);
        CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, o.experiment, o.profile,
                                               &(const struct strait_trial_options){0}, &err),
                              0);
        CU_ASSERT_EQUAL_FATAL(strait_trial_cost(&cost, p, 0, false, 1e-3, &err), 0);
        CU_ASSERT_EQUAL(cost.ratio == 2, cases[i].sums);
        CU_ASSERT_EQUAL(p->up.ratio == 2, cases[i].sums);
        strait_trial_free(p);
        strait_outcome_free(&o);
    }
}

/* Bytes that four ranks send in a round of an all-reduce, by entries of these kinds and ratios. */
static double sent_bytes_of(const char *collective, const char *const kinds[],
                            const double ratios[], size_t n)
{
    struct strait_error err = {0};
    struct strait_trial *p;
    json_t *settings = json_pack("{s:{s:s, s:i, s:s}, s:i}", "/strategy", "name", "bsp", "rounds",
                                 1, "collective", collective, "/clients", 4);
    struct strait_outcome o = strait_outcome_of(text, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){.control = NULL});
    for (size_t i = 0; i < n; i++) {
        struct strait_profile_entry entry = {.codec = "sz",
                                             .model = "cnn",
                                             .bound = {STRAIT_BOUND_RANGE, 1e-3},
                                             .ratio = ratios[i],
                                             .encode_bytes_per_s = 1e9,
                                             .decode_bytes_per_s = 1e9};
        snprintf(entry.kind, sizeof(entry.kind), "%s", kinds[i]);
        const struct strait_profile more = {.entries = &entry, .n_entries = 1};
        CU_ASSERT_EQUAL_FATAL(strait_profile_merge(o.profile, &more, &err), 0);
    }
    CU_ASSERT_EQUAL_FATAL(strait_trial_new(&p, o.experiment, o.profile,
                                           &(const struct strait_trial_options){0}, &err),
                          0);
    CU_ASSERT_EQUAL_FATAL(strait_trial_run(p, &strait_fluid, &err), 0);
    double bytes = 0;
    for (int r = 0; r < 4; r++)
        bytes += (double)p->logs[r].payload_bytes;
    strait_trial_free(p);
    strait_outcome_free(&o);
    return bytes;
}

/* A sum of one rank's values takes an eighth, of two a quarter, of four a half, so of three 1/4 +
 * log2(3/2) / 4 = 0.396. In the all-reduces' own tables every part of the tensor is sent six times:
 * in a ring of 1, 2, 3 ranks and thrice of four, 2.271 tensors in all; by halves, trees and in PAT
 * twice of one, once of two and thrice of four, 2; to owners thrice each of one and of four, 1.875.
 * What tensors without the codec take is seen from two runs in which all sums are alike. */
static void sums_of_so_many(void)
{
    static const struct {
        const char *collective, *how;
        double tensors;
    } cases[] = {{"ring", "sum", 2.2712},
                 {"halving", "halving", 2},
                 {"tree", "tree", 2},
                 {"pat", "sum", 2},
                 {"all_to_all", "all_to_all", 1.875}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char kinds[4][STRAIT_KIND_CHARS];
        const char *const all[4] = {kinds[0], kinds[1], kinds[2], kinds[3]};
        const double ratios[4] = {3, 8, 4, 2};
        snprintf(kinds[0], STRAIT_KIND_CHARS, "grad %s 4", cases[i].how);
        for (int k = 1, at = 1; at < 4; k *= 2, at++)
            CU_ASSERT_TRUE(strait_sum_of_kind(kinds[at], kinds[0], k));
        const double half = sent_bytes_of(cases[i].collective, all, (const double[]){2}, 1),
                     quarter = sent_bytes_of(cases[i].collective, all, (const double[]){4}, 1),
                     own = sent_bytes_of(cases[i].collective, all, ratios, 4);
        const double tensor = (half - quarter) / 1.5, rest = half - 3 * tensor;
        CU_ASSERT_DOUBLE_EQUAL((own - rest) / tensor, cases[i].tensors, 2e-3);
    }
}

/* Sketches are numbers that add: a ring of two adds a half in each of them, as bytes at 1 GB/s,
 * where an encode and two decodes of as many values at 20 and 30 MB/s took 1,200 times as long. */
static void sums_of_sketches(void)
{
    json_t *settings =
        json_pack("{s:{s:s, s:s, s:i}, s:{s:s, s:s}}", "/strategy", "name", "bsp", "collective",
                  "ring_encoded", "rounds", 1, "/codec", "name", "countsketch", "lossless", "none");
    struct strait_outcome o =
        strait_outcome_of(text, settings, "tests/data/sketch-costs.json", &strait_fluid,
                          (struct strait_trial_options){.every_round = true});
    double added_s = 0, sent_bytes = 0;
    for (int r = 0; r < 2; r++)
        for (size_t i = 0; i < o.point->logs[r].n_spans; i++) {
            const struct strait_span span = strait_spans_at(&o.point->logs[r].spans, i), *s = &span;
            added_s += s->kind == STRAIT_SPAN_AGGREGATE ? s->end_s - s->start_s : 0;
        }
    for (int r = 0; r < 2; r++)
        sent_bytes += (double)o.point->logs[r].payload_bytes;
    /* each sends one half to be added and one half of the sum */
    CU_ASSERT_DOUBLE_EQUAL(added_s, 0.5 * sent_bytes / 1e9, 1e-3 * added_s);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"a sum of sketches takes an addition of their bytes", sums_of_sketches},
    {"a simulated time is that of one draw, and on clean links the only one", one_draw},
    {"partial sums cost what the profile has for as many ranks", partial_sums},
    {"sums of fewer ranks are smaller", sums_of_so_many},
    {"clients that share values send the same bytes", shared_values},
    {"without codec cost no bound takes time", no_codec_cost},
    {"a codec can be taken faster than its profile", codec_speed},
    {"who receives decodes by the codec of who sent", codec_each_way},
    {"training is planned for all seeds", training_of_all_seeds},
    {"trials that train alike share an open task", lent_task},
};
STRAIT_SUITE("workloads/rank/trial", tests);
