/* strait trace: traces of other tools. */
#include "trace_command.h"

#include <string.h>

#include "cli/kit/command.h"
#include "core/names.h"

static const struct strait_subcommand commands[] = {
    {"show", "FILE", "what a trace has, what was inferred and what is missing",
     strait_trace_show_command},
    {"import", "FILE", "write a layer table or an experiment from a trace",
     strait_trace_import_command},
    {"export", "FILE", "write what each rank does in another format", strait_trace_export_command},
};
static const struct strait_command_table table = {
    "trace", "Traces of other tools: profiles, execution graphs, logs.", commands,
    sizeof(commands) / sizeof(*commands),
    "  strait trace show profile.json.gz\n"
    "  strait trace import profile.json.gz --out my-model.csv\n"
    "  strait trace import ring.goal --out ring.json\n"
    "  strait list traces                      formats that are read\n"};

int strait_command_trace(int argc, char **argv)
{
    return strait_command_dispatch(&table, argc, argv);
}

static int find(const struct strait_import_format **format, const char *name,
                struct strait_error *err)
{
    const char *names[32] = {0};
    size_t n;
    const struct strait_import_format *const *all = strait_import_formats(&n);
    *format = name ? strait_import_format_find(name) : NULL;
    if (!name || *format)
        return 0;
    for (size_t i = 0; i < n && i + 1 < sizeof(names) / sizeof(names[0]); i++)
        names[i] = all[i]->name;
    return strait_refuse_name(err, STRAIT_ERR_USAGE, "--format", "a format (strait list traces)",
                              name, names);
}

int strait_trace_read(struct strait_import *in, const char *path, const char *format,
                      struct strait_error *err)
{
    const struct strait_import_format *known;
    *in = (struct strait_import){0};
    return find(&known, format, err) != 0 ? -1 : strait_import_look(in, path, known, err);
}
