/* The command line of one subcommand: one table for parsing and for help. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "analysis/table.h"
#include "core/error.h"
#include "core/names.h"

enum strait_option_kind {
    STRAIT_OPTION_FLAG,  /* bool */
    STRAIT_OPTION_TEXT,  /* const char * */
    STRAIT_OPTION_TEXTS, /* struct strait_texts: may be repeated */
    STRAIT_OPTION_COUNT, /* long, at least 1 */
    STRAIT_OPTION_NUMBER /* double, at least 1 */
};

struct strait_option {
    const char *name; /* without dashes */
    char letter;      /* short form, or 0 */
    enum strait_option_kind kind;
    void *target;
    const char *argument; /* "FILE" in help; NULL for flags */
    const char *doc;
};

/* An option of commands that print tables; see strait_table_wide. */
#define STRAIT_WIDE_OPTION                                                                         \
    {                                                                                              \
        "wide", 0, STRAIT_OPTION_FLAG, &strait_table_wide, NULL,                                   \
            "tables as wide as they are, a line a row"                                             \
    }

struct strait_usage {
    const char *command, *arguments, *summary; /* "run", "EXPERIMENT", one sentence */
    const struct strait_option *options;
    size_t n_options;
    const char *notes; /* examples and units, printed unchanged */
};

/* The members `options` and `n_options`. */
#define STRAIT_OPTIONS(table) (table), sizeof(table) / sizeof(*(table))

/** Parse argv[1..argc). `positional` gets up to max_positional pointers into argv, *n_positional
 *  says how many. --help sets *help and stops. --help=json prints the table on stdout: {"command",
 *  "arguments", "summary", "options": [{"name", "letter", "argument", "doc"}], "notes"}.
 *  Returns: 0, or -1 with *err USAGE; or -1 and no error after --help=json */
int strait_options_parse(const struct strait_usage *usage, int argc, char **argv,
                         const char **positional, size_t max_positional, size_t *n_positional,
                         bool *help, struct strait_error *err);
/** The same as one line of JSON for programs: manual pages and completion are made of it. */
void strait_options_print_json(const struct strait_usage *usage);
void strait_options_print(const struct strait_usage *usage, FILE *out);
/** Parse, and where the command ends here (help was printed, or there was an error, printed now)
 *  say so. Where usage->arguments is DIR, DIR..., EXPERIMENT or FILE, a command without it ends.
 *  In:      words, max_words  as positional; n_words may be NULL
 *  Returns: true if the command goes on; else false, with *status, its exit status */
bool strait_command_begin(int *status, const struct strait_usage *usage, int argc, char **argv,
                          const char **words, size_t max_words, size_t *n_words);
