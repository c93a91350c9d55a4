/* strait run --launcher uml, vuml or qemu: the same command once more, inside a guest. */
#pragma once
#include "campaign/session.h"

/** Is that launcher, NULL for none, a guest? */
bool strait_guest_is_one(const char *launcher);

/** Run this command's arguments in a guest and show what it prints.
 *  In:      r           its options; its sweep is loaded here
 *           experiment  as strait_session_prepare
 *           argv        of the subcommand, argc of them
 *  Returns: the exit status of the run in the guest, or -1 with *err
 */
int strait_guest_run(struct strait_session *r, const char *experiment, int argc, char **argv,
                     struct strait_error *err);
