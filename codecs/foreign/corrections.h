/* What a library's decoder gets wrong, sent behind its bytes: values that are not finite, or miss
 * the bound.
 *
 *   varint  how many, for each: varint gap to the one before, u32 bits of the float */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/bytes.h"

/** Write the list; a full w says that there is no room.
 *  In:      x  float32[n], y  as decoded; NULL: only values of x that are not finite are wrong
 *           tolerance  absolute
 *  Returns: how many there are */
size_t strait_corrections_put(struct strait_writer *w, const float *x, const float *y, size_t n,
                              double tolerance);
/** Read the list and apply it to y, float32[n]; y NULL: only check it. False: malformed. */
bool strait_corrections_get(float *y, size_t n, struct strait_reader *r);
/** to = x, with the last finite value before each that is none, 0 before the first.
 *  Returns: false if no value is finite */
bool strait_corrections_fill(float *to, const float *x, size_t n);
