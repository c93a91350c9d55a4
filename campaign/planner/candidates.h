/* The candidates of a plan: simulated, priced, judged against the target and ranked. */
#pragma once
#include "campaign/plan.h"
#include "known_accuracy.h"

enum strait_holds { STRAIT_MISSES, STRAIT_PROBABLY, STRAIT_SURELY }; /* the target */

struct strait_candidate {
    size_t index;           /* in the question's sweep */
    json_t *point, *labels; /* owned */
    json_t *row;            /* by fluid, with its interval; owned */
    char *codec;            /* its name, unlike those of other candidates' codecs; owned */
    double round_s, high_s; /* and the high end of its interval, or round_s without one */
    double bytes;           /* sent in a round by all ranks, frames included */
    double money, energy_j; /* a round; NAN: not known */
    double n_rounds;        /* to the target accuracy, or of the job; NAN: not known */
    double time_s;          /* of so many; NAN */
    struct strait_known_accuracy accuracy;
    bool eligible; /* may be recommended */
    double aim;    /* what the target makes small */
    enum strait_holds holds;
    size_t
        equal_to; /* rank of an earlier candidate with the same codec and figures; else its own */
    bool front;   /* none is better in something and worse in nothing: time, accuracy, bytes, money,
                   energy */
};

struct strait_candidates {
    struct strait_candidate *all; /* ranked: the first is the recommendation */
    size_t n;
    json_t *refused; /* array of {"labels", "why"}: values that do not go together */
};

/** Simulate all candidates of a question by fluid and rank them: eligible ones first, those that
 *  keep the target before others, then by what the target asks for: money (round, with prices),
 *  time to the accuracy, or the round. Eligible is whose accuracy is known and at least
 *  least_accuracy, by default no worse than without a codec beyond chance; with any_accuracy all.
 *  Out:     out  release with strait_candidates_release in either case
 *  Returns: 0, or -1 with *err: INPUT when no candidate can be simulated */
int strait_candidates_find(struct strait_candidates *out, const struct strait_plan_question *q,
                           const struct strait_plan_setup *setup, bool any_accuracy, int n_jobs,
                           struct strait_error *err);
void strait_candidates_release(struct strait_candidates *c);

/** One candidate as JSON; new object. */
json_t *strait_candidate_json(const struct strait_candidate *c);
