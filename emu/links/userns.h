/* Find out what emulation can do on this machine: as root, or in an ordinary user's namespaces. */
#pragma once
#include <stdbool.h>
#include "core/error.h"

/** Enter a new user namespace, as root of it, and a mount namespace in it. The calling process must
 *  have one thread; afterwards it can change nothing of the host.
 *  Returns: 0, or -1 with *err HOST if this kernel does not allow it */
int strait_emu_launch_userns(struct strait_error *err);

struct strait_emu_answer {
    bool yes;
    char reason[256]; /* one line: what was tried and the result */
};

/* What this machine and user can do. Each answer was tried in a child process. */
struct strait_emu_ability {
    struct strait_emu_answer in_place; /* make a network namespace with the user's own rights */
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
 *  Returns: 0 with every answer filled, or -1 with *err SYSTEM when no child could be started */
int strait_emu_net_probe(struct strait_emu_ability *out, const char *tun_path,
                         struct strait_error *err);
