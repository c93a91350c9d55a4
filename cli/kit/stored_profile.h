/* The profile with which stored rows were computed. */
#pragma once
#include <jansson.h>
#include "codecs/profile/profile.h"
#include "core/error.h"

/** Load the profile that a results header holds.
 *  Returns: 0, or -1 with *err: INPUT when it holds none that can be read, SYSTEM */
int strait_header_profile(struct strait_profile **out, const json_t *header,
                          struct strait_error *err);
