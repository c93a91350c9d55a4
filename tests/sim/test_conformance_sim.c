/* The backend `sim` owes what every backend owes: times to the precision that SimGrid runs at. */
#include "tests/kit/conformance/conformance.h"

static const struct strait_conformance conformance = {
    .backend = &strait_sim, .tolerance_ratio = 1e-9, .tolerance_s = 2e-9, .ideal = true};

STRAIT_SUITE_WITH("sim/conformance_sim", strait_conformance_tests, .data = &conformance);
