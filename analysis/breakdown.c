/* The critical path: every step is a search for the block of spans that ended last. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "breakdown.h"
#include "core/heap.h"

/* Adjacent times are equal up to the rounding of a few additions. */
static const double TOLERANCE_S = 1e-9;
/* Limit on consecutive transfers without duration, which might form a cycle. */
enum { MAX_HOPS_WITHOUT_TIME = 64 };

/* Room that is never written takes no memory, but what was copied from does. */
enum { FIRST_STEPS = 64, GROWTH = 8 };

enum { N_UNPACKED = 8 };
/* A search through more blocks than these has the rank's spans sorted, once: where arrivals of one
 * moment are logged among what is done with them, the ends of blocks say little. */
enum { MAX_BLOCKS = 16 };

/* Of a block, packed or not: the earliest end of its and all later spans, the latest of its and all
 * spans before. */
struct ends {
    double least_s, most_s;
};

struct placed {
    struct strait_span span;
    size_t at;
};

struct found {   /* what a rank waited for */
    bool is_gap; /* nothing that is logged */
    struct strait_span span;
    size_t at;
};

struct by_rank {
    struct ends *ends;     /* see ends_of; NULL: not looked at yet */
    size_t near;           /* the first block with later ends alone, last time */
    struct placed *sorted; /* those that can be on a path, what comes first first; NULL: not */
    size_t n_sorted;
};

struct walk {
    const struct strait_log *logs;
    int n_ranks;
    struct by_rank *of;
    /* Blocks that were unpacked last, of ranks whose numbers differ in this: a path often comes
     * back to the same few. */
    struct unpacked {
        int rank;
        size_t block;
        struct strait_span room[STRAIT_SPANS_BLOCK];
    } unpacked[N_UNPACKED];
    struct strait_breakdown *out;
};

const char *strait_phase_name(enum strait_phase phase)
{
    static const char *const names[STRAIT_N_PHASES] = {"compute", "encode",    "transfer",
                                                       "decode",  "aggregate", "other"};
    return names[phase];
}

const char *strait_span_kind_name(enum strait_span_kind kind)
{
    static const char *const names[STRAIT_N_SPAN_KINDS] = {
        "compute", "encode", "decode", "aggregate", "transfer", "wait", "round"};
    return names[kind];
}

static enum strait_phase phase_of(int32_t kind)
{
    switch (kind) {
    case STRAIT_SPAN_COMPUTE:
        return STRAIT_PHASE_COMPUTE;
    case STRAIT_SPAN_ENCODE:
        return STRAIT_PHASE_ENCODE;
    case STRAIT_SPAN_DECODE:
        return STRAIT_PHASE_DECODE;
    case STRAIT_SPAN_AGGREGATE:
        return STRAIT_PHASE_AGGREGATE;
    case STRAIT_SPAN_TRANSFER:
        return STRAIT_PHASE_TRANSFER;
    default:
        return STRAIT_PHASE_OTHER;
    }
}

/* A busy span without length explains nothing; a transfer without length still identifies its
 * sender. */
static bool can_be_on_path(const struct strait_span *s, int n_ranks)
{
    if (phase_of(s->kind) == STRAIT_PHASE_OTHER)
        return false;
    if (s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0) /* else the host-accelerator link */
        return s->peer < n_ranks && s->peer != s->rank;
    return s->end_s > s->start_s;
}

/* Whether x is found before y: it ends later; of those with the same end, work is found before a
 * transfer. */
static bool comes_first(const struct strait_span *x, const struct strait_span *y)
{
    if (x->end_s != y->end_s)
        return x->end_s > y->end_s;
    const bool busy_x = x->kind != STRAIT_SPAN_TRANSFER, busy_y = y->kind != STRAIT_SPAN_TRANSFER;
    if (busy_x != busy_y)
        return busy_x;
    if (x->start_s != y->start_s)
        return x->start_s > y->start_s;
    return x->peer > y->peer;
}

/* Those of the newest spans too. */
static size_t n_blocks_of(const struct strait_spans *s)
{
    const size_t n_a_block = strait_spans_a_block(s);
    return s->n_blocks + (s->n_newest + n_a_block - 1) / n_a_block;
}

static const struct strait_span *newest_of(size_t *n, const struct strait_spans *s, size_t block)
{
    const size_t n_a_block = strait_spans_a_block(s), from = (block - s->n_blocks) * n_a_block;
    *n = s->n_newest - from < n_a_block ? s->n_newest - from : n_a_block;
    return s->newest + from;
}

static const struct strait_span *block_of(size_t *n, struct walk *w, int rank, size_t block)
{
    const struct strait_spans *spans = &w->logs[rank].spans;
    struct unpacked *u = &w->unpacked[rank % N_UNPACKED];
    if (block >= spans->n_blocks)
        return newest_of(n, spans, block);
    *n = strait_spans_a_block(spans);
    if (rank == u->rank && block == u->block)
        return u->room;
    u->rank = rank;
    u->block = block;
    return strait_spans_block(n, u->room, spans, block);
}

/* Of all blocks. NULL: memory ran out. */
static const struct ends *ends_of(struct walk *w, int rank)
{
    const struct strait_spans *spans = &w->logs[rank].spans;
    const size_t n_blocks = n_blocks_of(spans);
    if (w->of[rank].ends)
        return w->of[rank].ends;
    struct ends *ends = calloc(n_blocks + 1, sizeof(*ends));
    double most_s = spans->n_blocks > 0 ? spans->blocks[spans->n_blocks - 1].most_end_s : -INFINITY;
    for (size_t i = 0; ends && i < n_blocks; i++) {
        if (i < spans->n_blocks) {
            ends[i] = (struct ends){spans->blocks[i].least_end_s, spans->blocks[i].most_end_s};
            continue;
        }
        size_t n;
        const struct strait_span *all = newest_of(&n, spans, i);
        ends[i].least_s = INFINITY;
        for (size_t k = 0; k < n; k++) {
            ends[i].least_s = all[k].end_s < ends[i].least_s ? all[k].end_s : ends[i].least_s;
            most_s = all[k].end_s > most_s ? all[k].end_s : most_s;
        }
        ends[i].most_s = most_s;
    }
    for (size_t i = n_blocks; ends && i-- > 1;)
        if (ends[i].least_s < ends[i - 1].least_s)
            ends[i - 1].least_s = ends[i].least_s;
    return w->of[rank].ends = ends;
}

/* Whether a path at t_s can come from a span that ended by then. */
static bool leads_to(const struct strait_span *s, double t_s, int n_hops)
{
    const bool passes =
        s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0 && n_hops < MAX_HOPS_WITHOUT_TIME;
    return s->start_s < t_s || passes;
}

/* Take what comes first of a block's spans that ended by t_s. */
static void look_at(struct walk *w, struct found *best, int rank, size_t block, double t_s,
                    int n_hops)
{
    const size_t n_a_block = strait_spans_a_block(&w->logs[rank].spans);
    size_t n;
    const struct strait_span *all = block_of(&n, w, rank, block);
    for (size_t i = n; i-- > 0;) { /* of equal ones the last */
        const struct strait_span *s = &all[i];
        if (s->end_s > t_s + TOLERANCE_S || (!best->is_gap && !comes_first(s, &best->span)))
            continue;
        if (can_be_on_path(s, w->n_ranks) && leads_to(s, t_s, n_hops))
            *best = (struct found){.span = *s, .at = block * n_a_block + i};
    }
}

static int by_turn(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (comes_first(&x->span, &y->span))
        return -1;
    if (comes_first(&y->span, &x->span))
        return 1;
    return x->at > y->at ? -1 : x->at < y->at; /* of equal ones the last */
}

static bool sort_spans(struct walk *w, int rank)
{
    const struct strait_log *log = &w->logs[rank];
    struct by_rank *of = &w->of[rank];
    struct strait_span_walk walk;
    of->sorted = malloc((log->n_spans + 1) * sizeof(*of->sorted));
    if (!of->sorted)
        return false;
    strait_spans_begin(&walk, &log->spans);
    for (size_t i = 0; i < log->n_spans; i++) {
        const struct strait_span *s = strait_spans_next(&walk);
        if (can_be_on_path(s, w->n_ranks))
            of->sorted[of->n_sorted++] = (struct placed){*s, i};
    }
    qsort(of->sorted, of->n_sorted, sizeof(*of->sorted), by_turn);
    return true;
}

static void search_sorted(struct found *best, const struct walk *w, int rank, double t_s,
                          int n_hops)
{
    const struct by_rank *of = &w->of[rank];
    size_t lo = 0, hi = of->n_sorted; /* the first that ended by then */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (of->sorted[mid].span.end_s > t_s + TOLERANCE_S)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo < of->n_sorted && !leads_to(&of->sorted[lo].span, t_s, n_hops))
        lo++;
    if (lo < of->n_sorted)
        *best = (struct found){.span = of->sorted[lo].span, .at = of->sorted[lo].at};
}

/* The first of n blocks with later ends alone. A path goes back by small steps: this one is mostly
 * close before the one that was found last. */
static size_t first_later(const struct ends *ends, size_t n, size_t near, double t_s)
{
    size_t lo = 0, hi = n;
    if (near < n && ends[near].least_s > t_s + TOLERANCE_S)
        hi = near;
    for (size_t step = 1; hi == near && lo == 0 && step <= near; step *= 2)
        if (ends[near - step].least_s <= t_s + TOLERANCE_S)
            lo = near - step + 1;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (ends[mid].least_s <= t_s + TOLERANCE_S)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The span that ended last at or before t_s; n_hops counts previous spans without duration. */
static int last_before(struct found *best, struct walk *w, int rank, double t_s, int n_hops,
                       struct strait_error *err)
{
    *best = (struct found){.is_gap = true};
    if (w->of[rank].sorted) {
        search_sorted(best, w, rank, t_s, n_hops);
        return 0;
    }
    const struct ends *ends = ends_of(w, rank);
    if (!ends)
        return strait_error_memory(err, "breakdown");
    size_t lo = first_later(ends, n_blocks_of(&w->logs[rank].spans), w->of[rank].near, t_s);
    size_t n_looked = 0;
    w->of[rank].near = lo;
    while (lo-- > 0 && (best->is_gap || ends[lo].most_s >= best->span.end_s)) {
        look_at(w, best, rank, lo, t_s, n_hops);
        n_looked++;
    }
    if (n_looked > MAX_BLOCKS && !sort_spans(w, rank))
        return strait_error_memory(err, "breakdown");
    return 0;
}

/* One step of the path. There can be as many as a server adds updates. */
static int take_step(struct strait_breakdown *out, const struct found *found, int rank,
                     double from_s, double to_s, struct strait_error *err)
{
    const enum strait_phase phase = found->is_gap ? STRAIT_PHASE_OTHER : phase_of(found->span.kind);
    out->phase_s[phase] += to_s - from_s;
    if (!(to_s > from_s))
        return 0;
    if (out->n_steps == out->cap_steps) {
        const size_t cap = GROWTH * out->cap_steps + FIRST_STEPS;
        struct strait_path_step *more = realloc(out->steps, cap * sizeof(*more));
        if (!more)
            return strait_error_memory(err, "breakdown");
        out->steps = more;
        out->cap_steps = cap;
    }
    out->steps[out->n_steps++] =
        (struct strait_path_step){.from_s = from_s,
                                  .to_s = to_s,
                                  .span_s = found->span.end_s - found->span.start_s,
                                  .bytes = found->span.bytes,
                                  .at = (uint32_t)found->at,
                                  .rank = rank,
                                  .peer = found->span.peer,
                                  .kind = (int8_t)found->span.kind,
                                  .is_gap = found->is_gap};
    return 0;
}

/* Walk from rank 0 at end_s back to start_s. */
static int walk_round(struct walk *w, double start_s, double end_s, struct strait_error *err)
{
    int rank = 0, n_hops = 0;
    double t_s = end_s;
    while (t_s > start_s) {
        struct found found;
        static const struct found gap = {.is_gap = true};
        const struct strait_span *s = &found.span;
        if (last_before(&found, w, rank, t_s, n_hops, err) != 0)
            return -1;
        if (found.is_gap || s->end_s <= start_s)
            return take_step(w->out, &gap, rank, start_s, t_s, err);
        const double to_s = fmin(s->end_s, t_s), from_s = fmax(fmin(s->start_s, to_s), start_s);
        if (take_step(w->out, &gap, rank, to_s, t_s, err) != 0 ||
            take_step(w->out, &found, rank, from_s, to_s, err) != 0)
            return -1;
        n_hops = from_s < t_s ? 0 : n_hops + 1;
        t_s = from_s;
        if (s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0)
            rank = s->peer;
    }
    return 0;
}

static double overlap_s(const struct strait_span *s, double from_s, double to_s)
{
    const double lo = strait_most(s->start_s, from_s), hi = strait_least(s->end_s, to_s);
    return hi > lo ? hi - lo : 0;
}

struct strait_waits strait_waits_begin(const struct strait_breakdown *b, bool has_server)
{
    return (struct strait_waits){
        .first = has_server ? 1 : 0, .from_s = b->from_s, .to_s = b->known_to_s};
}

void strait_waits_add(void *waits, const struct strait_span *s)
{
    struct strait_waits *w = waits;
    if (s->kind == STRAIT_SPAN_WAIT && s->rank >= w->first)
        w->sum_s += overlap_s(s, w->from_s, w->to_s);
}

double strait_waits_mean_s(const struct strait_waits *w, const struct strait_breakdown *b,
                           int n_ranks)
{
    if (b->n_known_rounds == 0 || n_ranks <= w->first)
        return NAN;
    return w->sum_s / (n_ranks - w->first) / (double)b->n_known_rounds * b->known_scale;
}

static void fill_busy(struct strait_breakdown *out, const struct strait_log *logs, int n_ranks,
                      bool has_server)
{
    const int first = has_server ? 1 : 0;
    for (int kind = 0; kind < STRAIT_N_SPAN_KINDS; kind++) {
        double sum_s = 0;
        for (int r = first; r < n_ranks; r++)
            sum_s += logs[r].total_s[kind];
        const double n_rounds = (double)out->n_rounds;
        out->client_busy_s[kind] = n_ranks > first ? sum_s / (n_ranks - first) / n_rounds : NAN;
        out->server_busy_s[kind] = has_server ? logs[0].total_s[kind] / n_rounds : NAN;
    }
}

/* Until this moment all logs are complete. */
static double known_until_s(const struct strait_log *logs, int n_ranks)
{
    double until_s = INFINITY;
    for (int r = 0; r < n_ranks; r++)
        if (logs[r].n_lost > 0)
            until_s = fmin(until_s, logs[r].lost_from_s);
    return until_s;
}

static int by_start(const void *a, const void *b)
{
    const struct strait_span *x = a, *y = b;
    return x->start_s < y->start_s ? -1 : x->start_s > y->start_s;
}

/* Rank 0's rounds in their order. */
static struct strait_span *rounds_of(const struct strait_log *log, size_t *n)
{
    struct strait_span *rounds = calloc(log->n_of_kind[STRAIT_SPAN_ROUND] + 1, sizeof(*rounds));
    struct strait_span_walk walk;
    *n = 0;
    strait_spans_begin_kind(&walk, &log->spans, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; rounds && (s = strait_spans_next(&walk));)
        if (s->kind == STRAIT_SPAN_ROUND && s->end_s >= s->start_s)
            rounds[(*n)++] = *s;
    if (rounds)
        qsort(rounds, *n, sizeof(*rounds), by_start);
    return rounds;
}

int strait_breakdown_of(struct strait_breakdown *out, const struct strait_log *logs, int n_ranks,
                        bool has_server, struct strait_error *err)
{
    assert(n_ranks > 0);
    memset(out, 0, sizeof(*out));
    int status = -1;
    struct walk w; /* large: not zeroed as a whole */
    w.logs = logs;
    w.n_ranks = n_ranks;
    w.out = out;
    for (int i = 0; i < N_UNPACKED; i++)
        w.unpacked[i].rank = -1;
    size_t n = 0;
    struct strait_span *rounds = rounds_of(&logs[0], &n);
    w.of = calloc((size_t)n_ranks, sizeof(*w.of));
    out->rounds_s = calloc(n + 1, sizeof(*out->rounds_s));
    if (!rounds || !w.of || !out->rounds_s) {
        strait_error_memory(err, "breakdown");
        goto out;
    }
    if (n == 0) {
        strait_error_set(err, STRAIT_ERR_BACKEND, "breakdown",
                         "expected a round mark of rank 0, found none");
        goto out;
    }
    out->n_rounds = n;
    const double until_s = known_until_s(logs, n_ranks);
    double sum_s = 0;
    out->from_s = out->known_to_s = rounds[0].start_s;
    for (size_t i = 0; i < n; i++) {
        out->rounds_s[i] = rounds[i].end_s - rounds[i].start_s;
        sum_s += out->rounds_s[i];
        if (rounds[i].end_s > until_s)
            continue;
        out->known_s += out->rounds_s[i];
        out->known_to_s = rounds[i].end_s;
        out->n_known_rounds++;
        if (walk_round(&w, rounds[i].start_s, rounds[i].end_s, err) != 0)
            goto out;
    }
    out->round_s = sum_s / (double)n;
    out->total_s = rounds[n - 1].end_s - rounds[0].start_s;
    const double n_known = (double)out->n_known_rounds;
    /* divide the mean of all rounds in the proportions of the known rounds */
    const double scale = n_known < (double)n ? out->round_s * n_known / out->known_s : 1;
    double known_s = 0;
    for (int phase = 0; phase < STRAIT_PHASE_OTHER && n_known > 0; phase++)
        known_s += out->phase_s[phase] = out->phase_s[phase] / n_known * scale;
    /* the remainder, so that the phases sum to the round; rounding alone can make it negative */
    out->phase_s[STRAIT_PHASE_OTHER] = fmax(0, out->round_s - known_s);
    out->known_scale = scale;
    fill_busy(out, logs, n_ranks, has_server);
    status = 0;
out:
    for (int r = 0; w.of && r < n_ranks; r++) {
        free(w.of[r].ends);
        free(w.of[r].sorted);
    }
    free(w.of);
    free(rounds);
    if (status != 0)
        strait_breakdown_release(out);
    return status;
}

void strait_breakdown_release(struct strait_breakdown *b)
{
    free(b->rounds_s);
    free(b->steps);
    memset(b, 0, sizeof(*b));
}
