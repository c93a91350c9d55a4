/* What the strategies for wide-area networks share: the star of a server and its clients,
 * stragglers, the mean of everybody's tensor, and the outer step of DiLoCo. */
#pragma once
#include "workloads/train/collectives/collectives.h"
#include "workloads/ask/strategy.h"

/* A star: rank 0 is the server; models go down on one channel, updates go up on the other. */
enum { STRAIT_STAR_SERVER = 0, STRAIT_STAR_DOWN = 0, STRAIT_STAR_UP = 1 };
/** For `uses_stream` of strategies that run over these two channels alone. */
bool strait_star_uses_stream(const struct strait_experiment *e, int src, int dst, int channel);
/** For `check` of strategies with `dropout` and `deadline`: INPUT where nothing would end a round
 *  in which clients fall silent. */
int strait_star_check_dropout(const struct strait_experiment *e, struct strait_error *err);
/** For `refers` of strategies that send parameters down alone. */
bool strait_star_refers(const struct strait_experiment *e, int direction);
/** Asynchronous methods: send the first model, version 0, to every client; the packet stays the
 *  caller's. */
void strait_star_begin(struct strait_rank *r, struct strait_packet *model);
/** The server: send every client a message of this tag without a model. */
void strait_star_stop(struct strait_rank *r, int tag);
/** Asynchronous methods, a client: take a model, train on it for "local_steps" and report what it
 *  trained (STRAIT_WEIGHTS or STRAIT_UPDATE) with the version of that model, until rank 0 ends the
 *  run. Rounds are the client's own. While it is away it says nothing; when it comes back it trains
 *  again on the model that it had. */
void strait_star_report_forever(struct strait_rank *r, enum strait_tensor_kind trained);

/* The parameters of strait_straggle, for parameter tables. */
extern const char *const strait_straggler_draws[];
#define STRAIT_STRAGGLER_PARAMS                                                                    \
    {"straggler_spread", "standard deviation of the logarithm of a client's slowness (median 1)",  \
     STRAIT_PARAM_NUMBER, .min = 0, .max = 5},                                                     \
    {                                                                                              \
        "straggler_draw", "slowness is drawn once a client, or anew in every round",               \
            STRAIT_PARAM_CHOICE, .min = 0, .max = 1, .choices = strait_straggler_draws             \
    }

/** Draw this client's slowness. Call with first before the first round, and in every round; the
 *  latter counts only if "straggler_draw" says so. */
void strait_straggle(struct strait_rank *r, bool first);
/** What "straggler_draw" says, for who is asked again and again. */
bool strait_straggles_anew(const struct strait_rank *r);

/** x becomes the mean over all ranks: a ring all-reduce whose parts are divided by n where they are
 *  summed. A view of a part may still be under way until the next call has returned: use two
 *  tensors in turn if x is written before that. */
void strait_average(struct strait_rank *r, struct strait_group g, struct strait_codec *c,
                    struct strait_tensor *x);

/* The parameters of strait_outer_step. Source: Douillard et al. 2023, section 3.1. */
#define STRAIT_OUTER_PARAMS                                                                        \
    {"outer_lr",          "learning rate of the outer Nesterov step",                              \
     STRAIT_PARAM_NUMBER, .min = 0,                                                                \
     .max = 100,          .fallback = 0.7},                                                        \
    {                                                                                              \
        "outer_momentum", "momentum of the outer Nesterov step", STRAIT_PARAM_NUMBER,              \
            .min = 0, .max = 0.9999, .fallback = 0.9                                               \
    }

/** m = mu m + g; w += lr (g + mu m), where g is the mean change of the parameters, the negative
 *  outer gradient. Charged as four passes over g on the CPU. */
void strait_outer_step(struct strait_rank *r, struct strait_tensor *w, struct strait_tensor *m,
                       struct strait_tensor *g);
