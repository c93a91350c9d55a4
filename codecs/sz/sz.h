/* What an encoded stream of the sz codec says about itself. */
#pragma once
#include <stddef.h>

/** The absolute bound that a stream keeps, read from its head: half its step and what rounding was
 *  given, so at least the bound that the encoder was asked for, and less than 2^-21 of it above.
 *  Answers what STRAIT_BOUND_RATIO, RANGE or RMS came to.
 *  A sum of k streams (`add`) has the step of each, and k times this bound.
 *  In:      in  the stream or its first piece; its first 16 bytes are enough
 *  Returns: 0 where the values are stored as they are; NAN where the head does not tell: a constant
 *           that stands for values within whatever bound was asked for (never so with RATIO), a
 *           POINTWISE bound, or bytes that are no stream */
double strait_sz_delivered_bound(const unsigned char *in, size_t len_bytes);
