#include "least_squares.h"
#include <math.h>

bool strait_solve(double *x, double a[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS], double *b,
                  unsigned n)
{
    double largest = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            largest = fabs(a[i][j]) > largest ? fabs(a[i][j]) : largest;
    for (unsigned c = 0; c < n; c++) {
        unsigned pivot = c;
        for (unsigned i = c + 1; i < n; i++)
            if (fabs(a[i][c]) > fabs(a[pivot][c]))
                pivot = i;
        if (!(fabs(a[pivot][c]) > 1e-14 * largest))
            return false;
        for (unsigned j = 0; j < n; j++) {
            const double held = a[c][j];
            a[c][j] = a[pivot][j];
            a[pivot][j] = held;
        }
        const double held = b[c];
        b[c] = b[pivot];
        b[pivot] = held;
        for (unsigned i = c + 1; i < n; i++) {
            const double factor = a[i][c] / a[c][c];
            for (unsigned j = c; j < n; j++)
                a[i][j] -= factor * a[c][j];
            b[i] -= factor * b[c];
        }
    }
    for (unsigned i = n; i-- > 0;) {
        double sum = b[i];
        for (unsigned j = i + 1; j < n; j++)
            sum -= a[i][j] * x[j];
        x[i] = sum / a[i][i];
    }
    for (unsigned i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}
