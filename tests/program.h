/* The built program from outside, in a folder of the test's own: what the tests of the command line
 * share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROGRAM_MAX_ARGS = 24 };

/* A test's folder; the program is STRAIT_BIN, or the one that was built beside the test. */
struct program {
    char path[4096], folder[128];
};

/* What one call said. */
struct said {
    int status; /* exit status, or 128 + the signal that ended it */
    char *out, *err;
    size_t out_bytes; /* `out` may be no text; it has a NUL behind its end */
};

/** Find the program and make an empty folder under /tmp. Asserts success. */
void program_set_up(struct program *p);
/** Remove the folder with all that is in it. */
void program_tear_down(struct program *p);
/** Start it in the folder (or in `cwd`), its input from the file `in` (NULL: nothing), its outputs
 *  in files of the folder. args ends with NULL. */
pid_t program_start(const struct program *p, const char *cwd, const char *in,
                    const char *const args[]);
/** Exit status, or 128 + signal. */
int program_wait(pid_t pid);
struct said program_call(const struct program *p, const char *cwd, const char *in,
                         const char *const args[]);
void said_release(struct said *s);
/** A file of the folder, or of anywhere: NUL behind its end, to be freed. Asserts that it is. */
char *program_read(const struct program *p, const char *name, size_t *len_bytes);
void program_write(const struct program *p, const char *name, const void *bytes, size_t len_bytes);
bool program_has(const struct program *p, const char *name);
size_t program_n_lines(const char *text);
