/* What the kernel's links cannot tell: how late this machine runs what is due. A process of the
 * highest priority sleeps until each of its instants and notes when it woke; where a guest's
 * processor is a program of a busy host, or interrupts fill a processor, it wakes late, as do the
 * kernel's queues. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "lateness.h"

struct strait_emu_sentinel; /* its process ends with the calling one, or when it is freed */

/** Start it. *out NULL where it would say nothing: without the right to a real-time priority, in
 *  virtual time, and where instructions are counted. 0, or -1 with *err. */
int strait_emu_sentinel_start(struct strait_emu_sentinel **out, struct strait_error *err);
/** What it has noted since its start or the last restart. Returns: false where s is NULL */
bool strait_emu_sentinel_read(struct strait_emu_lateness *found, struct strait_emu_sentinel *s,
                              bool restart);
void strait_emu_sentinel_free(struct strait_emu_sentinel *s);
