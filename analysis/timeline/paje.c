/* Paje: definitions, containers, then events in the order of time. */
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/plot_script.h"
#include "timeline.h"
#include "tracks.h"

static const char definitions[] =
    "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n"
    "%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineLinkType 2\n% Alias string\n% Type string\n% StartContainerType string\n"
    "% EndContainerType string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 3\n% Alias string\n% Type string\n% Name string\n"
    "% Color color\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n% Type string\n"
    "% Container string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 5\n% Time date\n% Type string\n% Name string\n%EndEventDef\n"
    "%EventDef PajePushState 6\n% Time date\n% Type string\n% Container string\n% Value string\n"
    "%EndEventDef\n"
    "%EventDef PajePopState 7\n% Time date\n% Type string\n% Container string\n%EndEventDef\n"
    "%EventDef PajeStartLink 8\n% Time date\n% Type string\n% Container string\n% Value string\n"
    "% StartContainer string\n% Key string\n%EndEventDef\n"
    "%EventDef PajeEndLink 9\n% Time date\n% Type string\n% Container string\n% Value string\n"
    "% EndContainer string\n% Key string\n%EndEventDef\n"
    "0 RUN 0 run\n0 RANK RUN rank\n0 TRACK RANK thread\n1 STATE TRACK activity\n"
    "2 LINK RUN RANK RANK message\n";

struct event {
    double at_s;
    int kind; /* of the definitions: 7 before 6 at one time */
    int track;
    struct strait_span span;
    size_t order;
};

struct events {
    struct event *all;
    size_t n, cap;
};

static int add(struct events *e, double at_s, int kind, int track, const struct strait_span *s)
{
    if (e->n == e->cap) {
        const size_t cap = e->cap ? 2 * e->cap : 1024;
        struct event *more = realloc(e->all, cap * sizeof(*more));
        if (!more)
            return -1;
        e->all = more;
        e->cap = cap;
    }
    e->all[e->n] = (struct event){at_s, kind, track, *s, e->n};
    e->n++;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    /* what has no length begins before it ends */
    const bool ends_x = x->kind == 7 && x->span.end_s > x->span.start_s,
               ends_y = y->kind == 7 && y->span.end_s > y->span.start_s;
    if (ends_x != ends_y)
        return ends_x ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int add_rank(FILE *out, struct events *e, const struct strait_timeline *t, int rank,
                    struct strait_error *err)
{
    struct strait_tracks tracks;
    char name[STRAIT_LINK_NAME_CHARS];
    int failed = 0;
    if (strait_tracks_of(&tracks, t, rank, err) != 0)
        return -1;
    fprintf(out, "4 0 r%d RANK run \"%s\"\n", rank, strait_timeline_rank(name, t, rank));
    for (int i = 0; i < tracks.n_tracks; i++)
        fprintf(out, "4 0 r%d.%d TRACK r%d \"%s\"\n", rank, i, rank,
                strait_track_name(name, &tracks.tracks[i]));
    for (size_t i = 0; i < tracks.n_spans && !failed; i++) {
        const struct strait_span *s = &tracks.spans[i].span;
        const bool linked = s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0;
        failed = add(e, s->start_s, 6, tracks.spans[i].track, s) != 0 ||
                 add(e, s->end_s, 7, tracks.spans[i].track, s) != 0 ||
                 (linked &&
                  (add(e, s->start_s, 8, (int)i, s) != 0 || add(e, s->end_s, 9, (int)i, s) != 0));
    }
    strait_tracks_release(&tracks);
    return failed ? strait_error_memory(err, "timeline") : 0;
}

static void put_event(FILE *out, const struct event *e, double from_s)
{
    const struct strait_span *s = &e->span;
    fprintf(out, "%d %.9f ", e->kind, e->at_s - from_s);
    if (e->kind >= 8)
        fprintf(out, "LINK run %llu r%d m%d.%d\n", (unsigned long long)s->bytes,
                e->kind == 8 ? s->peer : s->rank, s->rank, e->track);
    else if (e->kind == 7)
        fprintf(out, "STATE r%d.%d\n", s->rank, e->track);
    else
        fprintf(out, "STATE r%d.%d k%d\n", s->rank, e->track, s->kind);
}

int strait_timeline_paje(FILE *out, const struct strait_timeline *t, struct strait_error *err)
{
    struct events e = {0};
    int status = 0;
    double end_s = t->from_s;
    fputs(definitions, out);
    for (int kind = 0; kind < STRAIT_SPAN_ROUND; kind++) {
        unsigned rgb = (unsigned)strtoul(strait_plot_color((size_t)kind) + 1, NULL, 16);
        fprintf(out, "3 k%d STATE %s \"%.3f %.3f %.3f\"\n", kind,
                strait_span_kind_name((enum strait_span_kind)kind), (rgb >> 16) / 255.0,
                (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0);
    }
    fputs("4 0 run RUN 0 run\n", out);
    for (int rank = 0; rank < t->n_ranks && status == 0; rank++)
        status = add_rank(out, &e, t, rank, err);
    if (status == 0 && e.n > 0)
        qsort(e.all, e.n, sizeof(*e.all), by_time);
    for (size_t i = 0; i < e.n && status == 0; i++) {
        put_event(out, &e.all[i], t->from_s);
        end_s = e.all[i].at_s;
    }
    fprintf(out, "5 %.9f RUN run\n", end_s - t->from_s);
    free(e.all);
    return status;
}
