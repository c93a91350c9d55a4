/* Break-even over a pointer: the search for counts of clients, on a grid of values. */
#include "breakeven_over.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/breakeven.h"
#include "analysis/row.h"
#include "campaign/breakeven_sweep.h"
#include "core/names.h"

/* STEP: from a value to the next. COARSE: values that are tried before bisection. */
static const double STEP = 1.02;
enum { COARSE = 17, MAX_VALUES = 1024, TEXT_CHARS = 64, N_UNITS = 5 };

enum form { NUMBER, WHOLE, QUANTITY, FACTOR };

struct over {
    const struct strait_plan_setup *setup;
    const json_t *resolved;
    const char *pointer;
    enum form form;
    enum strait_unit unit; /* of a QUANTITY */
    double own, least;     /* least: value 1 of the grid; of WHOLE numbers all are there */
    struct strait_plan_times *with, *without; /* by value of the grid; round_s 0: not yet */
    int end;
};

/* The value at a pointer without escapes; NULL: there is none. */
static const json_t *value_at(const json_t *in, const char *pointer)
{
    char token[TEXT_CHARS];
    while (in && *pointer == '/') {
        const size_t n = strcspn(++pointer, "/");
        snprintf(token, sizeof(token), "%.*s", (int)n, pointer);
        in = json_object_get(in, token);
        pointer += n;
    }
    return in;
}

/* A quantity of a port under this key, and in its "out" and "in", so many times as large. Returns:
 * how many there were. */
static int scale_port(json_t *port, const char *key, enum strait_unit unit, double factor)
{
    static const char *const ways[] = {"out", "in"};
    const char *text = json_string_value(json_object_get(port, key));
    double value;
    int n = 0;
    if (text && strait_quantity_parse(&value, unit, text, NULL, NULL) == 0) {
        char scaled[TEXT_CHARS];
        if (unit == STRAIT_UNIT_TIME)
            snprintf(scaled, sizeof(scaled), "%.9g s", value * factor);
        else
            snprintf(scaled, sizeof(scaled), "%.9g bps", value * factor);
        json_object_set_new(port, key, json_string(scaled));
        n++;
    }
    for (int i = 0; i < 2; i++)
        if (json_is_object(json_object_get(port, ways[i])))
            n += scale_port(json_object_get(port, ways[i]), key, unit, factor);
    return n;
}

/* The same of all ports that a pointer such as /network/client/rate means: those of an array, and
 * those that state each way by itself. */
static int scale_ports(json_t *point, const char *pointer, double factor)
{
    char folder[TEXT_CHARS * 2];
    const char *key = strrchr(pointer, '/') + 1;
    snprintf(folder, sizeof(folder), "%.*s", (int)(key - 1 - pointer), pointer);
    json_t *ports = (json_t *)value_at(point, folder), *port;
    const bool time = strcmp(key, "rtt") == 0;
    const enum strait_unit unit = time ? STRAIT_UNIT_TIME : STRAIT_UNIT_LINK_RATE;
    size_t i;
    int n = 0;
    if (!time && strcmp(key, "rate") != 0)
        return 0;
    if (json_is_object(ports))
        n = scale_port(ports, key, unit, factor) +
            (time ? scale_port(ports, "delay", unit, factor) : 0);
    json_array_foreach (ports, i, port)
        n += scale_port(port, key, unit, factor) +
             (time ? scale_port(port, "delay", unit, factor) : 0);
    return n;
}

/* So many times as many clients of each kind that the network lists, at least one. Returns: how
 * many there are then; 0: it lists none. */
static long scale_counts(json_t *point, double factor)
{
    json_t *ports = json_object_get(json_object_get(point, "network"), "client"), *port;
    size_t i;
    long n = 0;
    json_array_foreach (ports, i, port) {
        const json_t *count = json_object_get(port, "count");
        const long scaled =
            lround(fmax(1, factor * (count ? (double)json_integer_value(count) : 1)));
        json_object_set_new(port, "count", json_integer(scaled));
        n += scaled;
    }
    return n;
}

static bool is_of_clients(const struct over *o)
{
    return strcmp(o->pointer, "/clients") == 0;
}

static long scale(const struct over *o, json_t *point, double factor)
{
    return is_of_clients(o) ? scale_counts(point, factor) : scale_ports(point, o->pointer, factor);
}

/* Whether there may be so many times as many: strategies ask for a number of clients at least. */
static bool is_readable(const struct over *o, double factor)
{
    struct strait_experiment *e = NULL;
    json_t *point = json_deep_copy(o->resolved);
    const bool is =
        scale(o, point, factor) > 0 && strait_experiment_read(&e, o->setup->file, point, NULL) == 0;
    strait_experiment_free(e);
    json_decref(point);
    return is;
}

/* Returns: NULL, or why it cannot be varied. span: to how many times as much and as little. */
static const char *read_own(struct over *o, double span)
{
    static const enum strait_unit units[N_UNITS] = {STRAIT_UNIT_LINK_RATE, STRAIT_UNIT_TIME,
                                                    STRAIT_UNIT_PERCENT, STRAIT_UNIT_BYTES,
                                                    STRAIT_UNIT_SPEED};
    const json_t *own = value_at(o->resolved, o->pointer);
    const char *text = json_string_value(own);
    bool read = json_is_number(own);
    o->form = json_is_integer(own) ? WHOLE : NUMBER;
    o->own = json_number_value(own);
    if (!own && strcmp(o->pointer, "/codec/speed") == 0) {
        o->own = 1;
        read = true;
    }
    for (int i = 0; text && !read && i < N_UNITS; i++) {
        read = strait_quantity_parse(&o->own, units[i], text, NULL, NULL) == 0;
        o->unit = units[i];
        o->form = QUANTITY;
    }
    if (!own) {
        json_t *copy = json_deep_copy(o->resolved);
        if (!read && scale(o, copy, 1) > 0) {
            o->own = 1;
            o->form = FACTOR;
            read = true;
        }
        json_decref(copy);
        if (read && is_of_clients(o) && !(is_readable(o, 1 / span) && is_readable(o, span)))
            return "fewer or more clients are not possible with these settings";
    }
    return !read ? "the experiment has no such number" : o->own > 0 ? NULL : "it is 0";
}

static double value_of(const struct over *o, long i)
{
    return o->form == WHOLE ? (double)i : o->least * pow(STEP, (double)(i - 1));
}

static json_t *value_json(const struct over *o, double value)
{
    switch (o->form) {
    case WHOLE:
        return json_integer((json_int_t)value);
    case NUMBER:
    case FACTOR:
        return json_real(value);
    default:
        break;
    }
    switch (o->unit) {
    case STRAIT_UNIT_LINK_RATE:
        return json_sprintf("%.9g bps", value);
    case STRAIT_UNIT_TIME:
        return json_sprintf("%.9g s", value);
    case STRAIT_UNIT_PERCENT:
        return json_sprintf("%.9g %%", 100 * value);
    case STRAIT_UNIT_BYTES:
        return json_sprintf("%.0f B", value);
    default:
        return json_sprintf("%.9g B/s", value);
    }
}

static const char *value_text(char text[TEXT_CHARS], const struct over *o, double value)
{
    if (o->form == QUANTITY)
        return strait_quantity_format(text, TEXT_CHARS, o->unit, value);
    if (o->form == WHOLE) {
        snprintf(text, TEXT_CHARS, "%.0f", value);
    } else if (is_of_clients(o)) {
        json_t *copy = json_deep_copy(o->resolved);
        snprintf(text, TEXT_CHARS, "%ld", scale_counts(copy, value));
        json_decref(copy);
    } else {
        snprintf(text, TEXT_CHARS, "%.3g%s", value, o->form == FACTOR ? " times" : "");
    }
    return text;
}

/* The point with value i. A new reference, or NULL with *err. */
static json_t *point_at(const struct over *o, long i, struct strait_error *err)
{
    struct strait_sweep *sweep = NULL;
    json_t *vary, *point = NULL;
    if (o->form == FACTOR) {
        point = json_deep_copy(o->resolved);
        scale(o, point, value_of(o, i));
        return point;
    }
    vary = json_pack("{s:[o]}", o->pointer, value_json(o, value_of(o, i)));
    if (strait_sweep_of(&sweep, o->setup->file, o->resolved, vary, err) == 0)
        point = strait_sweep_point(sweep, 0, NULL, err);
    json_decref(vary);
    strait_sweep_free(sweep);
    return point;
}

/* Whether an experiment may say value i. */
static bool is_allowed(const struct over *o, long i)
{
    struct strait_experiment *e = NULL;
    json_t *point = point_at(o, i, NULL);
    const bool is = point && strait_experiment_read(&e, o->setup->file, point, NULL) == 0;
    strait_experiment_free(e);
    json_decref(point);
    return is;
}

/* The value furthest from the own one, towards `most`, that an experiment may say. */
static long furthest(const struct over *o, long own, long most)
{
    long allowed = own, refused = most;
    if (is_allowed(o, most))
        return most;
    while (labs(refused - allowed) > 1) {
        const long middle = allowed + (refused - allowed) / 2;
        *(is_allowed(o, middle) ? &allowed : &refused) = middle;
    }
    return allowed;
}

static int simulate(struct over *o, long i, struct strait_error *err)
{
    json_t *point = point_at(o, i, err), *plain = point ? strait_plan_without_codec(point) : NULL;
    int status = -1;
    if (plain)
        status = strait_plan_times(&o->without[i], o->setup, plain, NULL, err) != 0 ||
                         strait_plan_times(&o->with[i], o->setup, point, &o->without[i], err) != 0
                     ? -1
                     : 0;
    json_decref(point);
    json_decref(plain);
    return status;
}

static int times(double *with_s, double *without_s, long i, void *context, struct strait_error *err)
{
    struct over *o = context;
    if (!(o->with[i].round_s > 0) && simulate(o, i, err) != 0)
        return -1;
    strait_plan_times_at(with_s, without_s, &o->with[i], &o->without[i], o->end);
    return 0;
}

static json_t *pays_json(const struct over *o, const struct strait_breakeven *b)
{
    json_t *pays = json_array();
    for (size_t i = 0; i < b->n; i++)
        json_array_append_new(pays,
                              json_pack("[o, o]", value_json(o, value_of(o, b->pays[i].first)),
                                        value_json(o, value_of(o, b->pays[i].last))));
    return pays;
}

/* Of an edge at value i what the ends of the intervals make of it: " (0.7 to 1.2 Gbps)". */
static void put_edge(char *buf, size_t cap, const struct over *o,
                     const struct strait_breakeven found[3], size_t k, bool first)
{
    const struct strait_interval *v = &found[0].pays[k];
    long edges[2] = {first ? v->first : v->last, first ? v->first : v->last};
    char low[TEXT_CHARS], high[TEXT_CHARS];
    for (int e = 1; e < 3; e++)
        for (size_t i = 0; i < found[e].n; i++) {
            const struct strait_interval *x = &found[e].pays[i];
            if (x->first <= v->last && x->last >= v->first)
                edges[e - 1] = first ? x->first : x->last;
        }
    const long least = edges[0] < edges[1] ? edges[0] : edges[1],
               most = edges[0] < edges[1] ? edges[1] : edges[0];
    if (least < most)
        strait_text_add(buf, cap, " (%s to %s)", value_text(low, o, value_of(o, least)),
                        value_text(high, o, value_of(o, most)));
}

static void put_text(char *buf, size_t cap, const struct over *o,
                     const struct strait_breakeven found[3])
{
    const struct strait_breakeven *b = &found[0];
    char low[TEXT_CHARS], high[TEXT_CHARS];
    *buf = '\0';
    for (size_t k = 0; k < b->n; k++) {
        const bool opens = b->pays[k].first == b->first, closes = b->pays[k].last == b->last;
        strait_text_add(buf, cap, "%s", k > 0 ? ", and " : "");
        if (opens && closes)
            strait_text_add(buf, cap, "always");
        if (!opens) {
            strait_text_add(buf, cap, "from %s", value_text(low, o, value_of(o, b->pays[k].first)));
            put_edge(buf, cap, o, found, k, true);
        }
        if (!closes) {
            strait_text_add(buf, cap, "%sup to %s", opens ? "" : " ",
                            value_text(low, o, value_of(o, b->pays[k].last)));
            put_edge(buf, cap, o, found, k, false);
        }
        if (!opens && closes)
            strait_text_add(buf, cap, " on");
    }
    strait_text_add(buf, cap, "%s; %s to %s looked at", b->n == 0 ? "never" : "",
                    value_text(low, o, value_of(o, b->first)),
                    value_text(high, o, value_of(o, b->last)));
}

static int search(json_t **record, struct over *o, const long *counts, size_t n,
                  struct strait_error *err)
{
    static const int ends[] = {0, 1, -1}; /* as predicted; perhaps; surely */
    struct strait_breakeven found[3] = {{0}};
    char text[512];
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        o->end = ends[i];
        status = strait_breakeven_find(&found[i], counts, n, times, o, err);
    }
    if (status == 0) {
        put_text(text, sizeof(text), o, found);
        *record = json_pack(
            "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "pointer", o->pointer, "own",
            value_json(o, o->own), "first", value_json(o, value_of(o, found[0].first)), "last",
            value_json(o, value_of(o, found[0].last)), "pays", pays_json(o, &found[0]), "perhaps",
            pays_json(o, &found[1]), "surely", pays_json(o, &found[2]), "text", text);
    }
    for (int i = 0; i < 3; i++)
        strait_breakeven_release(&found[i]);
    return status;
}

int strait_breakeven_over(json_t **record, const struct strait_plan_setup *setup,
                          const json_t *resolved, const char *pointer, double span,
                          struct strait_error *err)
{
    struct over o = {.setup = setup, .resolved = resolved, .pointer = pointer};
    long counts[COARSE], n_values;
    const char *why = read_own(&o, span);
    *record = NULL;
    if (why) {
        *record = json_pack("{s:s, s:s}", "pointer", pointer, "why", why);
        return 0;
    }
    o.least = o.own / span;
    n_values = o.form == WHOLE ? (long)floor(o.own * span)
                               : 1 + (long)ceil(2 * log(span) / log(STEP) - 1e-9);
    if (n_values > MAX_VALUES)
        n_values = MAX_VALUES;
    const long here = o.form == WHOLE ? (long)o.own : 1 + lround(log(span) / log(STEP)),
               own = here < n_values ? here : n_values;
    const long first = furthest(&o, own, o.form == WHOLE ? (long)fmax(1, ceil(o.own / span)) : 1);
    const long last = furthest(&o, own, n_values);
    for (int i = 0; i < COARSE; i++)
        counts[i] = first + (last - first) * i / (COARSE - 1);
    o.with = calloc((size_t)n_values + 1, sizeof(*o.with));
    o.without = calloc((size_t)n_values + 1, sizeof(*o.without));
    const int status = o.with && o.without ? search(record, &o, counts, COARSE, err)
                                           : strait_error_memory(err, "plan");
    free(o.with);
    free(o.without);
    return status;
}
