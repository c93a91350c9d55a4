#include "measured_path.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "analysis/row.h"
#include "analysis/table.h"
#include "cli/kit/command.h"
#include "cli/kit/memory.h"
#include "core/json.h"
#include "core/units.h"

enum { TEXT_CHARS = 160 };
/* Errors beyond which a figure differs from none. */
static const double N_ERRORS = 2;
/* Less jitter than this is the machine's own. */
static const double MIN_JITTER_S = 1e-4, MIN_JITTER_RATIO = 0.01;

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
static struct strait_path_figure launch_of(const struct strait_measured_path *m)
{
    return isnan(m->launch_s.value) ? m->path.message_s : m->launch_s;
}

/* One client's port is the path but for what is the server's; the server's is no narrower. */
static json_t *network_json(const struct strait_measured_path *m)
{
    static const char *const known[] = {"reno", "bbr", "cubic"};
    json_t *client = json_object(), *network = json_object(), *constants = json_object();
    json_t *server = json_object();
    const double most =
        fmax(m->server_bits_per_s, fmax(m->path.up.rate.value, m->path.down.rate.value));
    json_object_set_new(client, "rate", quantity(STRAIT_UNIT_LINK_RATE, m->path.down.rate.value));
    const double server_rtt_s = is_above_none(m->server_rtt_s) ? m->server_rtt_s.value : 0;
    json_object_set_new(client, "rtt",
                        quantity(STRAIT_UNIT_TIME, fmax(0, m->path.rtt_s.value - server_rtt_s)));
    json_object_set_new(client, "out", direction_json(&m->path, &m->path.up));
    json_object_set_new(client, "in", direction_json(&m->path, &m->path.down));
    json_object_set_new(network, "client", client);
    json_object_set_new(server, "rate", quantity(STRAIT_UNIT_LINK_RATE, most));
    if (server_rtt_s > 0)
        json_object_set_new(server, "rtt", quantity(STRAIT_UNIT_TIME, server_rtt_s));
    json_object_set_new(network, "server", server);
    json_object_set_new(network, "overhead", quantity(STRAIT_UNIT_BYTES, m->overhead_bytes));
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(m->path.congestion, known[i]) == 0)
            json_object_set_new(network, "tcp", json_pack("{s:s}", "congestion", known[i]));
    const struct strait_path_figure launch = launch_of(m);
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

static json_t *measured_json(const struct strait_measured_path *m)
{
    json_t *all = json_object();
    for (int up = 1; up >= 0; up--) {
        const struct strait_path_direction *d = up ? &m->path.up : &m->path.down;
        json_t *one = json_object();
        put(one, "rate", "bit/s", d->rate);
        put(one, "loss", "of all packets", d->loss);
        put(one, "jitter", "s", d->jitter);
        put(one, isfinite(d->queue.error) ? "queue" : "queue_above", "B", d->queue);
        json_object_set_new(all, up ? "out" : "in", one);
    }
    put(all, "rtt", "s", m->path.rtt_s);
    put(all, "rtt_of_others", "s", m->others_rtt_s);
    put(all, "message", "s", m->path.message_s);
    put(all, "collective", "s", m->collective_s);
    return all;
}

json_t *strait_measured_path_json(const struct strait_measured_path *m)
{
    char source[2 * TEXT_CHARS], title[TEXT_CHARS], date[32] = "undated";
    const time_t now = time(NULL);
    struct tm tm;
    json_t *sources = json_object();
    if (gmtime_r(&now, &tm))
        strftime(date, sizeof(date), "%Y-%m-%d", &tm);
    snprintf(source, sizeof(source),
             "strait calibrate net %.100s on %s, version %s; standard errors under \"measured\"",
             m->source, date, STRAIT_VERSION);
    snprintf(title, sizeof(title), "the %s %.80s, measured", m->over_mpi ? "links of" : "path to",
             m->place);
    if (is_above_none(launch_of(m)))
        json_object_set_new(sources, "launch",
                            json_string(m->over_mpi
                                            ? "what MPI_Allreduce of one float takes beyond log2 n "
                                              "exchanges of a float over MPI, the same "
                                              "measurement"
                                            : "what a small message over TCP takes beyond its "
                                              "packet, the same measurement"));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "schema", "strait-network/1", "title",
                     m->title ? m->title : title, "source", source, "network", network_json(m),
                     "sources", sources, "measured", measured_json(m));
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

void strait_measured_path_print(const struct strait_measured_path *m)
{
    struct strait_table *t = strait_table_new();
    strait_table_column(t, "", false);
    strait_table_column(t, "found", true);
    strait_table_column(t, "standard error", true);
    strait_table_column(t, "", false);
    row(t, "round trip", STRAIT_UNIT_TIME, m->path.rtt_s, true, "");
    row(t, "  between two others", STRAIT_UNIT_TIME, m->others_rtt_s, false, "");
    row(t, "  rank 0's port", STRAIT_UNIT_TIME, m->server_rtt_s, is_above_none(m->server_rtt_s),
        "");
    row(t, "a small message", STRAIT_UNIT_TIME, m->path.message_s,
        isnan(m->launch_s.value) && is_above_none(m->path.message_s), "");
    row(t, "a collective", STRAIT_UNIT_TIME, m->collective_s, false, "");
    row(t, "  beside its steps", STRAIT_UNIT_TIME, m->launch_s, is_above_none(m->launch_s), "");
    for (int up = 1; up >= 0; up--) {
        const struct strait_path_direction *d = up ? &m->path.up : &m->path.down;
        const bool full = isfinite(d->queue.error);
        row(t, up ? "out: rate" : "in: rate", STRAIT_UNIT_LINK_RATE, d->rate, true, "");
        row(t, "  loss", STRAIT_UNIT_PERCENT, d->loss, is_above_none(d->loss), "");
        row(t, "  jitter", STRAIT_UNIT_TIME, d->jitter, has_jitter(&m->path, d->jitter), "");
        row(t, "  queue", STRAIT_UNIT_BYTES, d->queue, full,
            full         ? ""
            : d->is_held ? "it is longer; the sender's buffer was full"
                         : "it is longer; try a larger --burst");
    }
    strait_show_table(t);
}
