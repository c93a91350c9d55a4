#include "packet_effects.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "core/names.h"
#include "core/units.h"

enum { N_EFFECTS = 3, EFFECT_CHARS = 160 };
enum { LOSS = 1, JITTER = 2, QUEUES = 4 }; /* sets of effects */

/* Links that are told of together: `n` of them from `first` on, in steps. */
struct group {
    const char *of;
    int first, n, step;
};

static double effect_of(const struct strait_link *l, int effect)
{
    const double figures[N_EFFECTS] = {l->loss_ratio, l->jitter_s,
                                       isfinite(l->queue_bytes) ? l->queue_bytes : 0};
    return figures[effect];
}

/* "loss 1 %", "jitter 2 ms to 5 ms"; "" where no link of the group has that. */
static void put_figures(char buf[EFFECT_CHARS], const struct strait_network *n, int effect,
                        const struct group *g, int way)
{
    static const struct {
        const char *name;
        enum strait_unit unit;
    } effects[N_EFFECTS] = {{"loss", STRAIT_UNIT_PERCENT},
                            {"jitter", STRAIT_UNIT_TIME},
                            {"queues of", STRAIT_UNIT_BYTES}};
    double min = INFINITY, max = 0;
    int n_with = 0, n_all = 0;
    char low[40], high[40], some[40] = "";
    *buf = '\0';
    for (int i = 0; i < g->n; i++) {
        const struct strait_link *l = strait_network_link(n, g->first + g->step * i + way);
        const double x = effect_of(l, effect);
        n_all += l->rate_bits_per_s > 0; /* pairs of sites may have no link */
        min = x > 0 ? fmin(min, x) : min;
        max = fmax(max, x);
        n_with += x > 0;
    }
    if (n_with == 0)
        return;
    strait_quantity_format(low, sizeof(low), effects[effect].unit, min);
    strait_quantity_format(high, sizeof(high), effects[effect].unit, max);
    const bool one = strcmp(low, high) == 0;
    if (n_with < n_all)
        snprintf(some, sizeof(some), "%d of %d ", n_with, n_all);
    snprintf(buf, EFFECT_CHARS, "%s %s%s%s on %s", effects[effect].name, low, one ? "" : " to ",
             one ? "" : high, some);
}

static void add_group(json_t *list, const struct strait_network *n, int effect,
                      const struct group *g)
{
    char up[EFFECT_CHARS], down[EFFECT_CHARS];
    put_figures(up, n, effect, g, 0);
    put_figures(down, n, effect, g, 1);
    const bool same = strcmp(up, down) == 0;
    const char *const s = g->n == 1 && !same ? "" : "s";
    if (*up)
        json_array_append_new(list,
                              json_sprintf("%s%s %s%s", up, g->of, same ? "link" : "uplink", s));
    if (*down && !same)
        json_array_append_new(list, json_sprintf("%s%s downlink%s", down, g->of, s));
}

static json_t *effects_among(const struct strait_network *n, unsigned which)
{
    const int n_servers = n->has_server ? 1 : 0;
    const struct group ports[] = {{"client", 2 * n_servers, n->n_ranks - n_servers - n->n_others,
                                   2},
                                  {"server", 0, n_servers, 2},
                                  {"site", 2 * n->n_ranks, n->n_sites, 2}},
                       pairs = {"", 2 * (n->n_ranks + n->n_sites),
                                n->between ? n->n_sites * n->n_sites : 0, 1};
    json_t *list = json_array();
    for (int effect = 0; effect < N_EFFECTS; effect++) {
        char between[EFFECT_CHARS];
        if (!(which & 1u << effect))
            continue;
        for (size_t g = 0; g < sizeof(ports) / sizeof(*ports); g++)
            add_group(list, n, effect, &ports[g]);
        put_figures(between, n, effect, &pairs, 0);
        if (*between)
            json_array_append_new(list, json_sprintf("%slinks between sites", between));
    }
    return list;
}

json_t *strait_packet_effects(const struct strait_network *n)
{
    const unsigned all = LOSS | JITTER | QUEUES;
    const bool by_packets = strait_network_by_packets(n),
               by_formula = n->detail == STRAIT_DETAIL_FORMULA;
    const struct {
        const char *key;
        json_t *list;
    } both[] = {{"not_modelled", effects_among(n, by_packets   ? 0
                                                  : by_formula ? all & ~(unsigned)LOSS
                                                               : all)},
                {"by_formula", effects_among(n, by_formula ? LOSS : 0)},
                {"drawn", effects_among(n, by_packets ? all : 0)}};
    json_t *effects = json_object();
    if (by_packets && n->drag)
        json_array_append_new(both[0].list,
                              json_string("share_spread (packets share links by themselves)"));
    for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
        if (json_array_size(both[i].list) > 0)
            json_object_set(effects, both[i].key, both[i].list);
        json_decref(both[i].list);
    }
    return effects;
}

static void put_list(char buf[STRAIT_EFFECTS_CHARS], const char *head, const json_t *list)
{
    size_t i;
    json_t *effect;
    json_array_foreach (list, i, effect)
        strait_text_add(buf, STRAIT_EFFECTS_CHARS, "%s%s %s", i > 0 || !*buf ? "" : "; ",
                        i > 0 ? "," : head, json_string_value(effect));
}

const char *strait_effects_text(char buf[STRAIT_EFFECTS_CHARS], const json_t *effects)
{
    *buf = '\0';
    put_list(buf, "not modelled, so that times are without it:",
             json_object_get(effects, "not_modelled"));
    put_list(buf, "by a formula, not packet by packet:", json_object_get(effects, "by_formula"));
    put_list(buf, "packet by packet, drawn by the seed:", json_object_get(effects, "drawn"));
    return buf;
}
