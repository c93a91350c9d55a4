/* What links carried, as piecewise linear sums. */
#include "carried.h"

#include <math.h>
#include <stdlib.h>

/* At time_s the rate changes, and a transfer without duration adds its bytes at once. Added up: the
 * bytes that a link carried until then, and its rate from there on. */
struct change {
    double time_s, rate, bytes;
};

struct strait_carried {
    int n_links;
    size_t *first; /* n_links + 1: where a link's sums begin */
    struct change *sums;
};

double strait_carried_wire_bytes(const struct strait_network *n, const struct strait_span *s)
{
    return (double)s->bytes + strait_network_frame_bytes(n);
}

double strait_carried_most_bytes(const struct strait_network *n, int link, double from_s,
                                 double to_s)
{
    const struct strait_link *l = strait_network_link(n, link);
    const double goodput = strait_goodput_bytes_per_s(n, l);
    return l->schedule
               ? goodput / l->rate_bits_per_s * strait_schedule_bits(l->schedule, from_s, to_s)
               : goodput * (to_s - from_s);
}

/* From when on a link that is never idle carries so many bits until to_s, by halves. */
static double latest_start_s(const struct strait_schedule *s, double from_s, double to_s,
                             double bits)
{
    enum { N_HALVES = 60 };
    double low_s = from_s, high_s = to_s;
    for (int i = 0; i < N_HALVES; i++) {
        const double middle_s = low_s + (high_s - low_s) / 2;
        if (strait_schedule_bits(s, middle_s, to_s) >= bits)
            low_s = middle_s;
        else
            high_s = middle_s;
    }
    return low_s;
}

double strait_carried_needs_s(const struct strait_network *n, int link, double from_s, double to_s,
                              double bytes)
{
    const struct strait_link *l = strait_network_link(n, link);
    const double most_bytes = strait_carried_most_bytes(n, link, from_s, to_s),
                 step_s = to_s - from_s;
    if (!l->schedule || bytes >= most_bytes)
        return step_s * bytes / most_bytes;
    const double bits = strait_schedule_bits(l->schedule, from_s, to_s) * bytes / most_bytes;
    return fmax(strait_schedule_end_s(l->schedule, from_s, bits) - from_s,
                to_s - latest_start_s(l->schedule, from_s, to_s, bits));
}

bool strait_carried_crosses(const struct strait_network *n, const struct strait_span *s)
{
    return s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0 && s->peer < n->n_ranks &&
           s->rank < n->n_ranks && s->peer != s->rank;
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Call for each crossing of a wanted link; changes NULL: count them alone. */
static void walk(size_t *at, struct change *changes, const struct strait_log *logs, int n_ranks,
                 const struct strait_network *n, const bool *wanted)
{
    int links[STRAIT_MAX_HOPS];
    for (int r = 0; r < n_ranks; r++)
        for (size_t i = 0; i < logs[r].n_spans; i++) {
            const struct strait_span *s = &logs[r].spans[i];
            if (!strait_carried_crosses(n, s))
                continue;
            const int n_hops = strait_network_path(n, s->peer, s->rank, links);
            const double bytes = strait_carried_wire_bytes(n, s), span_s = s->end_s - s->start_s;
            for (int hop = 0; hop < n_hops; hop++) {
                if (!wanted[links[hop]])
                    continue;
                size_t *k = &at[links[hop]];
                if (changes && span_s > 0) {
                    changes[*k] = (struct change){s->start_s, bytes / span_s, 0};
                    changes[*k + 1] = (struct change){s->end_s, -bytes / span_s, 0};
                } else if (changes) {
                    changes[*k] = (struct change){s->end_s, 0, bytes};
                    changes[*k + 1] = (struct change){s->end_s, 0, 0};
                }
                *k += 2;
            }
        }
}

static void add_up(struct change *changes, size_t n)
{
    double bytes = 0, rate = 0;
    qsort(changes, n, sizeof(*changes), by_time);
    for (size_t i = 0; i < n; i++) {
        bytes +=
            changes[i].bytes + (i > 0 ? rate * (changes[i].time_s - changes[i - 1].time_s) : 0);
        rate += changes[i].rate;
        changes[i].bytes = bytes;
        changes[i].rate = rate;
    }
}

int strait_carried_new(struct strait_carried **out, const struct strait_log *logs, int n_ranks,
                       const struct strait_network *n, const bool *wanted, struct strait_error *err)
{
    const int n_links = strait_network_n_links(n);
    struct strait_carried *c = *out = calloc(1, sizeof(*c));
    size_t *at = calloc((size_t)n_links + 1, sizeof(*at));
    bool whole = c && at && (c->first = calloc((size_t)n_links + 1, sizeof(*c->first)));
    if (whole) {
        c->n_links = n_links;
        walk(at, NULL, logs, n_ranks, n, wanted);
        for (int i = 0; i < n_links; i++)
            c->first[i + 1] = c->first[i] + at[i];
        for (int i = 0; i < n_links; i++)
            at[i] = c->first[i];
        c->sums = calloc(c->first[n_links] + 1, sizeof(*c->sums));
        whole = c->sums != NULL;
    }
    if (whole) {
        walk(at, c->sums, logs, n_ranks, n, wanted);
        for (int i = 0; i < n_links; i++)
            add_up(c->sums + c->first[i], c->first[i + 1] - c->first[i]);
    } else {
        strait_carried_free(c);
        *out = NULL;
    }
    free(at);
    return whole ? 0 : strait_error_set(err, STRAIT_ERR_NOMEM, "limits", "memory ran out");
}

void strait_carried_free(struct strait_carried *c)
{
    if (!c)
        return;
    free(c->first);
    free(c->sums);
    free(c);
}

static double until(const struct strait_carried *c, int link, double time_s)
{
    size_t lo = c->first[link], hi = c->first[link + 1]; /* the first change after time_s */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (c->sums[mid].time_s <= time_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == c->first[link])
        return 0;
    const struct change *s = &c->sums[lo - 1];
    return s->bytes + s->rate * (time_s - s->time_s);
}

double strait_carried_bytes(const struct strait_carried *c, int link, double from_s, double to_s)
{
    return until(c, link, to_s) - until(c, link, from_s);
}
