/* Ports of a network, as an experiment file lists them. */
#pragma once
#include "core/json.h"
#include "network.h"

enum { STRAIT_MAX_PORTS = 1000000 };

/* "client" or "site": one port for all, or several that are taken in turn. */
struct strait_ports {
    struct strait_link *out, *in;
    int *n_ranks;                 /* of a site; 0 for clients */
    int n;                        /* with each as often as its "count" says */
    struct strait_network *owner; /* of the schedules and jitters that links get */
};

/** Read a port: {rate, rtt, loss, jitter, queue} for both directions; "out" and "in" override one,
 *  and where both have a rate of their own the port needs none. Closes the object.
 *  Out:     owner  gets the schedules and jitters that the links use */
int strait_port_read(struct strait_link *out, struct strait_link *in, struct strait_network *owner,
                     struct strait_object *o, struct strait_error *err);
/** Open element i of the array under `key`, or the value itself where it is no array. */
int strait_ports_open(struct strait_object *element, struct strait_object *parent, const char *key,
                      int i, struct strait_error *err);
/** Read a port or an array of them, each "count" times.
 *  In:      n_ranks_key  a site's key for its number of ranks; NULL for the ports of ranks
 *  Returns: 0, or -1 with *err INPUT or NOMEM; release `p` in both cases */
int strait_ports_read(struct strait_ports *p, struct strait_object *network, const char *key,
                      const char *n_ranks_key, struct strait_error *err);
void strait_ports_release(struct strait_ports *p);
/** Read "events" of a network whose links are all made: [{"at": "30 s", "on": "office", "rate": "10
 *  %"}, ...], rates from that time on, in any order. "on" is the name of an entry, "clients",
 *  "server" or "sites"; "way" "out" or "in" takes one direction.
 *  Returns: 0, or -1 with *err INPUT naming the event's key */
int strait_events_read(struct strait_network *n, struct strait_object *network,
                       struct strait_error *err);
/** How many clients a network lists, by the "count" of its ports or the ranks of its sites; 0: it
 *  does not say, or not rightly. */
int strait_ports_n_clients(const json_t *network);
/** Whether what it says of that is right, where nothing else says how many clients there are. 0, or
 *  -1 with *err INPUT naming the count */
int strait_ports_check_counts(const json_t *network, const char *file, struct strait_error *err);
