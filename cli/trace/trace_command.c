/* strait trace: traces of other tools. */
#include "trace_command.h"

#include "cli/kit/command.h"

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
