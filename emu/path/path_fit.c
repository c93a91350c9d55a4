#include "core/heap.h"
#include "path_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ARRIVED = 16 };
static const struct strait_path_figure unknown = {NAN, NAN, 0};

/* Least squares of y over x: slope, its standard error, and the sum of squared residuals. */
struct line {
    double slope, error, residual;
};

static struct line fit_line(const struct strait_path_packet *p, size_t from, size_t n,
                            bool by_count)
{
    const size_t m = n - from;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = from; i < n; i++) {
        mean_x += (by_count ? (double)i : p[i].number) / (double)m;
        mean_y += (p[i].arrived_s - p[from].arrived_s) / (double)m;
    }
    for (size_t i = from; i < n; i++) {
        const double x = (by_count ? (double)i : p[i].number) - mean_x;
        const double y = p[i].arrived_s - p[from].arrived_s - mean_y;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    const double residual = fmax(0, yy - xy * xy / xx);
    return (struct line){xy / xx, sqrt(residual / (double)(m - 2) / xx), residual};
}

struct strait_path_figure strait_path_fit_rate(const struct strait_path_train *t)
{
    if (t->n_arrived < MIN_ARRIVED)
        return unknown;
    const size_t from = t->n_arrived / 8;
    const struct line a = fit_line(t->packets, from, t->n_arrived, false);
    const struct line b = fit_line(t->packets, from, t->n_arrived, true);
    const struct line *best = a.residual < b.residual ? &a : &b;
    if (!(best->slope > 0))
        return unknown;
    const double bits_per_s = 8 * t->wire_bytes / best->slope;
    return (struct strait_path_figure){bits_per_s, bits_per_s * best->error / best->slope,
                                       t->n_arrived - from};
}

struct strait_path_figure strait_path_fit_loss(const struct strait_path_train *t)
{
    if (t->n_sent == 0)
        return unknown;
    const double n = (double)t->n_sent, p = 1 - (double)t->n_arrived / n;
    const double q = fmax(p, 1 / n);
    return (struct strait_path_figure){fmax(0, p), sqrt(q * fmax(1 - q, 1 / n) / n), t->n_sent};
}

struct strait_path_figure strait_path_fit_jitter(const struct strait_path_train *t)
{
    const size_t n = t->n_arrived;
    double *delays_s = n >= MIN_ARRIVED ? malloc(n * sizeof(*delays_s)) : NULL;
    if (!delays_s)
        return unknown;
    for (size_t i = 0; i < n; i++)
        delays_s[i] = t->packets[i].arrived_s - t->packets[i].sent_s;
    strait_sort(delays_s, n);
    const double width_s = delays_s[n - 1 - n / 20] - delays_s[n / 20];
    free(delays_s);
    /* the variance of a quantile p of n uniform values is p (1 - p) / n of their width squared */
    return (struct strait_path_figure){width_s / 1.8,
                                       width_s * sqrt(2 * 0.05 * 0.95 / (double)n) / 1.8, n};
}

struct strait_path_figure strait_path_fit_queue(const struct strait_path_train *t,
                                                double rate_bits_per_s, double loss_ratio)
{
    double min_s = INFINITY, max_s = -INFINITY;
    for (size_t i = 0; i < t->n_arrived; i++) {
        min_s = fmin(min_s, t->packets[i].arrived_s - t->packets[i].sent_s);
        max_s = fmax(max_s, t->packets[i].arrived_s - t->packets[i].sent_s);
    }
    if (t->n_arrived < MIN_ARRIVED || !(rate_bits_per_s > 0))
        return unknown;
    const double n = (double)t->n_sent, n_lost = n - (double)t->n_arrived;
    /* four standard deviations above what is lost by chance, and more than stray packets */
    const double by_chance = n * loss_ratio + 4 * sqrt(n * loss_ratio) + 4;
    const double bytes = (max_s - min_s) * rate_bits_per_s / 8 + t->wire_bytes;
    return (struct strait_path_figure){bytes, n_lost > by_chance ? t->wire_bytes / sqrt(12) : NAN,
                                       t->n_arrived};
}

struct strait_path_figure strait_path_fit_median(double *times_s, size_t n)
{
    if (n == 0)
        return unknown;
    const double median_s = strait_median(times_s, n);
    for (size_t i = 0; i < n; i++)
        times_s[i] = fabs(times_s[i] - median_s);
    const double deviation_s = 1.4826 * strait_median(times_s, n);
    return (struct strait_path_figure){median_s, 1.2533 * deviation_s / sqrt((double)n), n};
}

struct strait_path_figure strait_path_mean(const struct strait_path_figure *f, size_t n)
{
    double sum = 0, weight = 0, own = 0, apart = 0;
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(f[i].value)) {
            sum += f[i].value * (double)f[i].n;
            own += pow(f[i].error * (double)f[i].n, 2);
            weight += (double)f[i].n;
            n_found++;
        }
    if (n_found == 0)
        return unknown;
    const double mean = sum / weight;
    for (size_t i = 0; i < n; i++)
        if (isfinite(f[i].value))
            apart += pow(f[i].value - mean, 2) * (double)f[i].n / weight;
    const double between = n_found > 1 ? sqrt(apart / (double)(n_found - 1)) : 0;
    return (struct strait_path_figure){mean, fmax(sqrt(own) / weight, between), (size_t)weight};
}
