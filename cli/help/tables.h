/* The command line as data: what every command's --help=json prints. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Table of a command: with "commands" where it has commands of its own, else with "options".
 *  In:      words  "net", "up"; n_words of them, at most 2
 *  Returns: a new reference, or NULL with *err */
json_t *strait_help_table(const char *const *words, size_t n_words, struct strait_error *err);
