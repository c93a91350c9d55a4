/* Manual pages, made of the commands' tables. */
#pragma once
#include <jansson.h>
#include <stdio.h>
#include "core/error.h"

/** One page in man(7): of a command, or of strait itself where the table has no "command". */
void strait_manual_print(FILE *out, const json_t *table);
/** All pages, "strait.1", "strait-run.1", ..., "strait-net-up.1", in this folder, which must exist.
 *  Returns: 0, or -1 with *err */
int strait_manual_write(const char *folder, struct strait_error *err);
