#include "strategy.h"

#include <string.h>

const char *const strait_device_params[] = {
    "factor_speed",  "matrix_gflops", "inverse_base", "inverse_growth", "inverse_cubic",
    "local_dims",    "piece",         "launch",       "negotiate",      "negotiate_hop",
    "update",        "pack",          "contention",   "announce",       "transport",
    "server_update", "server_round",  "collective",   "library",        NULL};

bool strait_param_is_of_machine(const char *name)
{
    for (size_t i = 0; strait_device_params[i]; i++)
        if (strcmp(strait_device_params[i], name) == 0)
            return true;
    return false;
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
