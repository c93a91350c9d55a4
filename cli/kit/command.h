/* The subcommands, and what they share: printing errors and exit statuses. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "core/error.h"

/* A row of a table of commands. */
struct strait_subcommand {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv);
};

struct strait_command_table {
    const char *name;    /* "net"; "" for strait itself */
    const char *summary; /* one sentence */
    const struct strait_subcommand *commands;
    size_t n_commands;
    const char *notes; /* printed after the commands, unchanged */
};

/* Each takes its own argv (argv[0] its name) and returns an exit status:
 * 0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad input; 3 this machine cannot. */
int strait_command_run(int argc, char **argv);
int strait_command_merge(int argc, char **argv);
int strait_command_rank(int argc, char **argv);
int strait_command_sweep(int argc, char **argv);
int strait_command_check(int argc, char **argv);
int strait_command_list(int argc, char **argv);
int strait_command_tune(int argc, char **argv);
int strait_command_attention(int argc, char **argv);
int strait_command_sensitivity(int argc, char **argv);
int strait_command_compare(int argc, char **argv);
int strait_command_plan(int argc, char **argv);
int strait_command_why(int argc, char **argv);
int strait_command_plot(int argc, char **argv);
int strait_command_model(int argc, char **argv);
int strait_command_export(int argc, char **argv);
int strait_command_rerun(int argc, char **argv);
int strait_command_timeline(int argc, char **argv);
int strait_command_report(int argc, char **argv);
int strait_command_trace(int argc, char **argv);
int strait_command_codec(int argc, char **argv);
int strait_command_calibrate(int argc, char **argv);
int strait_command_net(int argc, char **argv);
int strait_command_serve(int argc, char **argv);
int strait_command_doctor(int argc, char **argv);
int strait_command_help(int argc, char **argv);

/** Print the one line of an error, "strait: <where>: <text>", on stderr; a failure without an error
 *  is one of ours, and said so.
 *  Returns: its exit status, never 0, but after --help=json, which has said all */
int strait_command_fail(const struct strait_error *err);
/** From now on SIGINT, SIGTERM and SIGHUP end this process with a line that says that nothing is
 *  kept: for long work in this process that writes its result at the end. */
void strait_command_begins_again(void);
/** Print points that have no row, an array of {"labels", "where", "text"}, on stderr: a line each,
 *  "strait: <what is varied>: <where>: <text>". */
void strait_command_print_failures(const json_t *failures);
/** Flush stdout.
 *  Returns: status, or 1 if stdout failed (a full disk; silent for a closed pipe) */
int strait_command_end(int status);
/** Run the command that argv[1] names, or print the help of the table, after --help=json as JSON:
 *  {"command", "commands": [{"name", "arguments", "summary"}]}. Without a command: strait itself
 *  prints its help to stderr, a table with a name says what it expected.
 *  Returns: exit status */
int strait_command_dispatch(const struct strait_command_table *table, int argc, char **argv);
/** One JSON value on a line of its own on stdout. */
void strait_command_print_json(const json_t *value);

/** One line: version, commit where known, compiler, build mode, SimGrid's version. */
void strait_print_version(FILE *out);
/** The commit that this was built from, "41d36b6"; "unknown". */
const char *strait_commit(void);
/** The day of the commit that this was built from, "2026-11-22"; "" where that is unknown. */
const char *strait_commit_date(void);
