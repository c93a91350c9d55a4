/* The built program from outside: in a folder of the test, with what it said and what it left. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "suite.h"

enum { PROGRAM_MAX_ARGS = 32 };

/* Where and as whom the program runs; a test may set what is below `folder` after set_up. */
struct program {
    char path[4096]; /* STRAIT_BIN, or the one that was built beside the test */
    char folder[64]; /* of the test's own: outputs, XDG_RUNTIME_DIR */
    const char *cwd; /* NULL: the folder */
    const char *in;  /* its standard input, a file; NULL: nothing */
    uid_t uid;       /* runs as this user; 0: as whoever runs the test */
    char tun[96];    /* STRAIT_TUN for it; "": none */
};

/* What one call said. */
struct said {
    int status; /* exit status, or 128 + the signal that ended it */
    char *out, *err;
    size_t out_bytes; /* `out` may be no text; it has a NUL behind its end */
};

/** Find the program, make an empty folder under /tmp, and become the one to whom orphans of this
 *  test go. Asserts success. */
void program_set_up(struct program *p);
/** From now on temporary files of the program, and of this one, lie in "tmp" of the folder: TMPDIR,
 *  which the test unsets. */
void program_own_tmp(const struct program *p);
/** Remove the folder, after asserting that no process is left (program_n_left_soon). */
void program_tear_down(struct program *p);

/** Start it with its outputs in files "NAME.out" and "NAME.err" of the folder. args ends with NULL.
 */
pid_t program_start(const struct program *p, const char *name, const char *const args[]);
/** Exit status, or 128 + signal. */
int program_wait(pid_t pid);
struct said program_call(const struct program *p, const char *const args[]);
#define PROGRAM_CALL(p, ...) program_call(p, (const char *const[]){__VA_ARGS__, NULL})
void said_release(struct said *s);
/** What a child of the test becomes that redirected its standard streams itself. */
_Noreturn void program_exec(const struct program *p, const char *const args[]);

/** Files of the folder, or of anywhere. What is read has a NUL behind its end, to be freed. */
char *program_read(const struct program *p, const char *name);
char *program_read_bytes(const struct program *p, const char *name, size_t *len_bytes);
void program_write(const struct program *p, const char *name, const char *text);
void program_write_bytes(const struct program *p, const char *name, const void *bytes,
                         size_t len_bytes);
bool program_has(const struct program *p, const char *name);
size_t program_n_lines(const char *text);

/** Processes that were started with the folder in their environment; dead orphans are buried. */
int program_n_left(const struct program *p);
/** The same once there are none, or after a minute. */
int program_n_left_soon(const struct program *p);
