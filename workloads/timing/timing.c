#include "timing.h"
#include "codecs/foreign/isolate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"

enum { MIN_SWEEP_BYTES = 128 << 20 };

static double read_clock_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double strait_cpu_s(void)
{
    return 1e-9 * (double)strait_cpu_thread_ns() + strait_isolated_cpu_s();
}

size_t strait_sweep_bytes(void)
{
    const long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const bool known = cache_bytes > MIN_SWEEP_BYTES / 2 && cache_bytes <= MIN_SWEEP_BYTES;
    return known ? 2 * (size_t)cache_bytes : MIN_SWEEP_BYTES;
}

int strait_sweeper_init(struct strait_sweeper *s, struct strait_error *err)
{
    s->len_bytes = strait_sweep_bytes();
    s->memory = strait_buffer_new(s->len_bytes);
    return s->memory ? 0 : strait_error_set(err, STRAIT_ERR_NOMEM, "timing", "memory ran out");
}

void strait_sweeper_release(struct strait_sweeper *s)
{
    strait_buffer_free(s->memory);
    s->memory = NULL;
}

void strait_sweep(const struct strait_sweeper *s)
{
    memset(s->memory, s->memory[0] + 1, s->len_bytes);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int strait_time_bundle(struct strait_codec_times *out, const struct strait_bundle *bundle,
                       const struct strait_slice *from, struct strait_slice *to, size_t n_slices,
                       size_t n_repeats, double min_s, const struct strait_sweeper *sweeper,
                       struct strait_error *err)
{
    const size_t room_bytes = strait_bundle_max_bytes(bundle, from, n_slices);
    unsigned char *encoded = strait_buffer_new(room_bytes);
    int failed = -1;
    out->n_repeats = 0;
    if (!encoded)
        return strait_error_set(err, STRAIT_ERR_NOMEM, "timing", "memory ran out");
    const double start_s = read_clock_s(CLOCK_MONOTONIC);
    for (size_t i = 0; i <= STRAIT_TIMING_MAX_REPEATS; i++) {
        if (i > n_repeats && read_clock_s(CLOCK_MONOTONIC) - start_s >= min_s)
            break;
        strait_sweep(sweeper);
        const double t0 = strait_cpu_s();
        if (strait_bundle_encode(bundle, encoded, room_bytes, &out->len_bytes, NULL, from, n_slices,
                                 err) != 0)
            goto out;
        const double t1 = strait_cpu_s();
        strait_sweep(sweeper);
        const double t2 = strait_cpu_s();
        if (strait_bundle_decode(bundle, to, n_slices, encoded, out->len_bytes, err) != 0)
            goto out;
        const double t3 = strait_cpu_s();
        if (i == 0) /* the first run warms up */
            continue;
        out->encode_s[out->n_repeats] = t1 - t0;
        out->decode_s[out->n_repeats++] = t3 - t2;
    }
    qsort(out->encode_s, out->n_repeats, sizeof(double), by_value);
    qsort(out->decode_s, out->n_repeats, sizeof(double), by_value);
    failed = 0;
out:
    strait_buffer_free(encoded);
    return failed;
}
