/* strait trace export: what each rank does, in another format. */
#include <stdlib.h>
#include <string.h>

#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "cli/kit/options.h"
#include "trace_command.h"
#include "traces/import/ti_write.h"

struct export
{
    const char *path, *to, *out;
    double flop_per_s;
    bool force;
};

static int export_graph(const struct export *e, struct strait_error *err)
{
    struct strait_program *g;
    json_t *lost = NULL;
    char *text = NULL;
    if (strcmp(e->to, "ti") != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "--format", "expected ti, found \"%s\"",
                                e->to);
    if (strait_file_check_new(e->out, e->force, err) != 0 ||
        strait_import_graph(&g, e->path, err) != 0)
        return -1;
    int status = strait_ti_text(&text, &lost, g, e->flop_per_s, err);
    if (status == 0)
        status = strait_file_write(e->out, e->force, text, strlen(text), NULL, 0, err);
    for (size_t i = 0; status == 0 && i < json_array_size(lost); i++)
        fprintf(stderr, "lost: %s\n", json_string_value(json_array_get(lost, i)));
    json_decref(lost);
    free(text);
    strait_program_free(g);
    return status;
}

static const char notes[] =
    "ti is what SimGrid's smpirun -replay reads, one file for all ranks. Computing\n"
    "times become operations: as many as a rank of --speed does in that time.\n"
    "\n"
    "  strait trace export ring.goal --out ring.ti\n"
    "  smpirun -replay ring.ti -np 3 -platform ... -hostfile ...\n";

int strait_trace_export_command(int argc, char **argv)
{
    struct export e = {.to = "ti", .out = "-", .flop_per_s = 1e9};
    const struct strait_option options[] = {
        {"format", 0, STRAIT_OPTION_TEXT, &e.to, "NAME", "what to write: ti"},
        {"speed", 0, STRAIT_OPTION_NUMBER, &e.flop_per_s, "N", "operations a second (default 1e9)"},
        {"out", 'o', STRAIT_OPTION_TEXT, &e.out, "FILE", "default: standard output"},
        {"force", 0, STRAIT_OPTION_FLAG, &e.force, NULL, "replace a file"}};
    const struct strait_usage usage = {"trace export", "FILE",
                                       "Write what each rank does in another format.",
                                       STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &e.path, 1, NULL))
        return status;
    return export_graph(&e, &err) == 0 ? 0 : strait_command_fail(&err);
}
