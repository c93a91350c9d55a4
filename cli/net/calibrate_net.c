/* strait calibrate net: a path's rate, round trip, loss and queue, as a network file. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/kit/memory.h"
#include "cli/kit/calibrate_commands.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "core/units.h"
#include "emu/path/path_probe.h"
#include "measured_path.h"
#include "mpi/measure.h"

enum { TEXT_CHARS = 160, DEFAULT_APART = 2000, CONNECT_S = 10 };
struct order {
    const char *on; /* "mpi"; NULL: over TCP and UDP */
    struct strait_measured_path found;
    char source[TEXT_CHARS];
    const char *listen, *out, *overhead, *burst;
    struct strait_path_plan plan;
    long n_apart;
    bool once, force, json;
};

/* --- the command ------------------------------------------------------------------------------ */

static int check_port(const char *port, const char *where, struct strait_error *err)
{
    char *end;
    const long n = isdigit((unsigned char)*port) ? strtol(port, &end, 10) : 0;
    return n >= 1 && n <= 65535 && *end == '\0'
               ? 0
               : strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                  "expected a port from 1 to 65535%s, found \"%s\"", where, port);
}

static int read_bytes(double *bytes, const char *text, const char *option, double least,
                      double most, struct strait_error *err)
{
    if (strait_quantity_parse(bytes, STRAIT_UNIT_BYTES, text, option, err) != 0)
        return -1;
    return *bytes >= least && *bytes <= most
               ? 0
               : strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                  "expected %.0f B to %.0f KB after %s, found \"%s\"", least,
                                  1e-3 * most, option, text);
}

/* "server:5300"; address: changed. */
static int split(struct order *o, char *address, struct strait_error *err)
{
    char *colon = strrchr(address, ':');
    if (!colon || colon == address)
        return strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                "expected HOST:PORT, found \"%s\"", address);
    *colon = '\0';
    o->plan.host = address;
    o->plan.port = colon + 1;
    return check_port(o->plan.port, " behind HOST:", err);
}

static int check(struct order *o, char *address, struct strait_error *err)
{
    if (o->on && (strcmp(o->on, "mpi") != 0 || o->listen || address))
        return strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                "expected --on mpi without HOST:PORT and --listen, found \"%s\"",
                                strcmp(o->on, "mpi") != 0 ? o->on
                                : address                 ? address
                                                          : o->listen);
    if (!o->on && !o->listen == !address)
        return strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                "expected either HOST:PORT or --listen, found %s",
                                address ? "both" : "neither");
    if (o->listen)
        return check_port(o->listen, " behind --listen", err);
    if (o->n_apart < 100 || o->n_apart > 60000)
        return strait_error_set(err, STRAIT_ERR_USAGE, "calibrate net",
                                "expected 100 to 60000 after --packets, found %ld", o->n_apart);
    o->plan.n_apart = (uint32_t)o->n_apart;
    o->plan.connect_s = CONNECT_S;
    if ((!o->on && split(o, address, err) != 0) ||
        read_bytes(&o->plan.overhead_bytes, o->overhead, "--overhead", 0, 1000, err) != 0 ||
        read_bytes(&o->plan.max_burst_bytes, o->burst, "--burst", 1e5, 9e7, err) != 0)
        return -1;
    return o->out ? strait_file_check_new(o->out, o->force, err) : 0;
}

static int write_out(struct order *o, const struct strait_path *p, struct strait_error *err)
{
    o->found.path = *p;
    o->found.overhead_bytes = o->plan.overhead_bytes;
    json_t *file = strait_measured_path_json(&o->found);
    char *text = json_dumps(file, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    int failed = text ? 0 : strait_error_memory(err, NULL);
    if (!failed && o->out)
        failed = strait_file_write(o->out, o->force, text, strlen(text), "\n", 1, err);
    if (!failed && o->json)
        strait_command_print_json(file);
    else if (!failed)
        strait_measured_path_print(&o->found);
    free(text);
    json_decref(file);
    return failed;
}

static int probe(struct order *o, struct strait_error *err)
{
    struct strait_path path;
    snprintf(o->source, sizeof(o->source), "%s:%s", o->plan.host, o->plan.port);
    o->found.place = o->plan.host;
    return strait_path_probe(&path, &o->plan, err) != 0 ? -1 : write_out(o, &path, err);
}

/* --- over MPI --------------------------------------------------------------------------------- */

static struct strait_path_figure figure(struct strait_mpi_figure f, double scale)
{
    return (struct strait_path_figure){scale * f.value, scale * f.error, f.n};
}

/* A client's uplink is what rank 0 takes in. Payload fills 1448 bytes of each frame. */
static void path_of(struct strait_path *p, const struct strait_mpi_path *m, double wire)
{
    const struct strait_path_figure none = {NAN, NAN, 0};
    *p = (struct strait_path){.rtt_s = figure(m->rtt_s, 1), .message_s = figure(m->message_s, 1)};
    p->up = p->down = (struct strait_path_direction){.loss = none, .jitter = none, .queue = none};
    p->up.rate = figure(m->in_bytes_per_s, 8 * wire);
    p->down.rate = figure(m->out_bytes_per_s, 8 * wire);
}

static int measure(struct order *o, struct strait_error *err)
{
    struct strait_mpi_world *w;
    struct strait_mpi_links links = {0};
    struct strait_path path;
    if (strait_mpi_world_open(&w, err) != 0)
        return -1;
    links.paths = calloc((size_t)w->n, sizeof(*links.paths));
    int failed;
    if (!links.paths)
        failed = strait_error_memory(err, NULL);
    else if (w->n < 2)
        failed = strait_refuse(err, NULL, "expected two processes or more (mpirun -n 2), found 1");
    else
        failed = strait_mpi_measure(w, &links, err);
    if (!failed && w->me == 0) {
        const double wire = (1514 + o->plan.overhead_bytes) / 1448;
        snprintf(o->source, sizeof(o->source), "--on mpi, %d ranks, %.60s", w->n, w->library);
        o->found.place = o->source + strlen("--on mpi, ");
        o->found.over_mpi = true;
        const struct strait_mpi_path *one = strait_mpi_typical(links.paths, w->n - 1);
        o->found.server_bits_per_s = 8 * wire * links.together_bytes_per_s.value;
        o->found.collective_s = figure(links.collective_s, 1);
        o->found.others_rtt_s = figure(links.others_rtt_s, 1);
        o->found.server_rtt_s = figure(strait_mpi_own_rtt(&links), 1);
        o->found.launch_s = figure(strait_mpi_beside(links.collective_s, links.steps_s), 1);
        path_of(&path, one, wire);
        failed = write_out(o, &path, err);
    }
    free(links.paths);
    if (failed) {
        if (w->me == 0)
            strait_command_fail(err);
        strait_mpi_world_abort(w, strait_error_exit_status(err));
    }
    strait_mpi_world_free(w);
    return 0;
}

static void ended(const struct strait_error *err)
{
    strait_command_fail(err);
}

static const char notes[] =
    "The other end runs strait calibrate net --listen PORT, with TCP and UDP open.\n"
    "Bursts of packets (up to 8 MB) give rate and queue, single packets loss and\n"
    "jitter, echoes the round trip; all takes some seconds. Values below twice their\n"
    "standard error are left out of the file. The file describes one client's port;\n"
    "what several clients would share is not measured. An experiment names it:\n"
    "\"network\": \"./home.json\", or --set /network=./home.json.\n"
    "\n"
    "  strait net up two.json\n"
    "  strait net exec --rank server -- strait calibrate net --listen 5300 --once &\n"
    "  strait net exec --rank client1 -- strait calibrate net server:5300\n"
    "  mpirun -n 4 strait calibrate net --on mpi --out cluster.json\n"
    "    what MPI gives between rank 0 and the others: no loss, jitter or queue\n";

int strait_calibrate_net(int argc, char **argv)
{
    struct order o = {.overhead = "24 B", .burst = "8 MB", .n_apart = DEFAULT_APART};
    o.found.source = o.source;
    o.found.collective_s = o.found.launch_s = o.found.others_rtt_s = o.found.server_rtt_s =
        (struct strait_path_figure){NAN, NAN, 0};
    const char *address = NULL;
    const struct strait_option options[] = {
        {"on", 0, STRAIT_OPTION_TEXT, &o.on, "mpi", "between ranks of mpirun"},
        {"listen", 0, STRAIT_OPTION_TEXT, &o.listen, "PORT", "be the other end"},
        {"once", 0, STRAIT_OPTION_FLAG, &o.once, NULL, "end after one measurement"},
        {"out", 'o', STRAIT_OPTION_TEXT, &o.out, "NETWORK.json", "write the network"},
        {"force", 0, STRAIT_OPTION_FLAG, &o.force, NULL, "replace what --out names"},
        {"title", 0, STRAIT_OPTION_TEXT, &o.found.title, "TEXT", "title of the network"},
        {"packets", 0, STRAIT_OPTION_COUNT, &o.n_apart, "N",
         "packets sent apart, each way (default 2000)"},
        {"burst", 0, STRAIT_OPTION_TEXT, &o.burst, "SIZE", "most bytes sent at once (8 MB)"},
        {"overhead", 0, STRAIT_OPTION_TEXT, &o.overhead, "SIZE",
         "bytes of a frame beyond 1514 (24 B)"},
        {"json", 0, STRAIT_OPTION_FLAG, &o.json, NULL, "the network on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {"calibrate net", "HOST:PORT | --listen PORT | --on mpi",
                                       "Measure a path between two hosts, as a network file.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &address, 1, NULL))
        return status;
    char *copy = address ? strdup(address) : NULL;
    int failed = check(&o, copy, &err);
    if (!failed)
        failed = o.listen ? strait_path_serve(o.listen, o.once ? NULL : ended, &err)
                 : o.on   ? measure(&o, &err)
                          : probe(&o, &err);
    free(copy);
    return failed ? strait_command_fail(&err) : 0;
}
