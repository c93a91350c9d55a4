/* strait net: what its commands share. */
#pragma once
#include <jansson.h>
#include "emu/programs/net_registry.h"
#include "emu/programs/net_join.h"
#include "workloads/ask/experiment.h"
#include "cli/command.h"
#include "cli/options.h"

/* Each takes its own argv and returns an exit status, as the commands of command.h. */
int strait_net_up(int argc, char **argv);
int strait_net_run(int argc, char **argv);
int strait_net_exec(int argc, char **argv);
int strait_net_rsh(int argc, char **argv);
int strait_net_list(int argc, char **argv);
int strait_net_status(int argc, char **argv);
int strait_net_top(int argc, char **argv);
int strait_net_down(int argc, char **argv);
int strait_net_probe(int argc, char **argv);

/** $STRAIT_NET inside of a network, else "default". */
const char *strait_net_default_name(void);
/** End this process at once, without exit handlers, which may want helpers (a leak checker does):
 *  once a network was entered, they would be born there and not see this process. */
void strait_net_leave(int status) __attribute__((noreturn));
/** Parse what stands before "--".
 *  Out:     command  what stands behind it, NULL-terminated; NULL: there is no "--"
 *  Returns: 0; 1 when help was asked for and printed; -1 with *err */
int strait_net_parse(const struct strait_usage *usage, int argc, char **argv,
                     const char **positional, size_t max_positional, char ***command,
                     struct strait_error *err);
/** The one network that an experiment describes.
 *  Returns: 0, or -1 with *err: INPUT when its points have several */
int strait_net_load(struct strait_experiment **out, const char *file,
                    const struct strait_texts *settings, struct strait_error *err);
/** The rank that a number, a host name, "rankN" or an address means: or -1 with *err USAGE. */
int strait_net_rank(const json_t *state, const char *text, struct strait_error *err);
/** A network and its links as people read them; ranks alike in a row are one line. */
void strait_net_print(const json_t *state);

/* Variables for a program in a network: "NAME=value", NULL at the end. */
enum { STRAIT_NET_MAX_ENV = 24, STRAIT_NET_ENV_CHARS = 192 };
struct strait_net_env {
    char text[STRAIT_NET_MAX_ENV][STRAIT_NET_ENV_CHARS];
    const char *items[STRAIT_NET_MAX_ENV + 1];
    size_t n;
};
void strait_net_env_add(struct strait_net_env *env, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** What every program of a rank gets: STRAIT_*, and the interface for Gloo, RPC and NCCL. */
void strait_net_env_room(struct strait_net_env *env, const struct strait_emu_place *place,
                         const json_t *state, int rank);
