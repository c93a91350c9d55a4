/* frexp and ldexp are exact, the rest is +, -, * and / in double. */
#include "stable_math.h"
#include <math.h>
#include <stdbool.h>

double strait_stable_log2(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0x1.6a09e667f3bcdp-1) { /* sqrt(1/2) */
        m *= 2;
        exponent--;
    }
    /* log(m) = 2 atanh(t), |t| < 0.172: 13 terms leave less than t^27. */
    const double t = (m - 1) / (m + 1), square = t * t;
    double sum = 0;
    for (int i = 12; i >= 0; i--)
        sum = sum * square + 1.0 / (2 * i + 1);
    return (double)exponent + 2 * t * sum * 0x1.71547652b82fep+0; /* 1 / log(2) */
}

double strait_stable_exp(double x)
{
    if (!(x > -700))
        return 0;
    if (x > 700)
        x = 700;
    const double n = floor(x * 0x1.71547652b82fep+0 + 0.5);
    /* log(2) in two parts, the first short enough that its products with n are exact. */
    const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double sum = 0; /* |r| < 0.35: 15 terms leave less than 1e-19 */
    for (int i = 14; i > 0; i--)
        sum = (sum + 1) * r / i;
    return ldexp(sum + 1, (int)n);
}

/* Taylor series of the sine and the cosine for 0 <= x <= pi / 4: ten terms leave less than
 * 0.79^20 / 20!, which is 4e-21. */
static double sine(double x)
{
    double sum = 1;
    for (int i = 10; i > 0; i--)
        sum = 1 - sum * x * x / (2 * i * (2 * i + 1));
    return x * sum;
}

static double cosine(double x)
{
    double sum = 1;
    for (int i = 10; i > 0; i--)
        sum = 1 - sum * x * x / (2 * i * (2 * i - 1));
    return sum;
}

double strait_stable_cos(uint64_t a, uint64_t b)
{
    const double quarter = 0x1.921fb54442d18p+0; /* pi / 2 */
    uint64_t m = a % (4 * b);                    /* a period: exact, as the folds are */
    m = m > 2 * b ? 4 * b - m : m;               /* cos(2 pi - x) = cos(x) */
    const bool negative = m > b;                 /* cos(pi - x) = -cos(x) */
    m = negative ? 2 * b - m : m;
    const double value = 2 * m <= b ? cosine(quarter * (double)m / (double)b)
                                    : sine(quarter * (double)(b - m) / (double)b);
    return negative ? -value : value;
}
