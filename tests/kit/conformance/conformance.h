/* What every backend owes a rank, as tests that all of them pass. A test file says which backend
 * and lists the tests as its suite:
 *
 *     static const struct strait_conformance conformance = {&strait_sim, 1e-9, 1e-9, true, 0};
 *     STRAIT_SUITE_WITH("sim/conformance_sim", strait_conformance_tests, .data = &conformance);
 *
 * Programs use raw operations only and leave numbers in their logs. Links of 5 Mbps with 10 ms
 * paths hold less than TCP's first window, so no ramp hides the plain sums; a case takes less than
 * half a second of virtual time. A backend whose check says HOST has its tests skipped. */
#pragma once
#include "workloads/rank/backend.h"
#include "tests/kit/suite.h"

struct strait_conformance {
    const struct strait_backend *backend;
    double tolerance_ratio, tolerance_s; /* of expected times; the sum of both is allowed */
    bool ideal;      /* links are shared equally at any instant, and a rerun gives the same bits */
    double dilation; /* for run->dilation */
    bool in_process; /* likewise */
    bool unshaped;   /* links are what they are: bytes and paths may take no time */
};
/** May times and orders that follow from times be checked? Else they are lower bounds alone. */
bool conform_is_timed(void);
/** Of the suite that runs. */
const struct strait_conformance *conformance_of_suite(void);

enum { STRAIT_N_CONFORMANCE = 27 };
extern const struct strait_test strait_conformance_tests[STRAIT_N_CONFORMANCE];
