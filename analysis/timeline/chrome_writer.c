/* Trace Event Format: one event a line, written as it comes. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "timeline.h"
#include "tracks.h"

static const double MICROSECONDS = 1e6; /* what ts and dur count */

static void put_text(FILE *out, const char *text)
{
    json_t *value = json_string(text);
    if (!value || json_dumpf(value, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) != 0)
        fputs("\"?\"", out);
    json_decref(value);
}

static void put_meta(FILE *out, const char *what, int pid, int tid, const char *name)
{
    fprintf(out, ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":", pid,
            tid, what);
    put_text(out, name);
    fputs("}}", out);
}

/* Lists keep their order by numbers. */
static void put_order(FILE *out, const char *what, int pid, int tid, int order)
{
    fprintf(out,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"sort_index\":%d}}",
            pid, tid, what, order);
}

static void put_slice(FILE *out, int pid, int tid, const char *name, double from_s, double to_s)
{
    fprintf(out, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.6f,\"dur\":%.6f,\"name\":", pid,
            tid, from_s * MICROSECONDS, fmax(0, to_s - from_s) * MICROSECONDS);
    put_text(out, name);
}

static void put_span(FILE *out, const struct strait_timeline *t, const struct strait_track_span *on)
{
    const struct strait_span *s = &on->span;
    char rank[STRAIT_LINK_NAME_CHARS], name[STRAIT_LINK_NAME_CHARS + 16];
    const char *kind = strait_span_kind_name((enum strait_span_kind)s->kind);
    if (s->kind == STRAIT_SPAN_TRANSFER && s->peer >= 0)
        snprintf(name, sizeof(name), "from %s", strait_timeline_rank(rank, t, s->peer));
    else
        snprintf(name, sizeof(name), "%s", kind);
    put_slice(out, s->rank, on->track, name, s->start_s, s->end_s);
    fprintf(out, ",\"cat\":\"%s\",\"args\":{\"round\":%d", kind, s->round);
    if (s->bytes > 0)
        fprintf(out, ",\"bytes\":%llu,\"raw_bytes\":%llu", (unsigned long long)s->bytes,
                (unsigned long long)s->raw_bytes);
    if (s->queued_s < s->start_s)
        fprintf(out, ",\"queued_s\":%.9g", s->start_s - s->queued_s);
    fputs(on->critical ? ",\"critical\":true}}" : "}}", out);
}

static int put_rank(FILE *out, const struct strait_timeline *t, int rank, struct strait_error *err)
{
    struct strait_tracks tracks;
    char name[STRAIT_LINK_NAME_CHARS];
    if (strait_tracks_of(&tracks, t, rank, err) != 0)
        return -1;
    put_meta(out, "process_name", rank, 0, strait_timeline_rank(name, t, rank));
    put_order(out, "process_sort_index", rank, 0, rank + 1);
    for (int i = 0; i < tracks.n_tracks; i++) {
        put_meta(out, "thread_name", rank, i, strait_track_name(name, &tracks.tracks[i]));
        put_order(out, "thread_sort_index", rank, i, (int)tracks.tracks[i].kind);
    }
    for (size_t i = 0; i < tracks.n_spans; i++)
        put_span(out, t, &tracks.spans[i]);
    strait_tracks_release(&tracks);
    return 0;
}

/* The path, from its end back as it is kept, and the rounds of rank 0. */
static void put_path(FILE *out, const struct strait_timeline *t)
{
    char rank[STRAIT_LINK_NAME_CHARS], name[2 * STRAIT_LINK_NAME_CHARS];
    const int pid = t->n_ranks;
    put_meta(out, "process_name", pid, 0, "critical path");
    put_order(out, "process_sort_index", pid, 0, 0);
    put_meta(out, "thread_name", pid, 0, "rounds");
    put_meta(out, "thread_name", pid, 1, "critical path");
    struct strait_span_walk walk;
    strait_spans_begin(&walk, &t->logs[0].spans);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));) {
        if (s->kind != STRAIT_SPAN_ROUND || s->start_s < t->from_s || s->start_s >= t->to_s)
            continue;
        snprintf(name, sizeof(name), "round %d", s->round);
        put_slice(out, pid, 0, name, s->start_s, s->end_s);
        fputs(",\"cat\":\"round\",\"args\":{}}", out);
    }
    for (size_t i = t->n_path; i-- > 0;) {
        const struct strait_path_step *step = &t->path[i];
        if (step->to_s <= t->from_s || step->from_s >= t->to_s)
            continue;
        snprintf(name, sizeof(name), "%s: %s", strait_timeline_rank(rank, t, step->rank),
                 step->is_gap ? "other" : strait_span_kind_name((enum strait_span_kind)step->kind));
        put_slice(out, pid, 1, name, step->from_s, step->to_s);
        fputs(",\"cat\":\"critical\",\"args\":{}}", out);
    }
}

int strait_timeline_chrome(FILE *out, const struct strait_timeline *t, struct strait_error *err)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"title\":", out);
    put_text(out, t->title);
    fputs("},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_labels\","
          "\"args\":{\"labels\":\"strait\"}}",
          out);
    put_path(out, t);
    for (int rank = 0; rank < t->n_ranks; rank++)
        if (put_rank(out, t, rank, err) != 0)
            return -1;
    fputs("\n]}\n", out);
    return 0;
}
