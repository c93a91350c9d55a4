/* strait: one table of subcommands. */
#include <fcntl.h>
#include <printf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/kit/command.h"
#include "cli/kit/memory.h"
#include "core/host.h"

/* Instead of libc's, for libquadmath, which linear algebra brings: it would register a conversion
 * for its numbers, and with one registered every printf takes a path that is half as fast. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's is __fct */
__attribute__((visibility("default"))) int register_printf_type(printf_va_arg_function *fn)
{
    (void)fn;
    return -1;
}

/* In the order of the help: ask, decide, look, share the work, parts, machine. */
static const struct strait_subcommand commands[] = {
    {"run", "EXPERIMENT", "simulate or emulate an experiment, or compare both", strait_command_run},
    {"check", "EXPERIMENT", "say what an experiment asks for, what can run it here",
     strait_command_check},
    {"list", "[WHAT]", "list codecs, strategies, models, profiles and more", strait_command_list},
    {"model", "COMMAND", "a model of your own, from a few figures or a config.json",
     strait_command_model},
    {"trace", "COMMAND", "traces of other tools: show, import, export", strait_command_trace},
    {"plan", "FILE", "find what keeps a deadline, an accuracy or a budget", strait_command_plan},
    {"why", "DIR", "say where a row's time goes, what would make it faster", strait_command_why},
    {"tune", "EXPERIMENT", "find the best value of one parameter of a strategy",
     strait_command_tune},
    {"sensitivity", "[EXPERIMENT]", "find the error that each tensor tolerates",
     strait_command_sensitivity},
    {"attention", "", "measure what approximate attention costs in accuracy",
     strait_command_attention},
    {"compare", "DIR [DIR]", "compare predicted with measured times, point by point",
     strait_command_compare},
    {"plot", "DIR", "draw results: curves, heat maps, phases, residuals", strait_command_plot},
    {"report", "DIR...", "write results as one HTML page", strait_command_report},
    {"timeline", "DIR", "show what every rank of a run did when", strait_command_timeline},
    {"export", "DIR...", "write results as a table, all settings as columns",
     strait_command_export},
    {"rerun", "DIR", "run a result's experiment again, compare the rows", strait_command_rerun},
    {"merge", "DIR...", "join the results of shards of one experiment", strait_command_merge},
    {"sweep", "EXPERIMENT", "simulate an experiment's points together, under mpirun",
     strait_command_sweep},
    {"rank", "EXPERIMENT", "run as one rank on real machines, under mpirun", strait_command_rank},
    {"codec", "COMMAND", "the codecs by themselves: list, bench, encode, decode",
     strait_command_codec},
    {"calibrate", "COMMAND", "measure codecs, this machine or a path, as files",
     strait_command_calibrate},
    {"net", "COMMAND", "run your own programs on an emulated network", strait_command_net},
    {"serve", "", "show predictions on a page with sliders", strait_command_serve},
    {"doctor", "", "say what this machine can do, and what to install", strait_command_doctor},
    {"help", "[COMMAND]", "options of a command; manual pages; completion", strait_command_help},
};
static const struct strait_command_table table = {
    "", "How long compressed training takes over a narrow network: predicted, and shown.", commands,
    sizeof(commands) / sizeof(*commands),
    "  strait run wan-scaling                    the curve of the main experiment\n"
    "  strait run wan-scaling --set /clients=8   one count of clients\n"
    "  strait COMMAND --help                     options, units and examples\n\n"
    "Exit status: 0 good; 1 failed, INVALID, outside tolerance; 2 usage or bad input;\n"
    "3 this machine cannot.\n"};

/* A standard stream that is closed would be the next file that is opened, and be written into. What
 * stands there instead refuses the wrong way, as a closed one does. */
static void keep_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) {
            const int other = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
            if (other >= 0 && other != fd)
                close(other);
        }
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    strait_blas_choose_core();
    strait_json_or_end();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write, not our death */
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        strait_print_version(stdout);
        return strait_command_end(0);
    }
    return strait_command_end(strait_command_dispatch(&table, argc, argv));
}
