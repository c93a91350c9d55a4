/* Which of the host's files a command in a guest must see: those that its arguments name, its
 * experiment, and those that these files name in turn. */
#pragma once
#include <jansson.h>
#include "guest_job.h"

struct strait_guest_files {
    struct strait_guest_texts *read; /* of the guest's plan */
    bool
        has_none; /* the guest has no files of the host's, else all but those below /tmp and such */
};

/** A word of the command line: a path, one behind "=", or JSON behind "=". */
void strait_guest_see_argument(const struct strait_guest_files *f, const char *argument);
/** All texts in it. */
void strait_guest_see_json(const struct strait_guest_files *f, const json_t *value);
