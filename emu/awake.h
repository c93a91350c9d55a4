/* Processors that do not fall asleep while real time is kept. */
#pragma once
#include "../core/error.h"

/** Start one process a processor that spins at idle priority, where anything else runs at once
 *  instead. A processor that was halted for a while comes back slow: on a virtual machine the own
 *  codec took 65 to 72 ms after 300 ms of idleness and 50 to 52 ms with these, as in a busy
 * program; and a dilated run is idle most of the time. The processes die with the thread that calls
 * this. Returns: 0, or -1 with *err SYSTEM */
int strait_emu_stay_awake(struct strait_error *err);
