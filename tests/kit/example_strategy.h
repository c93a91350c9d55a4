/* The strategy that docs/adding-a-strategy.md walks through. */
#pragma once
#include "workloads/ask/strategy.h"

extern const struct strait_strategy strait_strategy_echo;
