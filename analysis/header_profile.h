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
/** The header's text as it is to be written: without a profile that is known, and with one that is
 *  not, be it inside or given as text.
 *  In:      known  of the folder
 *           as     compact JSON of the profile that belongs into it; NULL: it has all inside
 *  Returns: compact JSON, to be freed; NULL when memory ran out */
char *strait_header_profile_dump(json_t *header, const json_t *known, const char *as);
/** The folder knows the profile of a header that was written with a text. 0, or -1 when memory ran
 *  out. */
int strait_header_profile_note(json_t *known, const json_t *header);
