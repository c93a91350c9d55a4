/* Ports of a network: "client", "server", "site" and "between" of an experiment file. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "network_ports.h"

/* One rate, or a schedule of them. */
static int read_rate(struct strait_link *l, struct strait_network *owner, struct strait_object *o,
                     struct strait_error *err)
{
    const json_t *rate = strait_object_value(o, "rate");
    struct strait_schedule *s;
    if (!rate)
        return 0;
    l->schedule = NULL;
    if (!json_is_array(rate) && !json_is_object(rate))
        return strait_object_quantity(o, &l->rate_bits_per_s, "rate", STRAIT_UNIT_LINK_RATE,
                                      DBL_MIN, 1e13, err);
    if (strait_schedule_read(&s, o, err) != 0)
        return -1;
    s->next = owner->schedules;
    owner->schedules = s;
    l->schedule = s;
    l->rate_bits_per_s = s->max_bits_per_s;
    return 0;
}

/* "distribution" of the jitter. */
static int read_jitter(struct strait_link *l, struct strait_network *owner, struct strait_object *o,
                       struct strait_error *err)
{
    const char *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    struct strait_jitter *j;
    if (strait_object_string_or(o, &name, "distribution", NULL, err) != 0)
        return -1;
    if (!name)
        return 0;
    strait_object_where(o, "distribution", where, sizeof(where));
    if (!(l->jitter_s > 0) && !strait_object_has(o, "jitter") && !strait_object_has(o, "out") &&
        !strait_object_has(o, "in"))
        return strait_refuse(err, where, "expected a \"jitter\" beside it, found none");
    if (strait_jitter_load(&j, name, where, err) != 0)
        return -1;
    l->jitter = j;
    if (j) {
        j->next = owner->jitters;
        owner->jitters = j;
    }
    return 0;
}

/* One direction, or with the key "rtt" in place of "delay" both; what is absent stays. */
static int read_link(struct strait_link *l, struct strait_network *owner, struct strait_object *o,
                     bool is_both, struct strait_error *err)
{
    double rtt_s = 2 * l->delay_s;
    if (read_rate(l, owner, o, err) != 0 ||
        (is_both ? strait_object_quantity_or(o, &rtt_s, "rtt", STRAIT_UNIT_TIME, 0, 20, rtt_s, err)
                 : strait_object_quantity_or(o, &l->delay_s, "delay", STRAIT_UNIT_TIME, 0, 10,
                                             l->delay_s, err)) != 0)
        return -1;
    if (is_both)
        l->delay_s = rtt_s / 2;
    return strait_object_quantity_or(o, &l->loss_ratio, "loss", STRAIT_UNIT_PERCENT, 0, 0.5,
                                     l->loss_ratio, err) ||
                   strait_object_quantity_or(o, &l->jitter_s, "jitter", STRAIT_UNIT_TIME, 0, 10,
                                             l->jitter_s, err) ||
                   read_jitter(l, owner, o, err) != 0 ||
                   strait_object_quantity_or(o, &l->queue_bytes, "queue", STRAIT_UNIT_BYTES, 1514,
                                             DBL_MAX, l->queue_bytes, err)
               ? -1
               : 0;
}

static int read_direction(struct strait_link *l, struct strait_network *owner,
                          struct strait_object *o, const char *key, struct strait_error *err)
{
    struct strait_object d;
    return strait_object_enter(&d, o, key, true, err) != 0 ||
                   read_link(l, owner, &d, false, err) != 0 || strait_object_close(&d, err) != 0
               ? -1
               : 0;
}

/* What other traffic leaves of a rate, at all times. */
static int take_background(struct strait_link *l, struct strait_network *owner, double bits_per_s,
                           struct strait_object *o, struct strait_error *err)
{
    const struct strait_schedule *s = l->schedule;
    char where[STRAIT_JSON_POINTER_MAX * 2], least[64], found[64];
    if (bits_per_s >= strait_link_least_bits_per_s(l))
        return strait_refuse(
            err, strait_object_where(o, "background", where, sizeof(where)),
            "expected less than the link's rate of %s, found %s",
            strait_quantity_format(least, sizeof(least), STRAIT_UNIT_LINK_RATE,
                                   strait_link_least_bits_per_s(l)),
            strait_quantity_format(found, sizeof(found), STRAIT_UNIT_LINK_RATE, bits_per_s));
    l->background_bits_per_s = bits_per_s;
    l->rate_bits_per_s -= bits_per_s;
    if (!s || bits_per_s <= 0)
        return 0;
    struct strait_schedule *left = strait_schedule_less(s, bits_per_s);
    if (!left)
        return strait_error_memory(err, NULL);
    left->next = owner->schedules;
    owner->schedules = left;
    l->schedule = left;
    return 0;
}

/* {"rate": "200 Mbps", "flows": 2, "way": "in"}: a constant rate that is taken off both
 * directions' or one's, and flows that compete there. */
static int read_flows(struct strait_link *out, struct strait_link *in, struct strait_network *owner,
                      struct strait_object *port, struct strait_error *err)
{
    struct strait_object o;
    const char *way;
    double bits_per_s;
    long n_flows;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_enter(&o, port, "background", false, err) != 0 ||
        strait_object_string_or(&o, &way, "way", "", err) != 0 ||
        strait_object_quantity_or(&o, &bits_per_s, "rate", STRAIT_UNIT_LINK_RATE, 0, 1e13, 0,
                                  err) != 0 ||
        strait_object_integer_or(&o, &n_flows, "flows", 0, STRAIT_MAX_OTHER_FLOWS, 0, err) != 0)
        return -1;
    if (*way && strcmp(way, "out") != 0 && strcmp(way, "in") != 0)
        return strait_refuse_name(
            err, STRAIT_ERR_INPUT, strait_object_where(&o, "way", where, sizeof(where)),
            "\"out\" or \"in\"", way, (const char *const[]){"out", "in", NULL});
    struct strait_link *const links[] = {strcmp(way, "in") != 0 ? out : NULL,
                                         strcmp(way, "out") != 0 ? in : NULL};
    for (int i = 0; i < 2; i++) {
        if (links[i] && take_background(links[i], owner, bits_per_s, port, err) != 0)
            return -1;
        if (links[i])
            links[i]->n_flows = (int)n_flows;
    }
    return strait_object_close(&o, err);
}

/* "background": a rate, or what read_flows takes. */
static int read_background(struct strait_link *out, struct strait_link *in,
                           struct strait_network *owner, struct strait_object *o,
                           struct strait_error *err)
{
    double bits_per_s;
    if (json_is_object(strait_object_value(o, "background")))
        return read_flows(out, in, owner, o, err);
    return strait_object_quantity_or(o, &bits_per_s, "background", STRAIT_UNIT_LINK_RATE, 0, 1e13,
                                     0, err) != 0 ||
                   take_background(out, owner, bits_per_s, o, err) != 0 ||
                   take_background(in, owner, bits_per_s, o, err) != 0
               ? -1
               : 0;
}

int strait_port_read(struct strait_link *out, struct strait_link *in, struct strait_network *owner,
                     struct strait_object *o, struct strait_error *err)
{
    struct strait_link both = {.queue_bytes = INFINITY};
    if (read_link(&both, owner, o, true, err) != 0)
        return -1;
    *out = *in = both;
    if (read_direction(out, owner, o, "out", err) != 0 ||
        read_direction(in, owner, o, "in", err) != 0)
        return -1;
    if (!(out->rate_bits_per_s > 0 && in->rate_bits_per_s > 0)) /* says what is missing */
        return strait_object_quantity(o, &both.rate_bits_per_s, "rate", STRAIT_UNIT_LINK_RATE,
                                      DBL_MIN, 1e13, err);
    return read_background(out, in, owner, o, err) != 0 ? -1 : strait_object_close(o, err);
}

void strait_ports_release(struct strait_ports *p)
{
    free(p->out);
    free(p->in);
    free(p->n_ranks);
}

int strait_ports_open(struct strait_object *element, struct strait_object *parent, const char *key,
                      int i, struct strait_error *err)
{
    const json_t *value = strait_object_value(parent, key);
    char pointer[STRAIT_JSON_POINTER_MAX];
    if (!json_is_array(value))
        return strait_object_enter(element, parent, key, false, err);
    const int length = snprintf(pointer, sizeof(pointer), "%s/%s/%d", parent->pointer, key, i);
    if (length >= (int)sizeof(pointer))
        pointer[sizeof(pointer) - 1] = '\0';
    return strait_object_open(element, parent->file, pointer, json_array_get(value, (size_t)i),
                              err);
}

static int reserve(struct strait_ports *p, long n_more, struct strait_error *err)
{
    const size_t n = (size_t)p->n + (size_t)n_more;
    struct strait_link *out = realloc(p->out, n * sizeof(*out));
    if (out)
        p->out = out;
    struct strait_link *in = realloc(p->in, n * sizeof(*in));
    if (in)
        p->in = in;
    int *n_ranks = realloc(p->n_ranks, n * sizeof(*n_ranks));
    if (n_ranks)
        p->n_ranks = n_ranks;
    return out && in && n_ranks
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%zu ports do not fit in memory", n);
}

/* A name is that of one entry, and no word that events have for links of a kind. */
static int check_name(const struct strait_ports *p, const char *name, struct strait_object *o,
                      struct strait_error *err)
{
    static const char *const words[] = {"clients", "server", "sites"};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    for (size_t i = 0; name && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], name) == 0)
            return strait_refuse(err, strait_object_where(o, "name", where, sizeof(where)),
                                 "expected another name than clients, server and sites, which "
                                 "events have for all of a kind, found \"%s\"",
                                 name);
    for (int i = 0; i < p->n && name; i++)
        if (p->out[i].group && strcmp(p->out[i].group, name) == 0)
            return strait_refuse(err, strait_object_where(o, "name", where, sizeof(where)),
                                 "expected a name of its own, found \"%s\" again", name);
    return 0;
}

/* One entry, as often as it says. */
static int read_entry(struct strait_ports *p, struct strait_object *o, bool is_group,
                      const char *n_ranks_key, struct strait_error *err)
{
    struct strait_link out, in;
    const char *name = NULL;
    long n_ranks = 0, count = 1;
    if (!is_group) { /* a server's, read with the sites */
        strait_object_value(o, "site");
        strait_object_value(o, "region");
    }
    if (is_group &&
        (strait_object_string_or(o, &name, "name", NULL, err) != 0 ||
         check_name(p, name, o, err) != 0 ||
         strait_object_integer_or(o, &count, "count", 1, STRAIT_MAX_PORTS - p->n, 1, err) != 0))
        return -1;
    if ((n_ranks_key && strait_object_integer(o, &n_ranks, n_ranks_key, 1, INT32_MAX, err) != 0) ||
        strait_port_read(&out, &in, p->owner, o, err) != 0 || reserve(p, count, err) != 0)
        return -1;
    out.group = in.group = name;
    for (; count > 0; count--, p->n++) {
        p->out[p->n] = out;
        p->in[p->n] = in;
        p->n_ranks[p->n] = (int)n_ranks;
    }
    return 0;
}

int strait_ports_read(struct strait_ports *p, struct strait_object *network, const char *key,
                      const char *n_ranks_key, struct strait_error *err)
{
    const json_t *value = strait_object_value(network, key);
    char where[STRAIT_JSON_POINTER_MAX * 2];
    const size_t n = json_is_array(value) ? json_array_size(value) : 1;
    const bool is_group = strcmp(key, "server") != 0;
    if (n == 0 || n > STRAIT_MAX_PORTS)
        return strait_refuse(err, strait_object_where(network, key, where, sizeof(where)),
                             "expected a port, or an array of ports, 1 to %d, found %zu",
                             STRAIT_MAX_PORTS, n);
    for (size_t i = 0; i < n; i++) {
        struct strait_object o;
        if (strait_ports_open(&o, network, key, (int)i, err) != 0 ||
            read_entry(p, &o, is_group, n_ranks_key, err) != 0)
            return -1;
    }
    return 0;
}

static json_int_t total_of(const json_t *value, const char *n_ranks_key)
{
    const size_t n = json_is_array(value) ? json_array_size(value) : 1;
    bool says = json_is_array(value) && n_ranks_key; /* an array lists the sites */
    json_int_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_is_array(value) ? json_array_get(value, i) : value,
                     *count = json_object_get(entry, "count");
        const json_int_t times = count ? json_integer_value(count) : 1,
                         each = n_ranks_key
                                    ? json_integer_value(json_object_get(entry, n_ranks_key))
                                    : 1;
        if (times < 1 || times > STRAIT_MAX_PORTS || each < 1 || each > STRAIT_MAX_PORTS)
            return 0;
        says = says || count;
        total += times * each;
    }
    return says && total <= STRAIT_MAX_PORTS ? total : 0;
}

int strait_ports_n_clients(const json_t *network)
{
    const json_t *sites = json_object_get(network, "site"),
                 *nodes = json_object_get(network, "node");
    return (int)(sites   ? total_of(sites, "ranks")
                 : nodes ? total_of(nodes, "accelerators")
                         : total_of(json_object_get(network, "client"), NULL));
}

int strait_ports_check_counts(const json_t *network, const char *file, struct strait_error *err)
{
    static const char *const keys[] = {"site", "node", "client"};
    char pointer[STRAIT_JSON_POINTER_MAX];
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        const json_t *value = json_object_get(network, keys[k]);
        const bool is_list = json_is_array(value);
        snprintf(pointer, sizeof(pointer), "/network/%s", keys[k]);
        if (is_list && json_array_size(value) == 0)
            return strait_refuse_at(err, file, pointer,
                                    "expected a port, or an array of ports, 1 to %d, found 0",
                                    STRAIT_MAX_PORTS);
        for (size_t i = 0; value && i < (is_list ? json_array_size(value) : 1); i++) {
            struct strait_object o;
            long count;
            if (is_list)
                snprintf(pointer, sizeof(pointer), "/network/%s/%zu", keys[k], i);
            if (strait_object_open(&o, file, pointer, is_list ? json_array_get(value, i) : value,
                                   err) != 0 ||
                strait_object_integer_or(&o, &count, "count", 1, STRAIT_MAX_PORTS, 1, err) != 0)
                return -1;
        }
    }
    return 0;
}
