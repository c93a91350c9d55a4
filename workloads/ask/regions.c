#include "regions.h"

#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/names.h"

enum { MAX_NAMES = 256, WHERE_CHARS = 512 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_between(const json_t *pair, const char *a, const char *b)
{
    return (strcmp(text_of(pair, "from"), a) == 0 && strcmp(text_of(pair, "to"), b) == 0) ||
           (strcmp(text_of(pair, "from"), b) == 0 && strcmp(text_of(pair, "to"), a) == 0);
}

static const json_t *find_pair(const json_t *pairs, const char *a, const char *b)
{
    size_t i;
    json_t *pair;
    json_array_foreach (pairs, i, pair)
        if (is_between(pair, a, b))
            return pair;
    return NULL;
}

/* Is it a region of the matrix? */
static int check_name(const json_t *pairs, const char *name, const char *where,
                      struct strait_error *err)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    size_t i, n = 0;
    json_t *pair;
    json_array_foreach (pairs, i, pair)
        for (int end = 0; end < 2; end++) {
            const char *here = text_of(pair, end == 0 ? "from" : "to");
            bool known = false;
            for (size_t k = 0; k < n; k++)
                known |= strcmp(names[k], here) == 0;
            if (!known && n < MAX_NAMES)
                names[n++] = here;
            if (strcmp(here, name) == 0)
                return 0;
        }
    return strait_refuse_name(err, STRAIT_ERR_INPUT, where, "a region of the matrix", name, names);
}

static int refuse(struct strait_error *err, const char *file, const char *pointer,
                  const char *expected, const json_t *value)
{
    char where[WHERE_CHARS];
    snprintf(where, sizeof(where), "%s#%s", file, pointer);
    return strait_refuse_value(err, where, expected, value);
}

static int check_regions(const json_t *regions, const json_t *pairs, const char *file,
                         struct strait_error *err)
{
    char where[WHERE_CHARS];
    size_t i;
    json_t *region;
    static const char some[] = "an array of regions such as {\"name\": \"Ohio\", \"ranks\": 4}";
    if (!json_is_array(regions))
        return refuse(err, file, "/network/regions", some, regions);
    if (json_array_size(regions) == 0)
        return strait_refuse_at(err, file, "/network/regions", "expected %s, found none", some);
    json_array_foreach (regions, i, region) {
        snprintf(where, sizeof(where), "%s#/network/regions/%zu", file, i);
        if (json_object_get(region, "count"))
            return strait_refuse(err, where, "expected each region once, found a \"count\"");
        if (!json_is_object(region))
            return strait_refuse_value(
                err, where, "an object such as {\"name\": \"Ohio\", \"ranks\": 4}", region);
        if (check_name(pairs, text_of(region, "name"), where, err) != 0)
            return -1;
    }
    return 0;
}

/* Links between all pairs of the regions, and what each has of them. */
static int link_pairs(json_t *between, double *sums_bits_per_s, const json_t *regions,
                      const json_t *pairs, const char *file, struct strait_error *err)
{
    const size_t n = json_array_size(regions);
    char where[WHERE_CHARS];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            const char *a = text_of(json_array_get(regions, i), "name"),
                       *b = text_of(json_array_get(regions, j), "name");
            const json_t *pair = find_pair(pairs, a, b);
            double bits_per_s;
            snprintf(where, sizeof(where), "%s#/network/regions/%zu", file, j);
            if (!pair)
                return strait_refuse(
                    err, where,
                    "expected a region whose link to \"%s\" the matrix has, found \"%s\"", a, b);
            if (strait_quantity_parse(&bits_per_s, STRAIT_UNIT_LINK_RATE, text_of(pair, "rate"),
                                      where, err) != 0)
                return -1;
            sums_bits_per_s[i] += bits_per_s;
            sums_bits_per_s[j] += bits_per_s;
            json_array_append_new(between, json_pack("{s:i, s:i, s:O, s:O}", "from", (int)i, "to",
                                                     (int)j, "rate", json_object_get(pair, "rate"),
                                                     "rtt", json_object_get(pair, "rtt")));
        }
    return 0;
}

static bool has_rate(const json_t *region)
{
    return json_object_get(region, "rate") ||
           (json_object_get(json_object_get(region, "in"), "rate") &&
            json_object_get(json_object_get(region, "out"), "rate"));
}

static int place_server(json_t *network, const json_t *regions, const char *file,
                        struct strait_error *err)
{
    json_t *server = json_object_get(network, "server"), *region;
    const char *name = text_of(server, "region"), *names[MAX_NAMES + 1] = {NULL};
    char where[WHERE_CHARS];
    size_t i;
    if (!json_object_get(server, "region"))
        return 0; /* a strategy may have none; else the reader asks for it */
    json_array_foreach (regions, i, region) {
        if (strcmp(text_of(region, "name"), name) == 0)
            return json_object_set_new(server, "site", json_integer((json_int_t)i));
        if (i < MAX_NAMES)
            names[i] = text_of(region, "name");
    }
    snprintf(where, sizeof(where), "%s#/network/server/region", file);
    return strait_refuse_name(err, STRAIT_ERR_INPUT, where, "one of the network's regions", name,
                              names);
}

int strait_regions_expand(json_t *network, const json_t *pairs, const char *file,
                          struct strait_error *err)
{
    const json_t *regions = json_object_get(network, "regions");
    double sums_bits_per_s[MAX_NAMES] = {0};
    json_t *between = json_array(), *sites = json_array(), *region;
    size_t i;
    int failed = check_regions(regions, pairs, file, err);
    if (!failed && json_array_size(regions) > MAX_NAMES)
        failed = strait_refuse(err, file, "expected at most %d regions, found %zu", MAX_NAMES,
                               json_array_size(regions));
    failed = failed || link_pairs(between, sums_bits_per_s, regions, pairs, file, err) != 0 ||
             place_server(network, regions, file, err) != 0;
    json_array_foreach (failed ? NULL : regions, i, region) {
        json_t *site = json_deep_copy(region);
        if (!has_rate(site)) /* one region alone has no links: nothing leaves it */
            json_object_set_new(site, "rate",
                                json_sprintf("%.10g Gbps", sums_bits_per_s[i] > 0
                                                               ? sums_bits_per_s[i] / 1e9
                                                               : 1.0));
        json_array_append_new(sites, site);
    }
    if (!failed) {
        json_object_set(network, "site", sites);
        json_object_set(network, "between", between);
    }
    json_decref(sites);
    json_decref(between);
    return failed ? -1 : 0;
}
