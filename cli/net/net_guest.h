/* strait net run --launcher uml or vuml: the same command once more, inside a guest. */
#pragma once
#include "core/error.h"
#include "cli/options.h"

/* Options of net run that say how a guest is made; NULL and 0: not given. */
struct strait_net_guest {
    const char *launcher, *memory;
    double limit_s;
};

/** Is it to be run in a guest?
 *  Returns: 1, 0 for in place, or -1 with *err USAGE */
int strait_net_guest_is_wanted(const struct strait_net_guest *g, struct strait_error *err);

/** Run this command line in a guest and show what it printed. Its work folder, a fresh one, is
 *  removed, also on SIGINT, SIGTERM and SIGHUP; it stays where the guest failed.
 *  In:      file, settings  the experiment, as for strait_net_load
 *           log   folder for the copies' output, which exists, or NULL
 *           argv  of the subcommand, argc of them
 *  Returns: the exit status, after any complaint, or -1 with *err */
int strait_net_guest_run(const struct strait_net_guest *g, const char *file,
                         const struct strait_texts *settings, const char *log, int argc,
                         char **argv, struct strait_error *err);
