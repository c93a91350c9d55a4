/* What the trainer and the peers of `swarm` share: channels, words, and who has which stage. */
#pragma once
#include "workloads/rank/rank.h"

enum { SWARM_TRAINER = 0 };                                   /* a rank; the others are peers */
enum { SWARM_WORK, SWARM_DONE, SWARM_GRADIENT, SWARM_STATE }; /* channels */
enum { SWARM_MICRO, SWARM_STEP, SWARM_ATTEMPT };              /* words of a microbatch, */
enum { SWARM_BATCH, SWARM_ORDER, SWARM_MEMBERS, SWARM_NEWCOMERS }; /* of an order to a peer */
/* Tags below those of microbatches: orders, and what peers say. */
enum { SWARM_ASK = -1, SWARM_SUM = -2, SWARM_STOP = -3, SWARM_BACK = -4 };
enum { SWARM_MAX_PEERS = 50 }; /* of a stage: bits of a word */

struct strait_experiment;

/** Stages of this experiment, which may be more than fit. */
int strait_swarm_stages(const struct strait_experiment *e);
/** The program of rank 0. */
void strait_swarm_train(struct strait_rank *r);
