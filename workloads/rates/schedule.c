#include "schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct strait_schedule *strait_schedule_new(size_t n, const double *at_s, const double *bits_per_s,
                                            double period_s)
{
    struct strait_schedule *s = calloc(1, sizeof(*s));
    double *all = calloc(3 * n, sizeof(*all));
    if (!s || !all) {
        free(s);
        free(all);
        return NULL;
    }
    *s = (struct strait_schedule){
        .n = n, .at_s = all, .bits_per_s = all + n, .sum_bits = all + 2 * n, .period_s = period_s};
    memcpy(s->at_s, at_s, n * sizeof(*at_s));
    memcpy(s->bits_per_s, bits_per_s, n * sizeof(*bits_per_s));
    for (size_t i = 0; i < n; i++) {
        s->max_bits_per_s = fmax(s->max_bits_per_s, bits_per_s[i]);
        if (i > 0)
            s->sum_bits[i] = s->sum_bits[i - 1] + bits_per_s[i - 1] * (at_s[i] - at_s[i - 1]);
    }
    return s;
}

struct strait_schedule *strait_schedule_less(const struct strait_schedule *s, double bits_per_s)
{
    double *left = calloc(s->n, sizeof(*left));
    for (size_t i = 0; left && i < s->n; i++)
        left[i] = s->bits_per_s[i] - bits_per_s;
    struct strait_schedule *less =
        left ? strait_schedule_new(s->n, s->at_s, left, s->period_s) : NULL;
    free(left);
    return less;
}

void strait_schedule_free(struct strait_schedule *s)
{
    if (s)
        free(s->at_s);
    free(s);
}

/* The last element of a rising array that is at most x; 0 if none is. */
static size_t last_at_most(const double *rising, size_t n, double x)
{
    size_t lo = 0, hi = n;
    while (hi - lo > 1) {
        const size_t middle = lo + (hi - lo) / 2;
        if (rising[middle] <= x)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* Periods that have passed, and the time in the current one. */
static double periods(const struct strait_schedule *s, double t_s, double *in_s)
{
    const double n = isfinite(s->period_s) && t_s > 0 ? floor(t_s / s->period_s) : 0;
    *in_s = n > 0 ? fmax(0, t_s - n * s->period_s) : t_s;
    return n;
}

double strait_schedule_bits_per_s(const struct strait_schedule *s, double t_s)
{
    double in_s;
    periods(s, t_s, &in_s);
    return s->bits_per_s[last_at_most(s->at_s, s->n, in_s)];
}

double strait_schedule_next_s(const struct strait_schedule *s, double t_s)
{
    double in_s;
    const double n = periods(s, t_s, &in_s);
    for (size_t i = last_at_most(s->at_s, s->n, in_s) + 1;; i++) {
        const double at_s = i < s->n ? s->at_s[i] : s->period_s,
                     next_s = n > 0 ? n * s->period_s + at_s : at_s;
        if (next_s > t_s) /* rounding may have put t_s before the change that it is */
            return next_s;
        if (i > s->n)
            return (n + 1) * s->period_s + (s->n > 1 ? s->at_s[1] : s->period_s);
    }
}

/* Bits from time 0 to t_s. */
static double bits_until(const struct strait_schedule *s, double t_s)
{
    double in_s;
    const double n = periods(s, t_s, &in_s);
    const size_t i = last_at_most(s->at_s, s->n, in_s), last = s->n - 1;
    const double bits = s->sum_bits[i] + s->bits_per_s[i] * (in_s - s->at_s[i]);
    return n > 0 ? bits +
                       n * (s->sum_bits[last] + s->bits_per_s[last] * (s->period_s - s->at_s[last]))
                 : bits;
}

double strait_schedule_bits(const struct strait_schedule *s, double from_s, double to_s)
{
    return bits_until(s, to_s) - bits_until(s, from_s);
}

double strait_schedule_end_s(const struct strait_schedule *s, double from_s, double bits)
{
    const size_t last = s->n - 1;
    double wanted = bits_until(s, from_s) + bits, start_s = 0;
    if (isfinite(s->period_s)) {
        const double each = s->sum_bits[last] + s->bits_per_s[last] * (s->period_s - s->at_s[last]),
                     n = fmax(0, floor(wanted / each));
        start_s = n * s->period_s;
        wanted -= n * each;
    }
    const size_t i = last_at_most(s->sum_bits, s->n, wanted);
    return fmax(from_s, start_s + s->at_s[i] + (wanted - s->sum_bits[i]) / s->bits_per_s[i]);
}
