/* What a member of `elastic-diloco` has and does, and the rank that calls them together. */
#pragma once
#include "workloads/rank/rank.h"

/* Ranks are bits of a word. */
enum { ELASTIC_MOST = 50 };
/* Channels: from rank 0, to rank 0, around a ring, to a newcomer. */
enum { ELASTIC_CALL = 0, ELASTIC_ANSWER, ELASTIC_RING, ELASTIC_STATE };
/* Tags of calls, and their words. JOIN: the step that the state leads to, in the place of members
 * who sends it. */
enum { ELASTIC_FORM, ELASTIC_COMMIT, ELASTIC_JOIN, ELASTIC_STOP };
enum { ELASTIC_STEP, ELASTIC_MEMBERS, ELASTIC_NEWCOMERS, ELASTIC_ATTEMPT };
/* Tags of answers; their word: outer steps taken, -1: its model is old; of the ring, the attempt.
 */
enum { ELASTIC_HERE, ELASTIC_DONE, ELASTIC_BROKEN };

/* The parameter "order". */
enum { ELASTIC_BY_RANK, ELASTIC_BY_NETWORK };

struct strait_elastic_ring {
    double members;
    int ranks[ELASTIC_MOST], n, me;
};

struct strait_elastic {
    struct strait_tensor *w, *momentum, *update, *mean;
    struct strait_elastic_ring ring; /* the last one */
    int version;                     /* outer steps that the model has; -1: it is old */
    bool has_change;                 /* it has trained since; else it brings zeros */
};

static inline bool strait_elastic_has(double ranks, int rank)
{
    return (uint64_t)ranks >> rank & 1;
}
/** The member that sends its state to the k-th newcomer. */
static inline int strait_elastic_donor(double members, int n_ranks, int k)
{
    for (int rank = 0;; rank = (rank + 1) % n_ranks)
        if (strait_elastic_has(members, rank) && k-- == 0)
            return rank;
}

/** The parameter "grace" or "timeout"; INFINITY where there is no grace, so that nobody leaves. */
double strait_elastic_limit_s(struct strait_rank *r, const char *param);
struct strait_elastic strait_elastic_begin(struct strait_rank *r);
/** The inner steps. False: it left meanwhile, and what it computed is lost. */
bool strait_elastic_train(struct strait_rank *r, struct strait_elastic *m);
/** m->mean becomes the members' mean change. Returns: false where one of them fell silent, or this
 *  one left */
bool strait_elastic_average(struct strait_rank *r, struct strait_elastic *m, double members,
                            int attempt);
/** The outer step along the mean, which the members have; then newcomers are sent the model. */
void strait_elastic_step(struct strait_rank *r, struct strait_elastic *m, double members,
                         double newcomers);
/** Rank 0: a member that calls the others together, until the run is over. */
void strait_elastic_lead(struct strait_rank *r);
