/* Break-even: signs at counts, then the runs of counts that pay. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "breakeven.h"
#include "core/names.h"

/* Two round times that are equal in exact arithmetic differ by rounding of this order at most. */
static const double EQUAL_RATIO = 1e-9;

bool strait_breakeven_pays(double with_s, double without_s)
{
    return with_s < without_s * (1 - EQUAL_RATIO);
}

struct search {
    strait_breakeven_fn times;
    void *context;
};

static int looks_good(bool *pays, const struct search *s, long n_clients, struct strait_error *err)
{
    double with_s = NAN, without_s = NAN;
    if (s->times(&with_s, &without_s, n_clients, s->context, err) != 0)
        return -1;
    if (!isfinite(with_s) || !isfinite(without_s))
        return strait_error_set(err, STRAIT_ERR_BACKEND, "break-even",
                                "expected a round time at %ld clients, found none", n_clients);
    *pays = strait_breakeven_pays(with_s, without_s);
    return 0;
}

static int append(struct strait_breakeven *b, long first, long last, struct strait_error *err)
{
    struct strait_interval *more = realloc(b->pays, (b->n + 1) * sizeof(*more));
    if (!more)
        return strait_error_memory(err, "break-even");
    b->pays = more;
    b->pays[b->n++] = (struct strait_interval){first, last};
    return 0;
}

/* Bisect for the last count with lo's sign; lo and hi differ. */
static int last_like_lo(long *last, const struct search *s, long lo, long hi, bool lo_pays,
                        struct strait_error *err)
{
    while (hi - lo > 1) {
        const long mid = lo + (hi - lo) / 2;
        bool pays = false;
        if (looks_good(&pays, s, mid, err) != 0)
            return -1;
        if (pays == lo_pays)
            lo = mid;
        else
            hi = mid;
    }
    *last = lo;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* sorted: the counts to examine. */
static int scan(struct strait_breakeven *out, const long *sorted, size_t n, const struct search *s,
                struct strait_error *err)
{
    bool before = false;
    long since = 0;
    for (size_t i = 0; i < n; i++) {
        bool pays = false;
        long edge = sorted[i] - 1;
        if (looks_good(&pays, s, sorted[i], err) != 0)
            return -1;
        if (i > 0 && pays != before &&
            last_like_lo(&edge, s, sorted[i - 1], sorted[i], before, err) != 0)
            return -1;
        if (pays && !before)
            since = i > 0 ? edge + 1 : sorted[i];
        else if (!pays && before && append(out, since, edge, err) != 0)
            return -1;
        before = pays;
    }
    return before ? append(out, since, sorted[n - 1], err) : 0;
}

int strait_breakeven_find(struct strait_breakeven *out, const long *counts, size_t n_counts,
                          strait_breakeven_fn times, void *context, struct strait_error *err)
{
    memset(out, 0, sizeof(*out));
    if (n_counts == 0)
        return strait_refuse(err, "break-even",
                             "expected at least one count of clients, found none");
    long first = counts[0], last = counts[0];
    for (size_t i = 1; i < n_counts; i++) {
        first = counts[i] < first ? counts[i] : first;
        last = counts[i] > last ? counts[i] : last;
    }
    if (first < 1)
        return strait_refuse(err, "break-even", "expected counts of at least 1 client, found %ld",
                             first);
    const struct search s = {times, context};
    out->first = first;
    out->last = last;
    out->every_count = last - first < STRAIT_BREAKEVEN_MAX_COUNTS;
    const size_t n = out->every_count ? (size_t)(last - first + 1) : n_counts;
    long *sorted = malloc(n * sizeof(*sorted));
    if (!sorted)
        return strait_error_memory(err, "break-even");
    for (size_t i = 0; i < n; i++)
        sorted[i] = out->every_count ? first + (long)i : counts[i];
    qsort(sorted, n, sizeof(*sorted), ascending);
    size_t n_distinct = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[n_distinct - 1])
            sorted[n_distinct++] = sorted[i];
    const int status = scan(out, sorted, n_distinct, &s, err);
    free(sorted);
    if (status != 0)
        strait_breakeven_release(out);
    return status;
}

void strait_breakeven_release(struct strait_breakeven *b)
{
    free(b->pays);
    memset(b, 0, sizeof(*b));
}

static bool is_always(const struct strait_breakeven *b)
{
    return b->n == 1 && b->pays[0].first == b->first && b->pays[0].last == b->last;
}

/* "from 11 on", "at 3", "at 3-7". */
static void put_plain(char *buf, size_t cap, const struct strait_breakeven *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct strait_interval v = b->pays[i];
        strait_text_add(buf, cap, i == 0 ? "" : i + 1 == b->n ? " and " : ", ");
        if (v.last == b->last)
            strait_text_add(buf, cap, "from %ld on", v.first);
        else if (v.first == v.last)
            strait_text_add(buf, cap, "at %ld", v.first);
        else
            strait_text_add(buf, cap, "at %ld-%ld", v.first, v.last);
    }
}

/* The interval of b that meets v; NULL: none, or b is. */
static const struct strait_interval *meets(const struct strait_breakeven *b,
                                           const struct strait_interval *v)
{
    for (size_t i = 0; b && i < b->n; i++)
        if (b->pays[i].first <= v->last && b->pays[i].last >= v->first)
            return &b->pays[i];
    return NULL;
}

/* " (9 to 14)": where the edge may lie; nothing where it cannot move. */
static void put_edge(char *buf, size_t cap, const struct strait_breakeven_bounds *in,
                     const struct strait_interval *v, bool first)
{
    const struct strait_interval *outer = in ? meets(in->perhaps, v) : NULL,
                                 *inner = in ? meets(in->surely, v) : NULL;
    if (!in || !outer)
        return;
    const long edge = first ? v->first : v->last, out = first ? outer->first : outer->last;
    if (!inner)
        strait_text_add(buf, cap, first ? " (%ld at the earliest)" : " (%ld at the latest)", out);
    else if ((first ? inner->first : inner->last) != edge || out != edge)
        strait_text_add(buf, cap, " (%ld to %ld)", first ? out : inner->last,
                        first ? inner->first : out);
}

static void put_all_or_none(char *buf, size_t cap, const struct strait_breakeven *b,
                            const struct strait_breakeven_bounds *in)
{
    const char *clients = b->last == 1 ? "client" : "clients";
    const bool always = is_always(b);
    strait_text_add(buf, cap, "%s (", always ? "always" : "never");
    if (b->first == b->last)
        strait_text_add(buf, cap, "%ld %s)", b->last, clients);
    else
        strait_text_add(buf, cap, "%ld-%ld %s%s)", b->first, b->last, clients,
                        b->every_count ? "" : ", by bisection");
    const struct strait_breakeven *other = !in ? NULL : always ? in->surely : in->perhaps;
    if (!other || (always && is_always(other)) || (!always && other->n == 0))
        return;
    strait_text_add(buf, cap, always ? ", surely " : ", perhaps ");
    if (other->n == 0)
        strait_text_add(buf, cap, "nowhere");
    else if (is_always(other))
        strait_text_add(buf, cap, "always");
    else
        put_plain(buf, cap, other);
}

const char *strait_breakeven_text(char *buf, size_t cap, const struct strait_breakeven *b,
                                  const struct strait_breakeven_bounds *in)
{
    *buf = '\0';
    if (b->n == 0 || is_always(b)) {
        put_all_or_none(buf, cap, b, in);
        return buf;
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct strait_interval v = b->pays[i];
        strait_text_add(buf, cap, i == 0 ? "" : i + 1 == b->n ? " and " : ", ");
        strait_text_add(buf, cap, v.last == b->last ? "from %ld" : "at %ld", v.first);
        put_edge(buf, cap, in, &v, true);
        if (v.last == b->last) {
            strait_text_add(buf, cap, " clients on");
        } else if (v.first != v.last) {
            strait_text_add(buf, cap, "-%ld", v.last);
            put_edge(buf, cap, in, &v, false);
        }
    }
    strait_text_add(buf, cap, " (%ld-%ld looked at%s)", b->first, b->last,
                    b->every_count ? "" : ", by bisection");
    return buf;
}
