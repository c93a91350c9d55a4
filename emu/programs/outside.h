/* The way out of a network that several hosts share: a process beside it runs commands on the host
 * itself, with the standard streams of who asks, so that a program in one part can start others in
 * the parts of other hosts. */
#pragma once
#include "net_registry.h"

/** Start the process that answers; it ends with the caller's thread. Call this before
 *  strait_emu_program_start, which would otherwise put the process into the network.
 *  Out:     path  of its socket beside the network's own files, for strait_emu_outside_run; the
 *                 caller removes it
 *  Returns: 0, or -1 with *err */
int strait_emu_outside_open(char path[STRAIT_EMU_PLACE_CHARS],
                            const struct strait_emu_registry *place, struct strait_error *err);

/** Run argv there, with this process' standard streams, and wait for it; it is killed when this
 *  process ends.
 *  Returns: its exit status, 128 + the signal that ended it, 127 where it is no program; or -1 with
 *           *err when nobody answers */
int strait_emu_outside_run(const char *path, const char *const *argv, struct strait_error *err);
