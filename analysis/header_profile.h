/* The codec costs in the headers of a results folder: 187 KB with each command as they were, of
 * which the first header with a profile has the whole and later ones its hash. */
#pragma once
#include <jansson.h>
#include "core/error.h"

/** Complete a header that was read: one that has its profile's hash alone gets the profile from
 *  before.
 *  In:      known   {hash: profile} of the headers so far; filled
 *  Returns: 0, or -1 when memory ran out */
int strait_header_profile_restore(json_t *header, json_t *known);
/** The header as it is to be written: without a profile that is known. A new reference, or NULL
 *  when memory ran out. */
json_t *strait_header_profile_shorten(json_t *header, const json_t *known);
