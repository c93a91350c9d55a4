/* "Check it for real": one point predicted and emulated, as by `strait run --on both`. */
#pragma once
#include <jansson.h>
#include "experiment_request.h"

/** Run it; codecs are measured on this machine first.
 *  In:      folder  of its own, made and removed here
 *  Returns: {"rows": [row]}, predicted and emulated, or NULL with *err: INPUT for what takes more
 *           than a class waits, HOST with the reason why this machine cannot, BACKEND */
json_t *strait_check_run(const char *folder, const struct strait_asked *q,
                         struct strait_error *err);
/** Remove what a check left that was ended. */
void strait_check_clear(const char *folder);
