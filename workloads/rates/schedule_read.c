/* "rate" of a port that changes: steps, and traces of Mahimahi. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/host.h"
#include "core/shipped.h"
#include "schedule.h"

enum { MAX_STEPS = 1000000 };
static const double MAX_BITS_PER_S = 1e13, MAX_S = 1e9;
/* Winstein et al., Mahimahi: mm-link(1): each line is an opportunity to deliver 1500 bytes. */
static const double PACKET_BITS = 1500 * 8;

struct steps {
    double *at_s, *bits_per_s;
    size_t n, cap;
};

static int add(struct steps *s, double at_s, double bits_per_s, struct strait_error *err)
{
    if (s->n == s->cap) {
        const size_t cap = s->cap > 0 ? 2 * s->cap : 16;
        double *at = realloc(s->at_s, cap * sizeof(*at));
        if (at)
            s->at_s = at;
        double *rate = realloc(s->bits_per_s, cap * sizeof(*rate));
        if (rate)
            s->bits_per_s = rate;
        if (!at || !rate)
            return strait_error_memory(err, NULL);
        s->cap = cap;
    }
    s->at_s[s->n] = at_s;
    s->bits_per_s[s->n++] = bits_per_s;
    return 0;
}

/* --- steps -------------------------------------------------------------------------------- */

static int read_step(struct steps *s, struct strait_object *o, struct strait_error *err)
{
    double at_s, bits_per_s;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_quantity(o, &at_s, "at", STRAIT_UNIT_TIME, 0, MAX_S, err) != 0 ||
        strait_object_quantity(o, &bits_per_s, "rate", STRAIT_UNIT_LINK_RATE, DBL_MIN,
                               MAX_BITS_PER_S, err) != 0)
        return -1;
    strait_object_where(o, "at", where, sizeof(where));
    if (s->n == 0 && at_s > 0)
        return strait_refuse(err, where, "expected 0 s in the first step, found %g s", at_s);
    if (s->n > 0 && at_s <= s->at_s[s->n - 1])
        return strait_refuse(err, where,
                             "expected a time after %g s, that of the step before, found %g s",
                             s->at_s[s->n - 1], at_s);
    return add(s, at_s, bits_per_s, err) != 0 ? -1 : strait_object_close(o, err);
}

static int read_steps(struct steps *s, const json_t *list, const char *file, const char *pointer,
                      struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2], at[STRAIT_JSON_POINTER_MAX];
    size_t i;
    json_t *step;
    snprintf(where, sizeof(where), "%s#%s", file, pointer);
    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > MAX_STEPS)
        return strait_refuse(
            err, where,
            "expected an array of 1 to %d steps such as {\"at\": \"10 s\", \"rate\": \"1 Gbps\"}",
            MAX_STEPS);
    json_array_foreach (list, i, step) {
        struct strait_object o;
        snprintf(at, sizeof(at), "%.*s/%zu", STRAIT_JSON_POINTER_MAX - 24, pointer, i);
        if (strait_object_open(&o, file, at, step, err) != 0 || read_step(s, &o, err) != 0)
            return -1;
    }
    return 0;
}

static int read_repeated(struct steps *s, double *period_s, struct strait_object *o,
                         struct strait_error *err)
{
    char pointer[STRAIT_JSON_POINTER_MAX], where[STRAIT_JSON_POINTER_MAX * 2];
    snprintf(pointer, sizeof(pointer), "%.*s/steps", STRAIT_JSON_POINTER_MAX - 8, o->pointer);
    if (read_steps(s, strait_object_value(o, "steps"), o->file, pointer, err) != 0 ||
        strait_object_quantity_or(o, period_s, "repeat", STRAIT_UNIT_TIME, DBL_MIN, MAX_S, INFINITY,
                                  err) != 0)
        return -1;
    if (*period_s <= s->at_s[s->n - 1])
        return strait_refuse(err, strait_object_where(o, "repeat", where, sizeof(where)),
                             "expected a time after %g s, that of the last step, found %g s",
                             s->at_s[s->n - 1], *period_s);
    return 0;
}

/* --- traces of Mahimahi ------------------------------------------------------------------- */

/* What a window has delivered is a step from where the last one ended. */
static int end_window(struct steps *s, double *from_s, double to_s, double *n_packets,
                      struct strait_error *err)
{
    if (*n_packets <= 0) /* averaged with the next one */
        return 0;
    if (add(s, *from_s, *n_packets * PACKET_BITS / (to_s - *from_s), err) != 0)
        return -1;
    *from_s = to_s;
    *n_packets = 0;
    return 0;
}

static int bad_line(const char *path, size_t line, struct strait_error *err, const char *text)
{
    char where[512];
    snprintf(where, sizeof(where), "%.480s:%zu", path, line);
    return strait_refuse(
        err, where, "expected milliseconds, whole and not before the line before, found \"%.20s\"",
        text);
}

static int read_lines(struct steps *s, double *period_s, FILE *f, const char *path, double window_s,
                      struct strait_error *err)
{
    char text[64];
    double from_s = 0, n_packets = 0, n_windows = 1;
    unsigned long long last_ms = 0;
    for (size_t line = 1; fgets(text, sizeof(text), f); line++) {
        char *end;
        text[strcspn(text, "\r\n")] = '\0';
        errno = 0;
        const unsigned long long ms = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || errno || ms < last_ms || (double)ms > 1e3 * MAX_S)
            return bad_line(path, line, err, text);
        /* a delivery at the end of a window belongs to it */
        const double window = fmax(1, ceil((double)ms / 1e3 / window_s - 1e-9));
        if (window > n_windows &&
            end_window(s, &from_s, n_windows * window_s, &n_packets, err) != 0)
            return -1;
        n_windows = window;
        last_ms = ms;
        n_packets++;
    }
    *period_s = (double)last_ms / 1e3;
    if (ferror(f) || last_ms == 0)
        return strait_refuse(
            err, path,
            "expected a trace of Mahimahi, lines of milliseconds up to one above 0, found none");
    return end_window(s, &from_s, *period_s, &n_packets, err);
}

static int read_mahimahi(struct steps *s, double *period_s, struct strait_object *o,
                         struct strait_error *err)
{
    const char *name;
    char shipped[4096], where[STRAIT_JSON_POINTER_MAX * 2], why[128];
    double window_s;
    if (strait_object_string(o, &name, "mahimahi", err) != 0 ||
        strait_object_quantity_or(o, &window_s, "window", STRAIT_UNIT_TIME, 1e-3, 1e6, 0.1, err) !=
            0)
        return -1;
    const char *path = strait_shipped_path(shipped, sizeof(shipped), name);
    FILE *f = strait_host_open(path);
    if (!f)
        return strait_refuse(err, strait_object_where(o, "mahimahi", where, sizeof(where)),
                             "%s: %s", name, strerror_r(errno, why, sizeof(why)));
    const int failed = read_lines(s, period_s, f, path, window_s, err);
    fclose(f);
    return failed;
}

/* --- the whole ---------------------------------------------------------------------------- */

int strait_schedule_read(struct strait_schedule **schedule, struct strait_object *o,
                         struct strait_error *err)
{
    struct steps s = {0};
    struct strait_object all;
    char pointer[STRAIT_JSON_POINTER_MAX];
    const json_t *rate = strait_object_value(o, "rate");
    double period_s = INFINITY;
    int failed;
    *schedule = NULL;
    if (json_is_array(rate)) {
        snprintf(pointer, sizeof(pointer), "%.*s/rate", STRAIT_JSON_POINTER_MAX - 8, o->pointer);
        failed = read_steps(&s, rate, o->file, pointer, err);
    } else {
        failed =
            strait_object_enter(&all, o, "rate", false, err) != 0 ||
            (strait_object_has(&all, "mahimahi") ? read_mahimahi(&s, &period_s, &all, err)
                                                 : read_repeated(&s, &period_s, &all, err)) != 0 ||
            strait_object_close(&all, err) != 0;
    }
    if (!failed && !(*schedule = strait_schedule_new(s.n, s.at_s, s.bits_per_s, period_s)))
        failed = strait_error_memory(err, NULL);
    free(s.at_s);
    free(s.bits_per_s);
    return failed ? -1 : 0;
}
