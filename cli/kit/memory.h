/* What the program does when memory runs out in a place that has no way to say so. */
#pragma once
#include "analysis/table.h"

/** From now on a JSON value that does not fit in memory ends the process with one line and exit
 *  status 1. Hundreds of places build rows and keys of such values, and one that silently lacked a
 *  member would be another row, or have another key. */
void strait_json_or_end(void);
/** p, unless it is NULL because memory ran out: that ends the process in the same way. */
void *strait_or_end(void *p);
/** Print it on standard output and free it; the same where memory ran out for any of its cells. */
void strait_show_table(struct strait_table *t);
