/* A network that programs use which are not ours: it is one process, the keeper, first of a PID
 * namespace in which everything else lives, so that its death, of whatever kind, ends all. */
#pragma once
#include <sys/types.h>
#include "workloads/ask/experiment.h"
#include "net_registry.h"

/* What whoever started a network holds of it. */
struct strait_emu_foreign {
    pid_t keeper; /* child of the caller */
    int leash;    /* when it is closed the network ends, unless it was let go; -1: none */
};

/** Bring up the network of an experiment in its own time: no dilation. The caller is changed: as an
 *  ordinary user it is root of a user namespace afterwards, and in any case its later children live
 *  in the network's PID namespace. One thread only.
 *  Out:     out  end with _stop or _let_go
 *  In:      lock_fd  of strait_emu_place_lock; closed
 *           label    what the description calls the experiment
 *  Returns: 0, or -1 with *err: HOST where this machine or user cannot
 */
int strait_emu_foreign_start(struct strait_emu_foreign *out, const struct strait_emu_place *place,
                             int lock_fd, const struct strait_experiment *experiment,
                             const char *label, struct strait_error *err);
/** From now on the network stays when the caller ends. */
void strait_emu_foreign_let_go(struct strait_emu_foreign *f);
/** Has the keeper ended? Before it lets go of its last descriptor, no process in the network ends
 *  because of it. */
bool strait_emu_foreign_is_gone(const struct strait_emu_foreign *f);
/** End the network and wait until nothing of it is left. The keeper cannot end before its dead are
 *  buried, so every child of the caller is waited for. */
void strait_emu_foreign_stop(struct strait_emu_foreign *f);

/* --- between the parts of a network --------------------------------------------------------- */

/* What the keeper can be asked through its socket, one request a connection. */
enum strait_emu_request {
    STRAIT_EMU_ASK_ROOM = 'r',  /* answers a struct strait_emu_keys with descriptors */
    STRAIT_EMU_ASK_STATE = 's', /* answers its description with counters, JSON, to the end */
    STRAIT_EMU_ASK_END = 'e'    /* answers by closing, and ends */
};
struct strait_emu_question {
    int32_t request, rank;
};
enum { STRAIT_EMU_N_KEYS = 5 }; /* namespaces: network, mount, UTS, PID, user */

struct strait_emu_foreign_plan {
    const struct strait_emu_place *place;
    const struct strait_experiment *experiment;
    const char *label, *launcher, *tun_path;
    int lock_fd, leash;
};
/** The keeper's whole life. */
void strait_emu_foreign_keep(const struct strait_emu_foreign_plan *plan) __attribute__((noreturn));
/** The host name of a rank: "server", "client1", ... Returns buf. */
const char *strait_emu_foreign_host(char buf[32], const struct strait_experiment *e, int rank);
/** The description of a network without its counters: a new reference, NULL without memory. */
json_t *strait_emu_foreign_state(const struct strait_emu_foreign_plan *plan, long keeper_pid,
                                 bool congestion_set);
/** Text of /etc/hosts for every rank: owned by the caller; NULL without memory. */
char *strait_emu_foreign_hosts(const struct strait_experiment *e);
