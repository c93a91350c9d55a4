/* What a federated server does with the mean update. */
#pragma once
#include "workloads/rank/rank.h"

enum strait_server_optimiser { STRAIT_SERVER_SGD, STRAIT_SERVER_MOMENTUM, STRAIT_SERVER_ADAM };
extern const char *const strait_server_optimisers[];

struct strait_server_step {
    enum strait_server_optimiser optimiser;
    struct strait_tensor *mean, *m, *v; /* of updates; moments; NULL where not needed */
};

/** Tensors for the strategy's "server_optimiser"; `mean` of plain steps only where needed: else
 *  updates are added to the model itself. */
struct strait_server_step strait_server_step_of(struct strait_rank *r, bool needs_mean);
/** Step w along s->mean, if there is one, by "server_lr" and the other parameters of fedavg. Adam
 *  is charged as five passes that add: two for each moment and one for the parameters. */
void strait_server_step(struct strait_rank *r, const struct strait_server_step *s,
                        struct strait_tensor *w, int round);
