/* The backend `sim` owes what every backend owes: times to the precision that SimGrid runs at. */
#include "tests/kit/conformance.h"

const struct strait_conformance strait_conformance = {
    .backend = &strait_sim, .tolerance_ratio = 1e-9, .tolerance_s = 2e-9, .ideal = true};

STRAIT_SUITE("sim/simgrid: conformance", strait_conformance_tests);
