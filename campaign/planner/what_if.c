/* Experiments with one thing changed. */
#include "what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/row.h"
#include "campaign/backends.h"

static const struct {
    const char *key, *text;
} names[STRAIT_N_FASTER] = {
    [STRAIT_FASTER_NOTHING] = {"nothing", "nothing"},
    [STRAIT_FASTER_COMPUTE] = {"compute", "computing"},
    [STRAIT_FASTER_STRAGGLER] = {"straggler", "the slowest clients"},
    [STRAIT_FASTER_ENCODE] = {"encode", "encoding"},
    [STRAIT_FASTER_DECODE] = {"decode", "decoding"},
    [STRAIT_FASTER_CORES] = {"server_cores", "the server's decoding cores"},
    [STRAIT_FASTER_ADD] = {"aggregate", "adding up"},
    [STRAIT_FASTER_HOST_LINK] = {"host_links", "links to accelerators"},
    [STRAIT_FASTER_CLIENTS] = {"client_ports", "the clients' ports, both ways"},
    [STRAIT_FASTER_CLIENT_OUT] = {"client_out", "the clients' ports, out"},
    [STRAIT_FASTER_CLIENT_IN] = {"client_in", "the clients' ports, in"},
    [STRAIT_FASTER_SERVER] = {"server_port", "the server's port, both ways"},
    [STRAIT_FASTER_SERVER_OUT] = {"server_out", "the server's port, out"},
    [STRAIT_FASTER_SERVER_IN] = {"server_in", "the server's port, in"},
    [STRAIT_FASTER_SITES] = {"site_ports", "the sites' ports"},
    [STRAIT_FASTER_BETWEEN_SITES] = {"between_sites", "links between sites"},
    [STRAIT_FASTER_DELAYS] = {"delays", "round trips"},
};

const char *strait_faster_key(enum strait_faster what)
{
    return names[what].key;
}

const char *strait_faster_text(enum strait_faster what)
{
    return names[what].text;
}

static double slowest(const struct strait_experiment *e)
{
    double most = 0;
    for (size_t i = 0; i < e->n_slowness; i++)
        most = fmax(most, e->slowness[i]);
    return most;
}

static double longest_delay_s(const struct strait_network *n)
{
    double most_s = 0;
    for (int l = 0; l < strait_network_n_links(n); l++)
        most_s = fmax(most_s, strait_network_link(n, l)->delay_s);
    return most_s;
}

bool strait_faster_applies(enum strait_faster what, const struct strait_experiment *e)
{
    const struct strait_network *n = e->network;
    switch (what) {
    case STRAIT_FASTER_STRAGGLER:
        return slowest(e) > 1;
    case STRAIT_FASTER_ENCODE:
    case STRAIT_FASTER_DECODE:
        return !strait_plan_is_plain(e);
    case STRAIT_FASTER_CORES:
        return !strait_plan_is_plain(e) && e->strategy->has_server &&
               strait_experiment_has_param(e, "decode_cores");
    case STRAIT_FASTER_HOST_LINK: /* what lies in the host's memory has elements of some size */
        return strait_experiment_has_param(e, "element_bytes");
    case STRAIT_FASTER_SERVER:
    case STRAIT_FASTER_SERVER_OUT:
    case STRAIT_FASTER_SERVER_IN:
        return n->has_server;
    case STRAIT_FASTER_SITES:
        return n->n_sites > 0;
    case STRAIT_FASTER_BETWEEN_SITES:
        return n->between != NULL;
    case STRAIT_FASTER_DELAYS:
        return longest_delay_s(n) > 0;
    default:
        return true;
    }
}

/* A window that follows from the links changes with them. */
static void follow_window(struct strait_experiment *e)
{
    const json_t *tcp = json_object_get(json_object_get(e->json, "network"), "tcp");
    if (!json_object_get(tcp, "window"))
        e->network->tcp.window_bytes = strait_network_default_window_bytes(e->network);
}

/* A schedule of a link: the same with all its rates larger, with what other traffic takes left as
 * it is. NULL when memory runs out. */
static const struct strait_schedule *speed_schedule(struct strait_network *n,
                                                    const struct strait_link *l, double factor)
{
    const struct strait_schedule *s = l->schedule;
    double *rates = calloc(s->n, sizeof(*rates));
    for (size_t i = 0; rates && i < s->n; i++)
        rates[i] =
            factor * (s->bits_per_s[i] + l->background_bits_per_s) - l->background_bits_per_s;
    struct strait_schedule *fast =
        rates ? strait_schedule_new(s->n, s->at_s, rates, s->period_s) : NULL;
    free(rates);
    if (!fast)
        return NULL;
    fast->next = n->schedules;
    n->schedules = fast;
    return fast;
}

/* Ports with more rate: what other traffic takes stays. False: memory ran out. */
static bool speed_links(struct strait_network *net, struct strait_link *links, int n, double factor)
{
    for (int i = 0; i < n; i++) {
        struct strait_link *l = &links[i];
        if (l->schedule && !(l->schedule = speed_schedule(net, l, factor)))
            return false;
        l->rate_bits_per_s =
            factor * (l->rate_bits_per_s + l->background_bits_per_s) - l->background_bits_per_s;
    }
    return true;
}

static bool speed_network(struct strait_experiment *e, enum strait_faster what, double factor)
{
    struct strait_network *n = e->network;
    const int first = n->has_server ? 1 : 0;
    const bool out = what != STRAIT_FASTER_CLIENT_IN && what != STRAIT_FASTER_SERVER_IN,
               in = what != STRAIT_FASTER_CLIENT_OUT && what != STRAIT_FASTER_SERVER_OUT;
    bool whole = true;
    switch (what) {
    case STRAIT_FASTER_CLIENTS:
    case STRAIT_FASTER_CLIENT_OUT:
    case STRAIT_FASTER_CLIENT_IN:
        whole = speed_links(n, n->out + first, out ? n->n_ranks - first : 0, factor) &&
                speed_links(n, n->in + first, in ? n->n_ranks - first : 0, factor);
        break;
    case STRAIT_FASTER_SERVER:
    case STRAIT_FASTER_SERVER_OUT:
    case STRAIT_FASTER_SERVER_IN:
        whole = speed_links(n, n->out, out ? first : 0, factor) &&
                speed_links(n, n->in, in ? first : 0, factor);
        break;
    case STRAIT_FASTER_SITES:
        whole = speed_links(n, n->site_out, n->n_sites, factor) &&
                speed_links(n, n->site_in, n->n_sites, factor);
        break;
    case STRAIT_FASTER_BETWEEN_SITES:
        whole = speed_links(n, n->between, n->n_sites * n->n_sites, factor);
        break;
    default:
        for (int r = 0; r < n->n_ranks; r++) {
            n->out[r].delay_s /= factor;
            n->in[r].delay_s /= factor;
        }
        for (int s = 0; s < n->n_sites; s++) {
            n->site_out[s].delay_s /= factor;
            n->site_in[s].delay_s /= factor;
        }
        for (int p = 0; n->between && p < n->n_sites * n->n_sites; p++)
            n->between[p].delay_s /= factor;
    }
    follow_window(e);
    return whole;
}

static void add_cores(struct strait_experiment *e, double factor)
{
    for (unsigned i = 0; i < e->strategy->n_params; i++)
        if (strcmp(e->strategy->params[i].name, "decode_cores") == 0)
            e->params[i] = fmin(ceil(e->params[i] * factor), e->strategy->params[i].max);
}

/* Clients' own memory; servers' is the profile's. */
static void speed_adding(struct strait_experiment *e, struct strait_profile *profile, double factor)
{
    e->add_bytes_per_s *= factor;
    e->copy_bytes_per_s *= factor;
    profile->add_bytes_per_s *= factor;
    profile->copy_bytes_per_s *= factor;
    for (size_t i = 0; i < profile->n_entries; i++)
        if (strcmp(profile->entries[i].codec, "none") == 0)
            profile->entries[i].encode_bytes_per_s *= factor,
                profile->entries[i].decode_bytes_per_s *= factor;
}

static bool speed_up(struct strait_experiment *e, struct strait_profile *profile,
                     enum strait_faster what, double factor)
{
    const double most = slowest(e);
    switch (what) {
    case STRAIT_FASTER_NOTHING:
        break;
    case STRAIT_FASTER_COMPUTE:
        e->compute_speed *= factor;
        break;
    case STRAIT_FASTER_STRAGGLER:
        for (size_t i = 0; i < e->n_slowness; i++)
            e->slowness[i] /= e->slowness[i] == most ? factor : 1;
        break;
    case STRAIT_FASTER_ENCODE:
        e->up.encode_speed *= factor;
        e->down.encode_speed *= factor;
        break;
    case STRAIT_FASTER_DECODE:
        e->up.decode_speed *= factor;
        e->down.decode_speed *= factor;
        break;
    case STRAIT_FASTER_CORES:
        add_cores(e, factor);
        break;
    case STRAIT_FASTER_ADD:
        speed_adding(e, profile, factor);
        break;
    case STRAIT_FASTER_HOST_LINK:
        e->link.bytes_per_s *= factor;
        break;
    default:
        return speed_network(e, what, factor);
    }
    return true;
}

json_t *strait_what_if(const struct strait_plan_setup *setup, const json_t *resolved,
                       enum strait_faster what, double factor, double round_s,
                       struct strait_error *err)
{
    const struct strait_row_context context = {
        .backend = strait_fluid.name, .key = "", .profile = setup->profile_hash};
    const struct strait_trial_options sized = {.control = strait_plan_control(setup, &strait_fluid),
                                               .sizes = setup->sizes,
                                               .in_process = true};
    struct strait_plan_setup changed = *setup;
    struct strait_profile profile = *setup->profile; /* its entries are borrowed */
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    json_t *row = NULL;
    changed.profile = &profile;
    if (strait_experiment_read(&e, setup->file, resolved, err) == 0) {
        if (!speed_up(e, &profile, what, factor))
            strait_error_memory(err, "what if");
        else if (strait_trial_new(&p, e, &profile, &sized, err) == 0 &&
                 strait_trial_run(p, &strait_fluid, err) == 0)
            row = strait_row_new(p, &context, err);
    }
    const bool stays =
        what != STRAIT_FASTER_NOTHING && fabs(strait_row_number(row, "round_s") - round_s) <
                                             STRAIT_FASTER_LEAST_PER_MILLE * 1e-3 * round_s;
    if (row && !stays && strait_plan_put_interval(row, &changed, &strait_fluid, e, err) != 0) {
        json_decref(row);
        row = NULL;
    }
    strait_trial_free(p);
    strait_experiment_free(e);
    return row;
}
