/* The subcommands, and what they share: how an error is printed and how a program ends. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"

/* Each takes its own argv (argv[0] its name) and returns an exit status:
 * 0 good; 1 failed, INVALID or outside tolerance; 2 usage or bad input; 3 this machine cannot. */
int strait_command_run(int argc, char **argv);
int strait_command_check(int argc, char **argv);
int strait_command_list(int argc, char **argv);
int strait_command_tune(int argc, char **argv);
int strait_command_compare(int argc, char **argv);
int strait_command_plot(int argc, char **argv);
int strait_command_codec(int argc, char **argv);
int strait_command_calibrate(int argc, char **argv);
int strait_command_net(int argc, char **argv);
int strait_command_doctor(int argc, char **argv);

/** Print the one line of an error, "strait: <where>: <text>", on stderr.
 *  Returns: its exit status */
int strait_command_fail(const struct strait_error *err);
/** Flush stdout.
 *  Returns: status, or 1 when stdout could not take everything (a full disk; a closed pipe is
 *           silent) */
int strait_command_end(int status);
/** One JSON value on a line of its own on stdout. */
void strait_command_print_json(const json_t *value);
