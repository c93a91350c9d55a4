/* The description of a network: names, addresses and links of its ranks. */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "program_network.h"
#include "emu/judge/prepare.h"
#include "emu/links/net.h"
#include "core/json.h"

enum { HOSTS_LINE_CHARS = 80 };

const char *strait_emu_program_host(char buf[32], const struct strait_experiment *e, int rank)
{
    const bool has_server = e->n_ranks > e->n_clients;
    if (has_server && rank == 0)
        snprintf(buf, 32, "server");
    else
        snprintf(buf, 32, "client%d", has_server ? rank : rank + 1);
    return buf;
}

static const char *address_text(char buf[INET_ADDRSTRLEN], int rank)
{
    const uint32_t address = strait_emu_net_address(rank);
    return inet_ntop(AF_INET, &address, buf, INET_ADDRSTRLEN);
}

char *strait_emu_program_hosts(const struct strait_experiment *e)
{
    const size_t cap = ((size_t)e->n_ranks + 1) * HOSTS_LINE_CHARS;
    char *text = malloc(cap), host[32], address[INET_ADDRSTRLEN];
    if (!text)
        return NULL;
    size_t used = (size_t)snprintf(text, cap, "127.0.0.1\tlocalhost\n");
    for (int i = 0; i < e->n_ranks; i++)
        used += (size_t)snprintf(text + used, cap - used, "%s\t%s rank%d\n",
                                 address_text(address, i), strait_emu_program_host(host, e, i), i);
    return text;
}

static json_t *link_json(const struct strait_link *l)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "rate_bits_per_s",
                     strait_json_number(l->rate_bits_per_s), "delay_s",
                     strait_json_number(l->delay_s), "loss_ratio",
                     strait_json_number(l->loss_ratio), "jitter_s", strait_json_number(l->jitter_s),
                     "queue_bytes", strait_json_number(l->queue_bytes));
}

/* Which host has which rank, and how a command gets there. */
static void put_part(json_t *all, const struct strait_emu_part *part, int n_ranks)
{
    json_t *hosts = json_array(), *ranks = json_object_get(all, "ranks");
    for (int i = 0; i < part->trunk.n_hosts; i++)
        json_array_append_new(hosts, json_string(part->names[i]));
    for (int i = 0; i < n_ranks; i++)
        json_object_set_new(json_array_get(ranks, (size_t)i), "on",
                            json_integer(part->trunk.host_of[i]));
    json_object_set_new(all, "hosts",
                        json_pack("{s:s, s:i, s:o, s:s, s:s, s:s, s:I}", "network", part->network,
                                  "here", part->trunk.here, "names", hosts, "launch", part->launch,
                                  "program", part->program, "outside", part->outside, "mtu_bytes",
                                  (json_int_t)part->trunk.mtu_bytes));
}

json_t *strait_emu_program_state(const struct strait_emu_program_plan *plan, long supervisor_pid,
                                 bool congestion_set)
{
    const struct strait_experiment *e = plan->experiment;
    json_t *ranks = json_array();
    json_t *const label = json_string(plan->label); /* NULL: not UTF-8 */
    char host[32], address[INET_ADDRSTRLEN];
    for (int i = 0; i < e->n_ranks; i++)
        json_array_append_new(ranks, json_pack("{s:i, s:s, s:s, s:o, s:o}", "rank", i, "host",
                                               strait_emu_program_host(host, e, i), "address",
                                               address_text(address, i), "out",
                                               link_json(&e->network->out[i]), "in",
                                               link_json(&e->network->in[i])));
    json_t *all = json_pack("{s:s, s:s, s:o, s:I, s:s, s:b, s:f, s:s, s:b, s:o}", "schema",
                            "strait-net/1", "name", plan->place->name, "experiment",
                            label ? label : json_string("an experiment"), "supervisor",
                            (json_int_t)supervisor_pid, "launcher", plan->launcher, "has_server",
                            e->n_ranks > e->n_clients, "overhead_bytes", e->network->overhead_bytes,
                            "congestion", strait_congestion_name(e->network->tcp.congestion),
                            "congestion_set", congestion_set, "ranks", ranks);
    if (e->network->tcp.congestion == STRAIT_CUBIC)
        json_object_set_new(all, "hystart", json_boolean(strait_emu_hystart_is_on()));
    if (all && plan->part)
        put_part(all, plan->part, e->n_ranks);
    return all;
}
