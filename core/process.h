/* Other programs, run from an argv array with a deadline and captured output, never by a shell. */
#pragma once
#include <stddef.h>
#include "error.h"

/** Run argv[0] (looked up in PATH) with `input` on its standard input. It has a process group of
 *  its own, no descriptor of ours, and is killed when the thread that called this ends.
 *  Out:     out    standard output, NUL-terminated, cut at cap_bytes - 1; NULL throws it away
 *  In:      input  text for its standard input, NULL for none
 *           deadline_s  seconds from now, INFINITY for none
 *  Returns: its exit status (0..255), or -1 with *err: HOST when the program is not installed,
 *           SYSTEM when it was killed, timed out (it is killed first) or could not be started.
 *           A non-zero exit leaves the first line of its stderr in err->text, code BACKEND, and
 *           returns the status.
 */
int strait_process_run(char *out, size_t cap_bytes, const char *const argv[], const char *input,
                       double deadline_s, struct strait_error *err);
