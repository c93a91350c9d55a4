/* Inside this room: a rank that trains for real. Where an experiment does not, none of this is
 * there. */
#pragma once
#include "learn/learner.h"
#include "learn/optimiser.h"
#include "rank_state.h"

/* Tensors that together hold the parameters. */
struct strait_parts {
    struct strait_tensor **x;
    size_t n;
};

/* A score that is not known yet, of the round of an entry in the log. */
struct strait_scoring {
    const struct strait_trial *point;
    struct strait_op *op; /* NULL: not begun, it waits for the end of the run */
    size_t entry;         /* in log->scored */
    float *model;
    struct strait_score score;
    double *of_workers; /* of the run's last model, by worker; NULL: not asked for */
    struct strait_error err;
    struct strait_scoring *next;
};

struct strait_learning {
    int worker; /* whose data; -1: this rank does not train */
    struct strait_parts own, model;
    float *w;                           /* the rank's parameters where no tensor holds them, or
                                           copies of several */
    float *gradient;                    /* where no tensor holds a whole one */
    const struct strait_tensor *filled; /* the whole tensor that holds this step's gradient */
    bool has_gradient, has_begun;       /* of this step: the gradient is there; a part was taken */
    bool is_ahead;                      /* the gradient is there since a factor was asked for */
    float *triangles;                   /* its factors, where there are any */
    struct strait_optimiser *optimiser; /* that lives on; made when first used */
    uint64_t n_batches;                 /* taken */
    double part_loss;                   /* of the minibatch under way in a last stage */
    double loss, bound;                 /* of the last training; bound of this round, NAN: none */
    struct strait_scoring *scorings;
    bool has_reached; /* the run's target */
};

/** This rank's parameters in one piece, to be read or written until put_own. */
float *strait_learning_take_own(struct strait_rank *r);
void strait_learning_put_own(struct strait_rank *r);
/** A model's memory, counted as the rank's. */
float *strait_learning_new_model(struct strait_rank *r);
void strait_learning_mark_changed(struct strait_tensor *x);
/** Does a rank's optimiser live on, or begin anew in each local training? */
bool strait_learning_keeps_state(const struct strait_trial *p);

/* What rank_rounds.c's functions of the same names do if the rank trains, in cost_s. */
void strait_learning_train(struct strait_rank *r, struct strait_tensor *from,
                           struct strait_tensor *to, int n_steps, double cost_s);
void strait_learning_backward(struct strait_rank *r, struct strait_tensor *x, double cost_s);
/** Elements [lo, hi) of the model. */
void strait_learning_step(struct strait_rank *r, struct strait_tensor *x, size_t lo, size_t hi,
                          double weight, double cost_s);
void strait_learning_factor(struct strait_rank *r, struct strait_tensor *x, int layer,
                            bool of_input, double cost_s);
/** A new step begins: the next gradient asked for is computed. */
void strait_learning_forget_gradient(struct strait_rank *r);

/* A microbatch in a stage of a pipeline (learning_rank.c). */
void strait_learning_forward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                                   struct strait_tensor *w, struct strait_tensor *in,
                                   struct strait_tensor *out, double cost_s);
void strait_learning_backward_micro(struct strait_rank *r, const struct strait_microbatch *m,
                                    struct strait_tensor *w, struct strait_tensor *in,
                                    struct strait_tensor *dy, struct strait_tensor *dx,
                                    struct strait_tensor *gradient, double cost_s);
/** To the log: this rank trained on n_batches of this mean loss, by which its next minibatch is
 *  counted. Fails the run if the loss is not finite. */
void strait_learning_note(struct strait_rank *r, int n_batches, double loss);

/** Of a rank whose trial trains. NULL when memory ran out. */
struct strait_learning *strait_learning_new(const struct strait_trial *p, int rank);
void strait_learning_free(struct strait_learning *l);
/** Rank 0 ended a round at now_s: note it, and score the model if it is time; if the run's target
 *  is reached, the run ends. */
void strait_learning_end_round(struct strait_rank *r, double now_s, bool is_last);
/** Rank 0's program has returned: score what is left. */
void strait_learning_end(struct strait_rank *r);
/** The same after the run: scores that must not take its time. */
void strait_learning_score_rest(struct strait_rank *r);
/** Bytes that training adds to those of a sized run of all ranks. */
double strait_learning_bytes(const struct strait_trial *p);
