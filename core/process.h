/* Run other programs from an argv array, with a deadline and captured output, never by a shell. */
#pragma once
#include <stddef.h>
#include "error.h"

/** Run argv[0] (looked up in PATH) with `input` on its standard input. It gets its own process
 *  group and none of our descriptors, and is killed when the calling thread ends.
 *  Out:     out         standard output, NUL-terminated, cut at cap_bytes - 1; NULL: discarded
 *  In:      input       text for its standard input, NULL: none
 *           deadline_s  seconds from now, INFINITY: none
 *  Returns: its exit status (0..255), or -1 with *err: HOST when the program is not installed,
 *           SYSTEM when it was killed, timed out (it is killed first) or could not be started. A
 *           non-zero status also sets err->code to BACKEND and err->text to the first line of
 *           stderr. */
int strait_process_run(char *out, size_t cap_bytes, const char *const argv[], const char *input,
                       double deadline_s, struct strait_error *err);
