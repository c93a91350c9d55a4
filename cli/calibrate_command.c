/* strait calibrate: measure this machine or a path, as files that every command takes. */
#include "cli/kit/calibrate_commands.h"
#include "cli/kit/command.h"

static const struct strait_subcommand commands[] = {
    {"codecs", "[TENSORS]", "what codecs cost and save here, as a profile",
     strait_calibrate_codecs},
    {"host", "", "the same and this machine's memory, as a machine", strait_calibrate_host},
    {"net", "HOST:PORT", "rate, round trip, loss and queue of a path, as a network",
     strait_calibrate_net},
};
static const struct strait_command_table table = {
    "calibrate", "Measure this machine or a path, as a file that experiments can name.", commands,
    sizeof(commands) / sizeof(*commands),
    "  strait calibrate codecs --codec sz --codec topk --out here.json\n"
    "  strait calibrate host --out here.json\n"
    "  strait calibrate net --listen 5300 --once          at one end\n"
    "  strait calibrate net server:5300 --out home.json   at the other\n"};

int strait_command_calibrate(int argc, char **argv)
{
    return strait_command_dispatch(&table, argc, argv);
}
