/* Runs of the recording (traces/curves), trained here for all 20 rounds from their own weights,
 * split and batches; and runs of our own draws beside them. make learn-check, minutes of one
 * core. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/recorded/recorded_run.h"
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { ROUNDS = 20, SEEDS = 5 };

static struct strait_curves *load(void)
{
    struct strait_curves *c = NULL;
    CU_ASSERT_EQUAL_FATAL(strait_curves_load(&c, NULL, NULL), 0);
    return c;
}

/* What the last three rounds come to, on average. */
struct end {
    double accuracy, test_loss, train_loss;
};

static void add_row(struct end *end, const struct strait_curve_round *row)
{
    end->accuracy += row->test_acc_ratio / RECORDED_LAST;
    end->test_loss += row->test_loss / RECORDED_LAST;
    end->train_loss += row->train_loss / RECORDED_LAST;
}

static struct end end_of(const struct strait_curve *curve)
{
    struct end end = {0};
    for (size_t i = curve->n_rounds - RECORDED_LAST; i < curve->n_rounds; i++)
        add_row(&end, &curve->rounds[i]);
    return end;
}

/* Train a recorded run, and compare what it sends.
 * Out:     n_beyond  rounds whose bits an element are more than 5 % from those recorded
 *          ratio     bits of all rounds over those recorded */
static struct end train(const struct strait_curve *curve, int *n_beyond, double *ratio)
{
    struct recorded_run r;
    struct end end = {0};
    double here = 0, there = 0, worst = 0, coded_all = 0;
    *n_beyond = 0;
    recorded_open(&r, curve->clients, curve->seed);
    for (int round = 0; round < ROUNDS; round++) {
        double coded;
        recorded_train(&r);
        const double bits = recorded_send(&r, &coded, curve, true);
        const double recorded = curve->rounds[round].bits_per_elem;
        here += bits;
        there += recorded;
        coded_all += coded;
        worst = fmax(worst, fabs(bits / recorded - 1));
        *n_beyond += fabs(bits / recorded - 1) > 0.05;
        if (round + RECORDED_LAST >= ROUNDS) {
            const struct strait_curve_round row = recorded_row(&r);
            add_row(&end, &row);
        }
    }
    recorded_close(&r);
    const struct end recorded = end_of(curve);
    printf("%-26s accuracy %.4f (%.4f), test loss %.4f (%.4f), training loss %.4f (%.4f); bits "
           "%+.2f %%, worst round %.2f %%, %d beyond 5 %%; sz writes %.4f bits\n",
           curve->run, end.accuracy, recorded.accuracy, end.test_loss, recorded.test_loss,
           end.train_loss, recorded.train_loss, 100 * (here / there - 1), 100 * worst, *n_beyond,
           coded_all / ROUNDS);
    *ratio = here / there;
    return end;
}

/* The spread of runs that small errors alone set apart, from the recording itself: without codec,
 * and within 1e-4, 1e-3 and 1e-2 of the range, in three settings. Two runs of one setting lie apart
 * by t deviation sqrt(2) at most with 99.9 %, so all three figures of all twelve runs do with 96 %.
 * t = 4.781 for its 9 degrees of freedom. */
static struct end allowed(const struct strait_curves *c)
{
    static const unsigned settings[][2] = {{8, 1}, {8, 2}, {16, 1}};
    static const double pars[] = {0, 1e-4, 1e-3, 1e-2};
    struct end squares = {0};
    for (size_t s = 0; s < 3; s++) {
        struct end ends[4], mean = {0};
        for (size_t i = 0; i < 4; i++) {
            const struct strait_curve *curve = strait_curves_find(
                c, settings[s][0], settings[s][1], "update", i ? "rel" : "none", pars[i], false);
            CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
            ends[i] = end_of(curve);
            mean.accuracy += ends[i].accuracy / 4;
            mean.test_loss += ends[i].test_loss / 4;
            mean.train_loss += ends[i].train_loss / 4;
        }
        for (size_t i = 0; i < 4; i++) {
            squares.accuracy += pow(ends[i].accuracy - mean.accuracy, 2) / 9;
            squares.test_loss += pow(ends[i].test_loss - mean.test_loss, 2) / 9;
            squares.train_loss += pow(ends[i].train_loss - mean.train_loss, 2) / 9;
        }
    }
    const double t = 4.781 * sqrt(2);
    return (struct end){.accuracy = t * sqrt(squares.accuracy),
                        .test_loss = t * sqrt(squares.test_loss),
                        .train_loss = t * sqrt(squares.train_loss)};
}

/* Train the run and compare its end. Bits of an adaptive bound are those of the bins within the rms
 * of updates, and compared in each round; those of a fixed one follow the largest elements, which
 * part sooner, and are compared in all. */
static void check(const struct strait_curves *c, unsigned clients, unsigned seed,
                  const char *target, const char *codec, double par)
{
    const struct strait_curve *curve =
        strait_curves_find(c, clients, seed, target, codec, par, false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
    int n_beyond;
    double ratio;
    const struct end here = train(curve, &n_beyond, &ratio);
    const struct end there = end_of(curve), within = allowed(c);
    CU_ASSERT(strcmp(codec, "adaptive") != 0 || n_beyond == 0);
    CU_ASSERT_DOUBLE_EQUAL(ratio, 1, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(here.accuracy, there.accuracy, within.accuracy);
    CU_ASSERT_DOUBLE_EQUAL(here.test_loss, there.test_loss, within.test_loss);
    CU_ASSERT_DOUBLE_EQUAL(here.train_loss, there.train_loss, within.train_loss);
}

static void uncompressed(void)
{
    struct strait_curves *c = load();
    const struct end within = allowed(c);
    printf("allowed: accuracy %.4f, test loss %.4f, training loss %.4f\n", within.accuracy,
           within.test_loss, within.train_loss);
    for (unsigned seed = 1; seed <= 2; seed++)
        check(c, 8, seed, "update", "none", 0);
    check(c, 16, 1, "update", "none", 0);
    strait_curves_free(c);
}

static void fixed_bounds(void)
{
    static const double pars[] = {1e-4, 1e-3, 1e-2, 3e-2, 0.1};
    struct strait_curves *c = load();
    for (size_t i = 0; i < sizeof(pars) / sizeof(*pars); i++)
        check(c, 8, 1, "update", "rel", pars[i]);
    check(c, 8, 1, "param", "rel", 1e-2);
    strait_curves_free(c);
}

/* Bits an element of each round, from first weights that are (1 + error) times those recorded. */
static void bits_of(double bits[ROUNDS], const struct strait_curve *curve, double error)
{
    struct recorded_run r;
    recorded_open(&r, curve->clients, curve->seed);
    for (size_t i = 0; i < r.n; i++)
        r.w[i] *= (float)(1 + error);
    for (int round = 0; round < ROUNDS; round++) {
        double coded;
        recorded_train(&r);
        bits[round] = recorded_send(&r, &coded, curve, true);
    }
    recorded_close(&r);
}

/* Why single rounds of few clients are off: as long as runs have not parted their bits are those
 * recorded, and two runs of ours whose first weights lie 1e-6 apart part as far from each other as
 * from the recording. How far is printed. */
static void parting(void)
{
    static const double errors[] = {0, 1e-6, -1e-6};
    enum { N = sizeof(errors) / sizeof(errors[0]), ALIKE = 2 };
    struct strait_curves *c = load();
    for (unsigned clients = 2; clients <= 4; clients += 2) {
        const struct strait_curve *curve =
            strait_curves_find(c, clients, 1, "update", "adaptive", 0.5, false);
        double bits[N][ROUNDS], own = 0, there = 0;
        CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
        for (int k = 0; k < N; k++)
            bits_of(bits[k], curve, errors[k]);
        for (int round = 0; round < ROUNDS; round++)
            for (int k = 0; k < N; k++) {
                const double off = bits[k][round] / curve->rounds[round].bits_per_elem - 1;
                there = fmax(there, fabs(off));
                own = fmax(own, fabs(bits[k][round] / bits[0][round] - 1));
                CU_ASSERT(round >= ALIKE || fabs(off) < 0.005);
            }
        printf("%u clients: worst round %.2f %% from the recording, %.2f %% from our own\n",
               clients, 100 * there, 100 * own);
    }
    strait_curves_free(c);
}

/* With 2 and 4 clients runs that begin alike part (README.md there: errors of 1e-4 of the range
 * move the end by 3.7 points), and so do single rounds: of them only all bits together are
 * compared. */
static void few_clients(void)
{
    struct strait_curves *c = load();
    for (unsigned clients = 2; clients <= 4; clients += 2) {
        const struct strait_curve *curve =
            strait_curves_find(c, clients, 1, "update", "adaptive", 0.5, false);
        int n_beyond;
        double ratio;
        CU_ASSERT_PTR_NOT_NULL_FATAL(curve);
        train(curve, &n_beyond, &ratio);
        CU_ASSERT_DOUBLE_EQUAL(ratio, 1, 0.05);
    }
    strait_curves_free(c);
}

static void adaptive_bounds(void)
{
    struct strait_curves *c = load();
    check(c, 8, 1, "update", "adaptive", 0.5);
    check(c, 8, 2, "update", "adaptive", 0.5);
    check(c, 16, 1, "update", "adaptive", 0.5);
    check(c, 8, 1, "param", "adaptive", 0.5);
    strait_curves_free(c);
}

/* ---- draws of our own */

/* Our own split, initial weights and batches, without an example twice in an epoch. */
static struct end train_own(uint64_t seed)
{
    static const char json[] = "{\"task\": \"fashion-cnn\", \"split\": {\"dirichlet\": 0.5}}";
    struct strait_learn *l = strait_test_learn(json, 8, seed);
    const struct strait_training t = strait_test_training(json);
    struct strait_learner *x;
    struct strait_optimiser *o;
    struct end end = {0};
    const size_t n = strait_learn_n_elems(l);
    float *w = malloc(n * sizeof(*w)), *local = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*w));
    double *sum = malloc(n * sizeof(*sum));
    CU_ASSERT_FATAL(w && local && g && sum && strait_learner_new(&x, l, 0, NULL) == 0 &&
                    strait_optimiser_new(&o, &t, l, NULL) == 0);
    strait_learn_init(l, w);
    for (int round = 0; round < ROUNDS; round++) {
        struct strait_curve_round row = {0};
        struct strait_score score;
        memset(sum, 0, n * sizeof(*sum));
        for (int k = 0; k < 8; k++) {
            memcpy(local, w, n * sizeof(*w));
            strait_optimiser_reset(o);
            strait_learner_use(x, k);
            for (int step = 0; step < RECORDED_STEPS; step++) {
                const uint64_t at = (uint64_t)(round * RECORDED_STEPS + step);
                row.train_loss += strait_learner_gradient(x, local, at, g) / RECORDED_STEPS / 8;
                strait_optimiser_begin(o);
                strait_optimiser_step(o, local, g, 0, n);
            }
            for (size_t i = 0; i < n; i++)
                sum[i] += strait_learn_share(l, k) * (double)local[i];
        }
        for (size_t i = 0; i < n; i++)
            w[i] = (float)sum[i];
        if (round + RECORDED_LAST < ROUNDS)
            continue;
        strait_learner_evaluate(x, w, RECORDED_SCORED, &score);
        row.test_loss = score.loss;
        row.test_acc_ratio = score.accuracy;
        add_row(&end, &row);
    }
    free(w);
    free(local);
    free(g);
    free(sum);
    strait_optimiser_free(o);
    strait_learner_free(x);
    strait_learn_free(l);
    return end;
}

/* The recorded kind of draws, with any seed. */
static struct end train_recorded_draws(unsigned seed)
{
    const struct strait_curve plain = {.target = "update", .codec = "none"};
    struct recorded_run r;
    struct end end = {0};
    recorded_open(&r, 8, seed);
    for (int round = 0; round < ROUNDS; round++) {
        recorded_train(&r);
        recorded_send(&r, NULL, &plain, true);
        const struct strait_curve_round row = recorded_row(&r);
        if (round + RECORDED_LAST >= ROUNDS)
            add_row(&end, &row);
    }
    recorded_close(&r);
    return end;
}

/* Student's t for two means of SEEDS draws each: their difference is chance below t deviation
 * sqrt(2 / SEEDS), t = 2.306 for 8 degrees of freedom and 95 %. */
static void same_mean(const char *what, const double *a, const double *b)
{
    double means[2] = {0}, squares = 0;
    for (int i = 0; i < SEEDS; i++) {
        means[0] += a[i] / SEEDS;
        means[1] += b[i] / SEEDS;
    }
    for (int i = 0; i < SEEDS; i++)
        squares += pow(a[i] - means[0], 2) + pow(b[i] - means[1], 2);
    const double within = 2.306 * sqrt(squares / (2 * SEEDS - 2) * 2 / SEEDS);
    printf("%s: own draws %.4f, recorded kind %.4f, apart %.4f, by chance %.4f\n", what, means[0],
           means[1], means[0] - means[1], within);
    CU_ASSERT_DOUBLE_EQUAL(means[0], means[1], within);
}

static void own_draws(void)
{
    double accuracy[2][SEEDS], test_loss[2][SEEDS], train_loss[2][SEEDS];
    for (int i = 0; i < SEEDS; i++)
        for (int kind = 0; kind < 2; kind++) {
            const unsigned seed = (unsigned)i + 1;
            const struct end end = kind ? train_recorded_draws(seed) : train_own(seed);
            printf("seed %u, %s draws: accuracy %.4f, test loss %.4f, training loss %.4f\n", seed,
                   kind ? "recorded" : "own", end.accuracy, end.test_loss, end.train_loss);
            accuracy[kind][i] = end.accuracy;
            test_loss[kind][i] = end.test_loss;
            train_loss[kind][i] = end.train_loss;
        }
    same_mean("accuracy", accuracy[0], accuracy[1]);
    same_mean("test loss", test_loss[0], test_loss[1]);
    same_mean("training loss", train_loss[0], train_loss[1]);
}

static const struct strait_test tests[] = {
    {"uncompressed averaging ends where the recording does", uncompressed},
    {"recorded fixed bounds do", fixed_bounds},
    {"recorded adaptive bounds do, and send as many bits in each round", adaptive_bounds},
    {"adaptive bounds of few clients send as many bits in all", few_clients},
    {"bits of few clients are those recorded until runs part", parting},
    {"our own draws end where the recorded kind does", own_draws},
};
STRAIT_SUITE_WITH("learn/recorded", tests, .apart = true, .deadline_s = 3600);
