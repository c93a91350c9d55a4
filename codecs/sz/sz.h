/* Read the bound from an encoded stream of the sz codec. */
#pragma once
#include <stddef.h>

/** The absolute bound that a stream keeps, from its head: half its step plus the share for
 *  rounding, so at least the bound that the encoder was given, and less than 2^-21 of it above.
 *  This is the bound that RATIO, RANGE or RMS resulted in. A sum of k streams (`add`) has the step
 *  of each, and k times this bound.
 *  In:      in  the stream or its first piece; its first 16 bytes are enough
 *  Returns: 0 if the values are stored raw; NAN if the head does not tell: a constant that stands
 *           for values within the requested bound (never with RATIO), a POINTWISE bound, or a
 *           malformed stream */
double strait_sz_delivered_bound(const unsigned char *in, size_t len_bytes);
