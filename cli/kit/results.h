/* Open a results folder to read it. */
#pragma once
#include "analysis/store.h"

/** Open the results of a folder, and say on stderr how many of their lines are damaged, and with
 *  them rows that are missing from whatever is shown.
 *  Out:     out  free with strait_store_free
 *  Returns: 0, or -1 with *err as strait_store_open */
int strait_results_open(struct strait_store **out, const char *folder, struct strait_error *err);
