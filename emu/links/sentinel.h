/* Measures how late this machine runs what is due, which the kernel's links cannot tell: a process
 * of the highest priority sleeps until each instant of a schedule and notes when it woke. It wakes
 * late, as the kernel's queues do, when a guest's processor is a program on a busy host, or
 * interrupts fill a processor. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "lateness.h"

struct strait_emu_sentinel; /* its process ends with the calling one, or when it is freed */

/** Start it. *out is NULL if it would measure nothing: without the right to a real-time priority,
 *  in virtual time, and with counted instructions. 0, or -1 with *err. */
int strait_emu_sentinel_start(struct strait_emu_sentinel **out, struct strait_error *err);
/** Read what it noted since its start or last restart. False if s is NULL. */
bool strait_emu_sentinel_read(struct strait_emu_lateness *found, struct strait_emu_sentinel *s,
                              bool restart);
void strait_emu_sentinel_free(struct strait_emu_sentinel *s);
