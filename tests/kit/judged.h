/* May a measured time be held against its plan from above too? What TCP and a shaped link take is a
 * lower bound on any machine, however busy; that nothing is added holds in virtual time, or where
 * somebody asked for it on a machine that does nothing else: make judged. */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include "emu/host/dilation.h"

static inline bool time_is_judged(void)
{
    return getenv("STRAIT_LONG") != NULL || strait_emu_in_virtual_time();
}
