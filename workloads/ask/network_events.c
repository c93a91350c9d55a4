/* "events" of a network: rates from a time on, for links by the name of their entry. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "network_ports.h"

enum { MAX_EVENTS = 10000, MAX_NAMES = 256 };
static const double MAX_RATIO = 100;

struct event {
    double at_s, bits_per_s; /* 0: ratio, of what the link has otherwise */
    double ratio;
    const char *on;
    int way;                   /* 0: out, 1: in, -1: both */
    size_t place;              /* in the file */
    bool is_presence, present; /* of clients, in place of a rate */
};

static bool is_percent(const json_t *rate)
{
    const char *text = json_string_value(rate);
    return text && strchr(text, '%');
}

/* An event without "rate" and "present": an unknown key is what its writer meant. */
static int refuse_nothing(struct strait_object *o, struct strait_error *err)
{
    static const char *const leaving[] = {"leave", "leaves", "away", "join", "joins"};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    for (size_t i = 0; i < sizeof(leaving) / sizeof(*leaving); i++)
        if (strait_object_has(o, leaving[i]))
            return strait_refuse(err, strait_object_where(o, NULL, where, sizeof(where)),
                                 "unknown key \"%s\", did you mean \"present\"? clients leave with "
                                 "\"present\": false and join with true",
                                 leaving[i]);
    return strait_object_close(o, err) != 0
               ? -1
               : strait_refuse(
                     err, strait_object_where(o, NULL, where, sizeof(where)),
                     "expected \"rate\", such as \"10 %%\", or \"present\", found neither");
}

static int read_event(struct event *e, struct strait_object *o, struct strait_error *err)
{
    static const char *const ways[] = {"out", "in", "both", NULL};
    const char *way;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    *e = (struct event){.way = -1};
    if (strait_object_quantity(o, &e->at_s, "at", STRAIT_UNIT_TIME, 0, 1e9, err) != 0 ||
        strait_object_string(o, &e->on, "on", err) != 0 ||
        strait_object_string_or(o, &way, "way", ways[2], err) != 0)
        return -1;
    if ((e->is_presence = strait_object_has(o, "present")))
        return strait_object_bool_or(o, &e->present, "present", true, err) != 0
                   ? -1
                   : strait_object_close(o, err);
    if (!strait_object_has(o, "rate"))
        return refuse_nothing(o, err);
    if ((is_percent(strait_object_value(o, "rate"))
             ? strait_object_quantity(o, &e->ratio, "rate", STRAIT_UNIT_PERCENT, DBL_MIN, MAX_RATIO,
                                      err)
             : strait_object_quantity(o, &e->bits_per_s, "rate", STRAIT_UNIT_LINK_RATE, DBL_MIN,
                                      1e13, err)) != 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (strcmp(way, ways[i]) == 0)
            e->way = i;
    if (e->way < 0 && strcmp(way, ways[2]) != 0)
        return strait_refuse_name(err, STRAIT_ERR_INPUT,
                                  strait_object_where(o, "way", where, sizeof(where)),
                                  "one of out, in, both", way, ways);
    return strait_object_close(o, err);
}

/* Whether an event is on link i. */
static bool is_on(const struct strait_network *n, const struct event *e, int i)
{
    const int n_ports = 2 * n->n_ranks, n_servers = n->has_server ? 1 : 0;
    const struct strait_link *l = strait_network_link(n, i);
    if (e->way >= 0 && i % 2 != e->way && i < n_ports + 2 * n->n_sites)
        return false;
    if (l->group && strcmp(l->group, e->on) == 0)
        return l->rate_bits_per_s > 0;
    return (strcmp(e->on, "server") == 0 && i < 2 * n_servers) ||
           (strcmp(e->on, "clients") == 0 && i >= 2 * n_servers && i < n_ports) ||
           (strcmp(e->on, "sites") == 0 && i >= n_ports && i < n_ports + 2 * n->n_sites);
}

static bool is_client(const struct strait_network *n, int i)
{
    return i >= (n->has_server ? 2 : 0) && i < 2 * n->n_ranks;
}

static int check_on(const struct strait_network *n, const struct event *e, struct strait_object *o,
                    struct strait_error *err)
{
    const char *names[MAX_NAMES + 1] = {"clients"};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    int n_names = 1, n_on = 0;
    if (n->has_server)
        names[n_names++] = "server";
    if (n->n_sites > 0)
        names[n_names++] = "sites";
    strait_object_where(o, "on", where, sizeof(where));
    for (int i = 0; i < strait_network_n_links(n); i++) {
        const struct strait_link *l = strait_network_link(n, i);
        if (is_on(n, e, i) && e->is_presence && !is_client(n, i))
            return strait_refuse(
                err, where, "expected clients, which alone leave and come, found \"%s\"", e->on);
        if (is_on(n, e, i) && !e->is_presence && l->schedule)
            return strait_refuse(
                err, where,
                "expected links of one rate, found \"%s\" with one that changes already", e->on);
        n_on += is_on(n, e, i);
        if (l->group && n_names < MAX_NAMES && strcmp(l->group, names[n_names - 1]) != 0)
            names[n_names++] = l->group;
    }
    return n_on > 0
               ? 0
               : strait_refuse_name(err, STRAIT_ERR_INPUT, where,
                                    "clients, server, sites or the name of an entry", e->on, names);
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->at_s != y->at_s ? (x->at_s > y->at_s) - (x->at_s < y->at_s)
                              : (x->place > y->place) - (x->place < y->place);
}

/* The steps of one link, of events in the order of their times. */
static int give(struct strait_network *n, int i, const struct event *events, size_t n_events,
                double *at_s, double *bits_per_s)
{
    struct strait_link *l = (struct strait_link *)strait_network_link(n, i);
    size_t n_steps = 1;
    at_s[0] = 0;
    bits_per_s[0] = l->rate_bits_per_s;
    for (size_t k = 0; k < n_events; k++) {
        if (!is_on(n, &events[k], i) || events[k].is_presence)
            continue;
        n_steps += events[k].at_s > at_s[n_steps - 1];
        at_s[n_steps - 1] = events[k].at_s;
        bits_per_s[n_steps - 1] =
            events[k].ratio > 0 ? events[k].ratio * l->rate_bits_per_s : events[k].bits_per_s;
    }
    if (n_steps == 1 && bits_per_s[0] == l->rate_bits_per_s)
        return 0;
    struct strait_schedule *s = strait_schedule_new(n_steps, at_s, bits_per_s, INFINITY);
    if (!s)
        return -1;
    s->next = n->schedules;
    n->schedules = s;
    l->schedule = s;
    l->rate_bits_per_s = s->max_bits_per_s;
    return 0;
}

/* When a client is there: from the beginning, and then as the events say. */
static int give_presence(struct strait_network *n, int i, const struct event *events,
                         size_t n_events, double *at_s, double *present)
{
    struct strait_link *l = (struct strait_link *)strait_network_link(n, i);
    size_t n_steps = 1;
    bool any = false;
    at_s[0] = 0;
    present[0] = 1;
    for (size_t k = 0; k < n_events && i % 2 == 0; k++) {
        if (!is_on(n, &events[k], i) || !events[k].is_presence)
            continue;
        any = true;
        n_steps += events[k].at_s > at_s[n_steps - 1];
        at_s[n_steps - 1] = events[k].at_s;
        present[n_steps - 1] = events[k].present;
    }
    struct strait_schedule *s = any ? strait_schedule_new(n_steps, at_s, present, INFINITY) : NULL;
    if (!s)
        return any ? -1 : 0;
    s->next = n->presences;
    n->presences = s;
    l->present = s;
    return 0;
}

int strait_events_read(struct strait_network *n, struct strait_object *network,
                       struct strait_error *err)
{
    const json_t *list = strait_object_value(network, "events");
    const size_t n_events = json_array_size(list);
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (!list)
        return 0;
    strait_object_where(network, "events", where, sizeof(where));
    if (!json_is_array(list))
        return strait_refuse_value(err, where, "an array of events", list);
    if (n_events > MAX_EVENTS)
        return strait_refuse(err, where, "expected at most %d events, found %zu", MAX_EVENTS,
                             n_events);
    struct event *events = calloc(n_events + 1, sizeof(*events));
    double *steps = calloc(2 * (n_events + 1), sizeof(*steps));
    int failed = !events || !steps ? strait_error_memory(err, NULL) : 0;
    for (size_t i = 0; i < n_events && !failed; i++) {
        struct strait_object o;
        failed = strait_ports_open(&o, network, "events", (int)i, err) != 0 ||
                 read_event(&events[i], &o, err) != 0 || check_on(n, &events[i], &o, err) != 0;
        events[i].place = i;
    }
    if (!failed)
        qsort(events, n_events, sizeof(*events), by_time);
    for (int i = 0; i < strait_network_n_links(n) && !failed && n_events > 0; i++)
        if (give(n, i, events, n_events, steps, steps + n_events + 1) != 0 ||
            give_presence(n, i, events, n_events, steps, steps + n_events + 1) != 0)
            failed = strait_error_memory(err, NULL);
    free(events);
    free(steps);
    return failed ? -1 : 0;
}
