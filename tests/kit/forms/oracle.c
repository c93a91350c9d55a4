#include "oracle.h"

#include <math.h>
#include <stdlib.h>

double strait_oracle_equal_s(size_t n, double bytes, double bytes_per_s, double delay_s)
{
    return delay_s + (double)n * bytes / bytes_per_s;
}

int strait_oracle_shared(double *end_s, const double *begin_s, size_t n, double bytes,
                         double bytes_per_s, double delay_s)
{
    double *target = malloc(n * sizeof(*target)); /* virtual time at which message i is complete */
    if (!target && n > 0)
        return -1;
    double now_s = 0, served_bytes = 0; /* served_bytes: by a stream active since time 0 */
    for (size_t in = 0, out = 0; out < n;) {
        const double n_sharing = (double)(in - out);
        const double next_in_s = in < n ? begin_s[in] : INFINITY;
        const double next_out_s =
            in > out ? now_s + (target[out] - served_bytes) * n_sharing / bytes_per_s : INFINITY;
        const double next_s = fmin(next_in_s, next_out_s);
        if (in > out)
            served_bytes += (next_s - now_s) * bytes_per_s / n_sharing;
        now_s = next_s;
        if (next_in_s < next_out_s) {
            target[in++] = served_bytes + bytes;
        } else {
            served_bytes = target[out];
            end_s[out++] = now_s + delay_s;
        }
    }
    free(target);
    return 0;
}

double strait_oracle_capped_s(double bytes, double window_bytes, double bytes_per_s, double rtt_s)
{
    const double n_full = ceil(bytes / window_bytes) - 1;
    return n_full * rtt_s + (bytes - n_full * window_bytes) / bytes_per_s + rtt_s / 2;
}

double strait_oracle_ring_s(size_t n, double bytes, double frame_bytes, double bytes_per_s,
                            double delay_s)
{
    return 2 * (double)(n - 1) * (delay_s + (bytes / (double)n + frame_bytes) / bytes_per_s);
}

double strait_oracle_ramp_s(size_t n, double bytes, double initial_window_bytes, double bytes_per_s,
                            double rtt_s)
{
    const double share = bytes_per_s / (double)n;
    double start_s = 0, window_bytes = initial_window_bytes;
    while (window_bytes < bytes && window_bytes / share < rtt_s) {
        start_s += rtt_s; /* the link is idle until the acknowledgements come */
        bytes -= window_bytes;
        window_bytes *= 2;
    }
    return start_s + bytes / share + rtt_s / 2;
}

double strait_oracle_connections_s(size_t n, double bytes, double initial_window_bytes,
                                   double bytes_per_s, double rtt_s)
{
    double *ready_s = calloc(n, sizeof(*ready_s)), free_s = 0, window_bytes = initial_window_bytes;
    if (!ready_s)
        return -1;
    for (double left_bytes = bytes / (double)n; left_bytes > 0; window_bytes *= 2) {
        for (size_t i = 0; i < n; i++) {
            const double start_s = fmax(free_s, ready_s[i]);
            ready_s[i] = start_s + rtt_s;
            free_s = start_s + fmin(left_bytes, window_bytes) / bytes_per_s;
        }
        left_bytes -= window_bytes;
    }
    free(ready_s);
    return free_s + rtt_s / 2;
}
