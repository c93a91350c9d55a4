/* Real training: a task (network, data, split) that all ranks share, a learner (one rank's
 * workspace) and an optimiser. Deterministic: the same bits for the same seed on one machine,
 * whatever backend, number of processes or order of calls. */
#pragma once
#include "learner.h"
#include "optimiser.h"
#include "task.h"
#include "training.h"
