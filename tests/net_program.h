/* The built program from outside: in a folder of the test, with what it said and what it left. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "suite.h"

struct net_program {
    char path[4096];
    char folder[64]; /* working directory, outputs, XDG_RUNTIME_DIR */
    uid_t uid;       /* runs as this user; 0: as whoever runs the test */
    char tun[96];    /* STRAIT_TUN for it; "": none */
};

/* What one call of the program said. */
struct said {
    int status; /* exit status, or 128 + the signal that ended it */
    char *out, *err;
};

/** Find it ($STRAIT_BIN, or beside this program), make the folder, and become the one to whom
 *  orphans of this test go. */
void net_program_set_up(struct net_program *p);
/** Remove the folder, after asserting that nothing is left (net_program_n_left). */
void net_program_tear_down(struct net_program *p);

/** Start it with its outputs in files "NAME.out" and "NAME.err" of the folder, and as input the
 *  file "stdin" of the folder, where there is one. */
pid_t net_program_start(const struct net_program *p, const char *name, const char *const args[]);
/** The exit status of a started one, 128 + signal when it was killed. */
int net_program_wait(pid_t pid);
struct said net_program_call(const struct net_program *p, const char *const args[]);
#define NET_PROGRAM_CALL(p, ...) net_program_call(p, (const char *const[]){__VA_ARGS__, NULL})
void net_program_said_free(struct said *s);

/** Put a text into a file of the folder. */
void net_program_write(const struct net_program *p, const char *name, const char *text);
/** The text of a file of the folder, or of an absolute path: owned by the caller. */
char *net_program_read(const struct net_program *p, const char *name);
size_t net_program_n_lines(const char *text);

/** Processes that were started with the folder in their environment; dead orphans are buried. */
int net_program_n_left(const struct net_program *p);
/** The same once there are none, or after five seconds. */
int net_program_n_left_soon(const struct net_program *p);
