/* Bytes of floats grouped by significance, which general-purpose compressors handle better. */
#pragma once
#include <stddef.h>

/** Write the lowest bytes of all values, then the next ones, up to the bytes with the signs.
 *  Out:     planes  4 n_elems bytes */
void strait_planes_split(unsigned char *planes, const float *x, size_t n_elems);
/** The inverse. */
void strait_planes_join(float *y, const unsigned char *planes, size_t n_elems);
