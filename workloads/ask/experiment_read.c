#include "experiment.h"

#include "core/json.h"
#include "core/names.h"
#include "experiment_parts.h"
#include "network_ports.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLIENTS = 1000000, MAX_NAMES = 64 };

/* --- strategy ----------------------------------------------------------------------------- */

static int read_choice(double *out, struct strait_object *o, const struct strait_param *p,
                       struct strait_error *err)
{
    const char *name;
    if (strait_object_string_or(o, &name, p->name, p->choices[(int)p->fallback], err) != 0)
        return -1;
    for (int i = 0; p->choices[i]; i++)
        if (strcmp(p->choices[i], name) == 0) {
            *out = i;
            return 0;
        }
    char where[STRAIT_JSON_POINTER_MAX * 2], all[256] = "one of ";
    for (int i = 0; p->choices[i]; i++)
        strait_text_add(all, sizeof(all), "%s%s", i > 0 ? ", " : "", p->choices[i]);
    return strait_refuse_name(err, STRAIT_ERR_INPUT,
                              strait_object_where(o, p->name, where, sizeof(where)), all, name,
                              p->choices);
}

static int read_param(double *out, struct strait_object *o, const struct strait_param *p,
                      const struct strait_experiment *e, struct strait_error *err)
{
    long whole;
    const bool required = isnan(p->fallback);
    switch (p->kind) {
    case STRAIT_PARAM_NUMBER:
        return required
                   ? strait_object_number(o, out, p->name, p->min, p->max, err)
                   : strait_object_number_or(o, out, p->name, p->min, p->max, p->fallback, err);
    case STRAIT_PARAM_CORES: {
        const json_t *value = strait_object_value(o, p->name);
        if (json_is_string(value) && strcmp(json_string_value(value), "clients") == 0) {
            *out = e->n_clients;
            return 0;
        }
    } /* fall through */
    case STRAIT_PARAM_INTEGER:
        if ((required ? strait_object_integer(o, &whole, p->name, (long)p->min, (long)p->max, err)
                      : strait_object_integer_or(o, &whole, p->name, (long)p->min, (long)p->max,
                                                 (long)p->fallback, err)) != 0)
            return -1;
        *out = (double)whole;
        return 0;
    case STRAIT_PARAM_TIME:
        return strait_object_quantity_or(o, out, p->name, STRAIT_UNIT_TIME, p->min, p->max,
                                         p->fallback, err);
    case STRAIT_PARAM_BYTES:
        return strait_object_quantity_or(o, out, p->name, STRAIT_UNIT_BYTES, p->min, p->max,
                                         p->fallback, err);
    case STRAIT_PARAM_SPEED:
        return strait_object_quantity_or(o, out, p->name, STRAIT_UNIT_SPEED, p->min, p->max,
                                         p->fallback, err);
    case STRAIT_PARAM_PERCENT:
        return strait_object_quantity_or(o, out, p->name, STRAIT_UNIT_PERCENT, p->min, p->max,
                                         p->fallback, err);
    case STRAIT_PARAM_CHOICE:
        return read_choice(out, o, p, err);
    }
    assert(false);
    return -1;
}

enum { OF_NETWORK, OF_SOFTWARE, OF_MACHINE, N_CONSTANTS };

/* Precedence: the strategy's own value, then the network's constants, the software's, the
 * machine's. */
static int read_strategy(struct strait_experiment *e, struct strait_object *o,
                         struct strait_object constants[N_CONSTANTS], struct strait_error *err)
{
    struct strait_object s;
    const char *name;
    if (strait_object_enter(&s, o, "strategy", false, err) != 0 ||
        strait_object_string(&s, &name, "name", err) != 0)
        return -1;
    e->strategy = strait_strategy_find(name);
    if (!e->strategy) {
        size_t n;
        const struct strait_strategy *const *all = strait_strategies(&n);
        const char *names[MAX_NAMES] = {0};
        char where[STRAIT_JSON_POINTER_MAX * 2];
        for (size_t i = 0; i < n && i + 1 < MAX_NAMES; i++)
            names[i] = all[i]->name;
        return strait_refuse_name(err, STRAIT_ERR_INPUT,
                                  strait_object_where(&s, "name", where, sizeof(where)),
                                  "a strategy (strait list strategies)", name, names);
    }
    e->n_ranks = e->n_clients + (e->strategy->has_server ? 1 : 0);
    for (unsigned i = 0; i < e->strategy->n_params; i++) {
        const struct strait_param *p = &e->strategy->params[i];
        struct strait_object *from = &s;
        for (int k = 0; k < N_CONSTANTS && from == &s && !strait_object_has(&s, p->name); k++)
            if (constants[k].json && strait_param_is_of_machine(p->name) &&
                strait_object_has(&constants[k], p->name))
                from = &constants[k];
        if (read_param(&e->params[i], from, p, e, err) != 0)
            return -1;
    }
    return e->strategy->takes_edges && strait_edges_read(e, &s, err) != 0
               ? -1
               : strait_object_close(&s, err);
}

static int read_network_constants(struct strait_object *constants, struct strait_object *o,
                                  struct strait_error *err)
{
    struct strait_object network;
    return strait_object_enter(&network, o, "network", false, err) != 0 ||
                   strait_object_enter(constants, &network, "constants", true, err) != 0 ||
                   strait_constants_check(constants, err) != 0
               ? -1
               : 0;
}

/* "software": {"name": "horovod", "constants": {..}, "from": {..}}, as named.h expands it. */
static int read_software(struct strait_experiment *e, struct strait_object *constants,
                         struct strait_object *o, struct strait_error *err)
{
    struct strait_object software;
    const char *name;
    if (strait_object_enter(&software, o, "software", true, err) != 0 ||
        strait_object_string_or(&software, &name, "name", NULL, err) != 0 ||
        strait_object_enter(constants, &software, "constants", true, err) != 0)
        return -1;
    e->estimated = strait_object_value(&software, "from");
    return strait_constants_check(constants, err) != 0 ? -1 : strait_object_close(&software, err);
}

static int read_bounds(struct strait_experiment *e, struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    snprintf(where, sizeof(where), "%s#/codec", e->file);
    if (strait_codec_choice_bounds(&e->up, e->model, where, err) != 0)
        return -1;
    snprintf(where, sizeof(where), "%s#/download_codec", e->file);
    return strait_codec_choice_bounds(&e->down, e->model, where, err);
}

/* What goes up is coded against the parameters that came down. */
static int check_references(const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_codec_choice *choices[2] = {&e->up, &e->down};
    static const char *const keys[2] = {"codec", "download_codec"};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    for (int i = 0; i < 2; i++) {
        if (!choices[i]->reference)
            continue;
        snprintf(where, sizeof(where), "%s#/%s/reference", e->file, keys[i]);
        if (choices[i]->own && i == 0 && e->strategy->tracks && e->strategy->tracks(e))
            continue;
        if (choices[i]->own)
            return strait_refuse(err, where,
                                 "expected \"none\", since not all who receive what strategy "
                                 "\"%s\" sends %s decode each of it",
                                 e->strategy->name, i == 0 ? "up" : "down");
        if (!e->strategy->refers || !e->strategy->refers(e, i))
            return strait_refuse(err, where,
                                 "expected \"none\", since strategy \"%s\" sends no parameters %s "
                                 "that the receiver has an older version of",
                                 e->strategy->name, i == 0 ? "up" : "down");
        if (i == 0 && !e->down.reference)
            return strait_refuse(err, where,
                                 "expected \"last\" of the download_codec too: what goes up is "
                                 "coded against the parameters that came down");
    }
    return 0;
}

/* Inside a site the codec of gradients with another number of bits; 0, or no codec: none. */
static int read_inside(struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_codec_ops *ops = e->up.spec.ops;
    const double bits = strait_experiment_has_param(e, "inside_bits")
                            ? strait_experiment_param(e, "inside_bits")
                            : 0;
    const struct strait_codec_spec none = strait_codec_spec_default(strait_codec_find("none"));
    e->inside = (struct strait_codec_choice){.spec = none, .lossless = none};
    if (!(bits > 0) || ops == none.ops)
        return 0;
    unsigned i = 0;
    while (i < ops->n_params && strcmp(ops->params[i].name, "bits") != 0)
        i++;
    if (i == ops->n_params || !ops->fixed_size)
        return strait_refuse_at(err, e->file, "/strategy/inside_bits",
                                "expected 0, since \"%s\" has no number of bits, found %g",
                                ops->name, bits);
    if (bits < ops->params[i].min || bits > ops->params[i].max)
        return strait_refuse_at(err, e->file, "/strategy/inside_bits",
                                "expected 0 or from %g to %g bits of \"%s\", found %g",
                                ops->params[i].min, ops->params[i].max, ops->name, bits);
    e->inside = e->up;
    e->inside.spec.params[i] = bits;
    return 0;
}

/* Codecs that name no profile take their times from the machine's, where it has one. */
static void take_device_profile(struct strait_experiment *e)
{
    struct strait_codec_choice *choices[2] = {&e->up, &e->down};
    for (int i = 0; i < 2 && e->device_profile; i++)
        if (!choices[i]->profile)
            choices[i]->profile = e->device_profile;
}

/* Where rank 0 goes on without waiting for all, a round is `buffer` updates, or one; when the last
 * round ends, every client has its parameters once more. */
double strait_experiment_n_segments(const struct strait_experiment *e)
{
    const double n_rounds =
        strait_experiment_has_param(e, "rounds") ? strait_experiment_param(e, "rounds") : 1;
    const double n_updates =
        strait_experiment_has_param(e, "buffer") ? strait_experiment_param(e, "buffer") : 1;
    const double n_passes =
        e->strategy->ends_with_rank_0 ? n_rounds * n_updates + e->n_clients : n_rounds * e->n_ranks;
    return 2 * n_passes * 4 * (double)e->model->n_elems / e->network->tcp.segment_bytes;
}

/* Streams that meet on a link share it unevenly in TCP, and their acknowledgements wait behind the
 * data of others, which flows do not see. So who names a congestion control, which means nothing to
 * flows, gets packets where that costs little; so does a strategy whose times are made of it,
 * unless its first window takes whole gradients. Not by the codec's sizes: a run with a codec and
 * one without are simulated alike. */
static void choose_detail(struct strait_experiment *e)
{
    struct strait_network *n = e->network;
    const bool starts_slowly = n->tcp.initial_window_bytes < 4 * (double)e->model->n_elems,
               matters = n->names_congestion || (starts_slowly && e->strategy->needs_packets &&
                                                 e->strategy->needs_packets(e));
    if (n->detail == STRAIT_DETAIL_CHOSEN && matters && !e->graph && e->n_clients > 1 && !n->drag &&
        strait_network_n_scheduled(n) == 0 &&
        strait_experiment_n_segments(e) <= STRAIT_MAX_CHOSEN_SEGMENTS)
        n->detail = STRAIT_DETAIL_PACKETS;
}

/* Whether the strategy goes on without the clients that leave. */
static int check_leaving(const struct strait_experiment *e, struct strait_error *err)
{
    const enum strait_leaving leaving = e->strategy->leaving;
    bool one_stays = false;
    if (!e->network->presences)
        return 0;
    for (int r = e->n_ranks - e->n_clients; r < e->n_ranks; r++)
        one_stays = one_stays || !e->network->out[r].present;
    if (leaving == STRAIT_LEAVING_IF_ONE_STAYS && !one_stays)
        return strait_refuse_at(
            err, e->file, "/network/events",
            "expected a client that never leaves, since \"%s\" waits for ever where all are away",
            e->strategy->name);
    if (leaving == STRAIT_LEAVING_STOPS ||
        (leaving == STRAIT_LEAVING_BY_DEADLINE && !(strait_experiment_param(e, "deadline") > 0)))
        return strait_refuse_at(
            err, e->file, "/network/events",
            "expected nobody to leave, since only \"fedavg\" with a deadline, "
            "\"fedasync\", \"fedbuff\", \"decoupled-diloco\", \"elastic-diloco\" and \"swarm\" go "
            "on without a client, found \"%s\"%s",
            e->strategy->name, leaving == STRAIT_LEAVING_STOPS ? "" : " without");
    return 0;
}

/* Lanes of a replay take the channels that flows of others would have. */
static int check_flows(const struct strait_experiment *e, struct strait_error *err)
{
    if (!e->graph || strait_network_n_flows(e->network) == 0)
        return 0;
    return strait_refuse_at(err, e->file, "/network",
                            "expected no flows of others (\"background\") beside a replay");
}

static int read_all(struct strait_experiment *e, struct strait_object *o, struct strait_error *err)
{
    const char *schema, *table;
    long n_clients, seed;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string(o, &schema, "schema", err) != 0)
        return -1;
    if (strcmp(schema, "strait-experiment/1") != 0)
        return strait_refuse(err, strait_object_where(o, "schema", where, sizeof(where)),
                             "expected \"strait-experiment/1\", found \"%s\"", schema);
    if (strait_object_string_or(o, &e->title, "title", "", err) != 0 ||
        strait_object_string_or(o, &table, "table", "scaling", err) != 0 ||
        strait_object_string_or(o, &e->tensors, "tensors", NULL, err) != 0 ||
        (!strait_object_has(o, "clients") &&
         strait_ports_check_counts(json_object_get(o->json, "network"), e->file, err) != 0) ||
        strait_object_integer(o, &n_clients, "clients", 1, MAX_CLIENTS, err) != 0 ||
        strait_object_integer_or(o, &seed, "seed", 0, INT64_MAX, 1, err) != 0)
        return -1;
    e->is_tradeoff = strcmp(table, "tradeoff") == 0;
    if (!e->is_tradeoff && strcmp(table, "scaling") != 0)
        return strait_refuse_name(err, STRAIT_ERR_INPUT,
                                  strait_object_where(o, "table", where, sizeof(where)),
                                  "\"scaling\" or \"tradeoff\"", table,
                                  (const char *const[]){"scaling", "tradeoff", NULL});
    e->n_clients = (int)n_clients;
    e->seed = (uint64_t)seed;
    struct strait_object constants[N_CONSTANTS] = {0};
    if (strait_ask_trace(e, o, err) != 0 ||
        (!e->graph && strait_ask_model(&e->model, o, err) != 0) ||
        read_network_constants(&constants[OF_NETWORK], o, err) != 0 ||
        read_software(e, &constants[OF_SOFTWARE], o, err) != 0 ||
        strait_device_read(e, &constants[OF_MACHINE], o, err) != 0 ||
        read_strategy(e, o, constants, err) != 0 || strait_ask_training(e, o, err) != 0 ||
        strait_codec_choice_read(&e->up, o, "codec", err) != 0 ||
        strait_codec_choice_read(&e->down, o, "download_codec", err) != 0 ||
        check_references(e, err) != 0 || read_bounds(e, err) != 0 ||
        strait_network_read(&e->network, o, e->n_ranks, e->strategy->has_server, err) != 0)
        return -1;
    if (strait_experiment_has_param(e, "share_spread") &&
        strait_experiment_param(e, "share_spread") > 0 &&
        strait_network_spread_shares(e->network, strait_experiment_param(e, "share_spread"),
                                     e->seed, e->strategy->has_server) != 0)
        return strait_error_memory(err, NULL);
    e->network->tcp.writes_at_once = strait_experiment_chooses(e, "collective", "open_mpi") ||
                                     strait_experiment_chooses(e, "library", "open_mpi") ||
                                     strait_experiment_chooses(e, "library", "gloo");
    choose_detail(e);
    take_device_profile(e);
    if (read_inside(e, err) != 0 || check_leaving(e, err) != 0 || check_flows(e, err) != 0)
        return -1;
    return strait_object_close(o, err);
}

/* Without "clients", as many as the network lists. */
static void resolve_clients(json_t *json)
{
    const int n = json_object_get(json, "clients")
                      ? 0
                      : strait_ports_n_clients(json_object_get(json, "network"));
    if (n > 0)
        json_object_set_new(json, "clients", json_integer(n));
}

int strait_experiment_read(struct strait_experiment **out, const char *file, const json_t *resolved,
                           struct strait_error *err)
{
    struct strait_object o;
    struct strait_experiment *e = calloc(1, sizeof(*e));
    *out = NULL;
    if (!e)
        return strait_error_memory(err, NULL);
    e->json = json_deep_copy(resolved); /* the strings below are borrowed from it */
    e->file = strdup(file);
    if (!e->json || !e->file) {
        strait_experiment_free(e);
        return strait_error_memory(err, NULL);
    }
    strait_codec_same_resolve(e->json);
    resolve_clients(e->json);
    if (strait_object_open(&o, e->file, "", e->json, err) != 0 || read_all(e, &o, err) != 0 ||
        (e->strategy->check && e->strategy->check(e, err) != 0)) {
        strait_experiment_free(e);
        return -1;
    }
    *out = e;
    return 0;
}
