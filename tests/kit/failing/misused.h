/* Wrong and odd values in a JSON text, one at a time: each value replaced by others, each key left
 * out, each object with a neighbour that nobody knows. */
#pragma once
#include <jansson.h>

enum { MISUSED_MAX_PLACE = 512 };

/* The text as it now is. place: of the changed value, numbers of arrays left out, below what has a
 * "name" by that name; what: stands there. */
typedef void (*misused_try)(void *context, const char *place, const char *what);
/** Changes v, calls, and puts back what was there. */
void misused_walk(json_t *v, misused_try try, void *context);
