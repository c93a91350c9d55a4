/* Shares of the rounds' time for which resources were busy. */
#include "utilisation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "carried.h"
#include "core/heap.h"

static const char *const names[STRAIT_N_USES] = {
    "client_out",    "client_in",    "server_out", "server_in",    "site_out",    "site_in",
    "between_sites", "accelerators", "host_links", "client_cores", "server_cores"};

const char *strait_rank_name(char buf[STRAIT_LINK_NAME_CHARS], bool has_server, int rank)
{
    if (has_server && rank == 0)
        snprintf(buf, STRAIT_LINK_NAME_CHARS, "server");
    else
        snprintf(buf, STRAIT_LINK_NAME_CHARS, "%s %d", has_server ? "client" : "rank", rank);
    return buf;
}

const char *strait_link_name(char buf[STRAIT_LINK_NAME_CHARS], const struct strait_network *n,
                             int link)
{
    char rank[STRAIT_LINK_NAME_CHARS];
    const int sites = 2 * n->n_ranks, pairs = sites + 2 * n->n_sites;
    const char *way = link % 2 == 0 ? "out" : "in";
    if (link >= pairs)
        snprintf(buf, STRAIT_LINK_NAME_CHARS, "link from site %d to site %d",
                 (link - pairs) / n->n_sites, (link - pairs) % n->n_sites);
    else if (link >= sites)
        snprintf(buf, STRAIT_LINK_NAME_CHARS, "site %d port %s", (link - sites) / 2, way);
    else
        snprintf(buf, STRAIT_LINK_NAME_CHARS, "%.40s port %s",
                 strait_rank_name(rank, n->has_server, link / 2), way);
    return buf;
}

/* The share of a span that lies in the known rounds. */
static double inside_ratio(const struct strait_limits_inputs *in, const struct strait_span *s)
{
    const double span_s = s->end_s - s->start_s;
    if (!(span_s > 0))
        return s->end_s > in->from_s && s->end_s <= in->to_s;
    if (s->start_s >= in->from_s && s->end_s <= in->to_s)
        return 1;
    return strait_most(0, strait_least(s->end_s, in->to_s) - strait_most(s->start_s, in->from_s)) /
           span_s;
}

void strait_utilisation_add(struct strait_utilisation *u, const struct strait_span *s)
{
    const struct strait_limits_inputs *in = u->in;
    const struct strait_network *n = in->network;
    const int rank = s->rank;
    const double inside = inside_ratio(in, s), total_s = in->to_s - in->from_s;
    const double share = inside * (s->end_s - s->start_s) / total_s;
    const bool serves = in->has_server && rank == 0;
    int links[STRAIT_MAX_HOPS], n_hops;
    double bytes;
    switch (s->kind) {
    case STRAIT_SPAN_COMPUTE:
        *(in->on_cpu ? &u->cores[rank] : &u->accelerators[rank]) += share;
        break;
    case STRAIT_SPAN_ENCODE:
    case STRAIT_SPAN_DECODE:
    case STRAIT_SPAN_AGGREGATE:
        u->cores[rank] += share / (serves && in->n_server_cores > 0 ? in->n_server_cores : 1);
        break;
    case STRAIT_SPAN_TRANSFER:
        if (s->peer < 0)
            u->host_links[rank] += share;
        if (!strait_carried_crosses(n, s))
            break;
        n_hops = strait_network_path(n, s->peer, s->rank, links);
        bytes = inside * strait_carried_wire_bytes(n, s);
        for (int i = 0; i < n_hops; i++)
            u->links[links[i]] += bytes;
        break;
    default:
        break;
    }
}

int strait_utilisation_begin(struct strait_utilisation *u, const struct strait_limits_inputs *in,
                             struct strait_error *err)
{
    *u = (struct strait_utilisation){
        .in = in, .n_links = strait_network_n_links(in->network), .n_ranks = in->n_ranks};
    u->links = calloc((size_t)u->n_links + 1, sizeof(*u->links));
    u->accelerators = calloc((size_t)u->n_ranks, sizeof(*u->accelerators));
    u->cores = calloc((size_t)u->n_ranks, sizeof(*u->cores));
    u->host_links = calloc((size_t)u->n_ranks, sizeof(*u->host_links));
    if (!u->links || !u->accelerators || !u->cores || !u->host_links) {
        strait_utilisation_release(u);
        return strait_error_memory(err, "limits");
    }
    return 0;
}

void strait_utilisation_end(struct strait_utilisation *u)
{
    const struct strait_limits_inputs *in = u->in;
    /* Pairs of sites may have no link. A message that waits for those before it in its stream, and
     * arrives after the last round, counts as if it were carried all the while: hence the limit. */
    for (int l = 0; l < u->n_links; l++)
        if (u->links[l] > 0)
            u->links[l] = strait_least(
                u->links[l] / strait_carried_most_bytes(in->network, l, in->from_s, in->to_s), 1);
}

void strait_utilisation_release(struct strait_utilisation *u)
{
    free(u->links);
    free(u->accelerators);
    free(u->cores);
    free(u->host_links);
    memset(u, 0, sizeof(*u));
}

/* Of n values from `first` on in steps, without the links that are not there. */
static void put(json_t *all, enum strait_use kind, const double *values, int first, int n, int step,
                const struct strait_network *links, bool has_server)
{
    double sum = 0, most = -1;
    int at = 0, n_there = 0;
    char name[STRAIT_LINK_NAME_CHARS];
    for (int i = 0; i < n; i++) {
        const int k = first + step * i;
        if (links && !(strait_network_link(links, k)->rate_bits_per_s > 0))
            continue;
        n_there++;
        sum += values[k];
        at = values[k] > most ? k : at;
        most = strait_most(most, values[k]);
    }
    if (n_there == 0)
        return;
    links ? strait_link_name(name, links, at) : strait_rank_name(name, has_server, at);
    json_object_set_new(all, names[kind],
                        json_pack("{s:f, s:f, s:s, s:i}", "mean", sum / n_there, "most", most, "at",
                                  name, "n", n_there));
}

json_t *strait_utilisation_json(const struct strait_utilisation *u,
                                const struct strait_limits_inputs *in)
{
    const struct strait_network *n = in->network;
    const int n_servers = in->has_server ? 1 : 0, sites = 2 * n->n_ranks,
              pairs = sites + 2 * n->n_sites, n_ports = n->n_ranks - n_servers,
              n_clients = u->n_ranks - n_servers;
    json_t *all = json_object();
    for (int way = 0; way < 2; way++) {
        put(all, STRAIT_USE_CLIENT_OUT + (enum strait_use)way, u->links, 2 * n_servers + way,
            n_ports, 2, n, n->has_server);
        put(all, STRAIT_USE_SERVER_OUT + (enum strait_use)way, u->links, way,
            n_ports >= 0 ? n_servers : 0, 2, n, n->has_server);
        put(all, STRAIT_USE_SITE_OUT + (enum strait_use)way, u->links, sites + way, n->n_sites, 2,
            n, n->has_server);
    }
    put(all, STRAIT_USE_BETWEEN_SITES, u->links, pairs, n->between ? n->n_sites * n->n_sites : 0, 1,
        n, n->has_server);
    if (!in->on_cpu)
        put(all, STRAIT_USE_ACCELERATORS, u->accelerators, n_servers, n_clients, 1, NULL,
            in->has_server);
    bool is_crossed = false;
    for (int r = 0; r < u->n_ranks; r++)
        is_crossed = is_crossed || u->host_links[r] > 0;
    put(all, STRAIT_USE_HOST_LINKS, u->host_links, n_servers, is_crossed ? n_clients : 0, 1, NULL,
        in->has_server);
    put(all, STRAIT_USE_CLIENT_CORES, u->cores, n_servers, n_clients, 1, NULL, in->has_server);
    put(all, STRAIT_USE_SERVER_CORES, u->cores, 0, n_servers, 1, NULL, in->has_server);
    return all;
}
