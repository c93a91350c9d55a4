/* A timeline in letters. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "timeline.h"
#include "tracks.h"

/* By span kind; capitals are the critical path. Waiting shows where nothing else happens. */
static const char letters[] = "cedat.";

struct bins {
    double *busy_s; /* [column * STRAIT_SPAN_ROUND + kind] */
    bool *critical; /* [column] */
    size_t n_columns;
    double from_s, width_s;
};

static double overlap_s(double from_s, double to_s, double lo_s, double hi_s)
{
    return fmax(0, fmin(to_s, hi_s) - fmax(from_s, lo_s));
}

static size_t column_at(const struct bins *b, double at_s)
{
    const double column = floor((at_s - b->from_s) / b->width_s);
    return column < 0 ? 0 : column >= (double)b->n_columns ? b->n_columns - 1 : (size_t)column;
}

static void fill(struct bins *b, const struct strait_timeline *t, int rank)
{
    const struct strait_log *log = &t->logs[rank];
    memset(b->busy_s, 0, b->n_columns * STRAIT_SPAN_ROUND * sizeof(*b->busy_s));
    memset(b->critical, 0, b->n_columns * sizeof(*b->critical));
    struct strait_span_walk walk;
    strait_spans_begin(&walk, &log->spans);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));) {
        if (s->kind >= STRAIT_SPAN_ROUND || s->end_s <= t->from_s || s->start_s >= t->to_s)
            continue;
        for (size_t c = column_at(b, s->start_s); c <= column_at(b, s->end_s); c++) {
            const double lo_s = b->from_s + (double)c * b->width_s;
            b->busy_s[c * STRAIT_SPAN_ROUND + (size_t)s->kind] +=
                overlap_s(s->start_s, s->end_s, lo_s, lo_s + b->width_s);
        }
    }
    for (size_t i = 0; i < t->n_path; i++) {
        const struct strait_path_step *step = &t->path[i];
        if (step->rank != rank || step->to_s <= t->from_s || step->from_s >= t->to_s)
            continue;
        for (size_t c = column_at(b, step->from_s); c <= column_at(b, step->to_s); c++) {
            const double lo_s = b->from_s + (double)c * b->width_s;
            b->critical[c] = b->critical[c] || overlap_s(step->from_s, step->to_s, lo_s,
                                                         lo_s + b->width_s) > b->width_s / 2;
        }
    }
}

static char letter_of(const struct bins *b, size_t column)
{
    const double *busy_s = &b->busy_s[column * STRAIT_SPAN_ROUND];
    int most = STRAIT_SPAN_COMPUTE;
    for (int kind = 0; kind < STRAIT_SPAN_WAIT; kind++)
        if (busy_s[kind] > busy_s[most])
            most = kind;
    if (busy_s[most] >= 0.02 * b->width_s) { /* something to be seen */
        const int letter = letters[most];
        return (char)(b->critical[column] ? toupper(letter) : letter);
    }
    const int waits = letters[STRAIT_SPAN_WAIT];
    return (char)(busy_s[STRAIT_SPAN_WAIT] > 0.5 * b->width_s ? waits : ' ');
}

static void put_scale(FILE *out, const struct strait_timeline *t, size_t label, size_t n_columns)
{
    char from[STRAIT_NUMBER_CHARS], to[STRAIT_NUMBER_CHARS];
    strait_seconds_text(from, t->from_s);
    strait_seconds_text(to, t->to_s);
    const size_t used = strlen(from) + strlen(to);
    fprintf(out, "%*s%s%*s%s\n", (int)label, "", from,
            (int)(n_columns > used ? n_columns - used : 1), "", to);
}

int strait_timeline_text(FILE *out, const struct strait_timeline *t, size_t columns,
                         struct strait_error *err)
{
    enum { LABEL_CHARS = 12, MIN_COLUMNS = 20 };
    if (t->n_ranks > STRAIT_TIMELINE_MAX_LINES)
        return strait_refuse(err, "timeline",
                             "expected at most %d ranks for --format text, found %d: --out "
                             "FILE.json is for ui.perfetto.dev",
                             STRAIT_TIMELINE_MAX_LINES, t->n_ranks);
    const size_t n = columns > LABEL_CHARS + MIN_COLUMNS ? columns - LABEL_CHARS : MIN_COLUMNS;
    struct bins b = {.busy_s = calloc(n * STRAIT_SPAN_ROUND, sizeof(double)),
                     .critical = calloc(n, sizeof(bool)),
                     .n_columns = n,
                     .from_s = t->from_s,
                     .width_s = fmax((t->to_s - t->from_s) / (double)n, 1e-12)};
    const bool failed = !b.busy_s || !b.critical;
    if (!failed) {
        strait_prose(out, "%s\n", t->title);
        put_scale(out, t, LABEL_CHARS, n);
    }
    for (int rank = 0; rank < t->n_ranks && !failed; rank++) {
        char name[STRAIT_LINK_NAME_CHARS];
        fill(&b, t, rank);
        fprintf(out, "%-*s", LABEL_CHARS, strait_timeline_rank(name, t, rank));
        for (size_t c = 0; c < n; c++)
            fputc(letter_of(&b, c), out);
        fputs("\n", out);
    }
    if (!failed)
        strait_prose(out,
                     "c compute, e encode, t receive, d decode, a aggregate, . wait; capitals: "
                     "on the critical path\n");
    free(b.busy_s);
    free(b.critical);
    return failed ? strait_error_memory(err, "timeline") : 0;
}
