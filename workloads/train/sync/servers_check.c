/* Checks of an experiment's parameter servers. */
#include "servers.h"

#include <stdio.h>
#include <string.h>

#include "workloads/train/collectives/legal.h"

enum { INSIDE = STRAIT_SERVERS_INSIDE, PUSH = STRAIT_SERVERS_PUSH, PULL = STRAIT_SERVERS_PULL };

const char *const strait_exchanges[] = {"all-reduce", "servers", NULL};
const char *const strait_placements[] = {"colocated", "separate", NULL};
const char *const strait_assigns[] = {"bytes", "turns", NULL};

bool strait_uses_servers(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "exchange") == STRAIT_TO_SERVERS;
}

int strait_servers_n_training(const struct strait_experiment *e)
{
    /* other strategies have no such parameter */
    const bool has_servers = strait_experiment_has_param(e, "servers"),
               has_exchange = strait_experiment_has_param(e, "exchange");
    if (!has_servers || (has_exchange && !strait_uses_servers(e)) ||
        (int)strait_experiment_param(e, "placement") == STRAIT_COLOCATED)
        return e->n_clients;
    return e->n_clients - (int)strait_experiment_param(e, "servers");
}

/* A sum that was added encoded is pulled as it is. */
static int check_sums(const struct strait_experiment *e, struct strait_error *err)
{
    if ((int)strait_experiment_param(e, "sums") == STRAIT_SUMS_DECODED)
        return 0;
    if (strcmp(e->down.spec.ops->name, "none") != 0)
        return strait_refuse_at(
            err, e->file, "/download_codec",
            "expected \"none\" where sums are pulled as they were added, encoded, found \"%s\"",
            e->down.spec.ops->name);
    return strait_all_reduce_check(e, STRAIT_AR_RING_ENCODED, "sums encoded", err);
}

int strait_servers_check(const struct strait_experiment *e, struct strait_error *err)
{
    const int n_servers = (int)strait_experiment_param(e, "servers"),
              n_inside = (int)strait_experiment_param(e, "node_size");
    const bool colocated = (int)strait_experiment_param(e, "placement") == STRAIT_COLOCATED;
    const int most = e->n_ranks - (colocated ? 0 : n_inside);
    if (e->n_ranks % n_inside != 0) {
        return strait_refuse_at(err, e->file, "/strategy/node_size",
                                "expected nodes of equal size for %d clients, found %d", e->n_ranks,
                                n_inside);
    }
    if (most < n_inside)
        return strait_refuse_at(err, e->file, "/strategy/servers",
                                "expected more clients to train beside the servers, found %d",
                                e->n_ranks);
    if (n_servers > most || n_servers % n_inside != 0)
        return strait_refuse_at(err, e->file, "/strategy/servers",
                                "expected at most %d servers for %d clients%s%s, found %d", most,
                                e->n_clients, colocated ? "" : ", of whom some have to train",
                                n_inside > 1 ? ", all accelerators of their nodes" : "", n_servers);
    return check_sums(e, err);
}

bool strait_servers_track(const struct strait_experiment *e)
{
    return (!strait_experiment_has_param(e, "exchange") || strait_uses_servers(e)) &&
           (int)strait_experiment_param(e, "sums") == STRAIT_SUMS_DECODED;
}

bool strait_servers_use_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const int n_inside = (int)strait_experiment_param(e, "node_size"),
              n_servers = (int)strait_experiment_param(e, "servers");
    const bool colocated = (int)strait_experiment_param(e, "placement") == STRAIT_COLOCATED;
    const int n_workers = e->n_ranks - (colocated ? 0 : n_servers),
              first = colocated ? 0 : n_workers;
    const bool same_node = src / n_inside == dst / n_inside && src != dst && src < n_workers,
               same_place = src % n_inside == dst % n_inside && src != dst;
    const int worker = channel == PUSH ? src : dst, server = channel == PUSH ? dst : src;
    if (channel == INSIDE)
        return same_node && dst % n_inside == (src + 1) % n_inside;
    if (channel == PULL && same_node)
        return true;
    if (channel == STRAIT_AGREEING)
        return (int)strait_experiment_param(e, "sums") == STRAIT_SUMS_ENCODED &&
               strait_spec_agrees(&e->up.spec) && same_place && src < n_workers && dst < n_workers;
    return (channel == PUSH || channel == PULL) && same_place && worker < n_workers &&
           server >= first && server < first + n_servers;
}
