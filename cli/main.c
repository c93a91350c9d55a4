/* strait: one table of subcommands. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/json.h"
#include "core/names.h"
#include "cli/kit/command.h"

static const struct strait_subcommand commands[] = {
    {"run", "EXPERIMENT", "simulate or emulate an experiment, or compare both", strait_command_run},
    {"check", "EXPERIMENT", "say what an experiment asks for and what can run it here",
     strait_command_check},
    {"list", "[WHAT]", "list codecs, strategies, models, profiles and more", strait_command_list},
    {"tune", "EXPERIMENT", "find the best value of one parameter of a strategy",
     strait_command_tune},
    {"compare", "DIR [DIR]", "compare predicted with measured times, point by point",
     strait_command_compare},
    {"plot", "DIR", "draw the curves of a results folder as PNG and SVG", strait_command_plot},
    {"codec", "COMMAND", "the codecs by themselves: list, bench, encode, decode",
     strait_command_codec},
    {"calibrate", "codecs", "measure the codecs on this machine as a profile",
     strait_command_calibrate},
    {"net", "COMMAND", "run your own programs on an emulated network", strait_command_net},
    {"doctor", "", "say what this machine can do, and what to install", strait_command_doctor},
    {"help", "[COMMAND]", "options of a command; manual pages; completion", strait_command_help},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

int strait_command_fail(const struct strait_error *err)
{
    fflush(stdout);
    if (err->code == STRAIT_OK)
        return 0;
    fprintf(stderr, "strait: %s%s%s\n", err->where, *err->where ? ": " : "", err->text);
    return strait_error_exit_status(err);
}

int strait_command_end(int status)
{
    const bool failed = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !failed)
        return status;
    if (errno != EPIPE) /* whoever closed the pipe has seen enough and wants no complaint */
        fprintf(stderr, "strait: standard output: cannot write: %s\n", strerror(errno));
    return status != 0 ? status : 1;
}

void strait_command_print_json(const json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    fputs("\n", stdout);
}

int strait_command_print_table(const char *command, const struct strait_subcommand *table,
                               size_t n_commands)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n_commands; i++)
        json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", table[i].name, "arguments",
                                             table[i].arguments, "summary", table[i].summary));
    json_t *value = json_pack("{s:s, s:o}", "command", command, "commands", all);
    strait_command_print_json(value);
    json_decref(value);
    return 0;
}

static void print_help(FILE *out)
{
    fputs("usage: strait COMMAND [ARGUMENTS]\n\n"
          "How long compressed training takes over a narrow network: predicted, and shown.\n\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char left[64];
        snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].arguments);
        fprintf(out, "  %-20s %s\n", left, commands[i].summary);
    }
    fputs("\n"
          "  strait run wan-scaling                    the curve of the main experiment\n"
          "  strait run wan-scaling --set /clients=8   one count of clients\n"
          "  strait COMMAND --help                     options, units and examples\n\n"
          "Exit status: 0 good; 1 failed, INVALID, outside tolerance; 2 usage or bad input;\n"
          "3 this machine cannot.\n",
          out);
}

static int unknown_command(const char *name)
{
    const char *names[N_COMMANDS + 1] = {NULL};
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    struct strait_error err = {0};
    strait_refuse_name(&err, STRAIT_ERR_USAGE, NULL, "a command (strait --help)", name, names);
    return strait_command_fail(&err);
}

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
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write, not our death */
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_help(stdout);
        return strait_command_end(0);
    }
    if (strcmp(argv[1], "--help=json") == 0)
        return strait_command_end(strait_command_print_table("", commands, N_COMMANDS));
    if (strcmp(argv[1], "--version") == 0) {
        strait_print_version(stdout);
        return strait_command_end(0);
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, argv[1]) == 0)
            return strait_command_end(commands[i].run(argc - 1, argv + 1));
    return unknown_command(argv[1]);
}
