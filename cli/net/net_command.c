/* strait net: run your own programs on an emulated network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/json.h"
#include "core/names.h"
#include "emu/programs/program_network.h"
#include "net_command.h"

static const struct strait_subcommand commands[] = {
    {"up", "FILE", "bring up the network of an experiment, and leave it up", strait_net_up},
    {"exec", "-- COMMAND", "run a program in a rank of it", strait_net_exec},
    {"down", "", "take it down", strait_net_down},
    {"run", "FILE -- COMMAND", "bring up, run a copy in each client, take down", strait_net_run},
    {"list", "", "the networks that are up", strait_net_list},
    {"status", "", "ranks, addresses, links and counters of a network", strait_net_status},
    {"top", "", "Mbit/s of every rank, every second", strait_net_top},
    {"rsh", "HOST COMMAND", "run a command line in a rank, called like ssh", strait_net_rsh},
    {"part", "", "one host's part of a network: net run --hosts starts it", strait_net_part},
    {"probe", "", "test what this machine can do and what is used", strait_net_probe},
};
static const struct strait_command_table table = {
    "net", "Run your own programs on an emulated network.", commands,
    sizeof(commands) / sizeof(*commands),
    "  strait net up wan-check --set /clients=4\n"
    "  strait net exec --rank client1 -- ping -c 3 server\n"
    "  strait net down\n"
    "  strait net run wan-check --set /clients=4 -- python3 train.py\n\n"
    "Everything runs in real time (dilation 1): with more busy ranks than processors\n"
    "the programs compute too slowly.\n"};

int strait_command_net(int argc, char **argv)
{
    return strait_command_dispatch(&table, argc, argv);
}

/* --- up and down ------------------------------------------------------------------------------ */

static const char up_notes[] =
    "One process, the supervisor, stays; when it ends, everything ends.\n"
    "Uses the experiment's network, its number of clients and whether its strategy\n"
    "has a server; if the file varies them, choose with --set. Time is real\n"
    "(dilation 1). For an ordinary user everything is in that user's namespaces;\n"
    "STRAIT_TUN names another TUN node than /dev/net/tun.\n"
    "\n"
    "  strait net up wan-check --set /clients=4\n"
    "  strait net up my.json --name slow --set '/network/client/rate=\"37 Mbps\"'\n";

static int bring_up(const char *name, const char *file, const struct strait_texts *settings,
                    const char *realisation, bool json, struct strait_error *err)
{
    struct strait_emu_registry place;
    struct strait_emu_program net = {.leash = -1};
    struct strait_experiment *e = NULL;
    json_t *state = NULL;
    int lock = -1;
    if (strait_net_load(&e, file, settings, err) == 0 &&
        strait_emu_registry_init(&place, name, err) == 0 &&
        (lock = strait_emu_registry_lock(&place, err)) >= 0 &&
        strait_emu_program_start(&net, &place, lock, e, file, realisation, NULL, err) == 0)
        state = strait_emu_join_state(&place, err);
    if (state && json) {
        strait_command_print_json(state);
    } else if (state) {
        strait_net_print(state);
        printf("\nstate %s\n\n  strait net exec --name %s --rank 0 -- COMMAND\n"
               "  strait net top --name %s\n  strait net down --name %s\n",
               place.state, name, name, name);
    }
    const int status = state ? 0 : -1;
    if (state)
        strait_emu_program_let_go(&net);
    else
        strait_emu_program_stop(&net);
    json_decref(state);
    strait_experiment_free(e);
    return status;
}

int strait_net_up(int argc, char **argv)
{
    const char *name = strait_net_default_name(), *file = NULL;
    struct strait_texts settings = {0};
    const char *launcher = "auto", *realisation = NULL;
    bool json = false;
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "name of the network (\"default\")"},
        {"launcher", 0, STRAIT_OPTION_TEXT, &launcher, "auto", "here; for guests see net run"},
        {"realisation", 0, STRAIT_OPTION_TEXT, &realisation, "NAME", STRAIT_NET_REALISATION_DOC},
        {"set", 0, STRAIT_OPTION_TEXTS, &settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "its description on standard output"}};
    const struct strait_usage usage = {"net up", "FILE",
                                       "Bring up the network of an experiment and leave it up.",
                                       STRAIT_OPTIONS(options), up_notes};
    struct strait_error err = {0};
    int status = strait_net_parse(&usage, argc, argv, &file, 1, NULL, &err);
    if (status == 0 && !file)
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net up",
                                  "expected an experiment, found none");
    if (status == 0 && strcmp(launcher, "auto") != 0)
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net up",
                                  "expected auto after --launcher, found \"%s\": a network in a "
                                  "guest cannot be reached, strait net run --launcher runs "
                                  "programs in it",
                                  launcher);
    if (status == 0)
        status = strait_net_check_realisation("net up", realisation, &err);
    if (status == 0)
        status = bring_up(name, file, &settings, realisation, json, &err);
    free(settings.items);
    strait_net_leave(status < 0 ? strait_command_fail(&err) : 0);
}

int strait_net_down(int argc, char **argv)
{
    const char *name = strait_net_default_name();
    const struct strait_option options[] = {
        {"name", 0, STRAIT_OPTION_TEXT, &name, "NAME", "name of the network (\"default\")"}};
    const struct strait_usage usage = {
        "net down", "", "Take a network down and end every program in it.", STRAIT_OPTIONS(options),
        "Programs in it are killed (SIGKILL). Returns when nothing is left.\n"};
    struct strait_error err = {0};
    struct strait_emu_registry place;
    const char *none[1];
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status == 0 && strait_emu_registry_init(&place, name, &err) != 0)
        status = -1;
    if (status == 0)
        status = strait_emu_join_end(&place, &err);
    return status < 0 ? strait_command_fail(&err) : 0;
}
