/* A recorded run of federated averaging (traces/curves) trained here: from its own initial weights,
 * split and batches, by the gradients, optimiser, policy and codec of this tree. */
#pragma once
#include "learn/learn.h"
#include "recorded.h"
#include "traces/curves.h"

enum { RECORDED_CLIENTS = 16, RECORDED_STEPS = 24, RECORDED_SCORED = 3000, RECORDED_LAST = 3 };

struct recorded_run {
    unsigned clients;
    struct strait_learn *learn; /* for its images and network; its split is not used */
    struct strait_learner *learner;
    struct strait_optimiser *optimiser;
    struct recorded_draws draws;
    uint32_t *examples, first[RECORDED_CLIENTS + 1];
    size_t n;                                /* of the model */
    float *w;                                /* the server's model */
    float *local[RECORDED_CLIENTS], *update; /* what the clients trained; local - w of one */
    double train_loss[RECORDED_CLIENTS];     /* of the round */
};

/** Open it at its beginning: fatal where that fails. */
void recorded_open(struct recorded_run *r, unsigned clients, unsigned seed);
void recorded_close(struct recorded_run *r);

/** Train all clients for one round from r->w into r->local. */
void recorded_train(struct recorded_run *r);
/** What the run of this curve sends in this round, of r->local: w = the mean, weighted by data, of
 *  what the codec restores.
 *  Out:     coded_bits  if not NULL: bits an element of what the codec of this tree wrote
 *  In:      curve       codec none, rel (sz with a RANGE bound) or adaptive (rms-adaptive)
 *           next        false: leave r->w as it is, to code the same round otherwise
 *  Returns: bits an element as recorded: order-0 entropy of the bins, tensor by tensor, the mean
 *           over clients; 32 without codec */
double recorded_send(struct recorded_run *r, double *coded_bits, const struct strait_curve *curve,
                     bool next);
/** The round's row: mean training loss of all clients alike, and the score of r->w. */
struct strait_curve_round recorded_row(const struct recorded_run *r);
