/* Completion of a command line; what a shell needs is a few lines that ask strait itself. */
#pragma once
#include <stdio.h>
#include "core/error.h"

/** The script of a shell: "bash", "zsh" or "fish". 0, or -1 with *err USAGE. */
int strait_completion_script(FILE *out, const char *shell, struct strait_error *err);
/** What may follow: one candidate for the last word a line, a tab and its meaning behind it. None
 *  where a file is expected.
 *  In:      line  the command line up to the cursor: "strait run wan-" */
void strait_completion_print(FILE *out, const char *line);
