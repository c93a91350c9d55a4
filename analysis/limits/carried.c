/* What links carried, as piecewise linear sums. */
#include "carried.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"

/* Changes that are looked at together, 6 MB of them unless one link has more; and transfers over
 * links that are kept from the first walk over all spans, 8 MB. */
enum { MAX_CHANGES = 1 << 18, FIRST_KEPT = 1 << 10, MAX_KEPT = 1 << 18, GROWTH = 16 };

/* At time_s the rate changes, and a transfer without duration adds its bytes at once. Added up: the
 * bytes that a link carried until then, and its rate from there on. */
struct change {
    double time_s, rate, bytes;
};

struct reach { /* of a rank's receiving */
    int first_link, last_link;
};

struct crossing { /* of a link by a transfer */
    double start_s, end_s, bytes;
    int link;
};

struct carried {
    const struct strait_span_witness *witness;
    const struct strait_log *logs;
    int n_ranks;
    const struct strait_network *network;
    struct reach *reaches; /* by rank: links that are asked for beyond these its log leaves out */
    size_t *n_changes;     /* by link; 0: nobody asks for it */
    int first_link, end_link; /* that are looked at */
    size_t *first;            /* by link, from first_link on: where its changes begin */
    struct change *changes, *spare;
    size_t cap, cap_spare;
    struct crossing *kept; /* in the order of the walk; NULL: too many, or none yet */
    size_t n_kept, cap_kept;
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

/* From so many on, changes are first distributed over parts of the time, a part for so many. */
enum { MANY_CHANGES = 4096, A_PART = 4 };

/* Sort in ascending order of times, those of the same time in the order that they came in. Some
 * come nearly sorted: what already is in order is not moved. */
static void sort_few(struct change *all, struct change *spare, size_t n)
{
    enum { SHORT = 16 };
    for (size_t from = 0; from < n; from += SHORT) { /* insert within short runs */
        const size_t end = from + SHORT < n ? from + SHORT : n;
        for (size_t i = from + 1; i < end; i++) {
            const struct change moving = all[i];
            size_t to = i;
            for (; to > from && all[to - 1].time_s > moving.time_s; to--)
                all[to] = all[to - 1];
            all[to] = moving;
        }
    }
    for (size_t run = SHORT; run < n; run *= 2)
        for (size_t from = 0; from + run < n; from += 2 * run) {
            const size_t middle = from + run, end = middle + run < n ? middle + run : n;
            size_t lo = from, right = middle;
            if (all[middle - 1].time_s <= all[middle].time_s)
                continue;
            while (all[lo].time_s <= all[middle].time_s)
                lo++;
            memcpy(spare + lo, all + lo, (middle - lo) * sizeof(*all));
            for (size_t out = lo; lo < middle; out++)
                all[out] = right < end && all[right].time_s < spare[lo].time_s ? all[right++]
                                                                               : spare[lo++];
        }
}

/* Of n equal parts of the time from first_s on the one that this lies in, which ascends with it. */
static size_t part_of(double time_s, double first_s, double parts_a_s, size_t n)
{
    const double part = (time_s - first_s) * parts_a_s;
    return part < (double)(n - 1) ? (size_t)part : n - 1;
}

/* Bring each of n changes to its place, where the next is brought to its own. */
static void move_all(struct change *all, uint32_t *place, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t to; (to = place[i]) != i;) {
            const struct change moved = all[to];
            all[to] = all[i];
            all[i] = moved;
            place[i] = place[to];
            place[to] = to;
        }
}

/* Sort many. False: they cannot be, and nothing is moved. */
static bool sort_by_parts(struct change *all, struct change *spare, size_t n)
{
    const size_t n_parts = n / A_PART;
    uint32_t *end = n <= UINT32_MAX ? calloc(n_parts + 1 + n, sizeof(*end)) : NULL; /* of parts */
    uint32_t *place = end ? end + n_parts + 1 : NULL;
    double first_s = INFINITY, last_s = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        first_s = strait_least(first_s, all[i].time_s);
        last_s = strait_most(last_s, all[i].time_s);
    }
    const double parts_a_s = (double)n_parts / (last_s - first_s);
    if (!end || !isfinite(parts_a_s)) {
        free(end);
        return false;
    }
    for (size_t i = 0; i < n; i++) { /* one further, so that the sums are where parts begin */
        place[i] = (uint32_t)part_of(all[i].time_s, first_s, parts_a_s, n_parts);
        end[place[i] + 1]++;
    }
    for (size_t part = 0; part < n_parts; part++)
        end[part + 1] += end[part];
    for (size_t i = 0; i < n; i++)
        place[i] = end[place[i]]++;
    move_all(all, place, n);
    for (size_t part = 0, from = 0; part < n_parts; from = end[part++])
        sort_few(all + from, spare, end[part] - from);
    free(end);
    return true;
}

static void sort(struct change *all, struct change *spare, size_t n)
{
    if (n < MANY_CHANGES || !sort_by_parts(all, spare, n))
        sort_few(all, spare, n);
}

/* Two changes of one link. */
static void put(struct change *to, const struct crossing *x)
{
    const double span_s = x->end_s - x->start_s;
    to[0] = span_s > 0 ? (struct change){x->start_s, x->bytes / span_s, 0}
                       : (struct change){x->end_s, 0, x->bytes};
    to[1] = (struct change){x->end_s, span_s > 0 ? -x->bytes / span_s : 0, 0};
}

/* While all fit. */
static void keep(struct carried *c, const struct crossing *x)
{
    if (c->n_kept == c->cap_kept && c->cap_kept > 0) {
        const size_t cap = GROWTH * c->cap_kept; /* what is not written takes no memory */
        struct crossing *more = cap <= MAX_KEPT ? realloc(c->kept, cap * sizeof(*more)) : NULL;
        if (!more)
            free(c->kept);
        c->kept = more;
        c->cap_kept = more ? cap : 0;
    }
    if (c->kept)
        c->kept[c->n_kept++] = *x;
}

/* For each crossing of a link that is looked at: count its two changes, or put them into `changes`
 * from at[link - first_link] on. */
static void walk_log(struct carried *c, size_t *at, int rank, bool counts)
{
    int links[STRAIT_MAX_HOPS];
    struct strait_span_walk spans;
    struct reach *reach = &c->reaches[rank];
    strait_spans_begin(&spans, &c->logs[rank].spans);
    for (const struct strait_span *s; (s = strait_spans_next(&spans));) {
        if (counts && c->witness)
            c->witness->see(c->witness->arg, s);
        if (!strait_carried_crosses(c->network, s))
            continue;
        const int n_hops = strait_network_path(c->network, s->peer, s->rank, links);
        const double bytes = strait_carried_wire_bytes(c->network, s);
        for (int hop = 0; hop < n_hops; hop++) {
            const int link = links[hop];
            if (link < c->first_link || link >= c->end_link || c->n_changes[link] == 0)
                continue;
            const struct crossing x = {s->start_s, s->end_s, bytes, link};
            size_t *k = &at[link - c->first_link];
            if (counts) {
                keep(c, &x);
                reach->first_link = link < reach->first_link ? link : reach->first_link;
                reach->last_link = link > reach->last_link ? link : reach->last_link;
            } else {
                put(&c->changes[*k], &x);
            }
            *k += 2;
        }
    }
}

/* The same with those that were kept. */
static void put_kept(struct carried *c, size_t *at)
{
    for (size_t i = 0; i < c->n_kept; i++) {
        const struct crossing *x = &c->kept[i];
        if (x->link < c->first_link || x->link >= c->end_link)
            continue;
        put(&c->changes[at[x->link - c->first_link]], x);
        at[x->link - c->first_link] += 2;
    }
}

static void walk(struct carried *c, size_t *at, bool counts)
{
    for (int r = 0; r < c->n_ranks; r++)
        if (counts ||
            (c->reaches[r].first_link < c->end_link && c->reaches[r].last_link >= c->first_link))
            walk_log(c, at, r, counts);
}

static void add_up(struct change *changes, size_t n)
{
    double bytes = 0, rate = 0;
    for (size_t i = 0; i < n; i++) {
        bytes +=
            changes[i].bytes + (i > 0 ? rate * (changes[i].time_s - changes[i - 1].time_s) : 0);
        rate += changes[i].rate;
        changes[i].bytes = bytes;
        changes[i].rate = rate;
    }
}

static double until(const struct change *changes, size_t n, double time_s)
{
    size_t lo = 0, hi = n; /* the first change after time_s */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (changes[mid].time_s <= time_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0
               ? 0
               : changes[lo - 1].bytes + changes[lo - 1].rate * (time_s - changes[lo - 1].time_s);
}

/* Forgets what was there. */
static bool make_room(struct change **all, size_t *cap, size_t n)
{
    if (n <= *cap)
        return true;
    free(*all);
    *all = malloc(n * sizeof(**all));
    *cap = *all ? n : 0;
    return *all != NULL;
}

/* The next links, as many as fit, sorted and added up. 0, or -1 when memory runs out. */
static int look_at_next(struct carried *c, int n_links)
{
    size_t n = 0, most = 0;
    c->first_link = c->end_link;
    while (c->end_link < n_links && (n == 0 || n + c->n_changes[c->end_link] <= MAX_CHANGES)) {
        c->first[c->end_link - c->first_link] = n;
        n += c->n_changes[c->end_link];
        most = c->n_changes[c->end_link] > most ? c->n_changes[c->end_link] : most;
        c->end_link++;
    }
    const int n_here = c->end_link - c->first_link;
    if (!make_room(&c->changes, &c->cap, n) || !make_room(&c->spare, &c->cap_spare, most))
        return -1;
    if (n > 0 && c->kept)
        put_kept(c, c->first); /* moves each to where the next begins */
    else if (n > 0)
        walk(c, c->first, false);
    for (int i = n_here; i > 0; i--)
        c->first[i] = c->first[i - 1];
    c->first[0] = 0;
    for (int i = 0; i < n_here; i++) {
        const size_t from = c->first[i], n_of = c->first[i + 1] - from;
        sort(c->changes + from, c->spare, n_of);
        add_up(c->changes + from, n_of);
    }
    return 0;
}

static void answer(const struct carried *c, struct strait_carried_question *q)
{
    const size_t from = c->first[q->link - c->first_link], n = c->n_changes[q->link];
    const struct change *changes = c->changes + from;
    q->bytes = until(changes, n, q->to_s) - until(changes, n, q->from_s);
}

int strait_carried_answer(struct strait_carried_question *asked, size_t n_asked,
                          const struct strait_span_witness *witness, const struct strait_log *logs,
                          int n_ranks, const struct strait_network *n, struct strait_error *err)
{
    const int n_links = strait_network_n_links(n);
    size_t *counts = calloc((size_t)n_links + 1, sizeof(*counts));
    struct carried c = {.witness = witness,
                        .logs = logs,
                        .n_ranks = n_ranks,
                        .network = n,
                        .reaches = calloc((size_t)n_ranks + 1, sizeof(*c.reaches)),
                        .n_changes = calloc((size_t)n_links + 1, sizeof(*c.n_changes)),
                        .first = calloc((size_t)n_links + 1, sizeof(*c.first)),
                        .kept = malloc(FIRST_KEPT * sizeof(*c.kept)),
                        .cap_kept = FIRST_KEPT,
                        .end_link = n_links};
    int failed = !counts || !c.reaches || !c.n_changes || !c.first || !c.kept;
    for (int r = 0; r < n_ranks && !failed; r++)
        c.reaches[r] = (struct reach){n_links, -1};
    for (size_t i = 0; i < n_asked && !failed; i++)
        c.n_changes[asked[i].link] = 1; /* until they are counted */
    if (!failed)
        walk(&c, counts, true);
    for (int i = 0; i < n_links && !failed; i++)
        c.n_changes[i] = counts[i];
    c.end_link = 0;
    while (!failed && c.end_link < n_links) {
        failed = look_at_next(&c, n_links);
        for (size_t i = 0; i < n_asked && !failed; i++)
            if (asked[i].link >= c.first_link && asked[i].link < c.end_link)
                answer(&c, &asked[i]);
    }
    free(counts);
    free(c.reaches);
    free(c.n_changes);
    free(c.first);
    free(c.kept);
    free(c.changes);
    free(c.spare);
    return failed ? strait_error_memory(err, "limits") : 0;
}
