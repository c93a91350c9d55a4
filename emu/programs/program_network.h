/* A network for user programs. It is one process, the supervisor, the first of a PID namespace that
 * contains everything else, so that all ends when it dies in any way. */
#pragma once
#include <sys/types.h>
#include "workloads/ask/experiment.h"
#include "emu/links/trunk.h"
#include "net_registry.h"

/* The starter's handle of a network. */
struct strait_emu_program {
    pid_t supervisor; /* child of the caller */
    int leash;        /* closing it ends the network, unless let go; -1: none */
};

/* The part of a network on this host, if several hosts share it. */
struct strait_emu_part {
    struct strait_emu_trunk trunk;
    const char *network;      /* its name; its parts are registered as NAME.h0, NAME.h1, ... */
    const char *const *names; /* of the hosts */
    const char *launch;       /* the command that starts one on a host, with {host} in it */
    const char *program;      /* strait on the others */
    const char *outside;      /* where outside.h answers */
};

/** Bring up the network of an experiment in real time, without dilation. Changes the caller: an
 *  ordinary user becomes root of a user namespace, and its future children live in the network's
 *  PID namespace. One thread only.
 *  Out:     out  end with _stop or _let_go
 *  In:      lock_fd  of strait_emu_registry_lock; closed
 *           label    the experiment's name in the description
 *           realisation  "relay" or "kernel"; NULL or "auto": chosen
 *           part     borrowed while the network is there; NULL: all of it is on this host
 *  Returns: 0, or -1 with *err: HOST if this machine or user cannot */
int strait_emu_program_start(struct strait_emu_program *out,
                             const struct strait_emu_registry *place, int lock_fd,
                             const struct strait_experiment *experiment, const char *label,
                             const char *realisation, const struct strait_emu_part *part,
                             struct strait_error *err);
/** From now on the network stays up when the caller ends. */
void strait_emu_program_let_go(struct strait_emu_program *f);
/** Whether the supervisor has ended. Before that, no process in the network ends because of it. */
bool strait_emu_program_is_gone(const struct strait_emu_program *f);
/** End the network and wait until nothing of it is left. Also reaps every child of the caller,
 *  since the supervisor cannot end before its namespace is empty. */
void strait_emu_program_stop(struct strait_emu_program *f);

/* --- internal to networks -------------------------------------------------------------------- */

/* Requests to the supervisor through its socket, one a connection. */
enum strait_emu_request {
    STRAIT_EMU_ASK_ROOM = 'r',  /* answer: a struct strait_emu_keys with descriptors */
    STRAIT_EMU_ASK_STATE = 's', /* answer: its description with counters, JSON, to the end */
    STRAIT_EMU_ASK_END = 'e'    /* answer: closes, and ends the network */
};
struct strait_emu_question {
    int32_t request, rank;
};
enum { STRAIT_EMU_N_KEYS = 5 }; /* namespaces: network, mount, UTS, PID, user */

struct strait_emu_program_plan {
    const struct strait_emu_registry *place;
    const struct strait_experiment *experiment;
    const char *label, *launcher, *realisation, *tun_path;
    const struct strait_emu_part *part;
    int lock_fd, leash;
};
/** Main function of the supervisor. */
void strait_emu_program_keep(const struct strait_emu_program_plan *plan) __attribute__((noreturn));
/** The host name of a rank: "server", "client1", ... Returns buf. */
const char *strait_emu_program_host(char buf[32], const struct strait_experiment *e, int rank);
/** The description of a network without counters: a new reference, NULL without memory. */
json_t *strait_emu_program_state(const struct strait_emu_program_plan *plan, long supervisor_pid,
                                 bool congestion_set);
/** Text of /etc/hosts for all ranks: owned by the caller; NULL without memory. */
char *strait_emu_program_hosts(const struct strait_experiment *e);
