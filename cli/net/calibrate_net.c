/* strait calibrate net: a path's rate, round trip, loss and queue, as a network file. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/kit/memory.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "cli/kit/calibrate_commands.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "core/json.h"
#include "core/units.h"
#include "emu/path/path_probe.h"
#include "mpi/measure.h"

enum { TEXT_CHARS = 160, DEFAULT_APART = 2000, CONNECT_S = 10 };
/* Errors beyond which a figure differs from none. */
static const double N_ERRORS = 2;
/* Less jitter than this is the machine's own. */
static const double MIN_JITTER_S = 1e-4, MIN_JITTER_RATIO = 0.01;

struct order {
    const char *on;           /* "mpi"; NULL: over TCP and UDP */
    double server_bits_per_s; /* measured with all clients; 0: not */
    /* A collective of the library, and what it takes beside its steps; NAN: not measured. */
    struct strait_path_figure collective_s, launch_s;
    struct strait_path_figure others_rtt_s, server_rtt_s; /* between two clients; of its port */
    char source[TEXT_CHARS];
    const char *listen, *out, *title, *overhead, *burst;
    struct strait_path_plan plan;
    long n_apart;
    bool once, force, json;
};

/* --- the file --------------------------------------------------------------------------------- */

/* With more digits than a table shows. */
static json_t *quantity(enum strait_unit unit, double value)
{
    switch (unit) {
    case STRAIT_UNIT_LINK_RATE:
        return json_sprintf("%.6g Mbps", 1e-6 * value);
    case STRAIT_UNIT_TIME:
        return json_sprintf("%.6g ms", 1e3 * value);
    case STRAIT_UNIT_PERCENT:
        return json_sprintf("%.4g %%", 100 * value);
    default:
        return json_sprintf("%.0f B", value);
    }
}

static bool is_above_none(struct strait_path_figure f)
{
    return f.value > N_ERRORS * f.error;
}

static bool has_jitter(const struct strait_path *p, struct strait_path_figure f)
{
    return f.value > fmax(MIN_JITTER_S, MIN_JITTER_RATIO * p->rtt_s.value);
}

static json_t *direction_json(const struct strait_path *p, const struct strait_path_direction *d)
{
    json_t *out = json_object();
    json_object_set_new(out, "rate", quantity(STRAIT_UNIT_LINK_RATE, d->rate.value));
    if (is_above_none(d->loss))
        json_object_set_new(out, "loss", quantity(STRAIT_UNIT_PERCENT, d->loss.value));
    if (has_jitter(p, d->jitter))
        json_object_set_new(out, "jitter", quantity(STRAIT_UNIT_TIME, d->jitter.value));
    if (isfinite(d->queue.error))
        json_object_set_new(out, "queue", quantity(STRAIT_UNIT_BYTES, d->queue.value));
    return out;
}

/* What a call costs: of a collective where one was measured, else of a small message. */
static struct strait_path_figure launch_of(const struct order *o, const struct strait_path *p)
{
    return isnan(o->launch_s.value) ? p->message_s : o->launch_s;
}

/* One client's port is the path but for what is the server's; the server's is no narrower. */
static json_t *network_json(const struct order *o, const struct strait_path *p)
{
    static const char *const known[] = {"reno", "bbr", "cubic"};
    json_t *client = json_object(), *network = json_object(), *constants = json_object();
    json_t *server = json_object();
    const double most = fmax(o->server_bits_per_s, fmax(p->up.rate.value, p->down.rate.value));
    json_object_set_new(client, "rate", quantity(STRAIT_UNIT_LINK_RATE, p->down.rate.value));
    const double server_rtt_s = is_above_none(o->server_rtt_s) ? o->server_rtt_s.value : 0;
    json_object_set_new(client, "rtt",
                        quantity(STRAIT_UNIT_TIME, fmax(0, p->rtt_s.value - server_rtt_s)));
    json_object_set_new(client, "out", direction_json(p, &p->up));
    json_object_set_new(client, "in", direction_json(p, &p->down));
    json_object_set_new(network, "client", client);
    json_object_set_new(server, "rate", quantity(STRAIT_UNIT_LINK_RATE, most));
    if (server_rtt_s > 0)
        json_object_set_new(server, "rtt", quantity(STRAIT_UNIT_TIME, server_rtt_s));
    json_object_set_new(network, "server", server);
    json_object_set_new(network, "overhead", quantity(STRAIT_UNIT_BYTES, o->plan.overhead_bytes));
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(p->congestion, known[i]) == 0)
            json_object_set_new(network, "tcp", json_pack("{s:s}", "congestion", known[i]));
    const struct strait_path_figure launch = launch_of(o, p);
    if (is_above_none(launch))
        json_object_set_new(constants, "launch", quantity(STRAIT_UNIT_TIME, launch.value));
    json_object_set_new(network, "constants", constants);
    return network;
}

/* Everything that was measured, in units of its own, with standard errors. */
static void put(json_t *all, const char *name, const char *unit, struct strait_path_figure f)
{
    if (isnan(f.value)) /* MPI hides it */
        return;
    json_object_set_new(all, name,
                        json_pack("{s:o, s:o, s:s, s:I}", "value", strait_json_number(f.value),
                                  "standard_error", strait_json_number(f.error), "unit", unit,
                                  "readings", (json_int_t)f.n));
}

static json_t *measured_json(const struct order *o, const struct strait_path *p)
{
    json_t *all = json_object();
    for (int up = 1; up >= 0; up--) {
        const struct strait_path_direction *d = up ? &p->up : &p->down;
        json_t *one = json_object();
        put(one, "rate", "bit/s", d->rate);
        put(one, "loss", "of all packets", d->loss);
        put(one, "jitter", "s", d->jitter);
        put(one, isfinite(d->queue.error) ? "queue" : "queue_above", "B", d->queue);
        json_object_set_new(all, up ? "out" : "in", one);
    }
    put(all, "rtt", "s", p->rtt_s);
    put(all, "rtt_of_others", "s", o->others_rtt_s);
    put(all, "message", "s", p->message_s);
    put(all, "collective", "s", o->collective_s);
    return all;
}

static json_t *file_json(struct order *o, const struct strait_path *p)
{
    char source[2 * TEXT_CHARS], title[TEXT_CHARS], date[32] = "undated";
    const time_t now = time(NULL);
    struct tm tm;
    json_t *sources = json_object();
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    if (!o->on)
        snprintf(o->source, sizeof(o->source), "%s:%s", o->plan.host, o->plan.port);
    snprintf(source, sizeof(source),
             "strait calibrate net %.100s on %s, version %s; standard errors under \"measured\"",
             o->source, date, STRAIT_VERSION);
    snprintf(title, sizeof(title), "the %s %.80s, measured", o->on ? "links of" : "path to",
             o->on ? o->source + strlen("--on mpi, ") : o->plan.host);
    if (is_above_none(launch_of(o, p)))
        json_object_set_new(sources, "launch",
                            json_string(o->on
                                            ? "what MPI_Allreduce of one float takes beyond log2 n "
                                              "exchanges of a float over MPI, the same "
                                              "measurement"
                                            : "what a small message over TCP takes beyond its "
                                              "packet, the same measurement"));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "schema", "strait-network/1", "title",
                     o->title ? o->title : title, "source", source, "network", network_json(o, p),
                     "sources", sources, "measured", measured_json(o, p));
}

/* --- showing ---------------------------------------------------------------------------------- */

static void row(struct strait_table *t, const char *what, enum strait_unit unit,
                struct strait_path_figure f, bool in_file, const char *note)
{
    char value[TEXT_CHARS], error[TEXT_CHARS];
    if (isnan(f.value))
        return;
    strait_table_cell(t, what);
    strait_table_cell(t, strait_quantity_format(value, sizeof(value), unit, f.value));
    strait_table_cell(
        t, isfinite(f.error) ? strait_quantity_format(error, sizeof(error), unit, f.error) : "-");
    strait_table_cell(t, in_file ? note : *note ? note : "not in the file");
}

static void print(const struct order *o, const struct strait_path *p)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "", false);
    strait_table_column(t, "found", true);
    strait_table_column(t, "standard error", true);
    strait_table_column(t, "", false);
    row(t, "round trip", STRAIT_UNIT_TIME, p->rtt_s, true, "");
    row(t, "  between two others", STRAIT_UNIT_TIME, o->others_rtt_s, false, "");
    row(t, "  rank 0's port", STRAIT_UNIT_TIME, o->server_rtt_s, is_above_none(o->server_rtt_s),
        "");
    row(t, "a small message", STRAIT_UNIT_TIME, p->message_s,
        isnan(o->launch_s.value) && is_above_none(p->message_s), "");
    row(t, "a collective", STRAIT_UNIT_TIME, o->collective_s, false, "");
    row(t, "  beside its steps", STRAIT_UNIT_TIME, o->launch_s, is_above_none(o->launch_s), "");
    for (int up = 1; up >= 0; up--) {
        const struct strait_path_direction *d = up ? &p->up : &p->down;
        const bool full = isfinite(d->queue.error);
        row(t, up ? "out: rate" : "in: rate", STRAIT_UNIT_LINK_RATE, d->rate, true, "");
        row(t, "  loss", STRAIT_UNIT_PERCENT, d->loss, is_above_none(d->loss), "");
        row(t, "  jitter", STRAIT_UNIT_TIME, d->jitter, has_jitter(p, d->jitter), "");
        row(t, "  queue", STRAIT_UNIT_BYTES, d->queue, full,
            full         ? ""
            : d->is_held ? "it is longer; the sender's buffer was full"
                         : "it is longer; try a larger --burst");
    }
    strait_show_table(t);
}

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
    json_t *file = file_json(o, p);
    char *text = json_dumps(file, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    int failed = text ? 0 : strait_error_memory(err, NULL);
    if (!failed && o->out)
        failed = strait_file_write(o->out, o->force, text, strlen(text), "\n", 1, err);
    if (!failed && o->json)
        strait_command_print_json(file);
    else if (!failed)
        print(o, p);
    free(text);
    json_decref(file);
    return failed;
}

static int probe(struct order *o, struct strait_error *err)
{
    struct strait_path path;
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
        const struct strait_mpi_path *one = strait_mpi_typical(links.paths, w->n - 1);
        o->server_bits_per_s = 8 * wire * links.together_bytes_per_s.value;
        o->collective_s = figure(links.collective_s, 1);
        o->others_rtt_s = figure(links.others_rtt_s, 1);
        o->server_rtt_s = figure(strait_mpi_own_rtt(&links), 1);
        o->launch_s = figure(strait_mpi_beside(links.collective_s, links.steps_s), 1);
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
    o.collective_s = o.launch_s = o.others_rtt_s = o.server_rtt_s =
        (struct strait_path_figure){NAN, NAN, 0};
    const char *address = NULL;
    const struct strait_option options[] = {
        {"on", 0, STRAIT_OPTION_TEXT, &o.on, "mpi", "between ranks of mpirun"},
        {"listen", 0, STRAIT_OPTION_TEXT, &o.listen, "PORT", "be the other end"},
        {"once", 0, STRAIT_OPTION_FLAG, &o.once, NULL, "end after one measurement"},
        {"out", 'o', STRAIT_OPTION_TEXT, &o.out, "NETWORK.json", "write the network"},
        {"force", 0, STRAIT_OPTION_FLAG, &o.force, NULL, "replace what --out names"},
        {"title", 0, STRAIT_OPTION_TEXT, &o.title, "TEXT", "title of the network"},
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
