#include "turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/heap.h"

enum { CACHE_LINE_BYTES = 64, WAIT_NS = 200000, N_CACHES = 8, USUAL_CACHE_BYTES = 2 << 20 };
enum { MAX_BURST = 8 }; /* readings without a pause: a disturbance lasts longer */

size_t strait_n_turns(size_t len_bytes)
{
    const long found_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const size_t cache_bytes = found_bytes > 0 ? (size_t)found_bytes : USUAL_CACHE_BYTES;
    const size_t n = N_CACHES * cache_bytes / (len_bytes + 1) + 1;
    return n < STRAIT_TIMING_MAX_REPEATS ? n : STRAIT_TIMING_MAX_REPEATS;
}

double strait_typical_s(const double *ascending_s, size_t n)
{
    return ascending_s[n / 10];
}

/* A rank waits for its turn and for messages. */
static double start_s(void)
{
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    return strait_cpu_s();
}

/* Without what reading the clock takes. */
static double since_s(double from_s, double reading_s)
{
    return fmax(strait_cpu_s() - from_s - reading_s, 1e-9);
}

/* What one round writes beside the decoded values. */
struct round {
    unsigned char *encoded, *arrived; /* room_bytes a sender */
    size_t room_bytes, *len_bytes;
    double *encode_s, *decode_s; /* of each sender */
    double reading_s;            /* what reading the clock takes */
};

static void round_release(struct round *r)
{
    strait_buffer_free(r->encoded);
    strait_buffer_free(r->arrived);
    free(r->len_bytes);
    free(r->encode_s);
    free(r->decode_s);
}

static int round_init(struct round *r, const struct strait_bundle *bundle,
                      const struct strait_turns *t, struct strait_error *err)
{
    const size_t max_bytes = strait_bundle_max_bytes(bundle, t->from, t->n_slices);
    *r = (struct round){.room_bytes = (max_bytes / CACHE_LINE_BYTES + 1) * CACHE_LINE_BYTES,
                        .reading_s = 1e-9 * (double)strait_cpu_reading_ns()};
    r->encoded = strait_buffer_new_untouched(t->n_turns * r->room_bytes);
    r->arrived = strait_buffer_new_untouched(t->n_turns * r->room_bytes);
    r->len_bytes = calloc(t->n_turns, sizeof(*r->len_bytes));
    r->encode_s = calloc(t->n_turns, sizeof(*r->encode_s));
    r->decode_s = calloc(t->n_turns, sizeof(*r->decode_s));
    if (r->encoded && r->arrived && r->len_bytes && r->encode_s && r->decode_s)
        return 0;
    round_release(r);
    return strait_error_memory(err, "timing");
}

/* sweeper: NULL: caches stay as they are. */
static int run_round(struct round *r, const struct strait_bundle *bundle,
                     const struct strait_turns *t, const struct strait_sweeper *sweeper,
                     struct strait_error *err)
{
    for (size_t i = 0; i < t->n_turns; i++) {
        if (sweeper)
            strait_sweep(sweeper);
        const double from_s = start_s();
        if (strait_bundle_encode(bundle, r->encoded + i * r->room_bytes, r->room_bytes,
                                 &r->len_bytes[i], NULL, t->from + i * t->n_slices, t->n_slices,
                                 err) != 0)
            return -1;
        r->encode_s[i] = since_s(from_s, r->reading_s);
    }
    for (size_t i = 0; i < t->n_turns; i++) {
        unsigned char *in = r->arrived + i * r->room_bytes;
        memcpy(in, r->encoded + i * r->room_bytes, r->len_bytes[i]); /* as the kernel does */
        const double from_s = start_s();
        if (strait_bundle_decode(bundle, t->to + i * t->n_slices, t->n_slices, in, r->len_bytes[i],
                                 err) != 0)
            return -1;
        r->decode_s[i] = since_s(from_s, r->reading_s);
    }
    return 0;
}

static void keep(struct strait_codec_times *out, const struct round *r, size_t n_turns)
{
    for (size_t i = 0; i < n_turns && out->n_repeats < STRAIT_TIMING_MAX_REPEATS; i++) {
        out->encode_s[out->n_repeats] = r->encode_s[i];
        out->decode_s[out->n_repeats++] = r->decode_s[i];
    }
    out->len_bytes = r->len_bytes[0];
}

int strait_time_turns(struct strait_codec_times *out, const struct strait_bundle *bundle,
                      const struct strait_turns *turns, size_t n_repeats, double min_s,
                      const struct strait_sweeper *sweeper, struct strait_error *err)
{
    struct round r;
    const double begin_s = strait_clock_s();
    int failed = -1;
    out->n_repeats = 0;
    if (round_init(&r, bundle, turns, err) != 0)
        return -1;
    for (bool counts = false;; counts = true) { /* the first touches new memory */
        if (run_round(&r, bundle, turns, counts && !turns->warm ? sweeper : NULL, err) != 0)
            goto out;
        if (counts)
            keep(out, &r, turns->n_turns);
        if (out->n_repeats == STRAIT_TIMING_MAX_REPEATS ||
            (out->n_repeats >= n_repeats && strait_clock_s() - begin_s >= min_s))
            break;
    }
    strait_sort(out->encode_s, out->n_repeats);
    strait_sort(out->decode_s, out->n_repeats);
    failed = 0;
out:
    round_release(&r);
    return failed;
}

static void add(float *restrict sum, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += 0.125f * x[i];
}

/* Each x in turn is written, as when it was decoded or arrived. */
static void write_all(float *x, const float *from, size_t n_elems, size_t n_turns)
{
    for (size_t i = 0; i < n_turns; i++)
        memcpy(x + i * n_elems, from, n_elems * sizeof(*x));
}

void strait_time_memory(struct strait_memory_times *out, float *sum, float *x, const float *from,
                        size_t n_elems, size_t n_turns, size_t n_repeats,
                        const struct strait_sweeper *sweeper)
{
    const size_t n = n_repeats < STRAIT_TIMING_MAX_REPEATS ? n_repeats : STRAIT_TIMING_MAX_REPEATS;
    const size_t n_burst = n_turns < MAX_BURST ? n_turns : MAX_BURST;
    const double reading_s = 1e-9 * (double)strait_cpu_reading_ns();
    for (out->n_repeats = 0; out->n_repeats < n;) {
        const size_t rest = n - out->n_repeats, n_now = rest < n_burst ? rest : n_burst;
        strait_sweep(sweeper);
        write_all(x, from, n_elems, n_turns);
        add(sum, x + (n_turns - 1) * n_elems, n_elems); /* the sum is near again */
        for (size_t i = 0; i < n_now; i++) {
            const double from_s = start_s();
            add(sum, x + i * n_elems, n_elems);
            out->add_s[out->n_repeats + i] = since_s(from_s, reading_s);
        }
        write_all(x, from, n_elems, n_turns);
        for (size_t i = 0; i < n_now; i++) {
            const double from_s = start_s();
            memcpy(sum, x + i * n_elems, n_elems * sizeof(*x));
            out->copy_s[out->n_repeats + i] = since_s(from_s, reading_s);
        }
        out->n_repeats += n_now;
    }
    strait_sort(out->add_s, n);
    strait_sort(out->copy_s, n);
}
