/* The backend `fluid` owes the same where it runs in its caller's process. */
#include "tests/kit/conformance/conformance.h"

static const struct strait_conformance conformance = {.backend = &strait_fluid,
                                                      .tolerance_ratio = 1e-12,
                                                      .tolerance_s = 1e-12,
                                                      .ideal = true,
                                                      .in_process = true};

STRAIT_SUITE_WITH("sim/conformance_here", strait_conformance_tests, .data = &conformance);
