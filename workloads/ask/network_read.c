/* "network" of an experiment file: sites, TCP, the whole. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "network.h"
#include "network_ports.h"

/* --- sites -------------------------------------------------------------------------------- */

/* Ranks fill the sites in order; a server is at the core. One port repeats as often as needed. */
static int place_ranks(struct strait_network *n, const struct strait_ports *sites, bool has_server,
                       const char *where, struct strait_error *err)
{
    const int first = has_server ? 1 : 0;
    int placed = first;
    for (n->n_sites = 0; placed < n->n_ranks; n->n_sites++) {
        if (n->n_sites == sites->n && sites->n > 1)
            return strait_refuse(err, where, "expected room for %d ranks, found %d places",
                                 n->n_ranks - first, placed - first);
        placed += sites->n_ranks[n->n_sites % sites->n];
    }
    n->site = calloc((size_t)n->n_ranks, sizeof(*n->site));
    n->site_out = calloc((size_t)n->n_sites + 1, sizeof(*n->site_out));
    n->site_in = calloc((size_t)n->n_sites + 1, sizeof(*n->site_in));
    if (!n->site || !n->site_out || !n->site_in)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%d sites do not fit in memory",
                                n->n_sites);
    if (has_server)
        n->site[0] = -1;
    for (int s = 0, rank = first; s < n->n_sites; s++) {
        n->site_out[s] = sites->out[s % sites->n];
        n->site_in[s] = sites->in[s % sites->n];
        for (int k = 0; k < sites->n_ranks[s % sites->n] && rank < n->n_ranks; k++)
            n->site[rank++] = s;
    }
    return 0;
}

/* The server's own site, if it has one. */
static int place_server(struct strait_network *n, struct strait_object *network, bool must,
                        struct strait_error *err)
{
    struct strait_object o;
    long site;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (!json_is_object(strait_object_value(network, "server")))
        return 0;
    if (strait_object_enter(&o, network, "server", false, err) != 0)
        return -1;
    if (must && !strait_object_has(&o, "site"))
        return strait_refuse(err, strait_object_where(&o, "region", where, sizeof(where)),
                             "expected one of the network's regions, found nothing");
    if (strait_object_integer_or(&o, &site, "site", -1, n->n_sites - 1, -1, err) != 0)
        return -1;
    n->site[0] = (int)site;
    return 0;
}

/* Each pair has a place, 88 MB for this many. */
enum { MAX_PAIRED_SITES = 1000 };

/* "between": [{"from": 0, "to": 1, "rate": ...}]; "out" is the way from `from`. */
static int read_between(struct strait_network *n, struct strait_object *network,
                        struct strait_error *err)
{
    const json_t *value = strait_object_value(network, "between");
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (!value)
        return 0;
    if (!json_is_array(value))
        return strait_refuse(err, strait_object_where(network, "between", where, sizeof(where)),
                             "expected an array of links between two sites");
    if (n->n_sites > MAX_PAIRED_SITES)
        return strait_refuse(err, strait_object_where(network, "between", where, sizeof(where)),
                             "expected at most %d sites beside links between two of them, found %d",
                             MAX_PAIRED_SITES, n->n_sites);
    n->between = calloc((size_t)n->n_sites * (size_t)n->n_sites + 1, sizeof(*n->between));
    if (!n->between)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "links between %d sites do not fit",
                                n->n_sites);
    for (int i = 0; i < (int)json_array_size(value); i++) {
        struct strait_object o;
        struct strait_link out, in;
        long from, to;
        const char *name;
        if (strait_ports_open(&o, network, "between", i, err) != 0 ||
            strait_object_integer(&o, &from, "from", 0, n->n_sites - 1, err) != 0 ||
            strait_object_integer(&o, &to, "to", 0, n->n_sites - 1, err) != 0 ||
            strait_object_string_or(&o, &name, "name", NULL, err) != 0 ||
            strait_port_read(&out, &in, n, &o, err) != 0)
            return -1;
        if (from == to)
            return strait_refuse(err, strait_object_where(&o, "to", where, sizeof(where)),
                                 "expected another site than %ld", from);
        out.group = in.group = name;
        n->between[from * n->n_sites + to] = out;
        n->between[to * n->n_sites + from] = in;
    }
    return 0;
}

/* --- the whole ---------------------------------------------------------------------------- */

enum { MANY_RANKS = 256 };

static void widen(double *window_bytes, const struct strait_network *n, int src, int dst)
{
    if (src >= 0 && src != dst && src < n->n_ranks && dst < n->n_ranks)
        *window_bytes = fmax(*window_bytes, 2 * strait_path_bits_per_s(n, src, dst) / 8 *
                                                strait_path_rtt_s(n, src, dst));
}

/* Whether paths of these two ranks are the same. */
static bool is_like(const struct strait_network *n, int a, int b)
{
    const struct strait_link *links[2][2] = {{&n->out[a], &n->out[b]}, {&n->in[a], &n->in[b]}};
    for (int i = 0; i < 2; i++)
        if (links[i][0]->rate_bits_per_s != links[i][1]->rate_bits_per_s ||
            links[i][0]->delay_s != links[i][1]->delay_s)
            return false;
    return strait_network_site(n, a) == strait_network_site(n, b);
}

/* Whether there are two like it right before it, whose paths to others and to each other are its
 * paths too. */
static bool is_third(const struct strait_network *n, int rank)
{
    return rank >= 2 && rank < n->n_ranks && is_like(n, rank, rank - 1) &&
           is_like(n, rank - 1, rank - 2);
}

/* Half of the 6 MiB that Linux receives into at most (tcp_rmem), the other half being what packets
 * take beside their payload (tcp_adv_win_scale). */
static const double LINUX_WINDOW_BYTES = 6 * 1024 * 1024 / 2.;

double strait_network_packet_window_bytes(const struct strait_network *n)
{
    return n->tcp.writes_at_once && !n->names_window ? fmax(n->tcp.window_bytes, LINUX_WINDOW_BYTES)
                                                     : n->tcp.window_bytes;
}

/* Twice the bandwidth-delay product of the longest path, as on a well-tuned host, and at least 1
 * MB. With many ranks only paths of rank 0 and between neighbours are considered. */
double strait_network_default_window_bytes(const struct strait_network *n)
{
    double window_bytes = 1e6;
    for (int i = 0; i < n->n_ranks; i++) {
        if (is_third(n, i))
            continue;
        for (int j = 0; j < n->n_ranks && n->n_ranks <= MANY_RANKS; j++)
            if (!is_third(n, j))
                widen(&window_bytes, n, i, j);
        widen(&window_bytes, n, 0, i);
        widen(&window_bytes, n, i, 0);
        widen(&window_bytes, n, i - 1, i);
        widen(&window_bytes, n, i, i + 1);
    }
    return window_bytes;
}

/* Keys for the ports between switches, and for their ranks, by topology. */
struct topology {
    const char *name, *site, *n_ranks;
};
static const struct topology topologies[] = {
    {"star", NULL, NULL},
    {"sites", "site", "ranks"},
    {"nodes", "node", "accelerators"},
    {"regions", "site", "ranks"}}; /* which regions.h has written */

static const struct topology *find_topology(struct strait_object *network, struct strait_error *err)
{
    const char *name, *names[sizeof(topologies) / sizeof(topologies[0]) + 1] = {NULL};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string_or(network, &name, "topology", "star", err) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(topologies) / sizeof(topologies[0]); i++) {
        if (strcmp(topologies[i].name, name) == 0)
            return &topologies[i];
        names[i] = topologies[i].name;
    }
    strait_refuse_name(err, STRAIT_ERR_INPUT,
                       strait_object_where(network, "topology", where, sizeof(where)),
                       "\"star\", \"sites\", \"nodes\" or \"regions\"", name, names);
    return NULL;
}

static int read_detail(struct strait_network *n, struct strait_object *network,
                       struct strait_error *err)
{
    static const char *const names[] = {"auto", "flows", "packets", "formula", NULL};
    const char *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string_or(network, &name, "detail", "auto", err) != 0)
        return -1;
    for (n->detail = STRAIT_DETAIL_CHOSEN; n->detail <= STRAIT_DETAIL_FORMULA; n->detail++)
        if (strcmp(name, names[n->detail]) == 0)
            return 0;
    return strait_refuse_name(err, STRAIT_ERR_INPUT,
                              strait_object_where(network, "detail", where, sizeof(where)),
                              "\"auto\", \"flows\", \"packets\" or \"formula\"", name, names);
}

/* HyStart is CUBIC's. */
static int check_hystart(const struct strait_tcp *tcp, const struct strait_object *o,
                         struct strait_error *err)
{
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (!tcp->hystart || tcp->congestion == STRAIT_CUBIC)
        return 0;
    strait_object_where(o, "hystart", where, sizeof(where));
    return strait_refuse(err, where, "expected false, or the congestion cubic, found true with %s",
                         strait_congestion_name(tcp->congestion));
}

static int read_tcp(struct strait_network *n, struct strait_object *network,
                    struct strait_error *err)
{
    struct strait_tcp *tcp = &n->tcp;
    struct strait_object o;
    const char *congestion;
    long n_connections;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    *tcp = (struct strait_tcp){.segment_bytes = 1448};
    if (strait_object_enter(&o, network, "tcp", true, err) != 0 ||
        strait_object_string_or(&o, &congestion, "congestion", "reno", err) != 0 ||
        strait_object_quantity_or(&o, &tcp->initial_window_bytes, "initial_window",
                                  STRAIT_UNIT_BYTES, 1448, 1e9, 10 * tcp->segment_bytes,
                                  err) != 0 ||
        strait_object_quantity_or(&o, &tcp->window_bytes, "window", STRAIT_UNIT_BYTES, 14480, 1e10,
                                  NAN, err) != 0 ||
        strait_object_quantity_or(&o, &tcp->rto_min_s, "rto_min", STRAIT_UNIT_TIME, 0.001, 60, 0.2,
                                  err) != 0 ||
        strait_object_bool_or(&o, &tcp->slow_start_after_idle, "slow_start_after_idle", true,
                              err) != 0 ||
        strait_object_bool_or(&o, &tcp->hystart, "hystart", false, err) != 0 ||
        strait_object_integer_or(network, &n_connections, "connections", 1, STRAIT_MAX_CONNECTIONS,
                                 1, err) != 0 ||
        strait_object_close(&o, err) != 0)
        return -1;
    tcp->n_connections = (unsigned)n_connections;
    n->names_congestion = strait_object_has(&o, "congestion");
    n->names_window = strait_object_has(&o, "window");
    for (tcp->congestion = STRAIT_RENO; tcp->congestion <= STRAIT_CUBIC; tcp->congestion++)
        if (strcmp(congestion, strait_congestion_name(tcp->congestion)) == 0)
            return check_hystart(tcp, &o, err);
    strait_object_where(&o, "congestion", where, sizeof(where));
    return strait_refuse_name(err, STRAIT_ERR_INPUT, where, "\"reno\", \"bbr\" or \"cubic\"",
                              congestion, (const char *const[]){"reno", "bbr", "cubic", NULL});
}

static int make_links(struct strait_network *n, struct strait_object *o, bool has_server,
                      struct strait_error *err)
{
    struct strait_ports clients = {.owner = n}, server = {.owner = n};
    const int first = has_server ? 1 : 0;
    int failed = strait_ports_read(&clients, o, "client", NULL, err) != 0 ||
                 (has_server && strait_ports_read(&server, o, "server", NULL, err) != 0);
    n->out = calloc((size_t)n->n_ranks, sizeof(*n->out));
    n->in = calloc((size_t)n->n_ranks, sizeof(*n->in));
    if (!failed && (!n->out || !n->in))
        failed = strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%d ports do not fit in memory",
                                  n->n_ranks);
    for (int i = 0; i < n->n_ranks && !failed; i++) {
        const struct strait_ports *from = i < first ? &server : &clients;
        n->out[i] = from->out[i < first ? 0 : (i - first) % clients.n];
        n->in[i] = from->in[i < first ? 0 : (i - first) % clients.n];
    }
    strait_ports_release(&clients);
    strait_ports_release(&server);
    return failed ? -1 : 0;
}

static int make_sites(struct strait_network *n, struct strait_object *o, const struct topology *t,
                      bool has_server, struct strait_error *err)
{
    struct strait_ports sites = {.owner = n};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (!t->site)
        return 0;
    strait_object_where(o, t->site, where, sizeof(where));
    const bool regions = strcmp(t->name, "regions") == 0;
    if (regions) { /* became sites */
        strait_object_value(o, "regions");
        strait_object_value(o, "matrix");
    }
    const int failed = strait_ports_read(&sites, o, t->site, t->n_ranks, err) != 0 ||
                       place_ranks(n, &sites, has_server, where, err) != 0 ||
                       (has_server && place_server(n, o, regions, err) != 0) ||
                       read_between(n, o, err) != 0;
    strait_ports_release(&sites);
    return failed ? -1 : 0;
}

int strait_network_read(struct strait_network **out, struct strait_object *experiment, int n_ranks,
                        bool has_server, struct strait_error *err)
{
    struct strait_object o;
    struct strait_network *n = calloc(1, sizeof(*n));
    *out = NULL;
    if (!n)
        return strait_error_memory(err, NULL);
    n->n_ranks = n_ranks;
    n->has_server = has_server;
    const struct topology *topology;
    if (strait_object_enter(&o, experiment, "network", false, err) != 0 ||
        !(topology = find_topology(&o, err)) ||
        strait_object_quantity_or(&o, &n->overhead_bytes, "overhead", STRAIT_UNIT_BYTES, 0, 1000,
                                  24, err) != 0 ||
        make_links(n, &o, has_server, err) != 0 ||
        make_sites(n, &o, topology, has_server, err) != 0 || read_tcp(n, &o, err) != 0 ||
        read_detail(n, &o, err) != 0 || strait_events_read(n, &o, err) != 0)
        goto fail;
    for (int i = 2 * n->n_ranks; i < strait_network_n_links(n); i++)
        if (strait_network_link(n, i)->n_flows > 0) {
            char where[STRAIT_JSON_POINTER_MAX * 2];
            strait_refuse(err, strait_object_where(&o, topology->site, where, sizeof(where)),
                          "expected flows of others (\"background\") on ports of clients or of the "
                          "server, found them on a port or link of sites");
            goto fail;
        }
    strait_object_value(&o, "constants"); /* for strategies, read in device.c */
    if (!has_server)                      /* "server" may be present and is ignored */
        strait_object_value(&o, "server");
    if (strait_object_close(&o, err) != 0)
        goto fail;
    if (isnan(n->tcp.window_bytes))
        n->tcp.window_bytes = strait_network_default_window_bytes(n);
    *out = n;
    return 0;
fail:
    strait_network_free(n);
    return -1;
}
