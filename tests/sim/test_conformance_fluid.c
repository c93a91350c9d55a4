/* The backend `fluid` owes what every backend owes: times to the rounding of doubles. */
#include "tests/kit/conformance/conformance.h"

static const struct strait_conformance conformance = {
    .backend = &strait_fluid, .tolerance_ratio = 1e-12, .tolerance_s = 1e-12, .ideal = true};

STRAIT_SUITE_WITH("sim/conformance_fluid", strait_conformance_tests, .data = &conformance);
