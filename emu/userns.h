/* Where the emulation may run: in place as root, or in namespaces of an ordinary user. */
#pragma once
#include <stdbool.h>
#include "core/error.h"

/** Enter a new user namespace in which the caller is root, and a mount namespace of it. The calling
 *  process must have one thread only; nothing of the host can be changed from there on.
 *  Returns: 0, or -1 with *err HOST when this kernel does not let this user
 */
int strait_emu_launch_userns(struct strait_error *err);

struct strait_emu_answer {
    bool yes;
    char reason[256]; /* what was done and what came of it, one line */
};

/* What this machine and this user can do; every answer comes from doing it in a child process. */
struct strait_emu_ability {
    struct strait_emu_answer in_place; /* make a network namespace with the rights one has */
    struct strait_emu_answer userns;   /* make a user namespace and a network namespace in it */
    struct strait_emu_answer tun;      /* make a TUN device in the first of these that works */
    struct strait_emu_answer tbf;      /* shape a veth device's rate there */
    struct strait_emu_answer netem;    /* ... and its delay */
    struct strait_emu_answer ping;     /* run the stock ping program there */
    char congestion[256]; /* controls that a socket there may take, from reno bbr cubic dctcp vegas;
                             blanks between */
};

/** Try everything that the emulation needs.
 *  In:      tun_path  NULL: /dev/net/tun
 *  Returns: 0 with every answer filled, or -1 with *err SYSTEM when no child could be started
 */
int strait_emu_net_probe(struct strait_emu_ability *out, const char *tun_path,
                         struct strait_error *err);
