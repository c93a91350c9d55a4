#include "placement.h"

#include <math.h>
#include <stdlib.h>

void strait_place_round_robin(int *owner, int n, int run, int n_workers)
{
    for (int i = 0; i < n; i++)
        owner[i] = i / run % n_workers;
}

double strait_largest_load(const int *owner, int n, const double *cost_s, int n_workers)
{
    double largest_s = 0;
    for (int w = 0; w < n_workers; w++) {
        double load_s = 0;
        for (int i = 0; i < n; i++)
            load_s += owner[i] == w ? cost_s[i] : 0;
        largest_s = fmax(largest_s, load_s);
    }
    return largest_s;
}

enum { WAITING = -2 };

int strait_place_balanced(int *owner, int n, const double *cost_s, const double *send_s,
                          int n_workers)
{
    double *load_s = calloc((size_t)n_workers, sizeof(*load_s));
    if (!load_s)
        return -1;
    for (int i = 0; i < n; i++)
        owner[i] = cost_s[i] < send_s[i] ? STRAIT_EVERYWHERE : WAITING;
    for (;;) {
        int next = -1, least = 0;
        for (int i = 0; i < n; i++)
            if (owner[i] == WAITING && (next < 0 || cost_s[i] > cost_s[next]))
                next = i;
        if (next < 0)
            break;
        for (int w = 1; w < n_workers; w++)
            if (load_s[w] < load_s[least])
                least = w;
        owner[next] = least;
        load_s[least] += cost_s[next];
    }
    free(load_s);
    return 0;
}

/* best[b]: smallest load of the first j tasks in b + 1 ranges; computed row by row from the row
 * before. */
int strait_place_contiguous(int *owner, int n, const double *cost_s, int n_workers)
{
    double *sum = malloc(3 * (size_t)(n + 1) * sizeof(*sum));
    if (!sum)
        return -1;
    double *best = sum + n + 1, *next = best + n + 1;
    sum[0] = 0;
    for (int j = 0; j < n; j++)
        sum[j + 1] = sum[j] + cost_s[j];
    for (int j = 0; j <= n; j++)
        best[j] = sum[j];
    for (int b = 1; b < n_workers && b < n; b++) {
        for (int j = 0; j <= n; j++) {
            next[j] = best[j];
            for (int i = 0; i < j; i++)
                next[j] = fmin(next[j], fmax(best[i], sum[j] - sum[i]));
        }
        double *last = best;
        best = next;
        next = last;
    }
    const double min_s = n > 0 ? best[n] : 0;
    for (int i = 0, start = 0, worker = 0; i < n; i++) {
        if (i > start && sum[i + 1] - sum[start] > min_s) {
            worker++;
            start = i;
        }
        owner[i] = worker;
    }
    free(sum);
    return 0;
}

/* end[j]: the earliest time at which the first j members can have been sent. A later start never
 * ends earlier, so only the best time for the first i members matters. */
int strait_fuse_ready(int *first, double *end_s, int n, const double *ready_s, const double *bytes,
                      double alpha_s, double beta_s_per_byte, double free_s)
{
    double *end = malloc((size_t)(n + 1) * sizeof(*end));
    int *from = malloc((size_t)(n + 1) * sizeof(*from)), n_buckets = 0;
    if (!end || !from) {
        free(end);
        free(from);
        return -1;
    }
    end[0] = free_s;
    for (int j = 1; j <= n; j++) {
        double bucket_bytes = 0;
        end[j] = INFINITY;
        from[j] = j - 1;
        for (int i = j - 1; i >= 0; i--) { /* members i .. j - 1 together */
            bucket_bytes += bytes[i];
            const double at_s =
                fmax(end[i], ready_s[j - 1]) + alpha_s + beta_s_per_byte * bucket_bytes;
            if (at_s <= end[j]) {
                end[j] = at_s;
                from[j] = i;
            }
        }
    }
    for (int j = n; j > 0; j = from[j])
        n_buckets++;
    first[n_buckets] = n;
    for (int j = n, g = n_buckets; j > 0; j = from[j])
        first[--g] = from[j];
    if (end_s)
        *end_s = end[n];
    free(end);
    free(from);
    return n_buckets;
}

int strait_fuse_waiting(int *first, double *end_s, int n, const double *ready_s,
                        const double *bytes, double alpha_s, double beta_s_per_byte, double free_s,
                        double max_bytes)
{
    int n_buckets = 0;
    for (int i = 0; i < n;) {
        const double start_s = fmax(free_s, ready_s[i]);
        double bucket_bytes = bytes[i];
        first[n_buckets++] = i++;
        for (; i < n && ready_s[i] <= start_s && bucket_bytes + bytes[i] <= max_bytes; i++)
            bucket_bytes += bytes[i];
        free_s = start_s + alpha_s + beta_s_per_byte * bucket_bytes;
    }
    first[n_buckets] = n;
    *end_s = free_s;
    return n_buckets;
}

int strait_fuse_full(int *first, int n, const double *bytes, double max_bytes)
{
    double bucket_bytes = 0;
    int n_buckets = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || bucket_bytes + bytes[i] > max_bytes) {
            first[n_buckets++] = i;
            bucket_bytes = 0;
        }
        bucket_bytes += bytes[i];
    }
    first[n_buckets] = n;
    return n_buckets;
}
