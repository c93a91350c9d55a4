/* Tiers of clients, and means that bad updates cannot move far: times by what their parts take, and
 * real training against the definitions in double precision. */
#include <unistd.h>
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"
#include "workloads/train/plans/selection.h"

static void order(void)
{
    const double took_s[] = {3, INFINITY, 1, 3, 2, 1};
    static const int wanted[] = {2, 5, 4, 0, 3, 1};
    int found[6];
    strait_order_by_time(found, took_s, 6);
    for (int i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(found[i], wanted[i]);
}

/* Six clients of slowness 1, 4 and 16, not in order. The first round asks all and waits for the
 * slowest; each of the others asks two as slow as one another. */
static void tiers(void)
{
    enum { ROUNDS = 12, STEPS = 3 };
    static const double slowness[] = {1, 4, 16};
    char path[] = "/tmp/strait-tiers-XXXXXX";
    int n_seen[3] = {0}, n_rounds = 0;
    CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    write_slowness(path, "16\n1\n4\n16\n4\n1\n");
    struct strait_outcome o =
        star_run("{\"name\":\"fedavg\",\"rounds\":12,\"local_steps\":3,\"tiers\":3}", 6,
                 json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const struct strait_log *log = &o.point->logs[0];
    for (size_t i = 0; i < log->n_spans; i++) {
        const struct strait_span span = strait_spans_at(&log->spans, i), *s = &span;
        if (s->kind != STRAIT_SPAN_ROUND)
            continue;
        const int n = n_rounds == 0 ? 6 : 2;
        int which = -1;
        for (int t = 0; t < 3; t++)
            if (fabs(s->end_s - s->start_s -
                     (2 * c.hop_s + STEPS * slowness[t] * c.step_s + n * c.add_s)) < 2 * c.add_s)
                which = t;
        CU_ASSERT(which >= 0);
        CU_ASSERT(n_rounds > 0 || which == 2);
        n_seen[which < 0 ? 0 : which] += n_rounds > 0;
        n_rounds++;
    }
    CU_ASSERT_EQUAL(n_rounds, ROUNDS);
    for (int t = 0; t < 3; t++)
        CU_ASSERT(n_seen[t] > 0);
    CU_ASSERT_EQUAL(o.n_messages, 2 * 6 + (ROUNDS - 1) * 2 * 2 + 6);
    strait_outcome_free(&o);
    unlink(path);
}

/* Of three: the middle one of each value, both for the median and for a mean that cuts one off at
 * each end. */
static double median_of(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Krum with n 3 and f 0: the update whose nearest other is nearest; of the nearest pair the
 * first. */
static int krum_of(double d[WORKERS][DIM])
{
    double apart[3] = {0}; /* 0-1, 0-2, 1-2 */
    for (int i = 0; i < DIM; i++) {
        apart[0] += (d[0][i] - d[1][i]) * (d[0][i] - d[1][i]);
        apart[1] += (d[0][i] - d[2][i]) * (d[0][i] - d[2][i]);
        apart[2] += (d[1][i] - d[2][i]) * (d[1][i] - d[2][i]);
    }
    return apart[2] < apart[0] && apart[2] < apart[1] ? 1 : 0;
}

static void by_hand(void)
{
    static const char *const means[] = {"median", "trimmed", "krum"};
    for (int how = 0; how < 3; how++) {
        char form[160];
        double w[DIM] = {0};
        struct live o;
        struct bowl b;
        snprintf(form, sizeof(form),
                 "{\"name\":\"fedavg\",\"rounds\":4,\"local_steps\":2,\"server_lr\":0.5,"
                 "\"mean\":\"%s\",\"bad\":%d}",
                 means[how], how == 1);
        if (!live_run(&o, form, "", &strait_fluid))
            return;
        bowl_of(&b, o.trial->learn);
        for (int round = 0; round < 4; round++) {
            double d[WORKERS][DIM];
            for (int k = 0; k < WORKERS; k++)
                bowl_change(&b, k, d[k], w, 2);
            const int chosen = krum_of(d);
            for (int i = 0; i < DIM; i++)
                w[i] += 0.5 * (how == 2 ? d[chosen][i] : median_of(d[0][i], d[1][i], d[2][i]));
            const double score = bowl_score(&b, w);
            strait_test_context("%s, round %d", means[how], round);
            CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
        }
        live_free(&o);
    }
    strait_test_context("%s", "");
}

/* Five updates: 5 x 3 passes to sort each column, 10 distances; a copy of 0, one of the result, and
 * an addition. */
static void costs(void)
{
    static const char *const means[] = {"median", "krum"};
    static const double n_passes[] = {15, 10};
    for (int how = 0; how < 2; how++) {
        char form[128];
        snprintf(form, sizeof(form),
                 "{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1,\"mean\":\"%s\"}",
                 means[how]);
        struct strait_outcome o = star_run(form, 5, NULL, &strait_fluid, false);
        const struct costs c = costs_of(&o);
        CU_ASSERT_DOUBLE_EQUAL(
            o.total_s, 2 * c.hop_s + c.step_s + (n_passes[how] + 1) * c.add_s + 2 * c.copy_s, 1e-9);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"clients are ordered by their times, equal ones by number", order},
    {"a round asks one tier, the first one all", tiers},
    {"median, trimmed mean and Krum are those of their definitions", by_hand},
    {"robust means take the passes that they are said to", costs},
};
STRAIT_SUITE("workloads/train/federated/robust", tests);
