/* Common to the commands of strait net. */
#pragma once
#include <jansson.h>
#include "emu/programs/net_registry.h"
#include "emu/programs/net_join.h"
#include "workloads/ask/experiment.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"

/* Each takes its own argv and returns an exit status, like the commands of command.h. */
int strait_net_up(int argc, char **argv);
int strait_net_run(int argc, char **argv);
int strait_net_exec(int argc, char **argv);
int strait_net_rsh(int argc, char **argv);
int strait_net_list(int argc, char **argv);
int strait_net_status(int argc, char **argv);
int strait_net_top(int argc, char **argv);
int strait_net_down(int argc, char **argv);
int strait_net_probe(int argc, char **argv);
int strait_net_part(int argc, char **argv);

/** $STRAIT_NET inside a network, else "default". */
const char *strait_net_default_name(void);
/** End this process without exit handlers. After entering a network, helper processes of handlers
 *  (such as a leak checker's) would be born inside and not see this process. */
void strait_net_leave(int status) __attribute__((noreturn));
/** Parse options before "--".
 *  Out:     command  the rest after "--", NULL-terminated; NULL: there is no "--"
 *  Returns: 0; 1 when help was requested and printed; -1 with *err */
int strait_net_parse(const struct strait_usage *usage, int argc, char **argv,
                     const char **positional, size_t max_positional, char ***command,
                     struct strait_error *err);
#define STRAIT_NET_REALISATION_DOC "shape links by relay, kernel or auto (auto)"
/** Refuse what is no realisation; NULL: none was asked for. 0, or -1 with *err USAGE. */
int strait_net_check_realisation(const char *command, const char *given, struct strait_error *err);
/** Load the one network that an experiment describes.
 *  Returns: 0, or -1 with *err: INPUT when its points have several */
int strait_net_load(struct strait_experiment **out, const char *file,
                    const struct strait_texts *settings, struct strait_error *err);
/** The rank for a number, a host name, "rankN" or an address; or -1 with *err USAGE. */
int strait_net_rank(const json_t *state, const char *text, struct strait_error *err);
/** Print a network and its links; consecutive equal ranks share a line. */
void strait_net_print(const json_t *state);

/* What the hosts of one network say to each other: lines of JSON, on standard output behind this
 * byte (RFC 7464's record separator), which tells them from what programs print. */
enum { STRAIT_NET_MARK = '\x1e' };
/** Print a line of JSON for whoever started this part of a network; takes `what`. */
void strait_net_say(json_t *what);
/** The error that such a line has. */
void strait_net_error_of(struct strait_error *err, const json_t *json);
/** How `strait net run` has it on several hosts: as strait_net_run, for one experiment.
 *  Returns: the exit status, or -1 with *err
 */
struct strait_net_hosts {
    const char *file, *launch, *program; /* NULL: ssh {host}; this program */
};
struct strait_net_order { /* what to run where */
    const char *name, *log;
    const char *const *command;
    int first, n; /* ranks */
    bool keep_going;
};
int strait_net_hosts_run(const struct strait_net_hosts *hosts, const struct strait_net_order *order,
                         const struct strait_experiment *e, const char *label,
                         struct strait_error *err);
/** The launcher's words for one host, then `more`; NULL-terminated, to be freed as one; NULL
 *  without memory. */
const char **strait_net_launch_words(const char *launch, const char *host, const char *const *more);

/** Block the signals that end a network in order: they wait until it is up. */
void strait_net_hold_signals(void);

/* Environment of a program in a network: "NAME=value", NULL-terminated. */
enum { STRAIT_NET_MAX_ENV = 24, STRAIT_NET_ENV_CHARS = 192 };
struct strait_net_env {
    char text[STRAIT_NET_MAX_ENV][STRAIT_NET_ENV_CHARS];
    const char *items[STRAIT_NET_MAX_ENV + 1];
    size_t n;
};
void strait_net_env_add(struct strait_net_env *env, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Add the variables that every program of a rank gets: STRAIT_*, and the interface for Gloo, RPC
 *  and NCCL. */
void strait_net_env_room(struct strait_net_env *env, const struct strait_emu_registry *place,
                         const json_t *state, int rank);
