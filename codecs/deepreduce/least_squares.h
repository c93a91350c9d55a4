/* Small linear systems solved in a fixed order of basic operations: the same bits everywhere, which
 * linear algebra libraries do not promise. */
#pragma once
#include <stdbool.h>

enum { STRAIT_MAX_UNKNOWNS = 6 };

/** Solve a x = b by elimination with partial pivoting; a and b are destroyed.
 *  Returns: false if a pivot is negligible beside the largest element: x is undefined */
bool strait_solve(double *x, double a[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS], double *b,
                  unsigned n);
