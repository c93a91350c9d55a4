/* strait net run: a network for the time of one program, a copy in every client. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/names.h"
#include "net_replicas.h"
#include "net_guest.h"

struct order {
    const char *file, *name, *ranks, *log, *realisation;
    struct strait_texts settings;
    bool keep_going;
    const char *const *command;
    struct strait_net_hosts hosts;
    struct strait_net_guest guest;
};

static int make_log_folder(const char *path, struct strait_error *err)
{
    struct stat info;
    if (!path || mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return strait_error_path(err, path, "cannot make the folder of logs");
}

/* Returns the exit status, or -1 with *err. */
static int run(const struct order *o, int argc, char **argv, struct strait_error *err)
{
    struct strait_emu_registry place;
    struct strait_emu_program net = {.leash = -1};
    struct strait_experiment *e = NULL;
    json_t *state = NULL;
    int lock = -1, status = -1;
    const bool clients = strcmp(o->ranks, "clients") == 0;
    const bool one = strcmp(o->ranks, "first") == 0;
    if (!clients && !one && strcmp(o->ranks, "all") != 0)
        return strait_refuse_name(err, STRAIT_ERR_USAGE, "net run",
                                  "all, clients or first after --ranks", o->ranks,
                                  (const char *const[]){"all", "clients", "first", NULL});
    if (strait_net_check_realisation("net run", o->realisation, err) != 0)
        return -1;
    if (o->hosts.file && o->realisation)
        return strait_error_set(err, STRAIT_ERR_USAGE, "net run",
                                "expected --hosts or --realisation, not both: each host chooses");
    const int guest = strait_net_guest_is_wanted(&o->guest, err);
    if (guest < 0 || (guest > 0 && make_log_folder(o->log, err) != 0))
        return -1;
    if (guest > 0)
        return strait_net_guest_run(&o->guest, o->file, &o->settings, o->log, argc, argv, err);
    if (strait_net_load(&e, o->file, &o->settings, err) != 0)
        return -1;
    const int first = clients && e->n_ranks > e->n_clients ? 1 : 0;
    const int n = one ? 1 : e->n_ranks - first;
    if (o->hosts.file) {
        const struct strait_net_order order = {o->name, o->log, o->command,
                                               first,   n,      o->keep_going};
        status = strait_net_hosts_run(&o->hosts, &order, e, o->file, err);
        strait_experiment_free(e);
        return status;
    }
    strait_net_hold_signals();
    if (strait_emu_registry_init(&place, o->name, err) == 0 && make_log_folder(o->log, err) == 0 &&
        (lock = strait_emu_registry_lock(&place, err)) >= 0 &&
        strait_emu_program_start(&net, &place, lock, e, o->file, o->realisation, NULL, err) == 0)
        state = strait_emu_join_state(&place, err);
    if (state) {
        const struct strait_tensor_copy_plan plan = {.place = &place,
                                                     .state = state,
                                                     .argv = o->command,
                                                     .log = o->log,
                                                     .first = first,
                                                     .n = n,
                                                     .world_first = first,
                                                     .world_n = n,
                                                     .leash = -1,
                                                     .keep_going = o->keep_going};
        status = strait_tensor_copy_run(&plan, &net, err);
    }
    strait_emu_program_stop(&net);
    json_decref(state);
    strait_experiment_free(e);
    return status;
}

static const char notes[] =
    "Each copy has the network, host name and hosts file (server, client1, ...) of\n"
    "its rank, and RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR (of the copy with\n"
    "RANK 0), MASTER_PORT (29500 unless set), GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME,\n"
    "NCCL_SOCKET_IFNAME (eth0), OMP_NUM_THREADS (1 unless set), STRAIT_RANK,\n"
    "STRAIT_HOST, STRAIT_ADDR. The first copy that fails ends the others. Exit\n"
    "status 1 names those that failed. Time is real (dilation 1): with more busy\n"
    "copies than processors the programs compute too slowly.\n"
    "\n"
    "--launcher uml runs everything in User-Mode Linux, one processor: netem where\n"
    "this kernel has none. vuml is the same in virtual time (make vkernel, once),\n"
    "for programs that wait instead of spinning. A guest can read all files, but of\n"
    "/tmp, /var/tmp, /run and /dev/shm only this folder and those that arguments\n"
    "name; only files in the folder of --log are kept. Output comes at the end.\n"
    "\n"
    "--hosts: a part of the ranks on each host, joined by a VXLAN. A line is a name\n"
    "and, where wanted, slots=2 address=10.1.0.1 rate=10Gbps (of the host's link).\n"
    "\n"
    "  strait net run wan-check --set /clients=4 --log logs -- python3 train.py\n"
    "  strait net run wan-check --set /clients=2 --launcher uml -- ping -c 3 server\n"
    "  strait net run my.json --ranks first -- mpirun --host server,client1 ...\n"
    "    one copy, which starts the others itself (docs/mpi.md)\n";

int strait_net_run(int argc, char **argv)
{
    char own_name[32], **command;
    snprintf(own_name, sizeof(own_name), "run-%d", (int)getpid());
    struct order o = {.name = own_name, .ranks = "clients"};
    const struct strait_option options[] = {
        {"set", 0, STRAIT_OPTION_TEXTS, &o.settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"ranks", 0, STRAIT_OPTION_TEXT, &o.ranks, "WHICH",
         "clients (default), all, or first: rank 0 alone"},
        {"log", 0, STRAIT_OPTION_TEXT, &o.log, "DIR", "output to DIR/client1.log and so on"},
        {"keep-going", 0, STRAIT_OPTION_FLAG, &o.keep_going, NULL,
         "let the others continue when one fails"},
        {"name", 0, STRAIT_OPTION_TEXT, &o.name, "NAME", "name of the network (run-PID)"},
        {"hosts", 0, STRAIT_OPTION_TEXT, &o.hosts.file, "FILE",
         "share the network among these hosts, one a line"},
        {"launch", 0, STRAIT_OPTION_TEXT, &o.hosts.launch, "COMMAND",
         "starts a command on a host (ssh {host})"},
        {"program", 0, STRAIT_OPTION_TEXT, &o.hosts.program, "PATH",
         "path of strait on the hosts (as here)"},
        {"launcher", 0, STRAIT_OPTION_TEXT, &o.guest.launcher, "WHERE",
         "auto: here (default); uml, vuml: in a guest"},
        {"realisation", 0, STRAIT_OPTION_TEXT, &o.realisation, "NAME", STRAIT_NET_REALISATION_DOC},
        {"memory", 0, STRAIT_OPTION_TEXT, &o.guest.memory, "SIZE",
         "memory of the guest (0.5 GB + 64 MB a rank)"},
        {"limit", 0, STRAIT_OPTION_NUMBER, &o.guest.limit_s, "SECONDS",
         "wall-clock limit of a guest (3600)"}};
    const struct strait_usage usage = {
        "net run", "FILE -- COMMAND [ARGUMENTS]",
        "Bring up a network, run a copy of a program in every client, take it down.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status = strait_net_parse(&usage, argc, argv, &o.file, 1, &command, &err);
    const bool is_help = status == 1;
    if (status == 0 && !o.file)
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net run",
                                  "expected an experiment, found none");
    if (status == 0 && (!command || !*command))
        status = strait_error_set(&err, STRAIT_ERR_USAGE, "net run",
                                  "expected a program behind \"--\", found none");
    if (status == 0) {
        o.command = (const char *const *)(void *)command;
        status = run(&o, argc, argv, &err);
    }
    free(o.settings.items);
    strait_net_leave(status < 0 ? strait_command_fail(&err) : is_help ? 0 : status);
}
