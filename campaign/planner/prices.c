/* Prices and energy. */
#include "prices.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/label.h"

static const double S_PER_H = 3600, BYTES_PER_GB = 1e9;

int strait_money_parse(double *value, char currency[16], const char *text, const char *per,
                       const char *where, struct strait_error *err)
{
    char *rest, found[16] = "";
    size_t n = 0;
    *value = strtod(text, &rest);
    const bool number = rest != text && isfinite(*value) && *value >= 0;
    while (*rest == ' ')
        rest++;
    for (; isalpha((unsigned char)*rest) && n + 1 < sizeof(found); rest++)
        found[n++] = *rest;
    if (!number || n == 0 || strcmp(rest, per) != 0)
        return strait_refuse(
            err, where, "expected an amount such as \"0.5 EUR%s\", found \"%.60s\"", per, text);
    if (*currency && strcmp(currency, found) != 0)
        return strait_refuse(err, where, "expected one currency, %s, found \"%.60s\"", currency,
                             text);
    snprintf(currency, 16, "%s", found);
    return 0;
}

/* An optional amount. */
static int read_amount(double *value, struct strait_prices *p, struct strait_object *o,
                       const char *key, const char *per, struct strait_error *err)
{
    const char *text;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if (strait_object_string_or(o, &text, key, NULL, err) != 0)
        return -1;
    if (!text)
        return 0;
    p->any = true;
    return strait_money_parse(value, p->currency, text, per,
                              strait_object_where(o, key, where, sizeof(where)), err);
}

/* "egress": an amount for all, or {"server": ..., "clients": ...}. */
static int read_egress(struct strait_prices *p, struct strait_object *o, struct strait_error *err)
{
    struct strait_object e;
    if (!json_is_object(strait_object_value(o, "egress"))) {
        if (read_amount(&p->server_per_gb, p, o, "egress", "/GB", err) != 0)
            return -1;
        p->clients_per_gb = p->server_per_gb;
        return 0;
    }
    return strait_object_enter(&e, o, "egress", false, err) != 0 ||
                   read_amount(&p->server_per_gb, p, &e, "server", "/GB", err) != 0 ||
                   read_amount(&p->clients_per_gb, p, &e, "clients", "/GB", err) != 0
               ? -1
               : strait_object_close(&e, err);
}

/* "per_hour": {"/network/server/rate": {"10 Gbps": "1.2 EUR/h"}}; other values cost nothing. */
static int read_per_h(struct strait_prices *p, struct strait_object *o, struct strait_error *err)
{
    const json_t *all = strait_object_value(o, "per_hour");
    const char *pointer, *name;
    json_t *values, *amount;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    strait_object_where(o, "per_hour", where, sizeof(where));
    p->per_h = json_object();
    if (all && !json_is_object(all))
        return strait_refuse(err, where, "expected an object of JSON Pointers");
    json_object_foreach ((json_t *)all, pointer, values) {
        json_t *of = json_object();
        json_object_set_new(p->per_h, pointer, of);
        if (*pointer != '/' || !json_is_object(values))
            return strait_refuse(err, where,
                                 "expected a JSON Pointer with an object of values and prices an "
                                 "hour, found \"%.60s\"",
                                 pointer);
        json_object_foreach (values, name, amount) {
            double value;
            const char *text = json_string_value(amount);
            if (strait_money_parse(&value, p->currency, text ? text : "", "/h", where, err) != 0)
                return -1;
            p->any = true;
            json_object_set_new(of, name, json_real(value));
        }
    }
    return 0;
}

/* "300 W" */
static int read_watts(double *out, struct strait_object *o, const char *key,
                      struct strait_error *err)
{
    const char *text;
    char where[2 * STRAIT_JSON_POINTER_MAX], *rest;
    if (strait_object_string_or(o, &text, key, NULL, err) != 0)
        return -1;
    *out = text ? strtod(text, &rest) : 0;
    if (text && (rest == text || strcmp(rest, " W") != 0 || !isfinite(*out) || *out < 0))
        return strait_refuse(err, strait_object_where(o, key, where, sizeof(where)),
                             "expected a power such as \"300 W\", found \"%.60s\"", text);
    return 0;
}

int strait_prices_read(struct strait_prices *p, const char *file, const char *pointer,
                       const json_t *json, struct strait_error *err)
{
    struct strait_object o, watts;
    const char *schema, *source;
    *p = (struct strait_prices){.any = false};
    if (strait_object_open(&o, file, pointer, json, err) != 0 ||
        strait_object_string_or(&o, &schema, "schema", "strait-prices/1", err) != 0 ||
        strait_object_string_or(&o, &source, "source", "", err) != 0 ||
        read_egress(p, &o, err) != 0 ||
        read_amount(&p->accelerator_per_h, p, &o, "accelerator", "/h", err) != 0 ||
        read_amount(&p->core_per_h, p, &o, "core", "/h", err) != 0 || read_per_h(p, &o, err) != 0 ||
        strait_object_enter(&watts, &o, "watts", true, err) != 0 ||
        read_watts(&p->accelerator_w, &watts, "accelerator", err) != 0 ||
        read_watts(&p->core_w, &watts, "core", err) != 0 || strait_object_close(&watts, err) != 0)
        return -1;
    if (strcmp(schema, "strait-prices/1") != 0)
        return strait_refuse(err, file, "expected \"strait-prices/1\", found \"%.60s\"", schema);
    return strait_object_close(&o, err);
}

void strait_prices_release(struct strait_prices *p)
{
    json_decref(p->per_h);
    p->per_h = NULL;
}

/* "5 Gbps" is "5000 Mbps". */
static bool same_quantity(const char *a, const char *b)
{
    static const enum strait_unit units[] = {STRAIT_UNIT_LINK_RATE, STRAIT_UNIT_TIME,
                                             STRAIT_UNIT_PERCENT, STRAIT_UNIT_BYTES,
                                             STRAIT_UNIT_SPEED};
    double x, y;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strait_quantity_parse(&x, units[i], a, NULL, NULL) == 0 &&
            strait_quantity_parse(&y, units[i], b, NULL, NULL) == 0)
            return fabs(x - y) <= 1e-12 * fabs(x); /* "0.3 Gbps" is rounded as "300 Mbps" is not */
    return false;
}

static double price_of(const json_t *prices, const char *text)
{
    const json_t *exact = json_object_get(prices, text);
    const char *name;
    json_t *amount;
    if (exact)
        return json_number_value(exact);
    json_object_foreach ((json_t *)prices, name, amount)
        if (same_quantity(name, text))
            return json_number_value(amount);
    return 0;
}

double strait_prices_per_h(const struct strait_prices *p, const json_t *labels, const json_t *point)
{
    double sum = 0;
    const char *pointer;
    json_t *prices;
    json_object_foreach (p->per_h, pointer, prices) {
        const json_t *label = json_object_get(labels, pointer);
        json_t *fixed = label ? NULL : strait_json_leaf(point, pointer);
        char *text = label || fixed ? strait_label_value(label ? label : fixed) : NULL;
        sum += text ? price_of(prices, text) : 0;
        free(text);
        json_decref(fixed);
    }
    return sum;
}

double strait_prices_of_round(const struct strait_prices *p, const struct strait_use_of_round *use,
                              const json_t *labels, const json_t *point)
{
    if (!p->any)
        return NAN;
    return (use->server_bytes * p->server_per_gb + use->clients_bytes * p->clients_per_gb) /
               BYTES_PER_GB +
           use->round_s / S_PER_H *
               (use->n_accelerators * p->accelerator_per_h + use->n_server_cores * p->core_per_h +
                strait_prices_per_h(p, labels, point));
}

double strait_energy_of_round_j(const struct strait_prices *p,
                                const struct strait_use_of_round *use)
{
    if (!(p->accelerator_w > 0) && !(p->core_w > 0))
        return NAN;
    return use->accelerator_busy_s * p->accelerator_w + use->core_busy_s * p->core_w;
}
