#include "workloads/ask/strategy.h"

#include <string.h>

/* A new strategy is one file in strategies/ and one line here. */
extern const struct strait_strategy strait_strategy_fedavg, strait_strategy_fedasync,
    strait_strategy_fedbuff, strait_strategy_hierfl, strait_strategy_localsgd,
    strait_strategy_diloco, strait_strategy_streaming_diloco, strait_strategy_bsp,
    strait_strategy_ps, strait_strategy_wfbp, strait_strategy_fusion, strait_strategy_mgwfbp,
    strait_strategy_bytescheduler, strait_strategy_dear, strait_strategy_grace,
    strait_strategy_gtopk, strait_strategy_powersgd, strait_strategy_acpsgd, strait_strategy_kvfull,
    strait_strategy_kvapprox, strait_strategy_slamb, strait_strategy_dkfac, strait_strategy_mpdkfac,
    strait_strategy_spdkfac, strait_strategy_padkfac, strait_strategy_dpkfac,
    strait_strategy_adaptive;
static const struct strait_strategy *const strategies[] = {
    &strait_strategy_fedavg,
    &strait_strategy_fedasync,
    &strait_strategy_fedbuff,
    &strait_strategy_hierfl,
    &strait_strategy_localsgd,
    &strait_strategy_diloco,
    &strait_strategy_streaming_diloco,
    &strait_strategy_bsp,
    &strait_strategy_ps,
    &strait_strategy_wfbp,
    &strait_strategy_fusion,
    &strait_strategy_mgwfbp,
    &strait_strategy_bytescheduler,
    &strait_strategy_dear,
    &strait_strategy_grace,
    &strait_strategy_gtopk,
    &strait_strategy_powersgd,
    &strait_strategy_acpsgd,
    &strait_strategy_kvfull,
    &strait_strategy_kvapprox,
    &strait_strategy_slamb,
    &strait_strategy_dkfac,
    &strait_strategy_mpdkfac,
    &strait_strategy_spdkfac,
    &strait_strategy_padkfac,
    &strait_strategy_dpkfac,
    &strait_strategy_adaptive,
};

const char *const strait_machine_params[] = {"factor_speed",
                                             "matrix_gflops",
                                             "inverse_base",
                                             "inverse_growth",
                                             "inverse_cubic",
                                             "local_dims",
                                             "piece",
                                             "launch",
                                             "announce",
                                             "transport",
                                             NULL};

bool strait_param_is_of_machine(const char *name)
{
    for (size_t i = 0; strait_machine_params[i]; i++)
        if (strcmp(strait_machine_params[i], name) == 0)
            return true;
    return false;
}

int strait_strategy_repeats(const struct strait_experiment *e)
{
    (void)e;
    return 1;
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
