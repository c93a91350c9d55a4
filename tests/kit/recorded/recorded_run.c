/* Recorded federated averaging, trained here. */
#include "recorded_run.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/coder.h"
#include "learn/learn_network.h"
#include "tests/kit/training.h"
#include "workloads/train/plans/policy.h"

static const char settings[] = "{\"task\": \"fashion-cnn\"}";
enum { BATCH = 32 };

/* nn.Conv2d and nn.Linear: weights and biases within 1 / sqrt(inputs of a unit). */
static void init(struct recorded_run *r, unsigned seed)
{
    struct recorded_weights draws;
    double bound = 0;
    recorded_weights_begin(&draws, seed);
    for (size_t p = 0; p < r->learn->n_params; p++) {
        const struct strait_learn_param *param = &r->learn->params[p];
        if (param->n_dims > 1)
            bound = 1 / sqrt((double)param->n_elems / (double)param->shape[0]);
        recorded_uniform(r->w + param->first, param->n_elems, &draws, bound);
    }
}

void recorded_open(struct recorded_run *r, unsigned clients, unsigned seed)
{
    CU_ASSERT_FATAL(clients > 0 && clients <= RECORDED_CLIENTS);
    const struct strait_training t = strait_test_training(settings);
    *r = (struct recorded_run){.clients = clients, .learn = strait_test_learn(settings, 1, seed)};
    const uint32_t n_images = r->learn->n_train;
    r->n = r->learn->n_elems;
    CU_ASSERT_EQUAL_FATAL(strait_learner_new(&r->learner, r->learn, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(strait_optimiser_new(&r->optimiser, &t, r->learn, NULL), 0);
    r->examples = malloc(n_images * sizeof(*r->examples));
    r->w = malloc(r->n * sizeof(float));
    r->update = malloc(r->n * sizeof(float));
    CU_ASSERT_FATAL(r->examples && r->w && r->update);
    for (unsigned k = 0; k < clients; k++)
        CU_ASSERT_PTR_NOT_NULL_FATAL(r->local[k] = malloc(r->n * sizeof(float)));
    init(r, seed);
    recorded_begin(&r->draws, seed);
    CU_ASSERT_FATAL(recorded_split(r->examples, r->first, &r->draws, r->learn->labels,
                                   r->learn->n_labels, n_images, (int)clients, 0.5));
}

void recorded_close(struct recorded_run *r)
{
    for (unsigned k = 0; k < r->clients; k++)
        free(r->local[k]);
    free(r->examples);
    free(r->w);
    free(r->update);
    strait_optimiser_free(r->optimiser);
    strait_learner_free(r->learner);
    strait_learn_free(r->learn);
}

static uint32_t n_images(const struct recorded_run *r, unsigned k)
{
    return r->first[k + 1] - r->first[k];
}

/* Batches are drawn with replacement, in the order of rounds, clients and steps. */
void recorded_train(struct recorded_run *r)
{
    uint32_t examples[BATCH];
    float *g = malloc(r->n * sizeof(*g));
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    for (unsigned k = 0; k < r->clients; k++) {
        memcpy(r->local[k], r->w, r->n * sizeof(float));
        strait_optimiser_reset(r->optimiser);
        r->train_loss[k] = 0;
        for (int step = 0; step < RECORDED_STEPS; step++) {
            for (size_t i = 0; i < BATCH; i++)
                examples[i] = r->examples[r->first[k] + recorded_below(&r->draws, n_images(r, k))];
            const struct strait_batch batch = {.examples = examples, .n = BATCH};
            r->train_loss[k] +=
                r->learn->network->gradient(r->learner, r->local[k], &batch, g) / RECORDED_STEPS;
            strait_optimiser_begin(r->optimiser);
            strait_optimiser_step(r->optimiser, r->local[k], g, 0, r->n);
        }
    }
    free(g);
}

/* Bits of all n bins round(x / (2 bound)) by their frequencies. */
static double entropy_bits(const float *x, size_t n, double bound)
{
    int *bins = malloc(n * sizeof(*bins)), least = INT_MAX, most = INT_MIN;
    double sum = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(bins);
    for (size_t i = 0; i < n; i++) {
        bins[i] = (int)rintf(x[i] / (float)(2 * bound));
        least = bins[i] < least ? bins[i] : least;
        most = bins[i] > most ? bins[i] : most;
    }
    double *counts = calloc((size_t)(most - least) + 1, sizeof(*counts));
    CU_ASSERT_PTR_NOT_NULL_FATAL(counts);
    for (size_t i = 0; i < n; i++)
        counts[bins[i] - least]++;
    for (int bin = 0; bin <= most - least; bin++)
        if (counts[bin] > 0)
            sum += counts[bin] * log2((double)n / counts[bin]);
    free(bins);
    free(counts);
    return sum;
}

/* The absolute bound of one tensor x of client k: of its range, or of the rms of its update by the
 * policy. */
static double bound_of(const struct strait_curve *curve, const float *x, const float *update,
                       size_t n)
{
    if (strcmp(curve->codec, "rel") == 0) {
        float least = x[0], most = x[0];
        for (size_t i = 1; i < n; i++) {
            least = fminf(least, x[i]);
            most = fmaxf(most, x[i]);
        }
        return curve->par * (double)(most - least);
    }
    const struct strait_policy policy = {.kind = STRAIT_POLICY_RMS_ADAPTIVE,
                                         .rms_factor = curve->par};
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)update[i] * (double)update[i];
    return strait_policy_bound(&policy, &(struct strait_state){.rms = sqrt(squares / (double)n)});
}

/* One tensor there and back. Returns: bits of its bins; adds those of the stream to *coded. */
static double pass(float *x, double *coded, size_t n, double bound)
{
    struct coded c = coded_open("sz", NULL);
    struct strait_error err = {0};
    const size_t cap_bytes = c.ops->max_bytes(c.state, n);
    const double bits = entropy_bits(x, n, bound);
    c.bytes = malloc(cap_bytes);
    c.y = malloc(n * sizeof(float));
    CU_ASSERT_FATAL(c.bytes && c.y);
    const struct strait_request request = {.bound = {STRAIT_BOUND_ABS, bound}};
    CU_ASSERT_EQUAL_FATAL(
        strait_codec_encode(c.ops, c.state, c.bytes, cap_bytes, &c.len_bytes, x, n, request, &err),
        0);
    CU_ASSERT_EQUAL_FATAL(c.ops->decode(c.state, c.y, n, c.bytes, c.len_bytes, &err), 0);
    memcpy(x, c.y, n * sizeof(float));
    *coded += 8 * (double)c.len_bytes;
    coded_close(&c);
    return bits;
}

double recorded_send(struct recorded_run *r, double *coded_bits, const struct strait_curve *curve,
                     bool next)
{
    const bool of_params = strcmp(curve->target, "param") == 0;
    double *sum = calloc(r->n, sizeof(*sum)), bits = 0, coded = 0;
    float *sent = malloc(r->n * sizeof(*sent));
    CU_ASSERT_FATAL(sum && sent);
    for (unsigned k = 0; k < r->clients; k++) {
        const double share = n_images(r, k) / (double)r->learn->n_train;
        for (size_t i = 0; i < r->n; i++) {
            r->update[i] = r->local[k][i] - r->w[i];
            sent[i] = of_params ? r->local[k][i] : r->update[i];
        }
        for (size_t p = 0; p < r->learn->n_params; p++) {
            const struct strait_learn_param *t = &r->learn->params[p];
            float *x = sent + t->first;
            if (strcmp(curve->codec, "none") == 0)
                bits += 32 * (double)t->n_elems;
            else
                bits += pass(x, &coded, t->n_elems,
                             bound_of(curve, x, r->update + t->first, t->n_elems));
        }
        for (size_t i = 0; i < r->n; i++)
            sum[i] += share * (double)sent[i];
    }
    for (size_t i = 0; next && i < r->n; i++)
        r->w[i] = (float)((of_params ? 0 : (double)r->w[i]) + sum[i]);
    free(sum);
    free(sent);
    if (coded_bits)
        *coded_bits = coded / r->clients / (double)r->n;
    return bits / r->clients / (double)r->n;
}

struct strait_curve_round recorded_row(const struct recorded_run *r)
{
    struct strait_curve_round row = {0};
    struct strait_score score;
    for (unsigned k = 0; k < r->clients; k++)
        row.train_loss += r->train_loss[k] / r->clients;
    strait_learner_evaluate(r->learner, r->w, RECORDED_SCORED, &score);
    row.test_loss = score.loss;
    row.test_acc_ratio = score.accuracy;
    return row;
}
