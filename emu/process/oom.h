/* Did the kernel end processes because memory ran out? */
#pragma once
#include <stdint.h>

/** Processes that this kernel killed for that since it started (/proc/vmstat); 0 where it does not
 *  tell. */
uint64_t strait_emu_oom_kills(void);
