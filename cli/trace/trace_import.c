/* strait trace import: a layer table or an experiment from a trace. */
#include <stdlib.h>
#include <string.h>

#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "core/units.h"
#include "trace_command.h"
#include "traces/models/model_object.h"
#include "core/names.h"

struct import {
    const char *path, *format, *out, *rate, *step;
    bool force;
};

/* An experiment that runs, with a network to be replaced. */
static char *experiment_text(struct strait_import *in)
{
    json_t *all = json_pack("{s:s, s:s}", "schema", "strait-experiment/1", "title", in->path);
    json_t *port = json_pack("{s:s, s:s}", "rate", "1 Gbps", "rtt", "20 ms");
    json_t *network =
        json_pack("{s:s, s:O, s:o}", "topology", "star", "client", port, "server", port);
    if (in->graph) {
        json_object_set_new(all, "trace", json_string(in->path));
        json_object_set_new(all, "strategy", json_pack("{s:s}", "name", "replay"));
        json_object_set_new(all, "clients", json_integer(in->graph->n_ranks));
    }
    json_object_update(all, in->experiment);
    if (!json_object_get(all, "network")) {
        json_object_set(all, "network", network);
        strait_import_missing(in, "the network: 1 Gbps and 20 ms stand there to be replaced");
    }
    json_decref(network);
    char *text = json_dumps(all, JSON_INDENT(2));
    json_decref(all);
    return text;
}

/* The table, and beside it that of the iterations, which it names: "my.csv" and "my.iters.csv". */
static int write_table(const struct import *c, struct strait_import *in, struct strait_error *err)
{
    char path[4096], head[4096 + 16] = "";
    const char *slash = strrchr(c->out, '/');
    const bool is_file = strait_text_ends_with(c->out, ".csv");
    char *text = strait_model_table_text(in->model);
    int status = text ? 0 : strait_error_memory(err, c->path);
    snprintf(path, sizeof(path), "%.*s.iters.csv", (int)strlen(c->out) - (is_file ? 4 : 0), c->out);
    if (in->iters && is_file && status == 0) {
        snprintf(head, sizeof(head), "# iters: %s\n", path + (slash ? slash + 1 - c->out : 0));
        status = strait_file_write(path, c->force, in->iters, strlen(in->iters), NULL, 0, err);
    } else if (in->iters) {
        strait_import_missing(in, "the table of iterations: --out NAME.csv writes it beside");
    }
    if (status == 0)
        status = strait_file_write(c->out, c->force, head, strlen(head), text, strlen(text), err);
    free(text);
    return status;
}

/* "devices.json" and beside it "devices.slowness.csv", which its "device" names. */
static int write_slowness(const struct import *c, struct strait_import *in,
                          struct strait_error *err)
{
    char path[4096];
    if (!strait_text_ends_with(c->out, ".json")) {
        strait_import_missing(in, "the table of slowness: --out NAME.json writes it beside");
        return 0;
    }
    snprintf(path, sizeof(path), "%.*s.slowness.csv", (int)strlen(c->out) - 5, c->out);
    json_object_set_new(in->experiment, "device", json_pack("{s:s}", "slowness", path));
    return strait_file_write(path, c->force, in->slowness, strlen(in->slowness), NULL, 0, err);
}

/* What the layers take: of a trace that has no times, what the user says. */
static int set_times(const struct import *c, struct strait_import *in, struct strait_error *err)
{
    const bool counts = in->model && in->model->device_flop_per_s > 0;
    double value;
    if (!in->model && (c->rate || c->step))
        return strait_error_set(err, STRAIT_ERR_USAGE, "trace import",
                                "expected a trace with layers for --rate or --step, found %s "
                                "without any",
                                in->format->name);
    if (counts && !c->rate && !c->step)
        return strait_refuse(err, c->path,
                             "expected --rate, such as '30 TFLOP/s', or --step, such as '0.8 s': "
                             "this trace has no times");
    if (c->rate)
        return strait_quantity_parse(&value, STRAIT_UNIT_COMPUTE, c->rate, "--rate", err) != 0
                   ? -1
                   : strait_model_set_device_rate(in->model, value, err);
    return !c->step ? 0
           : strait_quantity_parse(&value, STRAIT_UNIT_TIME, c->step, "--step", err) != 0 ||
                   !(value > 0)
               ? strait_error_set(err, STRAIT_ERR_USAGE, "--step", "expected a time above 0")
               : strait_model_set_step(in->model, value, err);
}

/* Nothing can be made of the trace: the first of what is missing says why. */
static int no_use(const struct import *c, const struct strait_import *in, struct strait_error *err)
{
    const char *why = json_string_value(json_array_get(in->missing, 0));
    if (in->model)
        why = "with layers: --out NAME.csv writes them";
    return strait_refuse(
        err, c->path, "expected a trace that a table or an experiment can be made of, found %s%s%s",
        in->format->name,
        !why        ? ""
        : in->model ? " "
                    : " without ",
        why ? why : "");
}

static int import(const struct import *c, struct strait_import *in, struct strait_error *err)
{
    char *text = NULL;
    if (strait_file_check_new(c->out, c->force, err) != 0 ||
        strait_trace_read(in, c->path, c->format, err) != 0 || set_times(c, in, err) != 0)
        return -1;
    if (in->model && !strait_text_ends_with(c->out, ".json"))
        return write_table(c, in, err);
    if (!in->graph && !in->experiment)
        return no_use(c, in, err);
    if (strait_text_ends_with(c->out, ".csv"))
        return strait_refuse(err, c->path,
                             "expected a trace with layers for a table, found %s without any: "
                             "--out NAME.json writes an experiment",
                             in->format->name);
    if (in->slowness && write_slowness(c, in, err) != 0)
        return -1;
    if (!(text = experiment_text(in)))
        return strait_error_memory(err, c->path);
    const int status = strait_file_write(c->out, c->force, text, strlen(text), "\n", 1, err);
    free(text);
    return status;
}

static const char notes[] =
    "OUT ends in .csv for a layer table (\"model\" of an experiment) or in .json for an\n"
    "experiment; without it what the trace has goes to standard output, layers first.\n"
    "What was inferred and what is missing goes to standard error.\n"
    "\n"
    "  strait trace import profile.json.gz --out my-model.csv\n"
    "  strait trace import host_0.json --rate '30 TFLOP/s' --out my-model.csv\n"
    "  strait trace import ring.goal --out ring.json\n"
    "  strait run ring.json --set \"/network/client/rate=100 Mbps\"\n";

int strait_trace_import_command(int argc, char **argv)
{
    struct import c = {.out = "-"};
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &c.out, "OUT", "the layer table or the experiment"},
        {"rate", 0, STRAIT_OPTION_TEXT, &c.rate, "RATE",
         "speed, for a trace without times: '30 TFLOP/s'"},
        {"step", 0, STRAIT_OPTION_TEXT, &c.step, "TIME", "time of forward and backward together"},
        {"format", 0, STRAIT_OPTION_TEXT, &c.format, "NAME", "the format, if it is known"},
        {"force", 0, STRAIT_OPTION_FLAG, &c.force, NULL, "replace a file"}};
    const struct strait_usage usage = {"trace import", "FILE",
                                       "Write a layer table or an experiment from a trace.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_import in = {0};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &c.path, 1, NULL))
        return status;
    status = import(&c, &in, &err);
    if (status == 0)
        strait_trace_print(&in, stderr);
    strait_import_release(&in);
    return status == 0 ? 0 : strait_command_fail(&err);
}
