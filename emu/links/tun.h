/* A TUN device with segmentation offload: reads and writes are whole super-packets. */
#pragma once
#include "core/error.h"

/** Make a device in the calling thread's network namespace. It exists as long as the descriptor.
 *  Out:     index  of the interface
 *  In:      path   of the TUN node
 *           name   for the interface
 *  Returns: a non-blocking descriptor, or -1 with *err HOST */
int strait_emu_tun_open(int *index, const char *path, const char *name, struct strait_error *err);
