/* Federated averaging without compression, trained here, against the recorded curves
 * (traces/curves/fedavg_fmnist_cnn.csv, 8 clients): make learn-check, minutes of one core. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"
#include "tests/kit/training.h"

enum { CLIENTS = 8, SEEDS = 5, ROUNDS = 20, STEPS = 24, LAST = 3, RECORDED = 2 };

/* What the last three rounds come to, on average. */
struct end {
    double accuracy, test_loss, train_loss;
};

/* One round, as traces/curves/README.md says: every client from the same model, 24 steps, momentum
 * begun anew, the mean weighted by data. Returns: the mean training loss */
static double average(struct strait_learn *l, struct strait_learner **x, struct strait_optimiser *o,
                      float *w, int round)
{
    const size_t n = strait_learn_n_elems(l);
    float *local = malloc(n * sizeof(*local)), *g = malloc(n * sizeof(*g));
    double *sum = calloc(n, sizeof(*sum)), loss = 0;
    for (int k = 0; k < CLIENTS; k++) {
        const double share = strait_learn_share(l, k);
        memcpy(local, w, n * sizeof(*w));
        strait_optimiser_reset(o);
        for (int step = 0; step < STEPS; step++) {
            loss += share / STEPS *
                    strait_learner_gradient(x[k], local, (uint64_t)(round * STEPS + step), g);
            strait_optimiser_begin(o);
            strait_optimiser_step(o, local, g, 0, n);
        }
        for (size_t i = 0; i < n; i++)
            sum[i] += share * (double)local[i];
    }
    for (size_t i = 0; i < n; i++)
        w[i] = (float)sum[i];
    free(local);
    free(g);
    free(sum);
    return loss;
}

static struct end train(uint64_t seed)
{
    static const char json[] = "{\"task\": \"fashion-cnn\", \"split\": {\"dirichlet\": 0.5}}";
    struct strait_learn *l = strait_test_learn(json, CLIENTS, seed);
    const struct strait_training t = strait_test_training(json);
    struct strait_learner *x[CLIENTS];
    struct strait_optimiser *o;
    struct end end = {0};
    for (int k = 0; k < CLIENTS; k++)
        CU_ASSERT_EQUAL_FATAL(strait_learner_new(&x[k], l, k, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&o, &t, l, NULL), 0);
    float *w = malloc(strait_learn_n_elems(l) * sizeof(*w));
    strait_learn_init(l, w);
    for (int round = 0; round < ROUNDS; round++) {
        struct strait_score score;
        const double loss = average(l, x, o, w, round);
        strait_learner_evaluate(x[0], w, 3000, &score);
        if (round + LAST < ROUNDS)
            continue;
        end.accuracy += score.accuracy / LAST;
        end.test_loss += score.loss / LAST;
        end.train_loss += loss / LAST;
    }
    free(w);
    strait_optimiser_free(o);
    for (int k = 0; k < CLIENTS; k++)
        strait_learner_free(x[k]);
    strait_learn_free(l);
    return end;
}

/* Rounds 18 to 20 of both recorded seeds. */
static void read_recorded(struct end *recorded)
{
    FILE *f = fopen("traces/curves/fedavg_fmnist_cnn.csv", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    char line[256];
    unsigned n = 0;
    while (fgets(line, sizeof(line), f)) {
        unsigned seed;
        int round;
        double train_loss, test_loss, accuracy;
        if (sscanf(line, "k8-s%u-update-none0,%*d,%*d,update,none,0.0,0,%d,%lf,%lf,%lf", &seed,
                   &round, &train_loss, &test_loss, &accuracy) != 5 ||
            round + LAST <= ROUNDS)
            continue;
        CU_ASSERT_FATAL(seed >= 1 && seed <= RECORDED);
        struct end *e = &recorded[seed - 1];
        e->accuracy += accuracy / LAST;
        e->test_loss += test_loss / LAST;
        e->train_loss += train_loss / LAST;
        n++;
    }
    fclose(f);
    CU_ASSERT_EQUAL_FATAL(n, RECORDED * LAST);
}

/* Could each recorded run be one of ours? It lies in the interval that holds the next draw with
 * 95 %: mean +- t deviation sqrt(1 + 1/n), t = 2.776 for the 4 degrees of freedom of five seeds.
 * With pixels from 0 to 1 instead of mean 0 and deviation 1 it does not. */
static void one_of_ours(const char *what, const double *found, const double *recorded)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < SEEDS; i++)
        mean += found[i] / SEEDS;
    for (int i = 0; i < SEEDS; i++)
        squares += (found[i] - mean) * (found[i] - mean);
    const double deviation = sqrt(squares / (SEEDS - 1));
    const double within = 2.776 * deviation * sqrt(1 + 1.0 / SEEDS);
    printf("%-10s here %.4f, deviation %.4f, next within %.4f; recorded", what, mean, deviation,
           within);
    for (int i = 0; i < RECORDED; i++) {
        printf(" %.4f", recorded[i]);
        CU_ASSERT_DOUBLE_EQUAL(recorded[i], mean, within);
    }
    printf("\n");
}

static void recorded_accuracy(void)
{
    struct end ends[SEEDS], recorded[RECORDED] = {{0}};
    double found[3][SEEDS], wanted[3][RECORDED];
    read_recorded(recorded);
    for (int i = 0; i < SEEDS; i++) {
        ends[i] = train((uint64_t)i + 1);
        printf("seed %d: accuracy %.4f, test loss %.4f, train loss %.4f\n", i + 1, ends[i].accuracy,
               ends[i].test_loss, ends[i].train_loss);
        found[0][i] = ends[i].accuracy;
        found[1][i] = ends[i].test_loss;
        found[2][i] = ends[i].train_loss;
    }
    for (int i = 0; i < RECORDED; i++) {
        wanted[0][i] = recorded[i].accuracy;
        wanted[1][i] = recorded[i].test_loss;
        wanted[2][i] = recorded[i].train_loss;
    }
    static const char *const names[] = {"accuracy", "test loss", "train loss"};
    for (int i = 0; i < 3; i++)
        one_of_ours(names[i], found[i], wanted[i]);
}

static const struct strait_test tests[] = {
    {"uncompressed averaging ends where the recording does", recorded_accuracy},
};
STRAIT_SUITE_WITH("learn/recorded", tests, .apart = true, .deadline_s = 3600);
