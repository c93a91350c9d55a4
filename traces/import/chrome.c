#include "chrome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void strait_chrome_begin(struct strait_chrome *c, struct strait_source *s, struct strait_error *err)
{
    *c = (struct strait_chrome){.rank = -1, .world = -1};
    strait_pull_begin(&c->json, s, true, err);
}

void strait_chrome_release(struct strait_chrome *c)
{
    strait_pull_release(&c->json);
}

bool strait_chrome_is_cut(const struct strait_chrome *c)
{
    return c->json.is_cut;
}

/* A text or number that follows, as text, cut at cap. */
static int take_text(struct strait_pull_json *p, char *out, size_t cap)
{
    const enum strait_pull piece = strait_pull_next(p);
    if (piece == STRAIT_PULL_STRING || piece == STRAIT_PULL_NUMBER) {
        const size_t n = p->len < cap ? p->len : cap - 1;
        memcpy(out, p->text, n);
        out[n] = '\0';
    }
    return strait_pull_skip(p, piece);
}

/* A number that follows, or a text that is one; else *out stays. */
static int take_number(struct strait_pull_json *p, double *out)
{
    const enum strait_pull piece = strait_pull_next(p);
    if (piece == STRAIT_PULL_NUMBER || piece == STRAIT_PULL_STRING)
        *out = strait_pull_number(p);
    if (!isfinite(*out) || fabs(*out) > 1e18)
        *out = -1; /* no id is that large: a number of unsigned -1 says that there is none */
    return strait_pull_skip(p, piece);
}

/* Times must be numbers: they are what is asked for. */
static int take_time(struct strait_pull_json *p, double *out)
{
    const enum strait_pull piece = strait_pull_next(p);
    if (piece == STRAIT_PULL_ERROR)
        return -1;
    *out = strait_pull_number(p);
    if ((piece != STRAIT_PULL_NUMBER && piece != STRAIT_PULL_STRING) || !(fabs(*out) < 1e18))
        return strait_pull_fail(p, "microseconds");
    return 0;
}

/* [[16, 2704], [16], ...]: the first of them as "16x2704"; [] and scalars: "". */
static int take_dims(struct strait_pull_json *p, char *out)
{
    enum strait_pull piece = strait_pull_next(p);
    size_t used = 0;
    int depth = 0;
    if (piece != STRAIT_PULL_ARRAY)
        return strait_pull_skip(p, piece);
    for (bool is_first = true; depth >= 0;) {
        piece = strait_pull_next(p);
        if (piece <= STRAIT_PULL_END)
            return p->has_failed ? -1 : strait_pull_fail(p, "the end of a list");
        depth += (piece == STRAIT_PULL_ARRAY) - (piece == STRAIT_PULL_ARRAY_END);
        if (piece == STRAIT_PULL_NUMBER && depth == 1 && is_first && used + 24 < STRAIT_CHROME_DIMS)
            used += (size_t)snprintf(out + used, 24, "%s%.20s", used > 0 ? "x" : "", p->text);
        else if (piece == STRAIT_PULL_OBJECT && strait_pull_skip(p, piece) != 0)
            return -1;
        if (piece == STRAIT_PULL_ARRAY_END && depth == 0)
            is_first = false;
    }
    return 0;
}

static int take_arg(struct strait_pull_json *p, struct strait_chrome_event *e, const char *key)
{
    static const char *const elems[] = {"In msg nelems", "In msg size", "nelems"};
    if (strcmp(key, "External id") == 0)
        return take_number(p, &e->external_id);
    if (strcmp(key, "correlation") == 0)
        return take_number(p, &e->correlation);
    if (strcmp(key, "Sequence number") == 0)
        return take_number(p, &e->sequence);
    if (strcmp(key, "Fwd thread id") == 0)
        return take_number(p, &e->fwd_thread);
    if (strcmp(key, "Input Dims") == 0 || strcmp(key, "Input dims") == 0)
        return take_dims(p, e->dims);
    if (strcmp(key, "Collective name") == 0)
        return take_text(p, e->collective, sizeof(e->collective));
    if (strcmp(key, "dtype") == 0)
        return take_text(p, e->dtype, sizeof(e->dtype));
    if (strcmp(key, "name") == 0)
        return take_text(p, e->arg_name, sizeof(e->arg_name));
    if (strcmp(key, "shape") == 0)
        return take_text(p, e->shape, sizeof(e->shape));
    for (size_t i = 0; i < sizeof(elems) / sizeof(elems[0]); i++)
        if (strcmp(key, elems[i]) == 0)
            return take_number(p, &e->n_elems);
    return strait_pull_skip_next(p);
}

static int take_args(struct strait_pull_json *p, struct strait_chrome_event *e)
{
    enum strait_pull piece = strait_pull_next(p);
    if (piece != STRAIT_PULL_OBJECT)
        return strait_pull_skip(p, piece);
    while ((piece = strait_pull_next(p)) == STRAIT_PULL_KEY)
        if (take_arg(p, e, p->text) != 0)
            return -1;
    return piece == STRAIT_PULL_OBJECT_END ? 0 : -1;
}

static int take_field(struct strait_pull_json *p, struct strait_chrome_event *e, char lane[2][24])
{
    const char *key = p->text;
    char text[8] = "";
    if (strcmp(key, "ph") == 0) {
        if (take_text(p, text, sizeof(text)) != 0)
            return -1;
        e->phase = text[0];
        return 0;
    }
    if (strcmp(key, "name") == 0)
        return take_text(p, e->name, sizeof(e->name));
    if (strcmp(key, "cat") == 0)
        return take_text(p, e->category, sizeof(e->category));
    if (strcmp(key, "ts") == 0)
        return take_time(p, &e->start_us);
    if (strcmp(key, "dur") == 0)
        return take_time(p, &e->duration_us);
    if (strcmp(key, "args") == 0)
        return take_args(p, e);
    if (strcmp(key, "pid") == 0 || strcmp(key, "tid") == 0)
        return take_text(p, lane[key[0] == 't'], 24);
    return strait_pull_skip_next(p);
}

static int take_event(struct strait_pull_json *p, struct strait_chrome_event *e)
{
    char lane[2][24] = {"", ""};
    enum strait_pull piece;
    e->phase = '\0';
    e->start_us = e->duration_us = 0;
    e->external_id = e->correlation = e->sequence = e->fwd_thread = e->n_elems = -1;
    e->category[0] = e->name[0] = e->dims[0] = e->collective[0] = e->dtype[0] = '\0';
    e->arg_name[0] = e->shape[0] = '\0';
    while ((piece = strait_pull_next(p)) == STRAIT_PULL_KEY)
        if (take_field(p, e, lane) != 0)
            return -1;
    const size_t n = strlen(lane[0]);
    memcpy(e->lane, lane[0], n);
    e->lane[n] = '/';
    memcpy(e->lane + n + 1, lane[1], strlen(lane[1]) + 1);
    if (!(e->duration_us >= 0) && piece == STRAIT_PULL_OBJECT_END)
        return strait_pull_fail(p, "an event that does not end before it begins");
    return piece == STRAIT_PULL_OBJECT_END ? 1 : -1;
}

static int take_distributed(struct strait_chrome *c)
{
    struct strait_pull_json *p = &c->json;
    enum strait_pull piece = strait_pull_next(p);
    if (piece != STRAIT_PULL_OBJECT)
        return strait_pull_skip(p, piece);
    while ((piece = strait_pull_next(p)) == STRAIT_PULL_KEY)
        if ((strcmp(p->text, "rank") == 0         ? take_number(p, &c->rank)
             : strcmp(p->text, "world_size") == 0 ? take_number(p, &c->world)
             : strcmp(p->text, "backend") == 0    ? take_text(p, c->backend, sizeof(c->backend))
                                                  : strait_pull_skip_next(p)) != 0)
            return -1;
    return piece == STRAIT_PULL_OBJECT_END ? 0 : -1;
}

/* From the beginning, or after the events, to the next array of events. 1: there; 0: the end. */
static int find_events(struct strait_chrome *c)
{
    struct strait_pull_json *p = &c->json;
    enum strait_pull piece = strait_pull_next(p);
    if (p->depth == 1 && piece == STRAIT_PULL_ARRAY)
        return 1;
    if (p->depth == 1 && piece == STRAIT_PULL_OBJECT)
        piece = strait_pull_next(p);
    for (; piece == STRAIT_PULL_KEY; piece = strait_pull_next(p)) {
        if (strcmp(p->text, "traceEvents") == 0) {
            piece = strait_pull_next(p);
            return piece == STRAIT_PULL_ARRAY ? 1 : strait_pull_fail(p, "an array of events");
        }
        if ((strcmp(p->text, "distributedInfo") == 0 ? take_distributed(c)
                                                     : strait_pull_skip_next(p)) != 0)
            return -1;
    }
    if (piece == STRAIT_PULL_OBJECT_END && p->depth == 0)
        return strait_pull_next(p) == STRAIT_PULL_END ? 0 : -1;
    return piece == STRAIT_PULL_END ? 0 : p->has_failed ? -1 : strait_pull_fail(p, "events");
}

int strait_chrome_next(struct strait_chrome *c, struct strait_chrome_event *e)
{
    struct strait_pull_json *p = &c->json;
    while (!c->has_ended) {
        if (!c->in_events) {
            const int found = find_events(c);
            c->in_events = found > 0;
            c->has_ended = found <= 0;
            if (found <= 0)
                return found;
        }
        const enum strait_pull piece = strait_pull_next(p);
        const int taken = piece == STRAIT_PULL_OBJECT  ? take_event(p, e)
                          : piece == STRAIT_PULL_ERROR ? -1
                                                       : 0;
        c->has_ended = taken < 0;
        if (taken != 0)
            return p->is_cut ? 0 : taken;
        if (piece == STRAIT_PULL_END || (piece == STRAIT_PULL_ARRAY_END && p->depth == 0)) {
            c->has_ended = true;
            return piece == STRAIT_PULL_END || strait_pull_next(p) == STRAIT_PULL_END ? 0 : -1;
        }
        if (piece == STRAIT_PULL_ARRAY_END)
            c->in_events = false;
        else
            return strait_pull_fail(p, "an event");
    }
    return 0;
}
