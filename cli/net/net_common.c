/* What the commands of strait net share. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "net_command.h"
#include "core/names.h"

const char *strait_net_default_name(void)
{
    const char *name = getenv("STRAIT_NET");
    return name && *name ? name : "default";
}

void strait_net_leave(int status)
{
    status = strait_command_end(status);
    fflush(stderr);
    _exit(status);
}

int strait_net_parse(const struct strait_usage *usage, int argc, char **argv,
                     const char **positional, size_t max_positional, char ***command,
                     struct strait_error *err)
{
    int n = 1;
    size_t n_positional;
    bool help;
    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    if (command)
        *command = n < argc ? argv + n + 1 : NULL;
    if (strait_options_parse(usage, command ? n : argc, argv, positional, max_positional,
                             &n_positional, &help, err) != 0)
        return err->code == STRAIT_OK ? 1 : -1; /* --help=json has said all */
    if (help)
        strait_options_print(usage, stdout);
    return help ? 1 : 0;
}

/* The axes that make networks differ, for the error; all if none is about the network. */
static void name_axes(char *text, size_t cap, const struct strait_sweep *s)
{
    static const char *const parts[] = {"/network", "/clients", "/"};
    *text = '\0';
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts) && (p < 2 || !*text); p++)
        for (size_t i = 0; i < s->n_axes; i++)
            if (strncmp(s->axes[i].pointer, parts[p], strlen(parts[p])) == 0 &&
                json_array_size(s->axes[i].values) > 1)
                strait_text_add(text, cap, "%s--set %s=...", *text ? " " : "", s->axes[i].pointer);
}

static int differ(const struct strait_sweep *s, struct strait_error *err)
{
    char axes[400];
    name_axes(axes, sizeof(axes), s);
    return strait_refuse(err, s->file,
                         "expected one network, found several in \"vary\": choose with %s", axes);
}

int strait_net_check_realisation(const char *command, const char *given, struct strait_error *err)
{
    static const char *const names[] = {"relay", "kernel", "auto", NULL};
    for (size_t i = 0; given && names[i]; i++)
        if (strcmp(given, names[i]) == 0)
            return 0;
    return given ? strait_refuse_name(err, STRAIT_ERR_USAGE, command,
                                      "relay, kernel or auto after --realisation", given, names)
                 : 0;
}

int strait_net_load(struct strait_experiment **out, const char *file,
                    const struct strait_texts *settings, struct strait_error *err)
{
    struct strait_sweep *s;
    struct strait_experiment *first = NULL;
    int status = 0;
    if (strait_sweep_load(&s, file, settings->items, settings->n, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n_points && status == 0; i++) {
        json_t *point = strait_sweep_point(s, i, NULL, err);
        struct strait_experiment *e = NULL;
        status = point ? strait_experiment_read(&e, s->file, point, err) : -1;
        json_decref(point);
        if (status == 0 && strait_network_n_flows(e->network) > 0)
            status = strait_refuse(err, s->file,
                                   "expected no flows of others (\"background\"): only ranks make "
                                   "them, start programs of your own instead");
        if (status == 0 && !first) {
            first = e;
            continue;
        }
        if (status == 0 && (e->n_ranks != first->n_ranks || e->n_clients != first->n_clients ||
                            !json_equal(json_object_get(e->json, "network"),
                                        json_object_get(first->json, "network"))))
            status = differ(s, err);
        strait_experiment_free(e);
    }
    strait_sweep_free(s);
    if (status != 0)
        strait_experiment_free(first);
    else
        *out = first;
    return status;
}

int strait_net_rank(const json_t *state, const char *text, struct strait_error *err)
{
    const json_t *ranks = json_object_get(state, "ranks"), *rank;
    size_t i;
    json_array_foreach (ranks, i, rank) {
        char number[24], name[32];
        snprintf(number, sizeof(number), "%zu", i);
        snprintf(name, sizeof(name), "rank%zu", i);
        if (strcmp(text, number) == 0 || strcmp(text, name) == 0 ||
            strcmp(text, json_string_value(json_object_get(rank, "host"))) == 0 ||
            strcmp(text, json_string_value(json_object_get(rank, "address"))) == 0)
            return (int)i;
    }
    return strait_error_set(err, STRAIT_ERR_USAGE, "net",
                            "expected a rank from 0 to %zu, a host name or an address, found "
                            "\"%s\"",
                            json_array_size(ranks) - 1, text);
}

void strait_net_env_add(struct strait_net_env *env, const char *format, ...)
{
    va_list args;
    if (env->n == STRAIT_NET_MAX_ENV)
        return;
    va_start(args, format);
    vsnprintf(env->text[env->n], STRAIT_NET_ENV_CHARS, format, args);
    va_end(args);
    env->items[env->n] = env->text[env->n];
    env->items[++env->n] = NULL;
}

void strait_net_env_room(struct strait_net_env *env, const struct strait_emu_registry *place,
                         const json_t *state, int rank)
{
    const json_t *r = json_array_get(json_object_get(state, "ranks"), (size_t)rank);
    *env = (struct strait_net_env){.n = 0};
    /* For strait commands inside: an ordinary user is root there, and they would look for networks
     * elsewhere. */
    strait_net_env_add(env, "STRAIT_NET=%s", place->name);
    strait_net_env_add(env, "STRAIT_NET_FOLDER=%s", place->folder);
    strait_net_env_add(env, "STRAIT_RANK=%d", rank);
    strait_net_env_add(env, "STRAIT_HOST=%s", json_string_value(json_object_get(r, "host")));
    strait_net_env_add(env, "STRAIT_ADDR=%s", json_string_value(json_object_get(r, "address")));
    const json_t *on = json_object_get(r, "on"), *hosts = json_object_get(state, "hosts");
    if (on) /* one of several hosts */
        strait_net_env_add(env, "STRAIT_NET_ON=%s",
                           json_string_value(json_array_get(json_object_get(hosts, "names"),
                                                            (size_t)json_integer_value(on))));
    strait_net_env_add(env, "GLOO_SOCKET_IFNAME=eth0");
    strait_net_env_add(env, "TP_SOCKET_IFNAME=eth0");
    strait_net_env_add(env, "NCCL_SOCKET_IFNAME=eth0");
}

void strait_net_hold_signals(void)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, NULL);
}

void strait_net_say(json_t *what)
{
    char *line = what ? json_dumps(what, JSON_COMPACT) : NULL;
    if (line)
        printf("%c%s\n", STRAIT_NET_MARK, line);
    fflush(stdout);
    free(line);
    json_decref(what);
}

void strait_net_error_of(struct strait_error *err, const json_t *json)
{
    const json_t *said = json_object_get(json, "error");
    const char *where = json_string_value(json_object_get(said, "where"));
    const char *text = json_string_value(json_object_get(said, "text"));
    if (said)
        strait_error_set(err,
                         (enum strait_error_code)json_integer_value(json_object_get(said, "code")),
                         where, "%s", text ? text : "");
}
