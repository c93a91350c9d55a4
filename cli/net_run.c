/* strait net run: a network for the time of one program, a copy in every client. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "net_copies.h"

struct order {
    const char *file, *name, *ranks, *log;
    struct strait_texts settings;
    bool keep_going;
    const char *const *command;
};

/* They wait until the network is up, and end it in order then. */
static void hold_signals(void)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, NULL);
}

static int make_log_folder(const char *path, struct strait_error *err)
{
    if (!path || mkdir(path, 0777) == 0 || errno == EEXIST)
        return 0;
    return strait_error_system(err, path, "cannot make the folder of logs");
}

static int run(const struct order *o, struct strait_error *err)
{
    struct strait_emu_place place;
    struct strait_emu_foreign net = {.leash = -1};
    struct strait_experiment *e = NULL;
    json_t *state = NULL;
    int lock = -1, status = -1;
    const bool clients = strcmp(o->ranks, "clients") == 0;
    if (!clients && strcmp(o->ranks, "all") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "net run",
                                "expected all or clients after --ranks, found \"%s\"", o->ranks);
    if (strait_net_load(&e, o->file, &o->settings, err) != 0)
        return -1;
    hold_signals();
    if (strait_emu_place_init(&place, o->name, err) == 0 && make_log_folder(o->log, err) == 0 &&
        (lock = strait_emu_place_lock(&place, err)) >= 0 &&
        strait_emu_foreign_start(&net, &place, lock, e, o->file, err) == 0)
        state = strait_emu_visit_state(&place, err);
    if (state) {
        const int first = clients && e->n_ranks > e->n_clients ? 1 : 0;
        const struct strait_copies_plan plan = {.place = &place,
                                                .state = state,
                                                .argv = o->command,
                                                .log = o->log,
                                                .first = first,
                                                .n = e->n_ranks - first,
                                                .keep_going = o->keep_going};
        status = strait_copies_run(&plan, &net, err);
    }
    strait_emu_foreign_stop(&net);
    json_decref(state);
    strait_experiment_free(e);
    return status;
}

static const char notes[] =
    "Each copy has the network, host name and hosts file (server, client1, ...) of its rank, and\n"
    "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR (of the copy with RANK 0), MASTER_PORT (29500\n"
    "unless set), GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME, NCCL_SOCKET_IFNAME (eth0),\n"
    "OMP_NUM_THREADS (1 unless set), STRAIT_RANK, STRAIT_HOST, STRAIT_ADDR. The first copy that\n"
    "fails ends the others. Exit status 1 says which failed. Time is real (dilation 1): more busy\n"
    "copies than processors make results too slow.\n\n"
    "  strait net run wan-check --set /clients=4 --log logs -- python3 train.py\n";

int strait_net_run(int argc, char **argv)
{
    char own_name[32], **command;
    snprintf(own_name, sizeof(own_name), "run-%d", (int)getpid());
    struct order o = {.name = own_name, .ranks = "clients"};
    const struct strait_option options[] = {
        {"set", 0, STRAIT_OPTION_TEXTS, &o.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"ranks", 0, STRAIT_OPTION_TEXT, &o.ranks, "WHICH",
         "clients (default), or all with the server as RANK 0"},
        {"log", 0, STRAIT_OPTION_TEXT, &o.log, "DIR",
         "a file a copy, DIR/client1.log, instead of lines here"},
        {"keep-going", 0, STRAIT_OPTION_FLAG, &o.keep_going, NULL,
         "let the others end by themselves when one fails"},
        {"name", 0, STRAIT_OPTION_TEXT, &o.name, "NAME", "of the network (run-PID)"}};
    const struct strait_usage usage = {"net run",
                                       "FILE -- COMMAND [ARGUMENTS]",
                                       "Bring up the network of an experiment, run a copy of a "
                                       "program in every client, take down.",
                                       options,
                                       sizeof(options) / sizeof(*options),
                                       notes};
    struct strait_error err = {0};
    int status = strait_net_parse(&usage, argc, argv, &o.file, 1, &command, &err);
    if (status == 0 && !o.file)
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net run",
                                  "expected an experiment, found none");
    if (status == 0 && (!command || !*command))
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net run",
                                  "expected a program behind \"--\", found none");
    if (status == 0) {
        o.command = (const char *const *)(void *)command;
        status = run(&o, &err);
    }
    free(o.settings.items);
    strait_net_leave(status < 0 ? strait_command_fail(&err) : 0);
}
