/* strait net run --launcher uml or vuml: run the same command again inside a guest. */
#pragma once
#include "core/error.h"
#include "cli/kit/options.h"

/* Options of net run for the guest; NULL and 0: not given. */
struct strait_net_guest {
    const char *launcher, *memory;
    double limit_s;
};

/** Whether a guest is requested.
 *  Returns: 1; 0: run in place; -1 with *err USAGE */
int strait_net_guest_is_wanted(const struct strait_net_guest *g, struct strait_error *err);

/** Run this command line in a guest and show its output. A fresh work folder is removed afterwards,
 *  also on SIGINT, SIGTERM and SIGHUP; it is kept if the guest failed.
 *  In:      file, settings  the experiment, as for strait_net_load
 *           log   existing folder for the programs' output, or NULL
 *           argv  of the subcommand, argc of them
 *  Returns: the exit status, with any error already printed, or -1 with *err */
int strait_net_guest_run(const struct strait_net_guest *g, const char *file,
                         const struct strait_texts *settings, const char *log, int argc,
                         char **argv, struct strait_error *err);
