/* Select values by magnitude. A magnitude is the bit pattern of |x|, which orders like |x|: -0 is
 * 0, an infinity is above every finite value, NaN above the infinities. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { STRAIT_MAGNITUDE_MASK = 0x7fffffff, STRAIT_MAGNITUDE_LARGEST = 0x7f7fffff };

static inline uint32_t strait_magnitude(const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof(bits));
    return bits & STRAIT_MAGNITUDE_MASK;
}

static inline float strait_magnitude_float(uint32_t magnitude)
{
    float x;
    memcpy(&x, &magnitude, sizeof(x));
    return x;
}

/** The smallest magnitude with |x| >= t, for t >= 0, exactly: strait_magnitude(x) reaches it if and
 *  only if |x| >= t, for x not NaN. Beyond the largest float: infinity's. */
uint32_t strait_magnitude_of_least(double t);

/** Number of values in x[n_elems] with a magnitude of at least `least`. Cost: one vectorised
 *  pass. */
size_t strait_count_reaching(const float *x, size_t n_elems, uint32_t least);

/** Positions of those values. Out: index: ascending, room for n_elems. Returns: how many */
size_t strait_select_reaching(uint32_t *index, const float *x, size_t n_elems, uint32_t least);

struct strait_kth {
    uint32_t magnitude; /* of the k-th largest */
    size_t n_above;     /* values of larger magnitude: fewer than k */
};

/** The k-th largest magnitude, 1 <= k <= n. In: values: n 32-bit patterns of floats, signs ignored.
 *  Cost:    three passes that count digits of 11, 10 and 10 bits; 8 KiB of stack */
struct strait_kth strait_kth_largest(const void *values, size_t n, size_t k);

/** Positions of the k largest magnitudes; of equal ones, the lower positions.
 *  Out:     index    ascending, k of them
 *  In:      scratch  uint32_t[n_elems]
 *           k        at most n_elems, which is below 2^31
 *  Cost:    O(n_elems) for any values, usually one pass: a sample gives a magnitude that slightly
 *           more than k values reach, and only those are examined again
 *  Source:  own; the digits as in a radix selection */
void strait_select_largest(uint32_t *index, const float *x, size_t n_elems, size_t k,
                           uint32_t *scratch);
