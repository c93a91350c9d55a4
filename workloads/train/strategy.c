#include "workloads/ask/experiment.h"

#include <string.h>

/* A new strategy is one file below this folder and one line here. */
#define STRATEGIES(X)                                                                              \
    X(fedavg)                                                                                      \
    X(fedasync)                                                                                    \
    X(fedbuff)                                                                                     \
    X(hierfl)                                                                                      \
    X(localsgd)                                                                                    \
    X(diloco)                                                                                      \
    X(elastic_diloco)                                                                              \
    X(streaming_diloco)                                                                            \
    X(decoupled_diloco)                                                                            \
    X(noloco)                                                                                      \
    X(site_diloco)                                                                                 \
    X(sparseloco)                                                                                  \
    X(demo)                                                                                        \
    X(dgc)                                                                                         \
    X(secagg)                                                                                      \
    X(scaffold)                                                                                    \
    X(bsp)                                                                                         \
    X(ps)                                                                                          \
    X(wfbp)                                                                                        \
    X(fusion)                                                                                      \
    X(mgwfbp)                                                                                      \
    X(bytescheduler)                                                                               \
    X(dear)                                                                                        \
    X(zero)                                                                                        \
    X(dpsgd)                                                                                       \
    X(choco)                                                                                       \
    X(pipeline)                                                                                    \
    X(acsgd)                                                                                       \
    X(swarm)                                                                                       \
    X(experts)                                                                                     \
    X(switchml)                                                                                    \
    X(atp)                                                                                         \
    X(grace)                                                                                       \
    X(gtopk)                                                                                       \
    X(powersgd)                                                                                    \
    X(acpsgd)                                                                                      \
    X(kvfull)                                                                                      \
    X(kvapprox)                                                                                    \
    X(kvstream)                                                                                    \
    X(slamb)                                                                                       \
    X(onebit_adam)                                                                                 \
    X(zero_one_adam)                                                                               \
    X(dkfac)                                                                                       \
    X(mpdkfac)                                                                                     \
    X(spdkfac)                                                                                     \
    X(padkfac)                                                                                     \
    X(dpkfac)                                                                                      \
    X(adaptive)                                                                                    \
    X(replay)

#define DECLARE(name) extern const struct strait_strategy strait_strategy_##name;
#define ROW(name)     &strait_strategy_##name,
STRATEGIES(DECLARE)
static const struct strait_strategy *const strategies[] = {STRATEGIES(ROW)};

const char *const strait_device_params[] = {"factor_speed",
                                            "matrix_gflops",
                                            "inverse_base",
                                            "inverse_growth",
                                            "inverse_cubic",
                                            "local_dims",
                                            "piece",
                                            "launch",
                                            "negotiate",
                                            "negotiate_hop",
                                            "update",
                                            "pack",
                                            "contention",
                                            "announce",
                                            "transport",
                                            "server_update",
                                            "server_round",
                                            "collective",
                                            NULL};

bool strait_param_is_of_machine(const char *name)
{
    for (size_t i = 0; strait_device_params[i]; i++)
        if (strcmp(strait_device_params[i], name) == 0)
            return true;
    return false;
}

const char *strait_uplink_kind(const struct strait_experiment *e)
{
    return e->strategy->uplink_kind_of ? e->strategy->uplink_kind_of(e) : e->strategy->uplink_kind;
}

int strait_strategy_repeats(const struct strait_experiment *e)
{
    (void)e;
    return 1;
}

bool strait_strategy_fills_both_ways(const struct strait_experiment *e)
{
    (void)e;
    return true;
}

const struct strait_strategy *const *strait_strategies(size_t *n)
{
    *n = sizeof(strategies) / sizeof(strategies[0]);
    return strategies;
}

const struct strait_strategy *strait_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
        if (strcmp(strategies[i]->name, name) == 0)
            return strategies[i];
    return NULL;
}
