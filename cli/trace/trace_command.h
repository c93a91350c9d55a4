/* Inside this room: strait trace's commands and what they share. */
#pragma once
#include <stdio.h>
#include "traces/import/import.h"

int strait_trace_show_command(int argc, char **argv);
int strait_trace_import_command(int argc, char **argv);
int strait_trace_export_command(int argc, char **argv);

/** Read a trace; format NULL: by its content. Wrong names are refused with the known ones.
 *  Returns: 0, or -1 with *err; release in either case */
int strait_trace_read(struct strait_import *in, const char *path, const char *format,
                      struct strait_error *err);
/** What is in it, what was inferred and what is missing, for people. */
void strait_trace_print(const struct strait_import *in, FILE *out);
