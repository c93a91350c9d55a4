/* Whether two runs of one experiment gave the same rows. */
#pragma once
#include <jansson.h>

/** Hold the rows of a run against those of an earlier one, number by number, exactly. What is of
 *  the run and not of the question is left out: keys, wall time, whether a row was stored.
 *  In:      before, now  arrays of simulated rows, borrowed; repeats of a point in their order
 *  Returns: new {"rows": how many of before, "equal": how many of them,
 *             "missing": [labels] of rows that only before has, "added": how many only now has,
 *             "differences": [{"backend", "labels", "codec": text, "pointer", "before", "now"}]} */
json_t *strait_differences(const json_t *before, const json_t *now);
