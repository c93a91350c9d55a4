/* Memory that runs out at a chosen allocation of this thread. The linker leads every malloc of the
 * test program to here (--wrap); what libraries allocate for themselves is not counted. */
#pragma once
#include <stdbool.h>
#include "core/error.h"
#include "places.h"

/** From now on the n-th allocation fails, from 0, and no other. */
void strait_scarce_begin(long n);
/** No longer. Returns: whether one has failed */
bool strait_scarce_end(void);
/** Record from which places allocations come, while they are counted; NULL: no longer. */
void strait_scarce_record(struct strait_places *p);
/** Call fn once for each of its allocations, which then fails: it must say NOMEM each time, and
 *  succeed when none fails.
 *  Returns: how many there are */
long strait_scarce_each(int (*fn)(void *arg, struct strait_error *err), void *arg);
/** The same of a function that can do without some of them, as without a word of a label; and of
 *  its allocations each stride-th alone, by the seed. */
long strait_scarce_some(int (*fn)(void *arg, struct strait_error *err), void *arg, long stride);
