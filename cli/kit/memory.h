/* End the program when memory runs out in a place that cannot return an error. */
#pragma once
#include "analysis/table.h"

/** From now on a failed allocation of a JSON value ends the process with one line and exit status
 *  1. Hundreds of places build rows and keys out of JSON values; a row that silently lacked a
 *  member would be wrong, or have the wrong key. */
void strait_json_or_end(void);
/** p, unless it is NULL because memory ran out: that ends the process in the same way. */
void *strait_or_end(void *p);
/** Print it on standard output and free it; the same where memory ran out for any of its cells. */
void strait_show_table(struct strait_table *t);
