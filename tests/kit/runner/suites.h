/* All suites: make writes suites.c from the names of the files tests/.../test_*.c. */
#pragma once
#include "tests/kit/suite.h"

extern const struct strait_suite *const strait_suites[];
extern const unsigned strait_n_suites;
