/* The backend `fluid` owes what every backend owes: times to the rounding of doubles. */
#include "tests/kit/conformance.h"

const struct strait_conformance strait_conformance = {
    .backend = &strait_fluid, .tolerance_ratio = 1e-12, .tolerance_s = 1e-12, .ideal = true};

STRAIT_SUITE("sim/fluid: conformance", strait_conformance_tests);
