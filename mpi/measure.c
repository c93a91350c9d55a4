#include "measure.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include "core/clock.h"
#include "core/heap.h"

/* TAG_ORDER: what the other is to do; its replies and bulk have tags of their own. */
enum { TAG_ORDER, TAG_BULK, TAG_REPLY, TAG_STEP, TAG_FIGURE };
enum { N_ECHOES = 41, N_SMALL = 400, N_REPEATS = 5, SMALL_BYTES = 64, N_CALLS = 20 };
/* A bulk grows until it takes so long, so that handshake and ramp are less than its noise. */
static const double BULK_S = 0.1, BULK_RTTS = 15;
/* So many times as long for several ranks at once: before, the windows of some streams are not open
 * and a port that they share is not full (200 Mbps and 16 ms: 134 Mbps). */
enum { TOGETHER = 8 };
static const size_t MIN_BULK = (size_t)1 << 20, MAX_BULK = (size_t)1 << 28;
static const double ANSWER_S = 120;

struct order {
    uint64_t take_bytes, n_messages; /* sent behind the order */
    uint64_t give_bytes;             /* in reply, at least 1; 0: that was all */
};

struct bench {
    struct strait_mpi_world *w;
    unsigned char *bulk; /* MAX_BULK */
};

static int wait_for(struct bench *b, struct strait_mpi_request *request, struct strait_error *err)
{
    const double until_s = strait_clock_s() + ANSWER_S;
    for (int done; (done = b->w->calls->test(b->w->mpi, request)) != 1; sched_yield()) {
        if (done < 0)
            return strait_mpi_broken(err);
        if (strait_clock_s() > until_s)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d has waited for an answer for %.3g s", b->w->me,
                                    ANSWER_S);
    }
    return 0;
}

static int give(struct bench *b, int dst, int tag, const void *data, size_t n,
                struct strait_error *err)
{
    struct strait_mpi_request r;
    if (b->w->calls->isend(b->w->mpi, &r, STRAIT_MPI_PAYLOADS, data, n, dst, tag) != 0)
        return strait_mpi_broken(err);
    return wait_for(b, &r, err);
}

static int take(struct bench *b, int src, int tag, void *data, size_t n, struct strait_error *err)
{
    struct strait_mpi_request r;
    if (b->w->calls->irecv(b->w->mpi, &r, STRAIT_MPI_PAYLOADS, data, n, src, tag) != 0)
        return strait_mpi_broken(err);
    return wait_for(b, &r, err);
}

/* The orders of a rank, until one asks for no reply. */
static int serve(struct bench *b, int from, struct strait_error *err)
{
    for (;;) {
        struct order o;
        if (take(b, from, TAG_ORDER, &o, sizeof(o), err) != 0)
            return -1;
        for (uint64_t i = 0; i < o.n_messages; i++)
            if (take(b, from, TAG_BULK, b->bulk, o.take_bytes, err) != 0)
                return -1;
        if (o.give_bytes == 0)
            return 0;
        if (give(b, from, TAG_REPLY, b->bulk, o.give_bytes, err) != 0)
            return -1;
    }
}

/* Give an order to ranks first to last, send what it says, and take all replies; seconds. */
static int time_order(struct bench *b, double *took_s, int first, int last, struct order o,
                      struct strait_error *err)
{
    const double begin_s = strait_clock_s();
    int failed = 0;
    const int n = last - first + 1;
    struct strait_mpi_request *sends = calloc((size_t)n, sizeof(*sends));
    if (!sends)
        return strait_error_memory(err, NULL);
    for (int i = first; i <= last && !failed; i++)
        failed = give(b, i, TAG_ORDER, &o, sizeof(o), err);
    for (uint64_t k = 0; k < o.n_messages && !failed; k++) {
        for (int i = 0; i < n && !failed; i++)
            if (b->w->calls->isend(b->w->mpi, &sends[i], STRAIT_MPI_PAYLOADS, b->bulk, o.take_bytes,
                                   first + i, TAG_BULK) != 0)
                failed = strait_mpi_broken(err);
        for (int i = 0; i < n && !failed; i++)
            failed = wait_for(b, &sends[i], err);
    }
    for (int i = first; i <= last && o.give_bytes > 0 && !failed; i++)
        failed = take(b, i, TAG_REPLY, b->bulk, o.give_bytes, err);
    *took_s = strait_clock_s() - begin_s;
    free(sends);
    return failed;
}

/* The median, since other programs only delay. Half of what is between the readings sqrt(n) / 2
 * below and above it is its standard error, whatever their distribution: how many of n lie below a
 * median has a standard deviation of sqrt(n) / 2. */
static struct strait_mpi_figure median_of(double *x, unsigned n)
{
    const unsigned k = (unsigned)(sqrt(n) / 2 + 0.5);
    strait_sort(x, n);
    return (struct strait_mpi_figure){x[n / 2], (x[n / 2 + k] - x[n / 2 - k]) / 2, n};
}

static int measure_rtt(struct bench *b, int rank, struct strait_mpi_figure *rtt_s,
                       struct strait_error *err)
{
    double took_s[N_ECHOES];
    for (unsigned i = 0; i < N_ECHOES; i++)
        if (time_order(b, &took_s[i], rank, rank, (struct order){.give_bytes = 1}, err) != 0)
            return -1;
    *rtt_s = median_of(took_s, N_ECHOES);
    return 0;
}

static int measure_latency(struct bench *b, int rank, struct strait_mpi_path *p,
                           struct strait_error *err)
{
    double small_s[N_REPEATS];
    if (measure_rtt(b, rank, &p->rtt_s, err) != 0)
        return -1;
    for (unsigned i = 0; i < N_REPEATS; i++) {
        if (time_order(b, &small_s[i], rank, rank, (struct order){SMALL_BYTES, N_SMALL, 1}, err) !=
            0)
            return -1;
        small_s[i] = fmax(0, (small_s[i] - p->rtt_s.value) / N_SMALL);
    }
    p->message_s = median_of(small_s, N_REPEATS);
    return 0;
}

static struct order bulk_of(bool out, size_t n_bytes)
{
    return out ? (struct order){n_bytes, 1, 1} : (struct order){0, 0, n_bytes};
}

/* Twice as many bytes take so much longer: what begins a transfer is in both. */
static int measure_rate(struct bench *b, int first, int last, bool out, double rtt_s,
                        struct strait_mpi_figure *bytes_per_s, struct strait_error *err)
{
    double rates[N_REPEATS], took_s = 0, half_s, all_s;
    const double long_s = fmax(BULK_S, BULK_RTTS * rtt_s) * (first == last ? 1 : TOGETHER);
    size_t n = MIN_BULK;
    for (; n < MAX_BULK && took_s < long_s; n *= took_s < long_s ? 2 : 1)
        if (time_order(b, &took_s, first, last, bulk_of(out, n), err) != 0)
            return -1;
    const size_t half = n / 2;
    for (unsigned i = 0; i < N_REPEATS; i++) {
        if (time_order(b, &half_s, first, last, bulk_of(out, half), err) != 0 ||
            time_order(b, &all_s, first, last, bulk_of(out, n), err) != 0)
            return -1;
        /* where the half took longer, other programs took their time */
        rates[i] = (last - first + 1) *
                   (all_s > half_s ? (double)(n - half) / (all_s - half_s) : (double)n / all_s);
    }
    *bytes_per_s = median_of(rates, N_REPEATS);
    return 0;
}

static int conduct(struct bench *b, struct strait_mpi_links *links, struct strait_error *err)
{
    struct strait_mpi_path *paths = links->paths;
    const int last = b->w->n - 1;
    double took_s;
    for (int i = 1; i <= last; i++)
        if (measure_latency(b, i, &paths[i - 1], err) != 0 ||
            measure_rate(b, i, i, true, paths[i - 1].rtt_s.value, &paths[i - 1].out_bytes_per_s,
                         err) != 0 ||
            measure_rate(b, i, i, false, paths[i - 1].rtt_s.value, &paths[i - 1].in_bytes_per_s,
                         err) != 0)
            return -1;
    if (measure_rate(b, 1, last, true, paths[last - 1].rtt_s.value, &links->together_bytes_per_s,
                     err) != 0)
        return -1;
    return time_order(b, &took_s, 1, last, (struct order){.give_bytes = 0}, err);
}

/* Rank 1 measures the way to rank 2 and tells rank 0. */
static int measure_others(struct bench *b, struct strait_mpi_figure *rtt_s,
                          struct strait_error *err)
{
    double took_s;
    *rtt_s = (struct strait_mpi_figure){NAN, NAN, 0};
    if (b->w->n < 3 || b->w->me > 2)
        return 0;
    if (b->w->me == 0)
        return take(b, 1, TAG_FIGURE, rtt_s, sizeof(*rtt_s), err);
    if (b->w->me == 2)
        return serve(b, 1, err);
    return measure_rtt(b, 2, rtt_s, err) != 0 ||
                   time_order(b, &took_s, 2, 2, (struct order){.give_bytes = 0}, err) != 0
               ? -1
               : give(b, 0, TAG_FIGURE, rtt_s, sizeof(*rtt_s), err);
}

static int call(struct bench *b, struct strait_error *err)
{
    float x = 1;
    return b->w->calls->all_reduce(b->w->mpi, &x, 1) == 0 ? 0 : strait_mpi_broken(err);
}

/* Words to ranks 1, 2, 4, ... further, each behind the last one's from as far before: after log2 n
 * of these, rounded up, all have heard of all. */
static int exchange(struct bench *b, struct strait_error *err)
{
    const int n = b->w->n, me = b->w->me;
    for (int far = 1; far < n; far *= 2) {
        struct strait_mpi_request sent;
        float x = 1, y;
        if (b->w->calls->isend(b->w->mpi, &sent, STRAIT_MPI_PAYLOADS, &x, sizeof(x), (me + far) % n,
                               TAG_STEP) != 0)
            return strait_mpi_broken(err);
        if (take(b, (me - far + n) % n, TAG_STEP, &y, sizeof(y), err) != 0 ||
            wait_for(b, &sent, err) != 0)
            return -1;
    }
    return 0;
}

/* On all ranks: one after another; the first ones let them meet. */
static int measure_calls(struct bench *b, int (*what)(struct bench *, struct strait_error *),
                         struct strait_mpi_figure *f, struct strait_error *err)
{
    double call_s[N_REPEATS];
    for (int i = -1; i < N_REPEATS; i++) {
        const double begin_s = strait_clock_s();
        for (int k = 0; k < N_CALLS; k++)
            if (what(b, err) != 0)
                return -1;
        if (i >= 0)
            call_s[i] = (strait_clock_s() - begin_s) / N_CALLS;
    }
    *f = median_of(call_s, N_REPEATS);
    return 0;
}

struct strait_mpi_figure strait_mpi_beside(struct strait_mpi_figure collective_s,
                                           struct strait_mpi_figure steps_s)
{
    return (struct strait_mpi_figure){fmax(0, collective_s.value - steps_s.value),
                                      hypot(collective_s.error, steps_s.error), collective_s.n};
}

struct strait_mpi_figure strait_mpi_own_rtt(const struct strait_mpi_links *links)
{
    const struct strait_mpi_figure r12 = links->others_rtt_s;
    if (isnan(r12.value))
        return r12;
    const struct strait_mpi_figure r01 = links->paths[0].rtt_s, r02 = links->paths[1].rtt_s;
    const double common_s = (r01.value + r02.value - r12.value) / 2;
    return (struct strait_mpi_figure){fmax(0, fmin(common_s, fmin(r01.value, r02.value))),
                                      hypot(hypot(r01.error, r02.error), r12.error) / 2, r12.n};
}

int strait_mpi_measure(struct strait_mpi_world *w, struct strait_mpi_links *links,
                       struct strait_error *err)
{
    struct bench b = {.w = w, .bulk = calloc(1, MAX_BULK)};
    if (!b.bulk)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for %zu bytes",
                                MAX_BULK);
    const int failed = (w->me != 0 ? serve(&b, 0, err) : conduct(&b, links, err)) != 0 ||
                       measure_others(&b, &links->others_rtt_s, err) != 0 ||
                       measure_calls(&b, exchange, &links->steps_s, err) != 0 ||
                       measure_calls(&b, call, &links->collective_s, err) != 0;
    free(b.bulk);
    return failed ? -1 : 0;
}

const struct strait_mpi_path *strait_mpi_typical(const struct strait_mpi_path *paths, int n)
{
    const struct strait_mpi_path *found = paths;
    for (int i = 0; i < n; i++) {
        int below = 0;
        for (int k = 0; k < n; k++)
            below += paths[k].out_bytes_per_s.value < paths[i].out_bytes_per_s.value ||
                     (k < i && paths[k].out_bytes_per_s.value == paths[i].out_bytes_per_s.value);
        if (below == (n - 1) / 2)
            found = &paths[i];
    }
    return found;
}
