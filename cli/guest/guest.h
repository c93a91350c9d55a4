/* strait run --launcher uml, vuml or qemu: run the same command again inside a guest. */
#pragma once
#include "campaign/session.h"

/** Whether that launcher (NULL: none) is a guest. */
bool strait_guest_is_one(const char *launcher);

/** Run this command in a guest and show its output.
 *  In:      r           its options; the sweep is loaded here
 *           experiment  as for strait_session_prepare
 *           argv        of the subcommand, argc of them
 *  Returns: the exit status of the run in the guest, or -1 with *err */
int strait_guest_run(struct strait_session *r, const char *experiment, int argc, char **argv,
                     struct strait_error *err);
