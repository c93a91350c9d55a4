/* Try what this machine can emulate, for strait doctor and strait net probe. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include "core/error.h"

struct strait_probe {
    const char *launcher;    /* "root", "userns"; NULL: none works */
    const char *realisation; /* "relay", "kernel"; NULL: none works */
    const char *guest;       /* "vuml" or "uml", which boots here; NULL: neither does */
    const char *missing;     /* a package that would help, NULL: none */
};

/** Append a line {"what", "good", "found", "hint"}; without the hint if it is good. */
void strait_probe_put(json_t *lines, const char *what, bool good, const char *found,
                      const char *hint);
/** Try everything that the emulation can use, a line each.
 *  In:      boot  boot guests' kernels although an earlier command did
 *  Returns: 0, or -1 with *err SYSTEM */
int strait_probe_emulation(struct strait_probe *out, json_t *lines, bool boot,
                           struct strait_error *err);
/** Print the lines as a table, or as JSON Lines. */
void strait_probe_print(const json_t *lines, bool json);
