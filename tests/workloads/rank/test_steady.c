/* Rounds that repeat: what is extrapolated is what the simulation of all rounds gives. */
#include "workloads/rank/trial.h"

#include <math.h>

#include "workloads/train/collectives/collectives.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

#define EXPERIMENT(strategy)                                                                       \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":3,"              \
    "\"strategy\":" strategy ",\"network\":{\"client\":{\"rate\":\"100 Mbps\",\"rtt\":\"20 ms\"}," \
    "\"server\":{\"rate\":\"300 Mbps\"}}}"

static const char *const experiments[] = {
    EXPERIMENT("{\"name\":\"fedavg\",\"rounds\":101,\"local_steps\":3}"),
    EXPERIMENT("{\"name\":\"fedavg\",\"rounds\":60,\"local_steps\":0,\"pieces\":3}"),
    EXPERIMENT("{\"name\":\"bsp\",\"rounds\":80}"),
};

static struct strait_outcome run(const char *experiment, const struct strait_backend *backend,
                                 bool every_round)
{
    return strait_outcome_of(experiment, json_object(), "default", backend,
                             (struct strait_trial_options){.every_round = every_round});
}

static void same_log(const struct strait_log *a, const struct strait_log *b)
{
    CU_ASSERT_EQUAL(a->n_spans, b->n_spans);
    CU_ASSERT_EQUAL(a->n_messages, b->n_messages);
    CU_ASSERT_EQUAL(a->payload_bytes, b->payload_bytes);
    CU_ASSERT_EQUAL(a->raw_bytes, b->raw_bytes);
    for (int kind = 0; kind < STRAIT_N_SPAN_KINDS; kind++) {
        CU_ASSERT_EQUAL(a->n_of_kind[kind], b->n_of_kind[kind]);
        CU_ASSERT_DOUBLE_EQUAL(a->total_s[kind], b->total_s[kind], 1e-9 * (1 + b->total_s[kind]));
    }
    double sums[2] = {0};
    for (size_t i = 0; i < a->n_spans && a->n_spans == b->n_spans; i++) {
        const struct strait_span x = strait_spans_at(&a->spans, i),
                                 y = strait_spans_at(&b->spans, i);
        sums[0] += x.start_s * (1 + x.kind);
        sums[1] += y.start_s * (1 + y.kind);
    }
    CU_ASSERT_DOUBLE_EQUAL(sums[0], sums[1], 1e-10 * sums[1]);
}

static void extrapolated(void)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i += IS_SANITIZED ? 2 : 1)
        for (size_t b = 0; b < sizeof(backends) / sizeof(backends[0]); b++) {
            struct strait_outcome all = run(experiments[i], backends[b], true);
            struct strait_outcome some = run(experiments[i], backends[b], false);
            const json_t *steady = json_object_get(some.point->facts.report, "steady");
            CU_ASSERT_PTR_NULL(json_object_get(all.point->facts.report, "steady"));
            CU_ASSERT_PTR_NOT_NULL(steady);
            CU_ASSERT(json_integer_value(json_object_get(steady, "simulated_rounds")) < 30);
            CU_ASSERT_DOUBLE_EQUAL(some.total_s, all.total_s, 1e-12 * all.total_s);
            for (int r = 0; r < all.experiment->n_ranks; r++)
                same_log(&some.point->logs[r], &all.point->logs[r]);
            strait_outcome_free(&all);
            strait_outcome_free(&some);
        }
}

/* A rank program whose third round of every five takes longer: a period of five rounds. */
static void five(struct strait_rank *r)
{
    for (int round = 0; strait_round(r); round++)
        strait_work(r, STRAIT_SPAN_COMPUTE, STRAIT_TIMER, round % 5 == 2 ? 0.3 : 0.1, NULL, NULL);
}

/* One whose rounds differ for ever, and one that only asks for chance. */
static void longer(struct strait_rank *r)
{
    for (int round = 0; strait_round(r); round++)
        strait_work(r, STRAIT_SPAN_COMPUTE, STRAIT_TIMER, 0.1 + 0.001 * round, NULL, NULL);
}
static void drawing(struct strait_rank *r)
{
    while (strait_round(r)) {
        strait_draw(r, "nothing");
        strait_work(r, STRAIT_SPAN_COMPUTE, STRAIT_TIMER, 0.1, NULL, NULL);
    }
}

static int of_five(const struct strait_experiment *e)
{
    (void)e;
    return 5;
}

/* declared: the period that the strategy says it has */
static void check_program(void (*program)(struct strait_rank *),
                          int (*declared)(const struct strait_experiment *), int period,
                          double total_s)
{
    struct strait_outcome o = run(experiments[2], &strait_fluid, true);
    struct strait_error err = {0};
    struct strait_strategy strategy = *o.experiment->strategy;
    strategy.period = declared;
    o.experiment->strategy = &strategy;
    o.point->run.rank_main = program;
    o.point->every_round = false;
    CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
    const json_t *steady = json_object_get(o.point->facts.report, "steady");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(steady, "period_rounds")), period);
    const struct strait_log *log = &o.point->logs[0];
    double end_s = 0;
    int n_rounds = 0;
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_ROUND) {
            CU_ASSERT_DOUBLE_EQUAL(strait_spans_at(&log->spans, i).start_s, end_s, 1e-9);
            end_s = strait_spans_at(&log->spans, i).end_s;
            n_rounds++;
        }
    CU_ASSERT_EQUAL(n_rounds, 80);
    CU_ASSERT_DOUBLE_EQUAL(end_s, total_s, 1e-9);
    strait_outcome_free(&o);
}

static void periods(void)
{
    check_program(five, of_five, 5, 80 * 0.1 + 16 * 0.2);
}

static void no_period(void)
{
    check_program(five, NULL, 0, 80 * 0.1 + 16 * 0.2);
    check_program(longer, strait_strategy_repeats, 0, 80 * 0.1 + 0.001 * 79 * 80 / 2);
    check_program(drawing, strait_strategy_repeats, 0, 80 * 0.1);
}

#define MANY                                                                                       \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":10000,"          \
    "\"strategy\":{\"name\":\"fedavg\",\"rounds\":40},\"network\":{\"client\":{\"rate\":\"100 "    \
    "Mbps\","                                                                                      \
    "\"rtt\":\"20 ms\"},\"server\":{\"rate\":\"10 Gbps\"}}}"

/* 10,000 clients: the server's log holds what shows that rounds repeat, and both simulators say the
 * same of one round. */
static void many_clients(void)
{
    if (IS_SANITIZED) {
        strait_test_skip("10,000 clients in SimGrid take too long under a sanitizer");
        return;
    }
    struct strait_outcome o = run(MANY, &strait_fluid, false);
    const json_t *steady = json_object_get(o.point->facts.report, "steady");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(steady, "simulated_rounds")), 13);
    CU_ASSERT_EQUAL(o.n_messages, 40 * 20000 + 10000);
    strait_outcome_free(&o);
#ifndef __SANITIZE_ADDRESS__ /* actors are threads there */
    double total_s[2];
    for (int b = 0; b < 2; b++) {
        o = strait_outcome_of(MANY, json_pack("{s:i}", "/strategy/rounds", 1), "default",
                              b == 0 ? &strait_fluid : &strait_sim,
                              (struct strait_trial_options){0});
        total_s[b] = o.total_s;
        strait_outcome_free(&o);
    }
    CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
#endif
}

static const struct strait_test tests[] = {
    {"what is extrapolated equals the simulation of all rounds, span by span", extrapolated},
    {"a period of several rounds is found", periods},
    {"rounds of 10,000 clients are found to repeat, and last as long in SimGrid", many_clients},
    {"rounds that grow, or that chance may change, are all simulated", no_period},
};
STRAIT_SUITE("workloads/rank/steady", tests);
