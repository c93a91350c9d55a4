/* How the adaptive strategy (adaptive.c) finds and applies the bounds of one direction. */
#pragma once
#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"
#include "workloads/train/plans/policy.h"

enum { STRAIT_ADAPTIVE_UP, STRAIT_ADAPTIVE_DOWN };
/* Choices of "sends" and of "download_policy", whose first is the policy of what goes up. */
enum { STRAIT_SENDS_UPDATES, STRAIT_SENDS_PARAMETERS };
extern const char *const strait_adaptive_sends[], *const strait_adaptive_download_policies[];

struct strait_adaptive_way {
    int direction;
    struct strait_codec *codec;
    struct strait_policy policy;
    enum strait_policy_unit unit;
    double last;                   /* bound of the last round; NAN: none */
    double plain_loss, probe_loss; /* of the last probe; NAN: none */
    struct strait_bound *rows;     /* of the model's tensors, where the unit is not the codec's */
    struct strait_tensor *probe;   /* for the guard; NULL: none */
};

/** Source of a policy's parameters: the experiment alone. */
struct strait_policy strait_adaptive_policy(const struct strait_experiment *e, int direction);
bool strait_adaptive_sends_parameters(const struct strait_experiment *e, int direction);
void strait_adaptive_begin(struct strait_rank *r, struct strait_adaptive_way *way, int direction);
/** The bound of this round, by the policy. In: state: without what this direction remembers. NAN:
 *  the codec has none. */
double strait_adaptive_bound(struct strait_adaptive_way *way, struct strait_state state);
/** Encode x within a bound in the policy's unit. In: from: what x was trained from, where
 *  parameters go up; or the parameters of a round before; NULL: none. */
struct strait_packet *strait_adaptive_encode(struct strait_rank *r, struct strait_adaptive_way *way,
                                             double bound, struct strait_tensor *x,
                                             struct strait_tensor *from);
/** For the guard: what the codec does to x at the last bound costs on held-out data. In: x: what is
 *  coded; model: parameters that hold it; on: what the coded x is added to, NULL: it is the model
 *  */
void strait_adaptive_probe(struct strait_rank *r, struct strait_adaptive_way *way,
                           struct strait_tensor *x, struct strait_tensor *model,
                           struct strait_tensor *on);
/** What clients' decoded updates differ by: the root of their variance about the mean, weighted by
 *  data, over their mean square. A pass over each.
 *  In:      w, before  the model with the mean of them, and without
 *           updates    n_clients, of ranks 1 to n_clients
 *  Returns: NAN where all are 0 */
double strait_adaptive_noise(struct strait_rank *r, struct strait_tensor *w,
                             struct strait_tensor *before, struct strait_tensor **updates,
                             int n_clients);
/** Can the policy of this direction work in this experiment? 0, or -1 with *err INPUT. */
int strait_adaptive_check(const struct strait_experiment *e, int direction,
                          struct strait_error *err);
