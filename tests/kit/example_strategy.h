/* The strategy that docs/adding-a-strategy.md walks through. */
#pragma once
#include "workloads/ask/strategy.h"

/* Whoever follows the page has one of this name in the tree: both are linked into the suites. */
#define strait_strategy_echo strait_example_strategy

extern const struct strait_strategy strait_strategy_echo;
