#include "workloads/ask/strategy.h"

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
    X(ddp)                                                                                         \
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
const struct strait_strategy *const strait_strategy_table[] = {STRATEGIES(ROW) NULL};
