/* strait run --on emu --hosts: points that are emulated on several hosts. */
#pragma once
#include "campaign/session.h"
#include "net_command.h"

struct strait_run_on_hosts {
    struct strait_afar afar; /* must be first */
    struct strait_net_hosts hosts;
    const struct strait_session *session;
    char launcher[512];
};

/** Have a session's emulated points run there: each brings up its network on these hosts, as strait
 *  net run --hosts does, and mpirun starts strait rank in it.
 *  In:      on  its hosts are set; stays while the session does
 *  Returns: 0, or -1 with *err: USAGE for options that do not go together, INPUT for the hosts */
int strait_run_on_hosts(struct strait_session *r, struct strait_run_on_hosts *on,
                        struct strait_error *err);
