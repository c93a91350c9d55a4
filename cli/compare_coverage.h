/* strait compare --coverage: do intervals hold what was measured? */
#pragma once
#include <stdbool.h>
#include "core/error.h"

/* Share of measurements below which the exit status is 1: intervals promise 90 %. */
#define STRAIT_COVERAGE_MIN 0.85

/** Judge the predictions in folders[0] by the emulated rows in folders[1], NULL: the same folder.
 *  In:      table   file to write the table of learned margins to, from all pairs; NULL: none
 *  Out:     *kept   at least STRAIT_COVERAGE_MIN of the intervals hold, or none was judged
 *  Returns: 0, or -1 with *err */
int strait_compare_coverage(const char *const folders[2], const char *table, bool json, bool *kept,
                            struct strait_error *err);
