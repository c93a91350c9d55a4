/* Tracks: intervals that do not overlap, first fit in the order of starts. */
#include "tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends and starts that are equal but for rounding. */
static const double TOLERANCE_S = 1e-12;

static int by_start(const void *a, const void *b)
{
    const struct strait_track_span *x = a, *y = b;
    if (x->span.start_s != y->span.start_s)
        return x->span.start_s < y->span.start_s ? -1 : 1;
    if (x->span.end_s != y->span.end_s)
        return x->span.end_s > y->span.end_s ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The places of a rank's spans that the critical path passes, sorted. */
static size_t *critical_of(const struct strait_timeline *t, int rank, size_t *n)
{
    size_t *found = calloc(t->n_path + 1, sizeof(*found));
    *n = 0;
    for (size_t i = 0; found && i < t->n_path; i++)
        if (!t->path[i].is_gap && t->path[i].rank == rank)
            found[(*n)++] = t->path[i].at;
    if (found)
        qsort(found, *n, sizeof(*found), by_place);
    return found;
}

static enum strait_track_kind kind_of(const struct strait_span *s)
{
    return s->kind == STRAIT_SPAN_TRANSFER                               ? STRAIT_TRACK_RECEIVE
           : s->kind == STRAIT_SPAN_WAIT || s->kind == STRAIT_SPAN_ROUND ? STRAIT_TRACK_LANE
                                                                         : STRAIT_TRACK_WORK;
}

/* The first track of its kind that is free at the span's start, or a new one; -1: no memory. */
static int place(struct strait_tracks *out, const struct strait_span *s)
{
    const enum strait_track_kind kind = kind_of(s);
    int number = 0;
    for (int i = 0; i < out->n_tracks; i++) {
        struct strait_track *t = &out->tracks[i];
        if (t->kind != kind || t->lane != s->lane)
            continue;
        if (t->end_s <= s->start_s + TOLERANCE_S || s->kind == STRAIT_SPAN_ROUND) {
            t->end_s = s->end_s;
            return i;
        }
        number++;
    }
    struct strait_track *more = realloc(out->tracks, (size_t)(out->n_tracks + 1) * sizeof(*more));
    if (!more)
        return -1;
    out->tracks = more;
    out->tracks[out->n_tracks] = (struct strait_track){kind, s->lane, number, s->end_s};
    return out->n_tracks++;
}

int strait_tracks_of(struct strait_tracks *out, const struct strait_timeline *t, int rank,
                     struct strait_error *err)
{
    const struct strait_log *log = &t->logs[rank];
    size_t n_critical;
    size_t *critical = critical_of(t, rank, &n_critical);
    bool failed = !critical;
    struct strait_span_walk walk;
    *out = (struct strait_tracks){.spans = calloc(log->n_spans + 1, sizeof(*out->spans))};
    strait_spans_begin(&walk, &log->spans);
    for (size_t i = 0; out->spans && critical && i < log->n_spans; i++) {
        const struct strait_span *s = strait_spans_next(&walk);
        if (s->start_s >= t->from_s && s->start_s < t->to_s && s->kind != STRAIT_SPAN_ROUND)
            out->spans[out->n_spans++] = (struct strait_track_span){
                *s, i, 0, bsearch(&i, critical, n_critical, sizeof(*critical), by_place) != NULL};
    }
    if (out->n_spans > 0)
        qsort(out->spans, out->n_spans, sizeof(*out->spans), by_start);
    for (size_t i = 0; i < out->n_spans && !failed; i++)
        failed = (out->spans[i].track = place(out, &out->spans[i].span)) < 0;
    free(critical);
    if (!failed && out->spans)
        return 0;
    strait_tracks_release(out);
    return strait_error_memory(err, "timeline");
}

void strait_tracks_release(struct strait_tracks *tracks)
{
    free(tracks->spans);
    free(tracks->tracks);
    *tracks = (struct strait_tracks){0};
}

const char *strait_track_name(char buf[48], const struct strait_track *track)
{
    static const char *const kinds[] = {" waiting", " work", " receiving"};
    char number[16] = "";
    if (track->number > 0)
        snprintf(number, sizeof(number), " %d", track->number + 1);
    snprintf(buf, 48, "lane %d%s%s", track->lane, kinds[track->kind], number);
    return buf;
}

const char *strait_timeline_rank(char buf[STRAIT_LINK_NAME_CHARS], const struct strait_timeline *t,
                                 int rank)
{
    return strait_rank_name(buf, t->has_server, rank);
}
