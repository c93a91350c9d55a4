#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FIRST_TRY: rounds of the first attempt. ALIKE: times that a period must be found, without the
 * last round. */
enum { FIRST_TRY = 12, ALIKE = 3 };
/* Times count from 0, so equal intervals differ by the rounding of a few additions. */
static const double TOLERANCE = 1e-9;

struct steady {
    int n_rounds; /* rounds simulated */
    int first, period;
    double period_s;
};

struct placed {
    struct strait_span span;
    size_t at; /* in the log */
};

/* The spans of one rank in order of start, and the first span of each round. */
struct track {
    struct placed *spans;
    size_t n_spans, *first; /* n_rounds + 1 */
};

static int run_rounds(struct strait_trial *p, const struct strait_backend *backend, int n_rounds,
                      struct strait_error *err)
{
    for (int i = 0; i < p->run.n_ranks; i++)
        strait_log_release(&p->logs[i]);
    strait_facts_release(&p->facts);
    p->n_rounds = n_rounds;
    if (strait_facts_init(&p->facts, err) != 0)
        return -1;
    return backend->run(&p->run, err);
}

static int by_start(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->span.start_s != y->span.start_s)
        return x->span.start_s < y->span.start_s ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int max_period(int n_rounds)
{
    return (n_rounds - 1) / ALIKE;
}

/* Start times of rank 0's rounds and the end of the last: n_rounds + 1 times; NULL: some are
 * missing, or memory ran out. */
static double *marks_of(const struct strait_log *log, int n_rounds)
{
    double *marks = calloc((size_t)n_rounds + 1, sizeof(*marks));
    int n = 0;
    struct strait_span_walk walk;
    strait_spans_begin_kind(&walk, &log->spans, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; marks && (s = strait_spans_next(&walk));)
        if (s->kind == STRAIT_SPAN_ROUND && n < n_rounds) {
            marks[n++] = s->start_s;
            marks[n] = s->end_s;
        }
    if (n < n_rounds) {
        free(marks);
        return NULL;
    }
    return marks;
}

static bool track_of(struct track *t, const struct strait_log *log, const double *marks,
                     int n_rounds)
{
    *t = (struct track){0};
    t->spans = calloc(log->n_spans + 1, sizeof(*t->spans));
    t->first = calloc((size_t)n_rounds + 1, sizeof(*t->first));
    if (!t->spans || !t->first)
        return false;
    struct strait_span_walk walk;
    strait_spans_begin(&walk, &log->spans);
    for (size_t i = 0; i < log->n_spans; i++) {
        const struct strait_span *s = strait_spans_next(&walk);
        if (s->kind != STRAIT_SPAN_ROUND)
            t->spans[t->n_spans++] = (struct placed){*s, i};
    }
    qsort(t->spans, t->n_spans, sizeof(*t->spans), by_start);
    size_t at = 0;
    for (int round = 0; round <= n_rounds; round++) {
        /* a span that starts with the round, up to rounding, belongs to it */
        while (at < t->n_spans && t->spans[at].span.start_s < marks[round] - TOLERANCE)
            at++;
        t->first[round] = at;
    }
    return true;
}

static void release_track(struct track *t)
{
    free(t->spans);
    free(t->first);
}

static bool near(double a, double b, double scale_s)
{
    return fabs(a - b) <= TOLERANCE * scale_s;
}

/* Whether this rank does the same in rounds [a, a + n) and [b, b + n). Spans that start together
 * may be in any order: their sums are compared. */
static bool alike(const struct track *t, const double *marks, int a, int b, int n)
{
    const size_t n_a = t->first[a + n] - t->first[a], n_b = t->first[b + n] - t->first[b];
    const double scale_s = fmax(marks[b + n], 1e-3);
    if (n_a != n_b)
        return false;
    double sums_a[STRAIT_N_SPAN_KINDS] = {0}, sums_b[STRAIT_N_SPAN_KINDS] = {0};
    uint64_t bytes_a = 0, bytes_b = 0;
    for (size_t i = 0; i < n_a; i++) {
        const struct strait_span *x = &t->spans[t->first[a] + i].span,
                                 *y = &t->spans[t->first[b] + i].span;
        if (!near(x->start_s - marks[a], y->start_s - marks[b], scale_s))
            return false;
        sums_a[x->kind] += x->end_s - marks[a];
        sums_b[y->kind] += y->end_s - marks[b];
        bytes_a += x->bytes;
        bytes_b += y->bytes;
    }
    for (int kind = 0; kind < STRAIT_N_SPAN_KINDS; kind++)
        if (!near(sums_a[kind], sums_b[kind], scale_s * (double)(n_a + 1)))
            return false;
    return bytes_a == bytes_b;
}

/* Keep only the periods with which this rank repeats from the middle on. */
static void keep_periods(bool *left, int base, const struct track *t, const double *marks,
                         int n_rounds)
{
    const int most = max_period(n_rounds);
    for (int period = base; period <= most; period += base) {
        const int last = n_rounds - 1 - period; /* the last round is not followed by another */
        for (int k = 1; k < ALIKE || last - k * period >= n_rounds / 2; k++)
            left[period] = left[period] && alike(t, marks, last - k * period, last, period);
    }
}

static bool is_complete(const struct strait_log *log)
{
    return log->n_lost == 0 && !log->drew;
}

/* The shortest period, a multiple of the strategy's own, with which all ranks repeat; 0: none. */
static int find_period(const struct strait_trial *p, int base, const double *marks, int n_rounds)
{
    const int most = max_period(n_rounds);
    bool *left = calloc((size_t)most + 1, sizeof(*left));
    /* Packets: rounds that were alike by chance say nothing of the others. */
    bool fine = left && marks && !strait_network_by_packets(p->experiment->network);
    for (int period = base; fine && period <= most; period += base) {
        const int last = n_rounds - 1 - period;
        left[period] = near(marks[last + period] - marks[last], marks[last] - marks[last - period],
                            fmax(marks[n_rounds], 1e-3));
    }
    for (int rank = 0; fine && rank < p->run.n_ranks; rank++) {
        struct track t;
        fine = is_complete(&p->logs[rank]) && track_of(&t, &p->logs[rank], marks, n_rounds);
        if (fine)
            keep_periods(left, base, &t, marks, n_rounds);
        if (is_complete(&p->logs[rank]))
            release_track(&t);
    }
    int period = 0;
    for (int i = 1; fine && i <= most && period == 0; i++)
        period = left[i] ? i : 0;
    free(left);
    return period;
}

/* Add to a log's counters what one more period adds. */
static void extend_counters(struct strait_log *log, const struct strait_log *shorter, uint64_t more)
{
    log->n_messages += more * (log->n_messages - shorter->n_messages);
    log->payload_bytes += more * (log->payload_bytes - shorter->payload_bytes);
    log->raw_bytes += more * (log->raw_bytes - shorter->raw_bytes);
    log->link_bytes += more * (log->link_bytes - shorter->link_bytes);
    log->n_missing += more * (log->n_missing - shorter->n_missing);
    log->n_added_encoded += more * (log->n_added_encoded - shorter->n_added_encoded);
    for (int kind = 0; kind < STRAIT_N_SPAN_KINDS; kind++) {
        log->total_s[kind] += (double)more * (log->total_s[kind] - shorter->total_s[kind]);
        log->n_of_kind[kind] += more * (log->n_of_kind[kind] - shorter->n_of_kind[kind]);
    }
}

static struct strait_span moved(const struct strait_span *span, double by_s, int rounds)
{
    struct strait_span s = *span;
    s.queued_s += by_s;
    s.start_s += by_s;
    s.end_s += by_s;
    s.round += rounds;
    return s;
}

/* Add the spans that start in a part of the log again, moved. */
static void add_moved(struct strait_log *out, const struct strait_log *log, double since_s,
                      double until_s, double by_s, int rounds)
{
    struct strait_span_walk walk;
    strait_spans_begin(&walk, &log->spans);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));)
        if (s->start_s >= since_s && s->start_s < until_s) {
            const struct strait_span again = moved(s, by_s, rounds);
            strait_log_add(out, &again);
        }
}

/* Repeat the period before `from_s` `more` times in the log; counters are unchanged. */
static void repeat_spans(struct strait_log *log, double from_s, const struct steady *s, int more)
{
    struct strait_log out = {
        .max_spans = log->max_spans,
        .spans = {.max_unpacked = log->spans.max_unpacked, .n_a_block = log->spans.n_a_block}};
    const double until_s = from_s - TOLERANCE, since_s = until_s - s->period_s;
    add_moved(&out, log, -INFINITY, until_s, 0, 0);
    for (int k = 1; k <= more; k++)
        add_moved(&out, log, since_s, until_s, k * s->period_s, k * s->period);
    add_moved(&out, log, until_s, INFINITY, more * s->period_s, more * s->period);
    strait_spans_release(&log->spans);
    log->spans = out.spans;
    log->n_spans = out.n_spans;
    log->n_lost = out.n_lost;
    log->lost_from_s = out.lost_from_s;
}

/* Copy the counters of the logs, without spans. */
static struct strait_log *counters_of(const struct strait_trial *p)
{
    struct strait_log *all = calloc((size_t)p->run.n_ranks, sizeof(*all));
    for (int i = 0; all && i < p->run.n_ranks; i++) {
        all[i] = p->logs[i];
        all[i].spans = (struct strait_spans){0};
    }
    return all;
}

/* The point ran s->n_rounds and is steady: run one period more and repeat it. */
static int extend(struct strait_trial *p, const struct strait_backend *backend, struct steady s,
                  int n_rounds, struct strait_error *err)
{
    struct strait_log *shorter = counters_of(p);
    double *marks = NULL;
    int failed = -1;
    if (!shorter) {
        strait_error_memory(err, NULL);
        goto end;
    }
    s.n_rounds += s.period;
    if (run_rounds(p, backend, s.n_rounds, err) != 0)
        goto end;
    if (!(marks = marks_of(&p->logs[0], s.n_rounds))) {
        strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "rank 0 marked fewer than %d rounds",
                         s.n_rounds);
        goto end;
    }
    const int more = (n_rounds - s.n_rounds) / s.period, end = s.n_rounds - 1;
    s.period_s = marks[end] - marks[end - s.period];
    for (int i = 0; i < p->run.n_ranks; i++) {
        extend_counters(&p->logs[i], &shorter[i], (uint64_t)more);
        repeat_spans(&p->logs[i], marks[end], &s, more);
    }
    json_object_set_new(p->facts.report, "steady",
                        json_pack("{s:i, s:i, s:f}", "simulated_rounds", s.n_rounds,
                                  "period_rounds", s.period, "period_s", s.period_s));
    failed = 0;
end:
    free(shorter);
    free(marks);
    return failed;
}

int strait_steady_run(struct strait_trial *p, const struct strait_backend *backend,
                      struct strait_error *err)
{
    const struct strait_experiment *e = p->experiment;
    const int n_rounds = p->n_rounds;
    const bool may = !p->every_round && !p->run.real_payload && !p->run.measured_cost &&
                     !backend->is_measured && strait_network_n_scheduled(e->network) == 0 &&
                     !e->network->presences && !p->with_others;
    const int base = may && e->strategy->period ? e->strategy->period(e) : 0;
    const int least = base * ALIKE + 1; /* rounds that can show a period */
    for (int n = least > FIRST_TRY ? least : FIRST_TRY; base > 0 && 2 * n < n_rounds; n *= 2) {
        if (run_rounds(p, backend, n, err) != 0)
            return -1;
        double *marks = marks_of(&p->logs[0], n);
        struct steady s = {.n_rounds = n, .period = find_period(p, base, marks, n)};
        free(marks);
        if (s.period == 0)
            continue;
        /* the rest must be whole periods */
        s.n_rounds += (n_rounds - n) % s.period;
        if (s.n_rounds != n && run_rounds(p, backend, s.n_rounds, err) != 0)
            return -1;
        const int failed = extend(p, backend, s, n_rounds, err);
        p->n_rounds = n_rounds;
        return failed;
    }
    return run_rounds(p, backend, n_rounds, err);
}
